"""A document's versions in the admin: history, downloads, upload of a new one, rollback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from common.admin.pages import OwnPages, actor
from ingestion import services
from ingestion.errors import IngestionError
from ingestion.files.storage import download
from ingestion.models import Document, DocumentVersion, State


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One line of the history. `difference` is the change in chunks; empty if unknown."""

    version: DocumentVersion
    label: Any
    is_current: bool
    difference: str = ""

    @property
    def can_come_back(self) -> bool:
        """True if its file is stored and readable and another version is searchable."""
        settled = not self.version.is_open and self.version.state != State.FAILED
        return bool(self.version.file) and not self.is_current and settled


def version_rows(
    document: Document, versions: Sequence[DocumentVersion], label: Callable[..., Any]
) -> tuple[VersionRow, ...]:
    """The history, newest first, each with its change in the number of chunks."""
    older = [*versions[1:], None]
    return tuple(
        VersionRow(
            version, label(version), version.pk == document.current_id, _difference(version, before)
        )
        for version, before in zip(versions, older, strict=True)
    )


def _difference(version: DocumentVersion, before: DocumentVersion | None) -> str:
    """The signed difference in chunks; empty if either version has none."""
    if before is None or not version.chunk_count or not before.chunk_count:
        return ""
    difference = version.chunk_count - before.chunk_count
    return f"{difference:+d}" if difference else "±0"


class NewVersionForm(forms.Form):
    """An uploaded file, which the service validates."""

    file = forms.FileField(allow_empty_file=True)


class VersionPages(OwnPages[Document]):
    """A mixin for the documents' ModelAdmin: the actions on a document's versions."""

    def get_urls(self) -> list[URLPattern]:
        page = self.own_page
        return [
            page("<int:pk>/new-version/", require_POST(self.new_version_view), "new_version"),
            page("<int:pk>/versions/<int:number>/file/", self.version_file_view, "version_file"),
            page(
                "<int:pk>/versions/<int:number>/make-current/",
                require_POST(self.make_current_view),
                "make_current",
            ),
            *super().get_urls(),
        ]

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

    def version_file_view(self, request: HttpRequest, pk: int, number: int) -> FileResponse:
        return download(self._version(request, pk, number), request.user)

    def make_current_view(self, request: HttpRequest, pk: int, number: int) -> HttpResponse:
        version = self._version(request, pk, number)
        try:
            fresh = services.make_current(version, acting_user=actor(request))
        except Document.DoesNotExist as error:
            raise Http404 from error
        except IngestionError as error:
            self.message_user(request, str(error), messages.ERROR)
            return self.back_to(pk)
        done = gettext(
            "The file of version %(old)d is queued as version %(new)d; until it is ready, search "
            "uses the current version."
        )
        done %= {"old": number, "new": fresh.number}
        self.message_user(request, done, messages.SUCCESS)
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
    done = gettext(
        "Version %(number)d is queued; until it is ready, search uses the current version."
    )
    return done % {"number": receipt.version.number}, messages.SUCCESS
