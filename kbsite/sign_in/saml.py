"""Signing in with SAML: allauth's views, which anybody may send anything, made to refuse in words.

Imported only where SAML_METADATA_URL is set: it needs requirements/saml.txt.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import wraps

from allauth.account.internal.decorators import login_not_required
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.providers.saml import views
from allauth.socialaccount.providers.saml.utils import get_app_or_404
from django.contrib.sessions.models import Session
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from lxml.etree import XMLSyntaxError
from onelogin.saml2.errors import OneLogin_Saml2_Error

from common.api.access import seconds_to_wait
from kbsite.sign_in.refusals import too_many

logger = logging.getLogger(__name__)

# Letters of a response in base64. Entra ID sends at most 150 groups, some 20 kB. A guess.
LONGEST_RESPONSE = 250_000
# For the redirect after a response, within the same browser.
HOP = timedelta(minutes=5)
View = Callable[..., HttpResponse]


def _in_words(view: View) -> View:
    """The view; a provider that does not answer, or answers nonsense, gives a page with words."""

    @login_not_required  # type: ignore[untyped-decorator]
    @csrf_exempt
    @wraps(view)
    def answer(request: HttpRequest, organization_slug: str) -> HttpResponse:
        try:
            return view(request, organization_slug=organization_slug)
        except Http404:
            raise
        except PermissionDenied:
            # Begun in another browser, used before, or nobody asked.
            logger.warning("A SAML response answers no request of this browser")
            return _refused(request, organization_slug)
        # URLError is an OSError. KeyError: metadata without what it must have, or no Host header.
        except (OSError, OneLogin_Saml2_Error, XMLSyntaxError, KeyError, ValueError) as error:
            logger.warning("Signing in with SAML failed: %s: %s", type(error).__name__, error)
            return _refused(request, organization_slug)

    checked: View = answer
    return checked


def _refused(request: HttpRequest, organization_slug: str) -> HttpResponse:
    provider = get_app_or_404(request, organization_slug).get_provider(request)
    page: HttpResponse = render_authentication_error(request, provider)
    return page


def take(request: HttpRequest, organization_slug: str) -> HttpResponse:
    """Keep the provider's response for the redirect that brings the browser's own session.

    The browser sends this request from the provider's page, without its session. What anybody sends
    is kept in the database until it has expired: a network has as many a minute as searches.
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if wait := seconds_to_wait(request, for_search=True):
        return too_many(request, wait)
    response = request.POST.get("SAMLResponse", "")
    if not 0 < len(response) <= LONGEST_RESPONSE:
        logger.warning("A SAML response of %d letters was refused", len(response))
        return _refused(request, organization_slug)
    found: HttpResponse = views.acs(request, organization_slug=organization_slug)
    if hop := found.cookies.get("saml-acs-session"):
        # Anybody may send responses: what they leave in the database is soon forgotten.
        rows = Session.objects.filter(session_key=hop.value)
        rows.update(expire_date=timezone.now() + HOP)
    return found


def leave(request: HttpRequest, organization_slug: str) -> HttpResponse:
    """Sign out whom the provider says; a message without its signature is anybody's link."""
    if "Signature" not in request.GET:
        logger.warning("A SAML message to sign out without a signature was refused")
        return _refused(request, organization_slug)
    found: HttpResponse = views.sls(request, organization_slug=organization_slug)
    return found


# The names are allauth's, which reverses them.
urlpatterns = [
    path("<slug:organization_slug>/login/", _in_words(views.login), name="saml_login"),
    path("<slug:organization_slug>/acs/", _in_words(take), name="saml_acs"),
    path(
        "<slug:organization_slug>/acs/finish/", _in_words(views.finish_acs), name="saml_finish_acs"
    ),
    path("<slug:organization_slug>/sls/", _in_words(leave), name="saml_sls"),
    path("<slug:organization_slug>/metadata/", _in_words(views.metadata), name="saml_metadata"),
]
