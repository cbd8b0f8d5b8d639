"""/health/: whether the servers and the storage behind the site respond.

Answered outside Django's threads and middleware, so that it says what is wrong while every thread
of the site waits for the database. A monitor may use any host name: nothing depends on it.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import redis
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connections
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from common.probes import PROBES
from ingestion.files.bucket import BucketStorage
from kbsite.operations.plain import Answer, Plain

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
