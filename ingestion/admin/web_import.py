"""The page "Import from the web": an address, a site or a sitemap into a collection."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.validators import MaxValueValidator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from common.admin.pages import actor
from ingestion.admin.fields import IntakeForm, LanguageField
from ingestion.errors import IngestionError
from ingestion.intake.fetching.guard import MAX_URL_CHARS
from ingestion.intake.importing import services
from ingestion.intake.importing.web import DEFAULT_DEPTH, DEFAULT_PAGES, MAX_DEPTH
from ingestion.models import Import
from ingestion.models.library import Viewer

Kind = Import.Kind


class WebImportForm(IntakeForm):
    """What to fetch, and how far to go from there."""

    address = forms.CharField(
        max_length=MAX_URL_CHARS,
        widget=UnfoldAdminTextInputWidget(
            attrs={"inputmode": "url", "placeholder": "https://", "autocomplete": "off"}
        ),
    )
    kind = forms.ChoiceField(
        label="What to take",
        choices=[
            (Kind.URL, "This address only"),
            (Kind.SITE, "The page and what it links to on its host"),
            (Kind.SITEMAP, "The pages of a sitemap"),
        ],
        initial=Kind.URL,
        widget=UnfoldAdminSelectWidget,
    )
    language = LanguageField(empty="Detected for each page")
    depth = forms.IntegerField(
        label="Links deep",
        min_value=0,
        max_value=MAX_DEPTH,
        initial=DEFAULT_DEPTH,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="For a page with what it links to: 1 takes the pages that are linked on it.",
    )
    max_pages = forms.IntegerField(
        label="Pages at most",
        min_value=1,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="For a site or a sitemap.",
    )
    other_hosts = forms.BooleanField(
        label="Other hosts, too",
        required=False,
        widget=UnfoldBooleanSwitchWidget,
        help_text="Follows links that leave the site.",
    )

    def __init__(self, *args: Any, viewer: Viewer, **kwargs: Any) -> None:
        super().__init__(*args, viewer=viewer, **kwargs)
        most = settings.URL_IMPORT_MAX_PAGES
        self.initial.setdefault("max_pages", min(DEFAULT_PAGES, most))
        self.fields["max_pages"].validators.append(MaxValueValidator(most))
        self.fields["max_pages"].widget.attrs["max"] = most

    def options(self) -> dict[str, Any]:
        """The options of the import; what its kind does not know is left out."""
        given = self.cleaned_data
        if given["kind"] == Kind.URL:
            return {}
        names = ("depth", "max_pages") if given["kind"] == Kind.SITE else ("max_pages",)
        found = {name: given[name] for name in names if given[name] is not None}
        return found | ({"other_hosts": True} if given["other_hosts"] else {})


def web_import_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """The form; after a start the page of the new import, which shows how far it is."""
    posted = request.method == "POST" and settings.URL_IMPORT
    form = WebImportForm(request.POST if posted else None, viewer=request.user)
    if posted and form.is_valid() and (started := _started(request, form)):
        messages.success(
            request, f"The import of {started.origin} into {started.collection} is queued."
        )
        return HttpResponseRedirect(started.get_absolute_url())
    context |= {
        "form": form,
        "switched_on": settings.URL_IMPORT,
        "agent": settings.URL_IMPORT_AGENT,
        "max_megabytes": settings.URL_IMPORT_MB,
    }
    return TemplateResponse(request, "admin/ingestion/document/from_web.html", context)


def _started(request: HttpRequest, form: WebImportForm) -> Import | None:
    """The import; None where the address is refused, which the form then says."""
    given = form.cleaned_data
    try:
        return services.start(
            given["collection"],
            Kind(given["kind"]),
            given["address"].strip(),
            options=form.options(),
            language=given["language"],
            metadata=given["metadata"],
            acting_user=actor(request),
        )
    except IngestionError as error:
        form.add_error("address", str(error))
        return None
