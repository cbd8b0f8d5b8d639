"""The pages that add documents: the upload of several files, and the import from the web."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import MaxValueValidator
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from common.admin.mixins import actor
from ingestion import services
from ingestion.admin import status
from ingestion.admin.fields import IntakeForm, LanguageFormField
from ingestion.errors import IngestionError
from ingestion.files.filetypes import SUPPORTED
from ingestion.intake import imports as imports
from ingestion.intake.import_web import DEFAULT_DEPTH, DEFAULT_PAGES, MAX_DEPTH
from ingestion.intake.url_guard import MAX_URL_CHARS
from ingestion.models import Document, Import

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


Kind = Import.Kind


class WebImportForm(IntakeForm):
    """The address to fetch, and the limits on following links."""

    address = forms.CharField(
        max_length=MAX_URL_CHARS,
        widget=UnfoldAdminTextInputWidget(
            attrs={"inputmode": "url", "placeholder": "https://", "autocomplete": "off"}
        ),
    )
    kind = forms.ChoiceField(
        label=_("Scope"),
        choices=[
            (Kind.URL, _("This address only")),
            (Kind.SITE, _("The page and the pages it links to on its host")),
            (Kind.SITEMAP, _("The pages of a sitemap")),
        ],
        initial=Kind.URL,
        widget=UnfoldAdminSelectWidget,
    )
    language = LanguageFormField(empty=_("Detected for each page"))
    depth = forms.IntegerField(
        label=_("Link depth"),
        min_value=0,
        max_value=MAX_DEPTH,
        initial=DEFAULT_DEPTH,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("For a page with its links: 1 imports the pages linked on it."),
    )
    max_pages = forms.IntegerField(
        label=_("Maximum pages"),
        min_value=1,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("For a site or a sitemap."),
    )

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        most = settings.URL_IMPORT_MAX_PAGES
        self.initial.setdefault("max_pages", min(DEFAULT_PAGES, most))
        self.fields["max_pages"].validators.append(MaxValueValidator(most))
        self.fields["max_pages"].widget.attrs["max"] = most

    def options(self) -> dict[str, Any]:
        """The options of the import, without those its kind does not support."""
        cleaned = self.cleaned_data
        if cleaned["kind"] == Kind.URL:
            return {}
        names = ("depth", "max_pages") if cleaned["kind"] == Kind.SITE else ("max_pages",)
        return {name: cleaned[name] for name in names if cleaned[name] is not None}


def web_import_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """The form's page; after a start, a redirect to the page of the new import."""
    posted = request.method == "POST" and settings.URL_IMPORT
    form = WebImportForm(request, request.POST if posted else None)
    if posted and form.is_valid() and (started := _started(request, form)):
        sentence = gettext("The import of %(origin)s into %(collection)s is queued.")
        form.remember(request)
        sentence %= {"origin": started.origin, "collection": started.collection}
        messages.success(request, sentence)
        return HttpResponseRedirect(started.get_absolute_url())
    context |= {
        "form": form,
        "switched_on": settings.URL_IMPORT,
        "agent": settings.URL_IMPORT_AGENT,
        "max_megabytes": settings.URL_IMPORT_MB,
    }
    return TemplateResponse(request, "admin/ingestion/document/from_web.html", context)


def _started(request: HttpRequest, form: WebImportForm) -> Import | None:
    """The started import; None if refused, with an error on the form."""
    cleaned = form.cleaned_data
    try:
        return imports.start(
            form.destination(request),
            Kind(cleaned["kind"]),
            cleaned["address"].strip(),
            options=form.options(),
            language=cleaned["language"],
            metadata=cleaned["metadata"],
            acting_user=actor(request),
        )
    except IngestionError as error:
        form.add_error("address", str(error))
        return None
