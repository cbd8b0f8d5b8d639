"""Ids, metrics and spans of requests.

`Site` gives a request its id before anything else sees it, for agents and for streams that go on
after their view; in Django's test client the middleware does.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from opentelemetry.trace import Span

from common.observing import metrics, tracing

HEADER = "X-Request-ID"
# The parts of the site by the beginning of their paths; all others are pages.
_AREAS = (
    ("/api/v1/answers", "answers"),
    ("/answers/", "answers"),
    ("/v1/", "answers"),
    ("/api/", "api"),
    ("/admin/", "admin"),
    ("/static/", "static"),
)
_UNCOUNTED = ("/metrics", "/health/")

Send = Callable[[Mapping[str, Any]], Awaitable[None]]


def area_of(path: str) -> str:
    """The part of the site that the path belongs to: one of seven."""
    return next((area for beginning, area in _AREAS if path.startswith(beginning)), "pages")


def request_id(header: str) -> str:
    """The id that the site's own proxy states for a request, or a new one."""
    trusted = bool(settings.SECURE_PROXY_SSL_HEADER)
    return (tracing.valid_id(header) if trusted else "") or tracing.new_id()


@contextmanager
def identified(scope: Mapping[str, Any], send: Send) -> Iterator[Send]:
    """Give a request of ASGI its id within the block; the `send` to use adds it to the response."""
    header = next((each for name, each in scope["headers"] if name == b"x-request-id"), b"")
    identifier = request_id(header.decode("latin-1"))

    async def sending(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            name = HEADER.lower().encode()
            headers = [pair for pair in message.get("headers", ()) if pair[0].lower() != name]
            message = {**message, "headers": [*headers, (name, identifier.encode())]}
        await send(message)

    with tracing.bound(request_id=identifier):
        yield sending


def observe(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Give a request its id, count it and make its span. The first middleware of all."""

    def middleware(request: HttpRequest) -> Any:
        with _observed(request) as ended:
            return ended(get_response(request))

    return middleware


@contextmanager
def _observed(request: HttpRequest) -> Iterator[Callable[[Any], Any]]:
    area, started = area_of(request.path_info), time.perf_counter()
    identifier = tracing.current().get(tracing.REQUEST) or request_id(
        request.headers.get(HEADER, "")
    )
    method = request.method if request.method in ("GET", "HEAD", "POST") else "other"

    def ended(response: Any) -> Any:
        response[HEADER] = identifier
        _describe(span, request, response.status_code)
        if request.path_info not in _UNCOUNTED:
            spent = time.perf_counter() - started
            status = str(response.status_code)
            metrics.observe(metrics.REQUESTS, spent, area=area, status=status)
        return response

    with (
        tracing.bound(request_id=identifier),
        tracing.span(f"{method} {area}", role="request") as span,
    ):
        yield ended


def _describe(span: Span, request: HttpRequest, status: int) -> None:
    """What the span says of a request: its route, without values and parameters."""
    if not span.is_recording():
        return
    match = request.resolver_match
    span.set_attribute("http.request.method", request.method or "")
    span.set_attribute("http.route", match.route if match else "")
    span.set_attribute("http.response.status_code", status)
    span.set_attribute("steelyard.request_id", tracing.current().get(tracing.REQUEST, ""))
