"""Whether database, Redis and storage respond: /health/, answered outside Django's threads.

And how far the read replicas are behind, which is no outage: searches read the primary then.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import redis
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connections
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from common import replicas
from ingestion.files.bucket import BucketStorage
from kbsite.backups import is_configured

PATH = "/health/"
# Seconds for a response: compose's own check waits for 5, other monitors for as little as 2.
PATIENCE = 1.5
# Bytes that must find room in the storage: one more small file.
ROOM = 256 * 1024
# They need somebody, but the site works.
WARNINGS = ("backup", "replicas")
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


def backup_is_recent() -> bool:
    """Whether the last good backup is younger than BACKUP_LATE_HOURS: a warning, no outage."""
    parameters = connections["default"].get_connection_params()
    query = (
        "SELECT max(started) > now() - make_interval(hours => %s) "
        "FROM backups_backuprun WHERE state = 'done'"
    )
    try:
        with psycopg.connect(**parameters | {"connect_timeout": 2}) as connection:
            found = connection.execute(query, [settings.BACKUP_LATE_HOURS]).fetchone()
    except psycopg.Error:
        return False
    return bool(found and found[0])


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
        with tempfile.TemporaryFile(dir=folder) as tried:
            tried.write(bytes(ROOM))
            tried.flush()
    except OSError:
        return False
    return True


def replicas_behind() -> dict[str, dict[str, float]]:
    """The bytes and seconds that each replica is behind; empty for one that does not answer."""
    return {
        lag.name: {"bytes": lag.bytes, "seconds": round(lag.seconds, 3)} if lag.is_known else {}
        for lag in replicas.lags()
    }


async def answers() -> dict[str, Any]:
    """Which of the servers and the storage behind the site respond within PATIENCE seconds."""
    loop = asyncio.get_running_loop()
    asked: dict[str, asyncio.Future[Any]] = {
        "database": loop.run_in_executor(_threads, database_answers),
        "redis": loop.run_in_executor(_threads, redis_answers),
        "storage": loop.run_in_executor(_threads, storage_answers),
    }
    if is_configured():
        asked["backup"] = loop.run_in_executor(_threads, backup_is_recent)
    if replicas.names():
        asked["replicas"] = loop.run_in_executor(_threads, replicas_behind)
    await asyncio.wait(asked.values(), timeout=PATIENCE)
    return {name: each.done() and each.result() for name, each in asked.items()}


@never_cache
@require_safe
async def health(request: HttpRequest) -> JsonResponse:
    """Which of them respond; status 503 unless all do."""
    found = await answers()
    return JsonResponse(found, status=_status(found))


async def health_app(
    scope: Mapping[str, Any],
    receive: Callable[[], Awaitable[Mapping[str, Any]]],
    send: Callable[[Mapping[str, Any]], Awaitable[None]],
) -> None:
    """The same as an ASGI application: Django's middleware would wait for a thread of the site.

    A monitor may use any host name: nothing here depends on it.
    """
    found = await answers()
    body = json.dumps(found).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": _status(found), "headers": headers})
    shown = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": shown})


def _status(found: Mapping[str, Any]) -> int:
    return 200 if all(well for name, well in found.items() if name not in WARNINGS) else 503
