"""The page that uploads several files."""

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
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.admin.mixins import actor
from ingestion import services
from ingestion.admin import status
from ingestion.admin.fields import IntakeForm, LanguageFormField
from ingestion.errors import IngestionError
from ingestion.files.filetypes import SUPPORTED
from ingestion.intake import imports as imports
from ingestion.models import Document

logger = logging.getLogger(__name__)


class UploadForm(IntakeForm):
    """The destination of the files. They are not a field: each may fail separately."""

    language = LanguageFormField(
        label=_("Language"),
        empty=_("Detected for each file"),
        help_text=_("Usually detected. Set it only if that fails: it applies to all files."),
    )


@dataclass(frozen=True, slots=True)
class UploadResult:
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

    @property
    def state(self) -> SafeString:
        """The live state of the queued document."""
        return status.state(self.document) if self.document else SafeString()

    @property
    def title(self) -> SafeString:
        """The document's title, which may be taken from its text once it is parsed."""
        return status.title(self.document) if self.document else SafeString()

    @property
    def links(self) -> SafeString:
        return status.links(self.document) if self.document else SafeString()


def upload_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """The page with the form, and after an upload the result of each file."""
    posted = request.method == "POST"
    form = UploadForm(request, request.POST if posted else None)
    files = request.FILES.getlist("files") if posted else []
    outcomes: list[UploadResult] = []
    if posted and form.is_valid() and files:
        outcomes = list(_receive_all(request, form, files))
        form.remember(request)
        initial = {name: request.POST.get(name) for name in ("language", "metadata")}
        context["collection"] = form.cleaned_data["collection"]
        initial["collection"] = context["collection"].pk
        form = UploadForm(request, initial=initial)
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
) -> Iterator[UploadResult]:
    for file in files:
        name = file.name or "unnamed"
        try:
            receipt = services.receive(
                form.destination(request),
                file,
                file_name=name,
                language=form.cleaned_data["language"],
                metadata=form.cleaned_data["metadata"] or None,
                acting_user=actor(request),
            )
        except IngestionError as error:
            yield UploadResult(name, "refused", str(error))
        except (OSError, DatabaseError) as error:
            # Each file is stored separately: the next one may succeed.
            logger.exception("Could not store %s", name)
            message = gettext("It could not be stored (%(error)s). Upload it again.")
            yield UploadResult(name, "refused", message % {"error": error})
        else:
            yield _outcome(name, receipt)


def _outcome(name: str, receipt: services.Receipt) -> UploadResult:
    if receipt.duplicate:
        message = gettext("This collection already contains the same file, as this document")
        return UploadResult(name, "duplicate", message, receipt.document)
    return UploadResult(name, "queued", "", receipt.document)
