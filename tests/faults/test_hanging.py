"""Servers that hang, as one that is stopped, swaps or waits for its disk: alive, without a word."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import psutil
import pytest
import requests

from common.accounts import tokens
from common.accounts.models import User
from ingestion.models import DocumentVersion
from kbsite.embedded import EmbeddedServers
from tests.faults.asgi import gunicorn
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("clean_cache")]
SEARCH = "/api/v1/search/?q=winch"


@pytest.fixture
def site(servers: EmbeddedServers) -> Iterator[str]:
    collection = make_collection("Handbook", visibility="public")
    make_document(collection, "# Winch\n\nThe winch takes two litres of oil in spring.\n")
    with gunicorn(DATABASE_POOL="6") as (_, address):
        assert _searched(address) == (200, 1)
        yield address


@contextmanager
def hanging(pid: int | None) -> Iterator[None]:
    """The server with this process, and all that it started, does nothing within the block."""
    assert pid
    server = psutil.Process(pid)
    held = [server, *server.children(recursive=True)]
    _send(held, signal.SIGSTOP)
    try:
        yield
    finally:
        _send(held, signal.SIGCONT)


def _send(processes: list[psutil.Process], what: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(what)


def _searched(address: str) -> tuple[int, int]:
    """The status of a search, and how many results it has."""
    found = requests.get(f"{address}{SEARCH}", timeout=60)
    if found.status_code == 503:
        assert "Retry-After" in found.headers
        assert found.json()["status"] == 503
        return 503, 0
    return found.status_code, found.json()["total"]


def test_hanging_postgres_is_reported_by_health_and_refuses_searches(
    site: str, servers: EmbeddedServers
) -> None:
    with ThreadPoolExecutor(12) as readers, hanging(servers.postgres.status().pid):
        waiting = [readers.submit(_searched, site) for _ in range(12)]
        health = requests.get(f"{site}/health/", timeout=60)
        assert (health.status_code, health.json()["database"]) == (503, False)
        assert {each.result() for each in waiting} == {(503, 0)}
    assert _recovered(site)


def test_searches_and_uploads_continue_while_valkey_hangs(
    site: str, servers: EmbeddedServers, administrator: User
) -> None:
    key = tokens.make(administrator, scopes=["upload"])[1]
    with hanging(servers.valkey.status().pid):
        assert _searched(site) == (200, 1)
        sent = requests.post(
            f"{site}/api/v1/documents/",
            headers={"Authorization": f"Token {key}"},
            data={"collection": "handbook"},
            files={"file": ("oil.md", b"# Oil\n\nOil is kept in the aft locker.\n")},
            timeout=60,
        )
        assert sent.status_code in (201, 202), sent.text
        health = requests.get(f"{site}/health/", timeout=60)
        assert (health.status_code, health.json()["redis"]) == (503, False)
        assert _searched(site) == (200, 1)
    # The database says what is to be done; beat's sweep enqueues it.
    assert DocumentVersion.objects.get(file_name="oil.md").state == "queued"
    assert _recovered(site)


def _recovered(site: str) -> bool:
    """Whether searches are answered again, after the pause in which a server is left alone."""
    found: Any = None
    for _ in range(60):
        found = requests.get(f"{site}/health/", timeout=60)
        if found.status_code == 200 and _searched(site) == (200, 1):
            return True
        time.sleep(0.25)
    raise AssertionError(found.text)
