"""Documents in the admin: their progress, errors and actions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextInputWidget

from common.admin.live_cells import LiveCells
from common.admin.mixins import (
    AuditedByServices,
    PanelPages,
    Summary,
    ViewersForm,
    VisibleOnly,
    actor,
    deletion_summary,
    moment_column,
    own_page,
)
from common.api.requests import states
from ingestion import services
from ingestion.admin import status
from ingestion.admin.bin import GoesToBin
from ingestion.admin.bulk_changes import ArrangingPages, ReadersFilter, ReadersForm
from ingestion.admin.fields import LanguageFormField, MetadataFormField
from ingestion.admin.filters import (
    CollectionFilter,
    LanguageFilter,
    OriginFilter,
    StateFilter,
    TagFilter,
    TypeFilter,
)
from ingestion.admin.passages import PassagePages
from ingestion.admin.review_queue import CurrencyForm, ReviewPages
from ingestion.admin.status import status_of
from ingestion.admin.upload_pages import upload_page
from ingestion.admin.versions import VersionPages
from ingestion.admin.web_import_page import web_import_page
from ingestion.documents.currency import FIELDS, declare
from ingestion.documents.restricted_readers import Readers
from ingestion.models import Chunk, Document, DocumentVersion

READER_FIELDS = ("reader_groups", "reader_people")


class DocumentForm(CurrencyForm, ReadersForm, forms.ModelForm):  # type: ignore[type-arg]
    title = forms.CharField(
        max_length=500,
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text=_(
            "If empty, the file's own title or its name. A new title is shown immediately; the "
            "file is then reprocessed, so that search finds every passage by it."
        ),
    )
    language = LanguageFormField(
        empty=_("Detected from the text"),
        help_text=_(
            "Determines how words are matched (plurals, endings). A change reprocesses it."
        ),
    )
    metadata = MetadataFormField()

    class Meta:
        model = Document
        fields = ("title", "language", "metadata", "valid_from", "valid_until", "review_by")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if readers := Readers.of(self.instance):
            self.initial["reader_groups"] = readers.groups
            self.initial["reader_people"] = readers.as_names()["people"]


@admin.register(Document)
class DocumentAdmin(
    PanelPages[Document],
    LiveCells[Document],
    GoesToBin[Document],
    ArrangingPages,
    VersionPages,
    PassagePages,
    ReviewPages,
    ViewersForm,
    VisibleOnly,
    AuditedByServices,
    ModelAdmin,  # type: ignore[misc]
):
    empty_text = _("The library is empty. Upload files, import many at once, or watch a folder.")
    form = DocumentForm
    list_display = (
        "titled", "collection", "state_cell", "missing_cell", "chunks_cell", "size", "added",
    )  # fmt: skip
    list_display_links = ("titled",)
    list_filter = (
        StateFilter, CollectionFilter, TypeFilter, OriginFilter, LanguageFilter, TagFilter,
        ReadersFilter,
    )  # fmt: skip
    list_per_page = 50
    list_fullwidth = True
    search_fields = ("title", "latest__file_name")
    search_help_text = _("Search by title or file name")
    actions = (
        "annotate_selected", "move_selected", "restrict_selected", "retry_selected",
        "reprocess_selected",
    )  # fmt: skip
    live_cells = ("title", "state", "missing", "chunks", "links")
    view_on_site = False  # the page has its own link, shown only if there is text
    change_form_outer_before_template = "admin/steelyard/document_status.html"
    change_form_outer_after_template = "admin/steelyard/document_details.html"

    def get_fields(self, request: HttpRequest, obj: Document | None = None) -> Any:
        """The fields; on a read-only page without the readers and the list of other documents."""
        may_change = self.has_change_permission(request, obj)
        own = ("supersedes", *READER_FIELDS) if may_change else ()
        days = (("valid_from", "valid_until"), ("review_by", "owner"))
        return ("title", "language", "metadata", *days, *own)

    # --- what is shown ---------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        # A version's text can be megabytes, and no page here shows it.
        queryset: QuerySet[Document] = super().get_queryset(request)
        joined = queryset.select_related("collection", "current", "latest")
        return joined.defer("title_terms", "current__text", "latest__text")

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[QuerySet[Document], bool]:
        return queryset.named(search_term), False

    @admin.display(description=_("title"), ordering="title")
    def titled(self, document: Document) -> SafeString:
        return format_html("{} {}", status.title(document), status.file_name(document))

    title_cell = staticmethod(status.title)
    state_cell = staticmethod(status.state)
    chunks_cell = staticmethod(status.chunks)
    missing_cell = staticmethod(status.missing)
    links_cell = staticmethod(status.links)

    @admin.display(description=_("size"), ordering="latest__size")
    def size(self, document: Document) -> str:
        return str(filesizeformat(document.latest.size)) if document.latest else "-"

    added = moment_column("created", _("added"))

    # --- pages -----------------------------------------------------------------------------

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().list_context(request), "imports_addresses": settings.URL_IMPORT}

    @states(most_bytes="IMPORT_MAX_BYTES")
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        context = self._uploaders_context(request, gettext("Upload files"))
        context["has_view_permission"] = self.has_view_permission(request)
        return upload_page(request, context)

    @own_page("from-web/")
    def from_web_view(self, request: HttpRequest) -> HttpResponse:
        """The import from web addresses, for users who may upload."""
        return web_import_page(
            request, self._uploaders_context(request, gettext("Import from the web"))
        )

    def _uploaders_context(self, request: HttpRequest, title: str) -> dict[str, Any]:
        if not self.has_add_permission(request):
            raise PermissionDenied
        return self.page_context(request, title)

    def panel(self, request: HttpRequest, row: Document) -> dict[str, Any]:
        return {
            "status": status_of(row, request.user),
            "may_change": self.has_change_permission(request, row),
            "show_save_and_add_another": False,
            "show_save_and_continue": False,
        }

    @own_page("<int:pk>/retry/", posts=True)
    def retry_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        self._retry(request, [self.changeable(request, pk)])
        return self.back_to(pk)

    @own_page("<int:pk>/reprocess/", posts=True)
    def reprocess_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        self._reprocess(request, [self.changeable(request, pk)])
        return self.back_to(pk)

    # --- what is done: all of it by the services ----------------------------------------------

    def save_model(
        self, request: HttpRequest, obj: Document, form: DocumentForm, change: bool
    ) -> None:
        user, changed = actor(request), set(form.changed_data)
        changes = {name: form.cleaned_data[name] for name in changed - set(READER_FIELDS)}
        stated = {name: changes.pop(name) for name in (*FIELDS, "supersedes") if name in changes}
        if stated:  # first: its lock comes before those of documents
            declare(obj, acting_user=user, **stated)
        if changed & set(READER_FIELDS):
            readers = form.cleaned_data["readers"]
            for refusal in services.restrict([obj], readers, acting_user=user).refused:
                self.message_user(request, refusal, messages.ERROR)
        if changes:
            services.describe(obj, acting_user=user, **changes)

    def response_change(self, request: HttpRequest, obj: Document) -> HttpResponse:
        obj.refresh_from_db(fields=["title", "latest"])
        sentence = gettext("“%(title)s” was saved.") % {"title": obj.title}
        self.message_user(request, sentence, messages.SUCCESS)
        return self.back_to(obj.pk)

    def delete_model(self, request: HttpRequest, obj: Document) -> None:
        services.delete([obj], acting_user=actor(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        services.delete(queryset, acting_user=actor(request))

    def get_deleted_objects(self, objs: Iterable[Document], request: HttpRequest) -> Summary:
        documents = list(objs)
        versions = DocumentVersion.objects.filter(document__in=documents).count()
        chunks = Chunk.objects.filter(document__in=documents).count()
        perms_needed = set() if self.has_delete_permission(request) else {"document"}
        counts = ((Document, len(documents)), (DocumentVersion, versions), (Chunk, chunks))
        return deletion_summary(documents, counts, perms_needed)

    @admin.action(description=_("Retry failed documents"), permissions=["change"])
    def retry_selected(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        self._retry(request, queryset)

    @admin.action(description=_("Reprocess from the file"), permissions=["change"])
    def reprocess_selected(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        self._reprocess(request, queryset)

    def _retry(self, request: HttpRequest, documents: Iterable[Document]) -> None:
        count = services.retry(documents, acting_user=actor(request))
        sentence = ngettext(
            "%(count)d document was queued again.", "%(count)d documents were queued again.", count
        ) % {"count": count}
        self._report(request, count, sentence, gettext("No document failed: nothing to retry."))

    def _reprocess(self, request: HttpRequest, documents: Iterable[Document]) -> None:
        count = services.reprocess(documents, acting_user=actor(request))
        nothing = gettext("Nothing was queued: processing is already under way.")
        self._report(request, count, status.reprocessing(count), nothing)

    def _report(self, request: HttpRequest, count: int, success: str, nothing: str) -> None:
        level = messages.SUCCESS if count else messages.WARNING
        self.message_user(request, success if count else nothing, level)
