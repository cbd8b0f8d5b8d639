"""The page "Import from the web": a page, a site or a sitemap into a collection."""

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
    language = LanguageField(empty=_("Detected for each page"))
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
    other_hosts = forms.BooleanField(
        label=_("Other hosts"),
        required=False,
        widget=UnfoldBooleanSwitchWidget,
        help_text=_("Also follow links to other hosts."),
    )

    def __init__(self, *args: Any, viewer: Viewer, **kwargs: Any) -> None:
        super().__init__(*args, viewer=viewer, **kwargs)
        most = settings.URL_IMPORT_MAX_PAGES
        self.initial.setdefault("max_pages", min(DEFAULT_PAGES, most))
        self.fields["max_pages"].validators.append(MaxValueValidator(most))
        self.fields["max_pages"].widget.attrs["max"] = most

    def options(self) -> dict[str, Any]:
        """The options of the import, without those its kind does not support."""
        given = self.cleaned_data
        if given["kind"] == Kind.URL:
            return {}
        names = ("depth", "max_pages") if given["kind"] == Kind.SITE else ("max_pages",)
        found = {name: given[name] for name in names if given[name] is not None}
        return found | ({"other_hosts": True} if given["other_hosts"] else {})


def web_import_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """The form's page; after a start, a redirect to the page of the new import."""
    posted = request.method == "POST" and settings.URL_IMPORT
    form = WebImportForm(request.POST if posted else None, viewer=request.user)
    if posted and form.is_valid() and (started := _started(request, form)):
        done = gettext("The import of %(origin)s into %(collection)s is queued.")
        done %= {"origin": started.origin, "collection": started.collection}
        messages.success(request, done)
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
