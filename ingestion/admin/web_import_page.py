"""The page that imports documents from the web."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.validators import MaxValueValidator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from common.admin.mixins import actor
from ingestion.admin.fields import IntakeForm, LanguageFormField
from ingestion.errors import IngestionError
from ingestion.intake import imports as imports
from ingestion.intake.import_web import DEFAULT_DEPTH, DEFAULT_PAGES, MAX_DEPTH
from ingestion.intake.url_guard import MAX_URL_CHARS
from ingestion.models import Import

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
