"""Clients that send slowly, do not read, or are many; under gunicorn, with short time limits."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from tests.faults.asgi import gunicorn

HEADERS = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
BODY = (
    b"POST /api/v1/search/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n{"
)


@pytest.fixture
def site(servers: Any, transactional_db: None) -> Iterator[str]:
    with gunicorn("tests.faults.hasty", DATABASE_POOL="12") as (_, base):
        _get(base)
        yield base


def _get(base: str) -> tuple[int, Any]:
    with urllib.request.urlopen(f"{base}/api/v1/search/?q=slam", timeout=30) as reply:
        return reply.status, json.load(reply)


def _connect(base: str, stack: ExitStack, content: bytes) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2])), timeout=30)
    stack.enter_context(made)
    made.sendall(content)
    return made


def _received(connection: socket.socket) -> bytes:
    """All that the server sends until it closes the connection."""
    received = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            received += part
    return received


def test_the_site_under_slow_large_and_many_requests(site: str) -> None:
    """One server for all three: it takes some seconds to start."""
    slow_clients_neither_stop_the_site_nor_stay(site)
    a_large_body_is_refused_with_a_sentence_that_its_sender_reads(site)
    more_readers_than_the_site_can_answer_get_answers_or_503(site)


def slow_clients_neither_stop_the_site_nor_stay(site: str) -> None:
    """More partial headers than the site has connections, and more slow bodies than threads."""
    with ExitStack() as stack:
        slow = [_connect(site, stack, HEADERS) for _ in range(100)]
        posting = [_connect(site, stack, BODY) for _ in range(16)]
        assert _get(site)[0] == 200
        for each in slow:
            # Another line does not give them more time.
            with suppress(OSError):
                each.sendall(b"X-Slow: 1\r\n")
        assert {_received(each) for each in slow} == {b""}
        answers = [_received(each) for each in posting]
        assert all(each.startswith(b"HTTP/1.1 408 ") for each in answers)
        assert b'"code": "body_too_slow"' in answers[0]
        assert _get(site)[0] == 200


def a_large_body_is_refused_with_a_sentence_that_its_sender_reads(site: str) -> None:
    """Also by a client that goes on sending; and nothing of it is kept."""
    request = urllib.request.Request(f"{site}/login/", data=b"x" * 20_000_000, method="POST")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)
    with refused.value as reply:
        assert reply.status == 413
        assert b"is larger than this address accepts" in reply.read()
    assert _get(site)[0] == 200


def more_readers_than_the_site_can_answer_get_answers_or_503(site: str) -> None:
    def ask(number: int) -> tuple[int, str]:
        try:
            asked = f"{site}/api/v1/search/?q=slam+{number}"
            with urllib.request.urlopen(asked, timeout=60) as reply:
                return reply.status, ""
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers["Retry-After"]

    with ThreadPoolExecutor(64) as readers:
        answers = list(readers.map(ask, range(128)))
    assert {status for status, _ in answers} <= {200, 503}
    # Two at once on the slowest machine, and 64 ask.
    assert sum(status == 200 for status, _ in answers) >= 2
    assert all(int(wait) >= 1 for status, wait in answers if status == 503)
    assert _get(site)[0] == 200
