"""Responses that refuse a request, made without a thread or the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse, JsonResponse
from django.template.response import SimpleTemplateResponse
from django.utils.translation import gettext as _

from kbsite.serving import middleware

if TYPE_CHECKING:
    from kbsite.serving.admission import Busy


def refusal(
    path: str,
    *,
    status: int,
    code: str,
    heading: str,
    sentence: str,
    retry_after: int = 0,
    method: str | None = "",
) -> HttpResponse:
    """The refusal in the format of the address: JSON for programs, otherwise a page.

    `retry_after` are the seconds after which the request may succeed; 0: never as it is. A page
    that was got reloads by itself then.
    """
    response = as_json(path, code, sentence, status)
    if response is None:
        context = {"status": status, "heading": heading, "sentence": sentence}
        context["is_passing"] = bool(retry_after)
        context["reloads"] = reloads = bool(retry_after) and method == "GET"
        response = SimpleTemplateResponse("refused.html", context, status=status).render()
        middleware.protect(response)
        if reloads:
            response["Refresh"] = str(retry_after)
    if retry_after:
        response["Retry-After"] = str(retry_after)
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def busy(path: str, retry_after: int, *, is_search: bool, method: str) -> HttpResponse:
    """Status 503: there are more requests than can be answered in time.

    Only who was refused a search hears of other readers: an administrator may be alone.
    """
    people = _("Too many people are searching at the moment")
    sentence = _(
        "The server has more to do than it can answer at once. Nothing is lost: try again in "
        "%(seconds)s s."
    )
    return refusal(
        path,
        status=503,
        code="busy",
        heading=people if is_search else _("The server is busy"),
        sentence=sentence % {"seconds": retry_after},
        retry_after=retry_after,
        method=method,
    )


def too_large(path: str, most_bytes: int) -> HttpResponse:
    """Status 413: the body is larger than this address accepts."""
    return refusal(
        path,
        status=413,
        code="body_too_large",
        heading=_("Too large"),
        sentence=_(
            "The request is larger than this address accepts (%(most)s MB), so none of it was "
            "stored. Send less, or sign in first to upload files."
        )
        % {"most": f"{most_bytes / 1e6:,.1f}".removesuffix(".0")},
    )


def as_json(path: str, code: str, message: str, status: int) -> HttpResponse | None:
    """The error as this site's API or OpenAI's states it; None for the address of a page."""
    # Imported here because the settings of the log lead here before any app is loaded.
    if path.startswith("/api/") or path.rstrip("/") == "/mcp":
        from common.api.errors import Problem

        return Problem(code, message, status)
    if path.startswith("/v1/"):
        from search.api.openai.protocol import shaped

        return JsonResponse(shaped(code, message, status), status=status)
    return None


async def send_response(response: HttpResponse, method: str, send: Any) -> None:
    """Send a response of this module over ASGI, and close the connection after it."""
    body = b"" if method == "HEAD" else response.content
    headers = [(name.encode(), value.encode("latin-1")) for name, value in response.items()]
    headers += [(b"Content-Length", str(len(response.content)).encode()), (b"Connection", b"close")]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_busy(scope: Mapping[str, Any], refused: Busy, send: Any) -> None:
    """Answer 503 with Retry-After."""
    path, method = scope["path"], scope["method"]
    response = busy(path, refused.retry_after, is_search=refused.is_search, method=method)
    await send_response(response, method, send)
