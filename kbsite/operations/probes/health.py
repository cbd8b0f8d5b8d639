"""/health/: whether the servers and the storage behind the site respond.

Answered outside Django's threads and middleware, so that it says what is wrong while every thread
of the site waits for the database. A monitor may use any host name: nothing depends on it.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import redis
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connections
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from common.probes import PROBES
from ingestion.files.bucket import BucketStorage


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, a body and headers; nothing caches it."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_headers(self) -> dict[str, str]:
        length = str(len(self.body))
        return {"cache-control": "no-store", "content-length": length, **self.headers}


class Plain:
    """One page, as an ASGI application (`app`) and as a view of Django's (`view`)."""

    def __init__(self, answer: Callable[[Mapping[str, str]], Awaitable[Answer]]) -> None:
        self._answer = answer

    async def app(
        self,
        scope: Mapping[str, Any],
        receive: Callable[[], Awaitable[Mapping[str, Any]]],
        send: Callable[[Mapping[str, Any]], Awaitable[None]],
    ) -> None:
        headers = {
            name.decode("latin-1"): each.decode("latin-1") for name, each in scope["headers"]
        }
        answer = await self._answer(headers)
        sent = [(name.encode(), each.encode()) for name, each in answer.all_headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": sent})
        body = b"" if scope["method"] == "HEAD" else answer.body
        await send({"type": "http.response.body", "body": body})

    async def view(self, request: HttpRequest) -> HttpResponse:
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        headers = {name.lower(): each for name, each in request.headers.items()}
        answer = await self._answer(headers)
        return HttpResponse(answer.body, status=answer.status, headers=answer.all_headers)


PATH = "/health/"
# Seconds for a response: compose's own check waits for 5, other monitors for as little as 2.
PATIENCE = 1.5
# Bytes that must find room in the storage: one more small file.
ROOM = 256 * 1024
# Their own, because every thread of the site may be waiting for the database.
_threads = ThreadPoolExecutor(6, thread_name_prefix="health")


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
    """Whether a file can be stored beside the originals, or their bucket answers this site."""
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


async def answer(headers: Mapping[str, str]) -> Answer:
    """What is alive, as JSON; status 503 unless all that is vital is, within PATIENCE seconds."""
    loop = asyncio.get_running_loop()
    tests = {
        probe: loop.run_in_executor(_threads, probe.alive)
        for probe in PROBES.values()
        if probe.alive is not None
    }
    await asyncio.wait(tests.values(), timeout=PATIENCE)
    alive = {probe: test.done() and test.result() for probe, test in tests.items()}
    status = 200 if all(well for probe, well in alive.items() if probe.vital) else 503
    # A test of what is not set up returns None.
    body = {probe.name: well for probe, well in alive.items() if well is not None}
    return Answer(status, json.dumps(body).encode(), {"content-type": "application/json"})


health = Plain(answer)
