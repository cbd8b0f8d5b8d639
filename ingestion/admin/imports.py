"""Imports in the admin: start one, see how far it is, stop it, let it go on, try again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms import Script
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from ingestion.admin.fields import LanguageField
from ingestion.admin.visibility import AuditedByServices, VisibleOnly, actor
from ingestion.errors import IngestionError
from ingestion.importing import services
from ingestion.importing.counting import Counts, counts_of
from ingestion.importing.folders import HERE
from ingestion.importing.manifests import MANIFEST_ENDS
from ingestion.importing.protocol import ImportRefused
from ingestion.models import Collection, Import, ImportItem
from ingestion.models.library import Viewer

State = Import.State
VARIANTS = {
    State.QUEUED: "info",
    State.RUNNING: "info",
    State.DONE: "success",
    State.FAILED: "danger",
    State.CANCELLED: "warning",
}
MAX_POLLED = 200
ITEMS_SHOWN = 100


class ImportForm(forms.Form):
    """A file that was chosen, or a folder of the server for those who may."""

    collection = forms.ModelChoiceField(
        Collection.objects.none(), widget=UnfoldAdminSelectWidget, empty_label="Choose a collection"
    )
    language = LanguageField(
        empty="Detected for each file",
        help_text="Only where detection would guess wrong; a manifest may say it line by line.",
    )
    folder = forms.CharField(
        required=False,
        max_length=900,
        widget=UnfoldAdminTextInputWidget,
        label="or a folder on the server",
        help_text="Its whole path, below one of IMPORT_ROOTS.",
    )

    def __init__(self, *args: Any, viewer: Viewer, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        visible = Collection.objects.visible_to(viewer)
        self.fields["collection"].queryset = visible  # type: ignore[attr-defined]
        if len(visible) == 1:
            self.initial.setdefault("collection", visible[0])
        if viewer is None or not viewer.is_superuser or not settings.IMPORT_ROOTS:
            del self.fields["folder"]


@admin.register(Import)
class ImportAdmin(VisibleOnly, AuditedByServices, ModelAdmin):  # type: ignore[misc]
    empty_text = (
        "Nothing has been imported yet. An import takes in many files at once: a ZIP archive, "
        "a list of files, a folder of the server or pages of the web."
    )
    list_display = ("origin", "kind", "collection", "state_cell", "counts_cell", "begun")
    list_filter = ("state", "kind")
    search_fields = ("origin",)
    search_help_text = "Search by name, path or address"
    list_per_page = 50
    list_fullwidth = True
    view_on_site = False
    fields = ("origin", "kind", "collection", "language", "added_by", "created", "finished")
    readonly_fields = fields
    change_form_outer_before_template = "admin/steelyard/import_status.html"

    class Media:
        js = (Script("admin/steelyard/rows.js", defer=True),)

    # --- who may -----------------------------------------------------------------------------

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("ingestion.add_document")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(super().has_view_permission(request, obj) or self.has_add_permission(request))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    # --- what is shown -----------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[Import]:
        queryset: QuerySet[Import] = super().get_queryset(request)
        return queryset.select_related("collection", "added_by")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        page = super().get_changelist_instance(request)
        _count(page.result_list)
        return page

    @admin.display(description="state", ordering="state")
    def state_cell(self, of: Import) -> SafeString:
        return state_cell(of)

    @admin.display(description="items")
    def counts_cell(self, of: Import) -> SafeString:
        return counts_cell(of)

    @admin.display(description="started", ordering="created")
    def begun(self, of: Import) -> str:
        return f"{timezone.localtime(of.created):%Y-%m-%d %H:%M}"

    # --- pages -------------------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        def page(route: str, view: Callable[..., HttpResponse], name: str) -> URLPattern:
            guarded = self.admin_site.admin_view(view)
            return cast("URLPattern", path(route, guarded, name=f"ingestion_import_{name}"))

        return [
            page("progress/", self.progress_view, "progress"),
            page("<int:pk>/stop/", require_POST(self.stop_view), "stop"),
            page("<int:pk>/resume/", require_POST(self.resume_view), "resume"),
            page("<int:pk>/retry/", require_POST(self.retry_view), "retry"),
            *super().get_urls(),
        ]

    def progress_view(self, request: HttpRequest) -> JsonResponse:
        """The changing cells of the imports asked for, as far as the reader may see them."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        ids = [int(text) for text in request.GET.getlist("id") if text.isdecimal()][:MAX_POLLED]
        rows = list(self.get_queryset(request).filter(pk__in=ids))
        _count(rows)
        cells = {"state": state_cell, "counts": counts_cell}
        return JsonResponse(
            {
                "rows": [
                    {"id": row.pk, "cells": {name: cell(row) for name, cell in cells.items()}}
                    for row in rows
                ]
            }
        )

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        posted = request.method == "POST"
        form = ImportForm(request.POST if posted else None, viewer=request.user)
        if posted and form.is_valid():
            try:
                of = self._start(request, form)
            except IngestionError as error:
                form.add_error(None, str(error))
            else:
                return self._back_to(of.pk)
        context = {
            **self.admin_site.each_context(request),
            "form": form,
            "title": "Import many files",
            "model_admin": self,
            "media": self.media,
            "max_megabytes": settings.IMPORT_MAX_BYTES // (1024 * 1024),
            "ends": (".zip", *MANIFEST_ENDS),
        }
        return TemplateResponse(request, "admin/ingestion/import/add.html", context)

    def _start(self, request: HttpRequest, form: ImportForm) -> Import:
        file, folder = request.FILES.get("file"), form.cleaned_data.get("folder") or ""
        if (file is None) == (not folder):
            raise ImportRefused("Choose a file, or name a folder.")
        kind, origin = Import.Kind.FOLDER, folder
        if file is not None:
            origin = file.name or "unnamed"
            ends = origin.lower().endswith(MANIFEST_ENDS)
            kind = Import.Kind.MANIFEST if ends else Import.Kind.ARCHIVE
        return services.start(
            form.cleaned_data["collection"],
            kind,
            origin,
            file=file,
            language=form.cleaned_data["language"],
            acting_user=actor(request),
        )

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        of: Import | None = self.get_object(request, object_id)
        context = dict(extra_context or {})
        if of is not None:
            _count([of])
            failed = of.items.filter(state=ImportItem.State.FAILED)
            context |= {
                "import": of,
                "state_cell": state_cell(of),
                "counts_cell": counts_cell(of),
                "failed": failed[:ITEMS_SHOWN],
                "failed_count": of.counts.failed,  # type: ignore[attr-defined]
                "items": of.items.select_related("document")
                .defer("document__title_terms")
                .exclude(state=ImportItem.State.FAILED)
                .order_by("-position")[:ITEMS_SHOWN],
                "may_act": self.has_add_permission(request) and HERE not in of.options,
                "stopped": of.state in (State.CANCELLED, State.FAILED),
            }
        return super().change_view(request, object_id, form_url, context)  # type: ignore[no-any-return]

    # --- what is done: all of it by the services ---------------------------------------------

    def stop_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        done = services.stop(self._mine(request, pk), acting_user=actor(request))
        return self._said(request, pk, done, "The import is stopped.", "It is over already.")

    def resume_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        done = services.resume(self._mine(request, pk), acting_user=actor(request))
        return self._said(request, pk, done, "The import goes on.", "It was not stopped.")

    def retry_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        count = services.retry(self._mine(request, pk), acting_user=actor(request))
        return self._said(
            request, pk, bool(count), f"{count:,} tried again.", "None of its items failed."
        )

    def delete_model(self, request: HttpRequest, obj: Import) -> None:
        services.remove(obj, acting_user=actor(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Import]) -> None:
        for of in queryset:
            services.remove(of, acting_user=actor(request))

    def _mine(self, request: HttpRequest, pk: int) -> Import:
        if not self.has_add_permission(request):
            raise PermissionDenied
        of: Import | None = self.get_object(request, str(pk))
        if of is None:
            raise Http404
        if HERE in of.options:
            raise PermissionDenied
        return of

    def _said(
        self, request: HttpRequest, pk: int, done: bool, success: str, nothing: str
    ) -> HttpResponse:
        level = messages.SUCCESS if done else messages.WARNING
        self.message_user(request, success if done else nothing, level)
        return self._back_to(pk)

    def _back_to(self, pk: int) -> HttpResponse:
        return redirect(reverse("admin:ingestion_import_change", args=(pk,)))


def _count(imports: Any) -> None:
    """Hangs the counts of their items on the rows of a page; one query."""
    rows = list(imports)
    counts = counts_of(rows)
    for of in rows:
        of.counts = counts[of.pk]


def state_cell(of: Import) -> SafeString:
    """The state, and a bar while there is work left."""
    counts: Counts = of.counts  # type: ignore[attr-defined]
    return _cell(of, "state", state=True, share=counts.share)


def counts_cell(of: Import) -> SafeString:
    """How many items ended how."""
    counts: Counts = of.counts  # type: ignore[attr-defined]
    return _cell(of, "counts", text=str(counts), processing=counts.processing)


def _cell(of: Import, cell: str, **context: Any) -> SafeString:
    counts: Counts = of.counts  # type: ignore[attr-defined]
    live = of.is_open or bool(counts.processing)
    context |= {"row": of, "cell": cell, "live": live, "variant": VARIANTS[State(of.state)]}
    context["percent"] = round(counts.share * 100)
    return SafeString(render_to_string("admin/steelyard/import_cell.html", context))
