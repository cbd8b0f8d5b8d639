"""A document's versions and hand edits in the admin: history, new files, rollback, review."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from common.admin.mixins import OwnPages, ReadOnly, actor, moment_column, own_page, state_column
from common.api.requests import states
from ingestion import services
from ingestion.documents import completeness, hand_edits
from ingestion.errors import IngestionError
from ingestion.files.downloads import download
from ingestion.models import ChunkEdit, Document, DocumentVersion, State


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One line of the history."""

    version: DocumentVersion
    label: Any
    is_current: bool

    @property
    def gap(self) -> str:
        """A note that not all of it is searchable."""
        return completeness.note(self.version.completeness)

    @property
    def can_come_back(self) -> bool:
        """True if its file is stored and readable and another version is searchable."""
        is_finished = not self.version.is_open and self.version.state != State.FAILED
        return bool(self.version.file) and not self.is_current and is_finished


def version_rows(
    document: Document, versions: Sequence[DocumentVersion], label: Callable[..., Any]
) -> tuple[VersionRow, ...]:
    """The history, newest first."""
    return tuple(
        VersionRow(version, label(version), version.pk == document.current_id)
        for version in versions
    )


class NewVersionForm(forms.Form):
    """An uploaded file, which the service validates."""

    file = forms.FileField(allow_empty_file=True)


class VersionPages(OwnPages[Document]):
    """A mixin for the documents' ModelAdmin: the actions on a document's versions."""

    @own_page("<int:pk>/new-version/", posts=True)
    @states(most_bytes="MAX_UPLOAD_BYTES")
    def new_version_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        document = self.changeable(request, pk)
        form = NewVersionForm(request.POST, request.FILES)
        if not form.is_valid():
            self.message_user(request, _("Choose a file first."), messages.ERROR)
            return self.back_to(pk)
        file = form.cleaned_data["file"]
        try:
            receipt = services.replace(
                document, file, file_name=file.name, acting_user=actor(request)
            )
        except Document.DoesNotExist as error:
            raise Http404 from error
        except IngestionError as error:
            self.message_user(request, f"{file.name}: {error}", messages.ERROR)
            return self.back_to(pk)
        self.message_user(request, *_outcome(receipt))
        return self.back_to(pk)

    @own_page("<int:pk>/versions/<int:number>/file/")
    def version_file_view(self, request: HttpRequest, pk: int, number: int) -> HttpResponseBase:
        return download(self._version(request, pk, number), request.user, request.headers)

    @own_page("<int:pk>/versions/<int:number>/make-current/", posts=True)
    def make_current_view(self, request: HttpRequest, pk: int, number: int) -> HttpResponse:
        version = self._version(request, pk, number)

        def act() -> str:
            fresh = services.make_current(version, acting_user=actor(request))
            sentence = gettext(
                "The file of version %(old)d is queued as version %(new)d; until it is ready, "
                "search uses the current version."
            )
            return sentence % {"old": number, "new": fresh.number}

        try:
            self.attempt(request, act)
        except Document.DoesNotExist as error:
            raise Http404 from error
        return self.back_to(pk)

    def _version(self, request: HttpRequest, pk: int, number: int) -> DocumentVersion:
        document = self.changeable(request, pk)
        versions = DocumentVersion.objects.filter(document=document).defer("text")
        return get_object_or_404(versions, number=number)


def _outcome(receipt: services.Receipt) -> tuple[str, int]:
    if receipt.outcome == "unchanged":
        return gettext("The document already has this file: nothing was changed."), messages.INFO
    if receipt.outcome == "duplicate":
        warning = gettext("“%(title)s” in this collection already has this file.")
        return warning % {"title": receipt.document.title}, messages.WARNING
    sentence = gettext(
        "Version %(number)d is queued; until it is ready, search uses the current version."
    )
    return sentence % {"number": receipt.version.number}, messages.SUCCESS


@admin.register(ChunkEdit)
class ChunkEditAdmin(ReadOnly, ModelAdmin):  # type: ignore[misc]
    empty_text = _(
        "No passage has been edited by hand. Open a document and choose “Show and edit passages”."
    )
    list_display = ("passage", "document", "does", "state_label", "added_by", "changed")
    list_display_links = ("passage",)
    list_filter = ("state",)
    list_per_page = 50
    search_fields = ("document__title", "text", "note")
    search_help_text = _("Search titles, texts and notes")
    actions = ("undo_selected",)
    fields = ("document", "passage", "reason", "original", "text", "questions", "disabled", "note")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[ChunkEdit]:
        readable = Document.objects.visible_to(request.user)
        edits: QuerySet[ChunkEdit] = super().get_queryset(request).filter(document__in=readable)
        return edits.select_related("document", "added_by").defer("document__title_terms")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm("ingestion.change_document"))

    has_view_permission = has_change_permission

    @admin.display(description=_("passage"), ordering="ordinal")
    def passage(self, edit: ChunkEdit) -> str:
        return gettext("Passage %(number)d") % {"number": edit.ordinal + 1}

    @admin.display(description=_("edit"))
    def does(self, edit: ChunkEdit) -> str:
        return ", ".join(edit.kinds)

    changed = moment_column("updated", _("changed"))
    state_label = state_column(
        {ChunkEdit.State.APPLIED: "success", ChunkEdit.State.HOMELESS: "danger"}
    )

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The passage's page for an applied edit; otherwise the edit's text, to be copied."""
        edit = self.get_object(request, object_id)
        may_change = edit is not None and self.has_change_permission(request)
        if may_change and (applied := hand_edits.applied_to(edit)):
            address = (applied.document_id, applied.pk)
            return redirect(reverse("admin:ingestion_document_passage", args=address))
        context = dict.fromkeys(("show_save", "show_save_and_continue"), False)
        return super().change_view(request, object_id, form_url, context)  # type: ignore[no-any-return]

    @admin.action(description=_("Undo the edits; discard those without a matching passage"))
    def undo_selected(self, request: HttpRequest, queryset: QuerySet[ChunkEdit]) -> None:
        edits = list(queryset)
        try:
            for edit in edits:
                services.undo(edit, acting_user=actor(request))
        except IngestionError as error:
            self.message_user(request, str(error), messages.ERROR)
        else:
            sentence = ngettext(
                "%(count)d edit was undone.", "%(count)d edits were undone.", len(edits)
            )
            self.message_user(request, sentence % {"count": len(edits)}, messages.SUCCESS)
