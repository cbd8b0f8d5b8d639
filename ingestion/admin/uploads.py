"""The upload page: several files at once, each with a result of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from common.admin.pages import actor
from ingestion import services
from ingestion.admin.fields import IntakeForm, LanguageField
from ingestion.errors import IngestionError
from ingestion.files.filetypes import SUPPORTED
from ingestion.models import Document

logger = logging.getLogger(__name__)


class UploadForm(IntakeForm):
    """Where the files go. They are no field of it: each is taken alone, and may fail alone."""

    language = LanguageField(
        empty="Detected for each file",
        help_text="Only where detection would guess wrong: it then holds for all files below.",
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file. `kind` is queued, duplicate or refused."""

    file_name: str
    kind: str
    message: str
    document: Document | None = None

    @property
    def url(self) -> str:
        if self.document is None:
            return ""
        return reverse("admin:ingestion_document_change", args=(self.document.pk,))


def upload_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """The form, and after an upload the outcome of every file above it."""
    posted = request.method == "POST"
    form = UploadForm(request.POST if posted else None, viewer=request.user)
    files = request.FILES.getlist("files") if posted else []
    outcomes: list[Outcome] = []
    if posted and form.is_valid() and files:
        outcomes = list(_receive_all(request, form, files))
        form = UploadForm(
            initial={
                name: request.POST.get(name) for name in ("collection", "language", "metadata")
            },
            viewer=request.user,
        )
    context |= {
        "form": form,
        "outcomes": outcomes,
        "queued": sum(outcome.kind == "queued" for outcome in outcomes),
        "no_files": posted and not files,
        "unsent": [file.name for file in files] if form.errors else [],
        "extensions": sorted(SUPPORTED),
        "max_files": settings.DATA_UPLOAD_MAX_NUMBER_FILES,
        "max_megabytes": settings.MAX_UPLOAD_BYTES // (1024 * 1024),
    }
    return TemplateResponse(request, "admin/ingestion/document/upload.html", context)


def _receive_all(
    request: HttpRequest, form: UploadForm, files: list[UploadedFile[bytes]]
) -> Iterator[Outcome]:
    for file in files:
        name = file.name or "unnamed"
        try:
            receipt = services.receive(
                form.cleaned_data["collection"],
                file,
                file_name=name,
                language=form.cleaned_data["language"],
                metadata=form.cleaned_data["metadata"] or None,
                acting_user=actor(request),
            )
        except IngestionError as error:
            yield Outcome(name, "refused", str(error))
        except (OSError, DatabaseError) as error:
            # Every file is stored by itself: the next one may fit where this one did not.
            logger.exception("Could not store %s", name)
            yield Outcome(name, "refused", f"It could not be stored ({error}). Try it again.")
        else:
            yield _outcome(name, receipt)


def _outcome(name: str, receipt: services.Receipt) -> Outcome:
    if receipt.duplicate:
        message = "This collection holds these very bytes already, as this document"
        return Outcome(name, "duplicate", message, receipt.document)
    return Outcome(name, "queued", "Waiting to be processed", receipt.document)
