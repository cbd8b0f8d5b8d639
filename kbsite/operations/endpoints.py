"""/health/ and /metrics: the state of the servers behind the site, and the metrics of processes.

Answered outside Django's threads and middleware, so that they say what is wrong while every thread
waits for the database. A monitor may use any host name; metrics need METRICS_TOKEN.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import redis
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import DatabaseError, connections
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from kombu.exceptions import OperationalError
from prometheus_client import CONTENT_TYPE_LATEST, Metric, generate_latest
from prometheus_client.registry import Collector
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from common import metrics_files as processes
from common.database import released
from common.probes import PROBES, Probe, can_run, gauge
from ingestion.files.bucket import BucketStorage

logger = logging.getLogger(__name__)


class Plain:
    """One page, never cached, as an ASGI application (`app`) and as a view of Django's (`view`)."""

    def __init__(self, respond: Callable[[Mapping[str, str]], Awaitable[HttpResponse]]) -> None:
        self._respond = respond

    async def app(
        self,
        scope: Mapping[str, Any],
        receive: Callable[[], Awaitable[Mapping[str, Any]]],
        send: Callable[[Mapping[str, Any]], Awaitable[None]],
    ) -> None:
        response = await self._uncached(
            {name.decode("latin-1"): each.decode("latin-1") for name, each in scope["headers"]}
        )
        sent = [(name.lower().encode(), each.encode()) for name, each in response.items()]
        await send({"type": "http.response.start", "status": response.status_code, "headers": sent})
        body = b"" if scope["method"] == "HEAD" else response.content
        await send({"type": "http.response.body", "body": body})

    async def view(self, request: HttpRequest) -> HttpResponse:
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        return await self._uncached({name.lower(): each for name, each in request.headers.items()})

    async def _uncached(self, headers: Mapping[str, str]) -> HttpResponse:
        response = await self._respond(headers)
        response["Cache-Control"] = "no-store"
        response["Content-Length"] = str(len(response.content))
        return response


HEALTH_PATH = "/health/"
# Seconds for a response: compose's own check waits for 5, other monitors for as little as 2.
PATIENCE = 1.5
# Bytes that must find room in the storage: one more small file.
ROOM = 256 * 1024
# Separate threads, because every thread of the site may be waiting for the database.
_health_threads = ThreadPoolExecutor(6, thread_name_prefix="health")


def database_answers() -> bool:
    """Whether a new connection is accepted, within two seconds (libpq's least)."""
    parameters = connections["default"].get_connection_params()
    try:
        psycopg.connect(**parameters | {"connect_timeout": 2}).close()
    except psycopg.Error:
        return False
    return True


def redis_answers() -> bool:
    """Whether the cache's server answers a ping."""
    limits = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE}
    location = str(settings.CACHES["default"]["LOCATION"])
    try:
        with redis.Redis.from_url(location, retry=Retry(NoBackoff(), 0), **limits) as client:
            return bool(client.ping())
    except (RedisError, OSError):
        return False


def storage_answers() -> bool:
    """Whether the folder of the originals is writable, or their bucket reachable."""
    if settings.ORIGINALS_URL:
        return BucketStorage(settings.ORIGINALS_URL).answers()
    try:
        folder = Path(default_storage.path(""))
    except NotImplementedError:
        return True
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(ROOM))
            file.flush()
    except OSError:
        return False
    return True


async def answer_health(headers: Mapping[str, str]) -> HttpResponse:
    """The state of each server as JSON; status 503 if a vital one does not answer in PATIENCE s."""
    loop = asyncio.get_running_loop()
    tests = {
        probe: loop.run_in_executor(_health_threads, probe.alive)
        for probe in PROBES.values()
        if probe.alive is not None
    }
    await asyncio.wait(tests.values(), timeout=PATIENCE)
    alive = {probe: test.done() and test.result() for probe, test in tests.items()}
    status = 200 if all(well for probe, well in alive.items() if probe.vital) else 503
    # A test of what is not set up returns None.
    body = {probe.name: well for probe, well in alive.items() if well is not None}
    return JsonResponse(body, status=status)


health = Plain(answer_health)


METRICS_PATH = "/metrics"
# One thread: simultaneous scrapes wait for each other.
_metrics_thread = ThreadPoolExecutor(1, thread_name_prefix="metrics")


class SiteGauges(Collector):
    """A collector of `prometheus_client`: the gauges of the whole site."""

    def collect(self) -> Iterable[Metric]:
        """The gauges; those of a server that does not answer are left out."""
        return released(lambda: list(_measure()))


def _measure() -> Iterator[Metric]:
    up = gauge("server_up", "Whether a server behind the site answers.", "server")
    down = set()
    for probe in PROBES.values():
        if probe.alive is not None and probe.vital:
            is_up = bool(probe.alive())
            up.add_metric([probe.name], float(is_up))
            if not is_up:
                down.add(probe.name)
    yield up
    for probe in PROBES.values():
        # Skip a server that is down, instead of waiting for it.
        if probe.gauges is not None and probe.name not in down and can_run(probe, down):
            yield from _gauges(probe)


def _gauges(probe: Probe) -> list[Metric]:
    """The gauges; none if the server is too busy to answer, which does not mean that it is down."""
    try:
        return list(probe.gauges()) if probe.gauges is not None else []
    except (DatabaseError, RedisError, OperationalError, OSError) as error:
        logger.warning("The gauges of %s are left out: %s", probe.name, error)
        return []


def exposition() -> bytes:
    """All metrics in Prometheus' text format: those of this machine's processes, and the site's."""
    return generate_latest(processes.registry()) + generate_latest(SiteGauges())


async def answer_metrics(headers: Mapping[str, str]) -> HttpResponse:
    """The metrics if METRICS_TOKEN is sent; 401 for another token, 404 if the setting is empty."""
    if not settings.METRICS_TOKEN:
        return HttpResponse(status=404)
    expected = f"Bearer {settings.METRICS_TOKEN}".encode()
    if not hmac.compare_digest(headers.get("authorization", "").encode(), expected):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    body = await asyncio.get_running_loop().run_in_executor(_metrics_thread, exposition)
    return HttpResponse(body, content_type=CONTENT_TYPE_LATEST)


metrics = Plain(answer_metrics)
