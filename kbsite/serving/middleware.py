"""Middleware: the language of a page, the compression of responses, their security policy."""

from __future__ import annotations

import re
from typing import Any

from csp.constants import NONCE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from csp.utils import build_policy
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

_PACKED = ("text/html", "text/plain", "application/json", "application/vnd.oai.openapi")
# Pages whose templates come from packages: their script tags carry no nonce. The admin's theme
# (unfold) sets colours and widths in the HTML, and its Alpine compiles attributes (ADR 65).
_PACKAGED = ("/admin/", "/accounts/")
_THEMED = "/admin/"
# A form there may lead on to an identity provider or an app, which the policy of a form counts as
# its target.
_SIGN_IN = ("/login/", "/admin/login/", "/accounts/", "/oauth/authorize")
# Always in English: the APIs, and the administration except its upload page.
_ENGLISH = re.compile(r"/(api|v1)/|/admin/(?!ingestion/document/(add|progress)/)")


class Language(LocaleMiddleware):
    """The browser's language on readers' pages."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        if _ENGLISH.match(request.path_info):
            translation.activate("en")

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        is_text = response.get("Content-Type", "").startswith("text/")
        if _ENGLISH.match(request.path_info) or not is_text:
            return response
        return super().process_response(request, response)


class Compressed(GZipMiddleware):
    """Django's gzip for pages and JSON; not for streams, downloads and pictures.

    It pads each response by a random length, and CSRF tokens are masked: what BREACH measures, the
    length of a secret beside a guess, is not there.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        is_packed = response.get("Content-Type", "").startswith(_PACKED)
        is_file = response.get("Content-Disposition", "").startswith("attachment")
        if response.streaming or not is_packed or is_file:
            return response
        return super().process_response(request, response)


class ContentSecurityPolicy(CSPMiddleware):
    """django-csp's middleware, with the exceptions for pages of packages."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if not report_only:
            parts.replace = {**exceptions(request.path_info), **(parts.replace or {})}
        return parts


def exceptions(path: str) -> dict[str, Any]:
    """The directives of the policy that differ at this path."""
    directives: dict[str, Any] = {}
    if path.startswith(_PACKAGED):
        directives["script-src"] = [SELF, NONCE]
    if path.startswith(_THEMED):
        directives["script-src"] = [SELF, NONCE, UNSAFE_EVAL]
        directives["style-src"] = [SELF, UNSAFE_INLINE]
    if path.startswith(_SIGN_IN):
        directives["form-action"] = None
    return directives


def nonce(request: HttpRequest) -> dict[str, Any]:
    """`csp_nonce` for templates, under the name that Django 6 and django-htmx use."""
    return {"csp_nonce": getattr(request, "csp_nonce", "")}


def protect(response: HttpResponse) -> None:
    """Set the policy on a page that does not pass through the middleware."""
    response["Content-Security-Policy"] = build_policy()
