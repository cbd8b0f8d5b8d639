"""The ASGI application: who gets a request, how many threads it takes, and under gunicorn."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.conf import settings as site_settings
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import Client as Browser
from django.urls import path
from mcp import Client

from common.accounts import tokens
from common.accounts.models import User
from kbsite.serving.admission import RESERVED
from kbsite.serving.dispatch import Pages, Site
from tests.faults.asgi import PROJECT, gunicorn, response, scope
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS

THREADS = 3


def site(pages: Any, agents: Any = None) -> Site:
    return Site(pages, agents, is_for_agents=lambda path: path == "/mcp", threads=THREADS)


def test_the_lifespan_and_the_agents_paths_go_to_the_agents() -> None:
    seen: list[tuple[str, str]] = []

    def noting(name: str) -> Any:
        async def application(given: Any, receive: Any, send: Any) -> None:
            seen.append((name, given.get("path", given["type"])))

        return application

    async def run() -> None:
        both = site(noting("pages"), noting("agents"))
        for given in ({"type": "lifespan"}, scope("/"), scope("/mcp"), scope("/mcpx")):
            await both(given, None, None)  # type: ignore[arg-type]

    asyncio.run(run())
    assert seen == [("agents", "lifespan"), ("pages", "/"), ("agents", "/mcp"), ("pages", "/mcpx")]


def test_a_websocket_is_closed() -> None:
    async def run() -> Any:
        client = ApplicationCommunicator(site(None), {"type": "websocket", "path": "/"})
        await client.send_input({"type": "websocket.connect"})
        return await client.receive_output(60)

    assert asyncio.run(run()) == {"type": "websocket.close"}


# --- streams and files ---------------------------------------------------------------------------

_gate = asyncio.Event()
_closed: list[str] = []


def _stream(request: HttpRequest) -> StreamingHttpResponse:
    """As the answers' views: a synchronous view, and content that waits."""

    async def frames() -> Any:
        try:
            yield await sync_to_async(lambda: b"first")()
            await _gate.wait()
            yield await sync_to_async(lambda: threading.current_thread().name.encode())()
        finally:
            _closed.append(request.path)

    return StreamingHttpResponse(frames(), content_type="text/event-stream")


def _file(request: HttpRequest) -> FileResponse:
    return FileResponse(Path(os.environ["BIG_FILE"]).open("rb"), as_attachment=True)


_steps: list[tuple[str, str]] = []


def _body(request: HttpRequest) -> StreamingHttpResponse:
    """As an export: a generator that belongs to one thread, with more parts than wait ahead."""

    def parts() -> Iterator[bytes]:
        thread = threading.current_thread().name
        _steps.append(("begun", thread))
        try:
            for number in range(9):
                _steps.append(("made", threading.current_thread().name))
                if request.GET.get("fails") and number:
                    raise ValueError("broken")
                yield b"%d" % number
        finally:
            _steps.append(("closed", threading.current_thread().name))
            _ended.set()

    _steps.clear()
    _ended.clear()
    return StreamingHttpResponse(parts())


_ended = threading.Event()


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    return HttpResponse(status=404)


urlpatterns = [path("stream/", _stream), path("file/", _file), path("body/", _body)]


@pytest.fixture
def plain(settings: Any, tmp_path: Path) -> None:
    """The addresses above, with static files in `tmp_path`, and no other middleware."""
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = ["whitenoise.middleware.WhiteNoiseMiddleware"]
    settings.STATIC_ROOT = str(tmp_path)


@pytest.mark.usefixtures("plain")
def test_open_streams_hold_no_thread() -> None:
    """60 open streams and the requests between them take no more than the pool's threads."""

    async def run() -> tuple[int, list[bytes]]:
        global _gate
        _gate = asyncio.Event()
        before = threading.active_count()
        application = site(Pages())
        clients = [ApplicationCommunicator(application, scope("/stream/")) for _ in range(60)]
        for client in clients:
            await client.send_input({"type": "http.request", "body": b""})
        for client in clients:
            await client.receive_output(60)
            assert (await client.receive_output(60))["body"] == b"first"
        grown = threading.active_count() - before
        assert (await response(application, scope("/nowhere/")))[0] == 404
        _gate.set()
        names = []
        for client in clients:
            names.append((await client.receive_output(60))["body"])
            await client.receive_output(60)
            await client.wait(60)
        return grown, names

    grown, names = asyncio.run(run())
    assert grown <= THREADS + RESERVED
    assert len(names) == 60
    assert all(re.fullmatch(rb"web_\d", name) for name in names)


@pytest.mark.usefixtures("plain")
def test_a_stream_ends_when_its_reader_leaves() -> None:
    async def run() -> None:
        global _gate
        _gate = asyncio.Event()
        _closed.clear()
        client = ApplicationCommunicator(site(Pages()), scope("/stream/"))
        await client.send_input({"type": "http.request", "body": b""})
        await client.receive_output(60)
        assert (await client.receive_output(60))["body"] == b"first"
        await client.send_input({"type": "http.disconnect"})
        await client.wait(60)

    asyncio.run(run())
    assert _closed == ["/stream/"]


@pytest.mark.usefixtures("plain")
def test_a_file_is_sent_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Django alone would read the whole of it into memory."""
    content = os.urandom(300_000)
    (tmp_path / "big").write_bytes(content)
    monkeypatch.setenv("BIG_FILE", str(tmp_path / "big"))
    status, parts = asyncio.run(response(site(Pages()), scope("/file/")))
    assert status == 200
    assert b"".join(parts) == content
    assert max(map(len, parts)) <= 65_536


@pytest.mark.usefixtures("plain")
def test_response_body_is_produced_in_one_thread() -> None:
    """Its transaction belongs to a connection, and that to a thread."""
    status, parts = asyncio.run(response(site(Pages()), scope("/body/")))
    assert (status, b"".join(parts)) == (200, b"012345678")
    assert {thread for _, thread in _steps} == {_steps[0][1]}
    assert (_steps[0][0], _steps[-1][0]) == ("begun", "closed")


@pytest.mark.usefixtures("plain")
def test_response_body_is_closed_in_its_thread_when_the_reader_disconnects() -> None:
    async def run() -> None:
        client = ApplicationCommunicator(site(Pages()), scope("/body/"))
        await client.send_input({"type": "http.request", "body": b""})
        await client.receive_output(60)
        assert (await client.receive_output(60))["body"] == b"0"
        await client.send_input({"type": "http.disconnect"})
        await client.wait(60)

    asyncio.run(run())
    assert _ended.wait(60)
    assert {thread for _, thread in _steps} == {_steps[0][1]}
    assert _steps[-1][0] == "closed"


@pytest.mark.usefixtures("plain")
def test_an_error_in_a_body_cuts_the_download() -> None:
    given = {**scope("/body/"), "query_string": b"fails=1"}
    with pytest.raises(ValueError, match="broken"):
        asyncio.run(response(site(Pages()), given))
    assert _ended.wait(60)
    assert {thread for _, thread in _steps} == {_steps[0][1]}


@pytest.mark.django_db(transaction=True)
def test_collection_export_is_streamed(
    servers: Any, administrator: User, settings: Any, tmp_path: Path
) -> None:
    """Whole, although its snapshot is a transaction that lasts from part to part."""
    settings.STATIC_ROOT = str(tmp_path)
    shelf = make_collection("Connections")
    make_document(shelf, CONNECTIONS)
    client = Browser()
    client.force_login(administrator)
    cookie = f"{site_settings.SESSION_COOKIE_NAME}={client.cookies['sessionid'].value}"
    given = scope(f"/api/v1/collections/{shelf.slug}/export/")
    given["headers"].append((b"cookie", cookie.encode()))
    status, parts = asyncio.run(response(site(Pages()), given))
    assert status == 200
    with zipfile.ZipFile(io.BytesIO(b"".join(parts))) as archive:
        assert archive.testzip() is None
        assert json.loads(archive.read("documents.jsonl"))["title"]


@pytest.mark.django_db(transaction=True)
def test_a_body_in_chunks_is_read_as_one_that_states_its_length(
    servers: Any, administrator: User, settings: Any, tmp_path: Path
) -> None:
    """`readers` of streaming clients were dropped with a 200, and so was the text of an edit."""
    settings.STATIC_ROOT = str(tmp_path)
    shelf = make_collection()
    document = make_document(shelf, CONNECTIONS)
    _, token = tokens.make(administrator)

    def sent(method: str, path: str, kind: str, *body: bytes) -> tuple[int, Any]:
        given = scope(f"/api/v1/{path}", method)
        headers = {"authorization": f"Bearer {token}", "content-type": kind}
        headers["transfer-encoding"] = "chunked"
        given["headers"] += [(name.encode(), each.encode()) for name, each in headers.items()]
        status, parts = asyncio.run(response(site(Pages()), given, *body))
        return status, json.loads(b"".join(parts))

    json_type, own = "application/json", f"documents/{document.public_id}/"
    name = administrator.username
    status, answer = sent(
        "PATCH", own, json_type, b'{"readers": {"people"', f': ["{name}"]}}}}'.encode()
    )
    assert (status, answer["readers"]["people"]) == (200, [name])
    fields = (("collection", "", shelf.slug), ("file", '; filename="tides.md"', "High water."))
    form = [
        f'--B\r\nContent-Disposition: form-data; name="{field}"{more}\r\n\r\n{value}\r\n'.encode()
        for field, more, value in fields
    ]
    status, answer = sent("POST", "documents/", "multipart/form-data; boundary=B", *form, b"--B--")
    assert (status, answer["file_name"]) == (202, "tides.md")
    status, answer = sent("DELETE", own, json_type, b'{"version": 1}')
    assert (status, answer["detail"]) == (400, "Send no body: DELETE reads none at this address.")
    assert sent("POST", "search/", json_type)[0] == 400  # an empty body, in chunks too


@pytest.mark.usefixtures("plain")
def test_static_files_are_served(tmp_path: Path) -> None:
    (tmp_path / "style.css").write_text("a { color: red }")

    async def run() -> tuple[Any, Any, Any]:
        application = site(Pages())
        return (
            await response(application, scope("/static/style.css")),
            await response(application, scope("/static/style.css", "HEAD")),
            await response(application, scope("/static/missing.css")),
        )

    found, head, missing = asyncio.run(run())
    assert (found[0], b"".join(found[1])) == (200, b"a { color: red }")
    assert (head[0], b"".join(head[1])) == (200, b"")
    assert missing[0] == 404


# --- under gunicorn ------------------------------------------------------------------------------


def _get(url: str, **headers: str) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as reply:
        return json.load(reply)


@pytest.mark.django_db(transaction=True)
def test_pages_api_and_agents_under_gunicorn_and_a_clean_end(
    servers: Any, clean_cache: None, tmp_path: Path
) -> None:
    """One process answers all three; on SIGTERM it ends, although a client is still connected.

    A client that leaves before its response is logged as one that left (499), not as an error.
    Without a proxy no client is believed to have come by https.
    """
    make_document(make_collection(), CONNECTIONS, title="Connections")

    async def tools(base: str) -> Any:
        async with Client(f"{base}/mcp") as client:
            return await client.call_tool("search", {"query": "connection timeout"})

    log = tmp_path / "access.log"
    with gunicorn(ACCESS_LOG=str(log)) as (process, base):
        with socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2]))) as leaving:
            leaving.sendall(b"GET /api/v1/search/?q=a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        (result, *_) = _get(f"{base}/api/v1/search/?q=connection+timeout")["results"]
        assert result["document"]["title"] == "Connections"
        (result, *_) = _get(
            f"{base}/api/v1/search/?q=connection+timeout", **{"X-Forwarded-Proto": "https"}
        )["results"]
        assert result["document"]["url"].startswith(f"{base}/documents/")
        called = async_to_sync(tools)(base)
        assert not called.is_error
        (item,) = called.content
        assert json.loads(item.text)["results"][0]["id"].startswith(result["document"]["id"])
        with socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2]))):
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"Traceback" not in errors, errors.decode()
    assert "GET /api/v1/search/ 499 " in log.read_text()


def test_secrets_of_addresses_are_masked_in_the_access_log() -> None:
    paths = {
        "/me/reviews/tok/feed/": "/me/reviews/…/feed/",
        "/me/unsubscribe/tok/": "/me/unsubscribe/…/",
        "/me/searches/5f/feed/tok/": "/me/searches/5f/feed/…/",
        "/me/searches/5f/": "/me/searches/5f/",
    }
    code = f"""
from gunicorn.glogging import Logger
import kbsite.gunicorn as site
Logger.atoms = lambda self, path: {{"U": path, "s": 200}}
logger = object.__new__(site.logger_class)
for path, masked in {paths!r}.items():
    assert logger.atoms(path) == {{"U": masked, "s": 200}}
"""
    subprocess.run([sys.executable, "-c", code], cwd=PROJECT, check=True, timeout=50)


def test_warm_up_of_a_process_has_a_time_limit() -> None:
    code = """
import time, kbsite.gunicorn as site
done = []
site._warm_up = lambda: (time.sleep(0.3), done.append(1))
site.post_worker_init(None)
assert done
site.WARMING, site._warm_up = 0.1, lambda: time.sleep(60)
site.post_worker_init(None)
"""
    subprocess.run([sys.executable, "-c", code], cwd=PROJECT, check=True, timeout=50)


@pytest.mark.skipif(sys.platform != "linux", reason="of glibc and /proc")
def test_large_blocks_return_to_the_system_between_small_ones() -> None:
    code = """
import re, kbsite.gunicorn
def megabytes():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
bytearray(30 * 1024**2)  # freed: glibc's own threshold is above it from now on
before = megabytes()
blocks, small = [], []
for _ in range(20):
    blocks.append(b"x" * (4 * 1024**2))
    small.append(b"y" * 5_000)
assert megabytes() - before > 60
del blocks
assert megabytes() - before < 10, megabytes() - before
"""
    subprocess.run([sys.executable, "-c", code], cwd=PROJECT, check=True, timeout=50)
