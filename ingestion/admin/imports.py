"""Imports in the admin: start, progress, stop, resume."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextInputWidget

from common.admin.live_cells import StatusPages, live, state_label
from common.admin.mixins import AuditedByServices, VisibleOnly, actor, moment_column, own_page
from common.api.requests import states
from ingestion.admin.fields import IntakeForm, LanguageFormField
from ingestion.documents import completeness
from ingestion.errors import IngestionError
from ingestion.intake import imports as importing
from ingestion.intake.import_folders import HERE
from ingestion.intake.import_protocol import MANIFEST_ENDS, ImportRefused
from ingestion.intake.imports import Counts, counts_of
from ingestion.models import Import, ImportItem
from ingestion.models.visibility import open_to

State = Import.State
VARIANTS = {
    State.QUEUED: "info",
    State.RUNNING: "info",
    State.DONE: "success",
    State.FAILED: "danger",
    State.CANCELLED: "warning",
}
MAX_ITEMS = 100


class ImportForm(IntakeForm):
    """An uploaded file, or for superusers a folder of the server."""

    language = LanguageFormField(
        empty=_("Detected for each file"),
        help_text=_("Usually detected. Set it only if that fails; a manifest may set it per line."),
    )
    folder = forms.CharField(
        required=False,
        max_length=900,
        widget=UnfoldAdminTextInputWidget,
        label=_("or a folder on the server"),
        help_text=_("Its full path, below one of IMPORT_ROOTS."),
    )

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        if not request.user.is_superuser or not settings.IMPORT_ROOTS:
            del self.fields["folder"]


@admin.register(Import)
class ImportAdmin(StatusPages[Import], VisibleOnly, AuditedByServices, ModelAdmin):  # type: ignore[misc]
    empty_text = _(
        "Nothing has been imported yet. An import adds many files at once: a ZIP archive, a list "
        "of files, a folder of the server or web pages."
    )
    list_display = ("origin", "kind", "collection", "state_cell", "counts_cell", "begun")
    list_filter = ("state", "kind")
    search_fields = ("origin",)
    search_help_text = _("Search by name, path or address")
    list_per_page = 50
    list_fullwidth = True
    live_cells = ("state", "counts")
    view_on_site = False
    fields = ("origin", "kind", "collection", "language", "added_by", "created", "finished")
    readonly_fields = fields
    change_form_outer_before_template = "admin/steelyard/import_status.html"

    # --- permissions -----------------------------------------------------------------------------

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("ingestion.add_document")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(super().has_view_permission(request, obj) or self.has_add_permission(request))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    # --- columns -----------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[Import]:
        queryset: QuerySet[Import] = super().get_queryset(request)
        return queryset.select_related("collection", "added_by")

    def live_rows(self, rows: Iterable[Import]) -> list[Import]:
        """The imports with the counts of their items, in one query."""
        imports = list(rows)
        counts = counts_of(imports)
        for of in imports:
            of.counts = counts[of.pk]  # type: ignore[attr-defined]
        return imports

    @admin.display(description=_("state"), ordering="state")
    def state_cell(self, of: Import) -> SafeString:
        return _live(of, "state", _state(of))

    @admin.display(description=_("items"))
    def counts_cell(self, of: Import) -> SafeString:
        return _live(of, "counts", _results(of))

    begun = moment_column("created", _("started"))

    # --- pages -------------------------------------------------------------------------------

    @states(most_bytes="IMPORT_MAX_BYTES")
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        posted = request.method == "POST"
        form = ImportForm(request, request.POST if posted else None)
        if posted and form.is_valid():
            try:
                of = self._start(request, form)
            except IngestionError as error:
                form.add_error(None, str(error))
            else:
                form.remember(request)
                return self.back_to(of.pk)
        context = {
            "form": form,
            "imports_addresses": settings.URL_IMPORT,
            "max_megabytes": settings.IMPORT_MAX_BYTES // (1024 * 1024),
            "ends": (".zip", *MANIFEST_ENDS),
        }
        title = gettext("Import many files")
        return self.page(request, "ingestion/import/add.html", title, context)

    def _start(self, request: HttpRequest, form: ImportForm) -> Import:
        file, folder = request.FILES.get("file"), form.cleaned_data.get("folder") or ""
        if (file is None) == (not folder):
            raise ImportRefused(gettext("Choose a file or a folder, not both."))
        kind, origin = Import.Kind.FOLDER, folder
        if file is not None:
            origin = file.name or "unnamed"
            ends = origin.lower().endswith(MANIFEST_ENDS)
            kind = Import.Kind.MANIFEST if ends else Import.Kind.ARCHIVE
        return importing.start(
            form.destination(request),
            kind,
            origin,
            file=file,
            language=form.cleaned_data["language"],
            metadata=form.cleaned_data["metadata"],
            acting_user=actor(request),
        )

    def panel(self, request: HttpRequest, row: Import) -> dict[str, Any]:
        self.live_rows([row])
        readable = row.items.filter(open_to(request.user, "document__"))
        failed = readable.filter(state=ImportItem.State.FAILED)
        items = readable.select_related("document__current")
        items = items.defer("document__title_terms", "document__current__text")
        latest = items.exclude(state=ImportItem.State.FAILED).order_by("-position")[:MAX_ITEMS]
        for item in latest:
            current = item.document.current if item.document else None
            item.gap = completeness.note(current.completeness) if current else ""  # type: ignore[attr-defined]
        return {
            "import": row,
            "live": _is_unfinished(row),
            "state": _state(row),
            "results": _results(row),
            "failed": failed[:MAX_ITEMS],
            "failed_count": _counts(row).failed,
            "items": latest,
            "may_act": self.has_add_permission(request) and HERE not in row.options,
            "resumable": row.state in (State.CANCELLED, State.FAILED) or _counts(row).failed,
        }

    # --- actions, all by the services ---------------------------------------------

    @own_page("<int:pk>/stop/", posts=True)
    def stop_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        done, nothing = gettext("The import was stopped."), gettext("The import has already ended.")
        stopped = importing.stop(self._mine(request, pk), acting_user=actor(request))
        return self._back_with(request, pk, done if stopped else "", nothing)

    @own_page("<int:pk>/resume/", posts=True)
    def resume_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        done = gettext("The import was resumed.")
        nothing = gettext("The import is not stopped, and none of its items failed.")
        resumed = importing.resume(self._mine(request, pk), acting_user=actor(request))
        return self._back_with(request, pk, done if resumed else "", nothing)

    def delete_model(self, request: HttpRequest, obj: Import) -> None:
        importing.remove(obj, acting_user=actor(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Import]) -> None:
        for of in queryset:
            importing.remove(of, acting_user=actor(request))

    def _mine(self, request: HttpRequest, pk: int) -> Import:
        if not self.has_add_permission(request):
            raise PermissionDenied
        of: Import | None = self.get_object(request, str(pk))
        if of is None:
            raise Http404
        if HERE in of.options:
            raise PermissionDenied
        return of

    def _back_with(self, request: HttpRequest, pk: int, done: str, nothing: str) -> HttpResponse:
        self.message_user(request, done or nothing, messages.SUCCESS if done else messages.WARNING)
        return self.back_to(pk)


def _counts(of: Import) -> Counts:
    counts: Counts = of.counts  # type: ignore[attr-defined]
    return counts


def _state(of: Import) -> SafeString:
    """The state, with a progress bar while the import is open."""
    share = round(_counts(of).share * 100) if of.is_open else None
    variant = VARIANTS[State(of.state)]
    return state_label(of.get_state_display(), variant, percent=share, error=of.error)


def _results(of: Import) -> SafeString | str:
    """The number of items by result."""
    counts = _counts(of)
    content = str(counts) or gettext("nothing yet")
    if not counts.processing:
        return content
    note = gettext("%(count)d still being processed") % {"count": counts.processing}
    return format_html('{}<br><span class="sy-muted">{}</span>', content, note)


def _is_unfinished(of: Import) -> bool:
    """True until every document of the import is searchable."""
    return of.is_open or bool(_counts(of).processing)


def _live(of: Import, name: str, content: str) -> SafeString:
    return live(of, name, content, unfinished=_is_unfinished(of))
