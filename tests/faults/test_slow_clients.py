"""Clients that send slowly, send much, or are many: on the bare site, and behind the proxy of
deploy/proxy, which must end what the site alone lets stay.
"""

from __future__ import annotations

import getpass
import json
import resource
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from common.accounts.models import User
from tests.faults.asgi import PROJECT, gunicorn
from tests.support.programs import needs

PARTIAL_HEADERS, SLOW_BODIES, IDLE = 200, 100, 1100
HEADERS = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
BODY = (
    b"POST /api/v1/search/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n{"
)
CHUNKED = (
    b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
CHUNK = b"100000\r\n" + b"x" * 2**20 + b"\r\n"
MEGABYTES = 60


@pytest.fixture(autouse=True)
def many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture
def site(servers: Any, transactional_db: None) -> Iterator[str]:
    # DEBUG: pages without a manifest of static files.
    with gunicorn(DATABASE_POOL="12", DEBUG="1") as (_, base):
        _search(base)
        yield base


def _search(base: str) -> tuple[int, Any]:
    with urllib.request.urlopen(f"{base}/api/v1/search/?q=slam", timeout=30) as reply:
        return reply.status, json.load(reply)


def _connect(base: str, stack: ExitStack, content: bytes = b"") -> socket.socket:
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


def test_site_without_a_proxy_survives_slow_large_and_many_requests(
    site: str, administrator: User, client: Any, settings: Any
) -> None:
    """One server for all of them: it takes some seconds to start."""
    slow_clients_do_not_stop_it(site)
    large_bodies_are_refused_with_a_sentence_that_their_sender_reads(site)
    client.force_login(administrator)
    session = f"{settings.SESSION_COOKIE_NAME}={client.cookies['sessionid'].value}"
    more_readers_than_it_can_answer_get_answers_or_503_and_staff_get_in(site, session)


def slow_clients_do_not_stop_it(site: str) -> None:
    """More partial headers, slow bodies and idle connections than the site has threads."""
    with ExitStack() as stack:
        for content, count in ((HEADERS, PARTIAL_HEADERS), (BODY, SLOW_BODIES), (b"", IDLE)):
            for _ in range(count):
                _connect(site, stack, content)
            assert _search(site)[0] == 200
    assert _search(site)[0] == 200


def large_bodies_are_refused_with_a_sentence_that_their_sender_reads(site: str) -> None:
    """By their stated length, and in chunks of none, as soon as they are too large."""
    request = urllib.request.Request(f"{site}/login/", data=b"x" * 20_000_000, method="POST")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)
    with refused.value as reply:
        assert reply.status == 413
        assert b"is larger than this address accepts" in reply.read()
    for path in ("/api/v1/documents/", "/mcp"):
        assert _sent_in_chunks(site, path).startswith(b"HTTP/1.1 413 ")
    assert _search(site)[0] == 200


def _sent_in_chunks(base: str, path: str) -> bytes:
    """What a stranger gets for 60 MB, which are refused long before their end."""
    with ExitStack() as stack:
        connection = _connect(base, stack, CHUNKED % path.encode())
        with suppress(OSError):
            for _ in range(MEGABYTES):
                connection.sendall(CHUNK)
            connection.sendall(b"0\r\n\r\n")
        return connection.recv(1000)


def more_readers_than_it_can_answer_get_answers_or_503_and_staff_get_in(
    site: str, session: str
) -> None:
    done = threading.Event()

    def status(address: str, **headers: str) -> tuple[int, str]:
        request = urllib.request.Request(address, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, ""
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers["Retry-After"]

    def read(number: int) -> list[tuple[int, str]]:
        """As impatient as in an attack: without the pause of Retry-After."""
        answers = []
        while not done.is_set():
            answers.append(status(f"{site}/api/v1/search/?q=slam+{number}"))
        return answers

    # More than may wait, however fast it is: a site that has loaded its model answers 32 in time.
    with ThreadPoolExecutor(128) as readers:
        reading = [readers.submit(read, number) for number in range(128)]
        try:
            staff = [status(f"{site}/login/") for _ in range(6)]
            for address in ("/admin/", "/api/v1/profiles/"):
                staff += [status(f"{site}{address}", Cookie=session) for _ in range(6)]
        finally:
            done.set()
        answers = [each for reader in reading for each in reader.result()]
    assert {each for each, _ in staff} == {200}
    assert {each for each, _ in answers} == {200, 503}
    # Two at once on the slowest machine.
    assert sum(each == 200 for each, _ in answers) >= 2
    assert all(int(wait) >= 1 for each, wait in answers if each == 503)
    assert _search(site)[0] == 200


# --- behind a proxy -------------------------------------------------------------------------------


@contextmanager
def _running(*command: str) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _nginx(upstream: str, port: int, folder: Path) -> Iterator[None]:
    site = (PROJECT / "deploy/proxy/nginx.conf").read_text()
    for given, own in (
        ("127.0.0.1:8000", upstream),
        ("listen 443 ssl", f"listen 127.0.0.1:{port}"),
        ("    ssl_certificate /etc/ssl/kb.example.org.pem;\n", ""),
        ("    ssl_certificate_key /etc/ssl/kb.example.org.key;\n", ""),
        ("client_header_timeout 10s", "client_header_timeout 1s"),
        ("client_body_timeout 20s", "client_body_timeout 1s"),
        # All clients of this test have one address.
        ("limit_conn steelyard 100", "limit_conn steelyard 2000"),
    ):
        assert given in site
        site = site.replace(given, own)
    paths = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"user {getpass.getuser()}; daemon off; pid {folder}/pid; error_log {folder}/error.log;\n"
        "events { worker_connections 4000; }\n"
        f"http {{ access_log off;\n{paths}{site} }}\n"
    )
    with _running("nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")):
        yield


@needs("nginx")
def test_behind_the_shipped_proxy_slow_clients_lose_their_connection(
    site: str, tmp_path: Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    with _nginx(site.removeprefix("http://"), port, tmp_path), ExitStack() as stack:
        _wait_for(port)
        slow = [_connect(base, stack, HEADERS) for _ in range(PARTIAL_HEADERS)]
        slow += [_connect(base, stack, BODY) for _ in range(SLOW_BODIES)]
        idle = [_connect(base, stack) for _ in range(IDLE)]
        assert _search(base)[0] == 200
        for each in slow:
            # Each is closed, with a refusal or without a word.
            assert _received(each)[:13] in (b"", b"HTTP/1.1 408 ", b"HTTP/1.1 400 ")
        assert len(idle) == IDLE
        assert b" 413 " in _sent_in_chunks(base, "/api/v1/documents/")[:20]
        assert _search(base)[0] == 200


def _wait_for(port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("The proxy does not start.")
