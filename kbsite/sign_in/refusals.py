"""What somebody gets who may not sign in or do more now: a page or JSON, with the time to wait."""

from __future__ import annotations

from typing import Any

from axes.middleware import AxesMiddleware
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import SimpleTemplateResponse
from django.utils.translation import gettext, ngettext

from common.accounts import guard
from common.accounts.hashing import PasswordsBusy
from common.accounts.quotas import QuotaExceeded
from common.api.errors import body
from kbsite.serving.refusals import refusal


class RefusalMiddleware(AxesMiddleware):  # type: ignore[misc]
    """Axes' middleware, and refusals: of passwords that would wait too long, and of used quotas."""

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
        if not isinstance(error, PasswordsBusy):
            return None
        return _refused(request, str(error), status=503, code=error.code, wait=error.retry_after)


def locked(request: HttpRequest, *_: Any) -> HttpResponse:
    """The response during a lock; AXES_LOCKOUT_CALLABLE names it."""
    wait = guard.seconds_left(request, getattr(request, "axes_credentials", None))
    sentence = gettext(
        "Too many wrong passwords came from your network, or for this user name. Passwords are "
        "checked again in %(time)s."
    ) % {"time": _in_words(wait)}
    return _refused(request, sentence, status=429, code="throttled", wait=wait)


def too_many(request: HttpRequest, wait: int) -> HttpResponse:
    """The response to more attempts from an address than are taken, which may come again later."""
    sentence = gettext(
        "Too many attempts to sign in came from your network. Try again in %(time)s."
    ) % {"time": _in_words(wait)}
    return _refused(request, sentence, status=429, code="throttled", wait=wait)


def _in_words(seconds: int) -> str:
    if seconds < 90:
        return ngettext("%(n)d second", "%(n)d seconds", seconds) % {"n": seconds}
    minutes = -(-seconds // 60)
    return ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes}


def _refused(
    request: HttpRequest, sentence: str, *, status: int, code: str, wait: int
) -> HttpResponse:
    response: HttpResponse
    if request.path_info.startswith("/api/"):
        response = JsonResponse(body(code, sentence, {"wait_seconds": wait}), status=status)
    else:
        context = {"sentence": sentence}
        response = SimpleTemplateResponse("registration/refused.html", context, status=status)
        response.render()
    response["Retry-After"] = str(max(1, wait))
    response["Cache-Control"] = "no-store"
    return response
