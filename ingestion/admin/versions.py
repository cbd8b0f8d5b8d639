"""A document's versions in the admin: history, new files, rollback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.admin.mixins import OwnPages, actor, own_page
from common.api.requests import states
from ingestion import services
from ingestion.documents import completeness
from ingestion.errors import IngestionError
from ingestion.files.downloads import download
from ingestion.models import Document, DocumentVersion, State


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
