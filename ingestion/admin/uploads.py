"""The upload page: several files at once, each with its own result."""

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
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.admin.pages import actor
from ingestion import services
from ingestion.admin.fields import IntakeForm, LanguageField
from ingestion.errors import IngestionError
from ingestion.files.filetypes import SUPPORTED
from ingestion.models import Document

logger = logging.getLogger(__name__)


class UploadForm(IntakeForm):
    """The destination of the files. They are not a field: each may fail separately."""

    language = LanguageField(
        empty=_("Detected for each file"),
        help_text=_("Set it only if detection fails: it applies to all files below."),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one file. `kind` is queued, duplicate or refused."""

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
    """The page with the form, and after an upload the result of each file."""
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
            # Each file is stored separately: the next one may succeed.
            logger.exception("Could not store %s", name)
            message = gettext("It could not be stored (%(error)s). Upload it again.")
            yield Outcome(name, "refused", message % {"error": error})
        else:
            yield _outcome(name, receipt)


def _outcome(name: str, receipt: services.Receipt) -> Outcome:
    if receipt.duplicate:
        message = gettext("This collection already contains the same file, as this document")
        return Outcome(name, "duplicate", message, receipt.document)
    return Outcome(name, "queued", gettext("Waiting to be processed"), receipt.document)
