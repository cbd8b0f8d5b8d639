"""/metrics: the metrics of all processes of this machine, for whoever has METRICS_TOKEN.

Answered outside Django's threads and middleware: it must say what is wrong while the database is
unavailable and every thread is busy.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

from common.observing import processes

PATH = "/metrics"
# One: scrapes that come at once wait for each other.
_thread = ThreadPoolExecutor(1, thread_name_prefix="metrics")


def exposition() -> bytes:
    """All metrics in Prometheus' text format."""
    from kbsite.monitoring import gauges  # models, which are not loaded when this module is

    registry = CollectorRegistry()
    registry.register(SharedProcesses())
    registry.register(gauges.site_gauges)
    return generate_latest(registry)


class SharedProcesses(Collector):
    """A collector of what all processes of this machine have counted."""

    def collect(self) -> Iterator[Metric]:
        with processes.settled():
            yield from processes.registry().collect()

    def describe(self) -> list[Metric]:
        """Nothing: a registry would else collect to learn the names."""
        return []


def status_for(authorization: str) -> int:
    """200 for the token of the settings, 401 for another, 404 where none is set."""
    if not settings.METRICS_TOKEN:
        return 404
    expected = f"Bearer {settings.METRICS_TOKEN}".encode()
    return 200 if hmac.compare_digest(authorization.encode(), expected) else 401


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """The same under WSGI, as a view of Django's."""
    status = status_for(request.headers.get("Authorization", ""))
    if status != 200:
        response = HttpResponse(status=status, content_type="text/plain")
        if status == 401:
            response["WWW-Authenticate"] = "Bearer"
        return response
    return HttpResponse(exposition(), content_type=CONTENT_TYPE_LATEST)


async def metrics_app(
    scope: Mapping[str, Any],
    receive: Callable[[], Awaitable[Mapping[str, Any]]],
    send: Callable[[Mapping[str, Any]], Awaitable[None]],
) -> None:
    """The metrics as an ASGI application."""
    stated = next((each for name, each in scope["headers"] if name == b"authorization"), b"")
    status, body = status_for(stated.decode("latin-1")), b""
    headers = [(b"cache-control", b"no-store")]
    if status == 200:
        body = await asyncio.get_running_loop().run_in_executor(_thread, exposition)
        headers.append((b"content-type", CONTENT_TYPE_LATEST.encode()))
    elif status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    shown = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": shown})
