"""What readers, programs and monitors get while the database or Redis is unavailable."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import Any

import psycopg
import psycopg_pool
import pytest
from django.conf import settings
from django.core.cache import cache, caches
from django.db import OperationalError, connection
from django.test import AsyncClient, Client, RequestFactory
from redis.exceptions import TimeoutError as RedisTimeout

from common import guarded
from kbsite.cache import GuardedRedisCache
from kbsite.embedded import EmbeddedServers
from kbsite.serving import refusals
from kbsite.serving.dispatch import Site
from kbsite.serving.refusals import Outage, is_outage
from tests.faults.asgi import response, scope


@pytest.fixture
def away(
    django_db_blocker: Any, monkeypatch: pytest.MonkeyPatch, servers: EmbeddedServers
) -> Iterator[threading.Event]:
    """The database cannot be reached until the event is set, and the site notices that afresh."""
    returned = threading.Event()
    monkeypatch.setattr(refusals, "outage", Outage(returned.is_set))
    monkeypatch.setattr(refusals, "PROBE_PAUSE", 0.01)
    with django_db_blocker.unblock():
        connection.close()
        monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
        yield returned
        connection.close()
    returned.set()


@pytest.fixture
def visitor() -> Client:
    return Client(raise_request_exception=False)


def test_pages_api_and_compatible_api_say_so_each_in_its_shape(
    away: threading.Event, visitor: Client
) -> None:
    page = visitor.get("/", {"q": "slam"})
    assert page.status_code == 503
    assert (page["Retry-After"], page["Refresh"], page["Cache-Control"]) == ("5", "5", "no-store")
    assert "<p>The site&#x27;s database is unavailable; nothing is lost" in page.text
    assert 'class="brand"' in page.text
    assert refusals.outage.is_on

    # From here on nobody waits: with the first database, these would be answered.
    connection.settings_dict["HOST"] = "/elsewhere"
    api = visitor.get("/api/v1/search/", {"q": "slam"})
    assert (api.status_code, api["Retry-After"]) == (503, "5")
    assert set(api.json()) == {"code", "message", "details"}
    assert api.json()["code"] == "unavailable"
    compatible = visitor.post("/v1/chat/completions", "{}", content_type="application/json")
    assert compatible.status_code == 503
    assert compatible.json()["error"]["type"] == "server_error"
    assert "nothing was changed" in compatible.json()["error"]["message"]
    assert "Refresh" not in visitor.post("/login/")
    assert visitor.get("/health/").status_code == 503

    away.set()
    for thread in threading.enumerate():
        if thread.name == "outage":
            thread.join(10)
    assert not refusals.outage.is_on


def test_an_asynchronous_view_says_so_too(away: threading.Event) -> None:
    async def ask() -> Any:
        client = AsyncClient(raise_request_exception=False)
        return await client.post("/answers/", {"q": "slam"})

    found = asyncio.run(ask())
    assert found.status_code == 503
    assert "database is unavailable" in found.text


def test_an_internal_error_is_json_for_programs(rf: RequestFactory) -> None:
    found = refusals.server_error(rf.get("/api/v1/search/"))
    assert found.status_code == 500
    assert b'"code": "internal"' in found.content
    assert b"<h1>" in refusals.server_error(rf.get("/search/")).content


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (psycopg.OperationalError("connection refused"), True),
        (psycopg_pool.PoolTimeout("none in time"), True),
        (psycopg.errors.AdminShutdown(), True),
        (psycopg.errors.CannotConnectNow(), True),
        (psycopg.errors.QueryCanceled(), False),
        (psycopg.errors.DeadlockDetected(), False),
        (psycopg.errors.LockNotAvailable(), False),
        (psycopg.errors.DiskFull(), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_a_database_that_cannot_be_reached_is_an_outage(
    cause: psycopg.Error, expected: bool
) -> None:
    error = OperationalError()
    error.__cause__ = cause
    assert is_outage(error) is expected


@pytest.mark.django_db
def test_a_search_asks_a_hanging_cache_once(
    client: Client, monkeypatch: pytest.MonkeyPatch, servers: EmbeddedServers
) -> None:
    asked = []

    def hang(*arguments: Any, **options: Any) -> None:
        asked.append(arguments)
        raise RedisTimeout("Timeout reading from socket")

    monkeypatch.setattr("redis.Redis.execute_command", hang)
    assert client.get("/api/v1/search/", {"q": "slam"}).status_code == 200
    assert client.get("/", {"q": "slam"}).status_code == 200
    assert len(asked) == 1
    with pytest.raises(guarded.CircuitOpen):
        cache.get("anything")


def test_the_cache_keeps_its_client(clean_cache: None) -> None:
    made = GuardedRedisCache(settings.CACHES["default"]["LOCATION"], {})
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: made.set(f"kept-{number}", number), range(40)))
        found = list(pool.map(lambda number: made.get(f"kept-{number}"), range(40)))
    assert found == list(range(40))
    assert made._cache.get_client() is made._cache.get_client(write=True)


def test_each_request_of_the_asgi_server_takes_the_same_connection(clean_cache: None) -> None:
    """Django keeps the cache's object by context, and each request is a context of its own."""
    cache.set("before", 1)
    server = cache._cache.get_client()  # type: ignore[attr-defined]
    opened = server.info("stats")["total_connections_received"]
    for _ in range(20):
        assert Context().run(lambda: cache.get("before")) == 1
    assert Context().run(lambda: caches["default"]) is not caches["default"]
    assert server.info("stats")["total_connections_received"] == opened


def test_health_is_answered_without_a_thread_of_the_site(servers: EmbeddedServers) -> None:
    async def never(*_: Any) -> None:
        raise AssertionError("the site was asked")

    site = Site(never, never, is_for_agents=lambda path: False, threads=1)
    status, parts = asyncio.run(response(site, scope("/health/")))
    assert status == 200
    assert json.loads(b"".join(parts)) == {"database": True, "redis": True, "storage": True}


def test_an_outage_is_one_line_in_the_log() -> None:
    def record(message: str, *arguments: Any, error: Exception | None = None) -> logging.LogRecord:
        info = (type(error), error, None) if error else None
        return logging.LogRecord("celery.beat", 40, "f", 1, message, arguments, info)

    brief = refusals.Brief()
    wrapped = ValueError("no schedule")
    wrapped.__cause__ = RedisTimeout("Timeout reading from socket")
    long = record("Message Error\n%s", "the stack", error=wrapped)
    assert brief.filter(long)
    assert long.getMessage() == "Message Error (no schedule)"
    assert long.exc_info is None
    assert not brief.filter(record("no cache: %s", guarded.CircuitOpen()))
    other = record("broken", error=KeyError())
    assert brief.filter(other)
    assert other.exc_info
