"""Refusals of sign-ins and of used quotas: a page or JSON, with the time to wait."""

from __future__ import annotations

from typing import Any

from axes.middleware import AxesMiddleware
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import SimpleTemplateResponse
from django.utils.translation import gettext, ngettext

from common.accounts import guard
from common.accounts.quotas import QuotaExceeded
from common.api.errors import body
from kbsite.serving.refusals import refusal


class RefusalMiddleware(AxesMiddleware):  # type: ignore[misc]
    """Axes' middleware and the refusal of a used quota."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, QuotaExceeded):
            return refusal(
                request.path_info,
                status=429,
                code=error.code,
                heading=gettext("Enough for today"),
                sentence=str(error),
                retry_after=error.retry_after,
            )
        return None


def locked(request: HttpRequest, *_: Any) -> HttpResponse:
    """The response during a lock; AXES_LOCKOUT_CALLABLE names it."""
    wait = guard.seconds_left(request, getattr(request, "axes_credentials", None))
    sentence = gettext(
        "Too many wrong passwords came from your network, or for this user name. Passwords are "
        "checked again in %(time)s."
    ) % {"time": _in_words(wait)}
    return _refused(request, sentence, wait)


def _in_words(seconds: int) -> str:
    if seconds < 90:
        return ngettext("%(n)d second", "%(n)d seconds", seconds) % {"n": seconds}
    minutes = -(-seconds // 60)
    return ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes}


def _refused(request: HttpRequest, sentence: str, wait: int) -> HttpResponse:
    response: HttpResponse
    if request.path_info.startswith("/api/"):
        response = JsonResponse(body("throttled", sentence, {"wait_seconds": wait}), status=429)
    else:
        context = {"sentence": sentence}
        response = SimpleTemplateResponse("registration/refused.html", context, status=429)
        response.render()
    response["Retry-After"] = str(max(1, wait))
    response["Cache-Control"] = "no-store"
    return response
