"""Who gets a thread, who waits for one, who is refused at once; and how much may be sent."""

from __future__ import annotations

import asyncio
import io
import json
import math
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import settings as site_settings
from django.http import HttpRequest, HttpResponse
from django.test import Client as Browser
from django.urls import URLResolver, get_resolver, path
from rest_framework.parsers import MultiPartParser

from common.accounts import tokens
from common.accounts.models import User
from common.api.requests import Rank
from kbsite.serving import admission, priorities, refusals
from kbsite.serving.admission import Admission, Busy
from kbsite.serving.body_limits import BodyLimits
from kbsite.serving.dispatch import Pages, Site
from kbsite.serving.priorities import is_search, rank_of, view_of
from tests.faults.asgi import response, scope


def run(check: Callable[[], Awaitable[Any]]) -> Any:
    async def checked() -> Any:
        return await check()

    return asyncio.run(checked())


# Staff have a place of their own.
RANKS = [rank for rank in Rank if rank is not Rank.STAFF]


def test_searches_come_before_agents_uploads_and_changes() -> None:
    async def check() -> list[Rank]:
        gate = Admission(1, patience=math.inf)
        place = await gate.enter(Rank.SEARCH)
        served: list[Rank] = []

        async def ask(rank: Rank) -> None:
            mine = await gate.enter(rank)
            served.append(rank)
            mine.leave()

        asked = [asyncio.create_task(ask(rank)) for rank in reversed(RANKS)]
        await asyncio.sleep(0)
        place.leave()
        await asyncio.gather(*asked)
        return served

    assert run(check) == RANKS


def test_other_work_leaves_half_of_the_places_for_searches() -> None:
    async def check() -> None:
        gate = Admission(4, patience=0.05)
        slow = [await gate.enter(Rank.CHANGE), await gate.enter(Rank.UPLOAD)]
        with pytest.raises(Busy):
            await gate.enter(Rank.CHANGE)
        searches = [await gate.enter(Rank.SEARCH), await gate.enter(Rank.SEARCH)]
        slow[0].leave()
        slow[0].leave()  # a second time: nothing
        await gate.enter(Rank.CHANGE)
        with pytest.raises(Busy):
            await gate.enter(Rank.SEARCH)
        searches[0].leave()
        await gate.enter(Rank.SEARCH)

    run(check)


def test_request_that_would_wait_too_long_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is an answer each 0.2 s, and 1 s is planned for: with the two places three may wait."""
    clock = [0.0]
    monkeypatch.setattr(admission.time, "monotonic", lambda: clock[0])

    async def check() -> list[int]:
        gate = Admission(2, patience=1)
        first = await gate.enter(Rank.SEARCH, is_measured=True)
        clock[0] += 0.2
        first.leave()
        for _ in range(2):
            await gate.enter(Rank.SEARCH)
        waiting = [asyncio.create_task(gate.enter(Rank.SEARCH)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Busy) as refused:
            await gate.enter(Rank.SEARCH)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return [refused.value.retry_after, len(gate._waiting)]

    assert run(check) == [1, 0]


def test_a_slow_machine_works_on_fewer_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two searches that took 3 s beside each other: an answer each 1.5 s."""
    clock = [0.0]
    monkeypatch.setattr(admission.time, "monotonic", lambda: clock[0])

    async def check() -> None:
        gate = Admission(8, patience=1)
        places = [await gate.enter(Rank.SEARCH, is_measured=True) for _ in range(2)]
        clock[0] += 3
        for place in places:
            place.leave()
        kept = [await gate.enter(Rank.SEARCH) for _ in range(2)]
        with pytest.raises(Busy) as refused:
            await gate.enter(Rank.SEARCH)
        assert refused.value.retry_after >= 3
        clock[0] += 60  # a model wrote for so long, which says nothing about the machine
        kept[0].leave()
        await gate.enter(Rank.SEARCH)

    run(check)


def test_queue_length_is_bounded_whatever_the_estimate() -> None:
    async def check() -> int:
        gate = Admission(1, patience=math.inf)
        await gate.enter(Rank.SEARCH)
        waiting = [asyncio.create_task(gate.enter(Rank.SEARCH)) for _ in range(20)]
        await asyncio.sleep(0)
        refused = sum(each.done() and isinstance(each.exception(), Busy) for each in waiting)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return refused

    assert run(check) == 20 - admission._WAITING_PER_PLACE


@pytest.mark.parametrize(
    ("given", "method", "expected"),
    [
        ("/", "GET", Rank.SEARCH), ("/api/v1/search/", "POST", Rank.SEARCH),
        ("/v1/chat/completions", "POST", Rank.SEARCH), ("/v1/models", "GET", Rank.SEARCH),
        ("/api/v1/collections/", "GET", Rank.SEARCH), ("/api/v1/answers/", "POST", Rank.SEARCH),
        ("/api/v1/auth/token/", "POST", Rank.SEARCH), ("/api/v1/collections/", "POST", Rank.CHANGE),
        ("/api/v1/nowhere/", "POST", Rank.CHANGE), ("/api/v1/documents/", "POST", Rank.UPLOAD),
        ("/admin/ingestion/document/add/", "POST", Rank.UPLOAD),
        ("/admin/ingestion/document/add/", "GET", Rank.STAFF), ("/admin/", "GET", Rank.STAFF),
        ("/admin/login/", "GET", Rank.STAFF), ("/login/", "POST", Rank.STAFF),
        ("/accounts/2fa/authenticate/", "POST", Rank.STAFF),
    ],
)  # fmt: skip
def test_addresses_have_these_ranks(given: str, method: str, expected: Rank) -> None:
    assert rank_of(view_of(given), method) is expected


@pytest.mark.parametrize("given", ["/", "/library/", "/api/v1/search/"])
def test_only_search_addresses_are_timed(given: str) -> None:
    assert is_search(view_of(given))
    assert not is_search(view_of("/concepts/"))


def test_readers_leave_a_place_for_staff_who_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "_STAFF_SECONDS", 0.05)

    async def check() -> None:
        gate = Admission(2, patience=0.05)
        readers = [await gate.enter(Rank.SEARCH) for _ in range(2)]
        with pytest.raises(Busy):
            await gate.enter(Rank.SEARCH)
        first = await gate.enter(Rank.STAFF)
        with pytest.raises(Busy) as refused:
            await gate.enter(Rank.STAFF)
        page = refusals.busy("/admin/", 4, is_search=refused.value.is_search, method="POST")
        assert "The server is busy" in page.content.decode()
        assert "people" not in page.content.decode()
        assert "Refresh" not in page  # it would not be sent again
        monkeypatch.setattr(admission, "_STAFF_SECONDS", 60)
        waiting = asyncio.create_task(gate.enter(Rank.STAFF))
        await asyncio.sleep(0)
        first.leave()
        (await waiting).leave()
        readers[0].leave()
        await gate.enter(Rank.SEARCH)

    run(check)


# --- in the application ---------------------------------------------------------------------------

_gate = threading.Event()
_entered = threading.Semaphore(0)


def _slow(request: HttpRequest, rest: str = "") -> HttpResponse:
    _entered.release()
    _gate.wait(60)
    return HttpResponse("done")


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    return HttpResponse(status=404)


urlpatterns = [path("<path:rest>", _slow), path("", _slow)]


@pytest.fixture
def plain(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = []
    _gate.clear()
    while _entered.acquire(blocking=False):  # of tests before
        pass


async def _asked(application: Any, given: dict[str, Any]) -> ApplicationCommunicator:
    client = ApplicationCommunicator(application, given)
    await client.send_input({"type": "http.request", "body": b""})
    return client


def _site() -> Site:
    gate = Admission(2, patience=0.05)
    return Site(
        Pages(gate),
        None,
        is_for_agents=lambda path: False,
        threads=2,
        admission=gate,  # type: ignore[arg-type]
    )


@pytest.mark.usefixtures("plain")
def test_busy_site_refuses_in_the_format_of_the_address() -> None:
    async def check() -> dict[str, Any]:
        application = _site()
        busy = [await _asked(application, scope("/")) for _ in range(2)]
        await asyncio.to_thread(_entered.acquire)
        await asyncio.to_thread(_entered.acquire)
        found = {}
        for address in ("/library/", "/api/v1/search/", "/v1/models"):
            client = await _asked(application, scope(address))
            start = await client.receive_output(60)
            found[address] = (start, (await client.receive_output(60))["body"])
            await client.wait(60)
        _gate.set()
        for client in busy:
            assert (await client.receive_output(60))["status"] == 200
            await client.wait(60)
        # Those who were refused may come now.
        assert (await response(application, scope("/")))[0] == 200
        return found

    found = run(check)
    headers = {name.decode(): value.decode() for name, value in found["/library/"][0]["headers"]}
    assert {start["status"] for start, _ in found.values()} == {503}
    assert headers["Retry-After"] == "1"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Refresh"] == "1"
    assert b"Too many people are searching" in found["/library/"][1]
    assert b"try again in 1 s. This page tries again by itself." in found["/library/"][1]
    assert b'class="brand"' in found["/library/"][1]
    assert json.loads(found["/api/v1/search/"][1])["code"] == "busy"
    assert json.loads(found["/v1/models"][1])["error"]["type"] == "server_error"


@pytest.mark.usefixtures("plain")
def test_place_of_a_disconnected_reader_is_freed_when_its_thread_ends() -> None:
    async def check() -> None:
        application = _site()
        clients = [await _asked(application, scope("/")) for _ in range(2)]
        for client in clients:
            await asyncio.to_thread(_entered.acquire)
            await client.send_input({"type": "http.disconnect"})
        await asyncio.sleep(0.05)
        assert (await response(application, scope("/")))[0] == 503  # both threads still work
        _gate.set()
        for client in clients:
            await client.wait(60)
        for _ in range(3):
            assert (await response(application, scope("/")))[0] == 200

    run(check)


# --- How much may be sent to which address, and by whom ------------------------------------------


SMALL = site_settings.DATA_UPLOAD_MAX_MEMORY_SIZE
HUGE = 100 * 1024 * 1024
UPLOAD = "/api/v1/documents/"


class Reader:
    """Stands for Django: reads the body, then answers."""

    def __init__(self) -> None:
        self.read = io.BytesIO()

    async def __call__(self, given: Any, receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            self.read.write(message["body"])
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def post(
    path: str, *parts: bytes, ends: bool = True, length: int | None = None, **headers: str
) -> tuple[int, bytes, int]:
    """The status, the response's body, and how many bytes the application was given."""

    async def asked() -> tuple[int, bytes, int]:
        reader = Reader()
        given = scope(path, "POST")
        stated = ("transfer-encoding", "chunked") if length is None else ("content-length", length)
        for name, value in ((stated), *headers.items()):
            given["headers"].append((name.encode(), str(value).encode()))
        client = ApplicationCommunicator(BodyLimits(reader), given)
        for number, part in enumerate(parts, 1):
            more = not ends or number < len(parts)
            await client.send_input({"type": "http.request", "body": part, "more_body": more})
        start = await client.receive_output(60)
        body = (await client.receive_output(60)).get("body", b"")
        await client.send_input({"type": "http.disconnect"})
        await client.wait(60)
        return start["status"], body, len(reader.read.getvalue())

    return asyncio.run(asked())


@pytest.mark.parametrize(
    "path", ["/", "/login/", "/admin/login/", "/nowhere/", "/v1/chat/completions"]
)
def test_a_large_body_is_refused_before_it_arrives(path: str) -> None:
    status, body, read = post(path, b"x" * 1000, ends=False, length=HUGE)
    assert (status, read) == (413, 0)
    assert b"is larger than this address accepts (2.6 MB)" in body


def test_large_chunked_body_is_refused_as_soon_as_it_is_too_large() -> None:
    status, body, read = post("/api/v1/search/", *[b"x" * 1_000_000] * 9)
    assert (status, json.loads(body)["code"]) == (413, "body_too_large")
    assert read <= SMALL


@pytest.mark.parametrize("length", [5, None], ids=["stated", "chunked"])
def test_a_small_body_is_passed_on(length: int | None) -> None:
    assert post("/", b"ab", b"cde", length=length) == (200, b"", 5)


@pytest.mark.django_db(transaction=True)
def test_files_are_accepted_from_users_and_tokens_only(
    servers: Any, administrator: User, settings: Any
) -> None:
    client = Browser()
    client.force_login(administrator)
    session = f"{settings.SESSION_COOKIE_NAME}={client.cookies['sessionid'].value}"
    _, token = tokens.make(administrator, scopes=["upload"])
    for headers, expected in (
        ({}, 413),
        ({"cookie": f"{settings.SESSION_COOKIE_NAME}=made-up"}, 413),
        ({"authorization": "Token made-up"}, 413),
        ({"cookie": session}, 200),
        ({"authorization": f"Token {token}"}, 200),
    ):
        assert post(UPLOAD, b"x", length=HUGE, **headers)[0] == expected
    assert post("/login/", b"x", length=HUGE, cookie=session)[0] == 413
    most = settings.MAX_UPLOAD_BYTES + 2 * 1024 * 1024
    assert post(UPLOAD, b"x", length=most, cookie=session)[0] == 413


# What has files must state it: nothing else is accepted above 2.6 MB.
LARGE = {
    "/admin/ingestion/document/add/": "IMPORT_MAX_BYTES",
    "/admin/ingestion/document/1/new-version/": "MAX_UPLOAD_BYTES",
    "/admin/ingestion/import/add/": "IMPORT_MAX_BYTES",
    "/admin/tuning/goldenquery/import/": "MAX_UPLOAD_BYTES",
    UPLOAD: "MAX_UPLOAD_BYTES",
    f"{UPLOAD}00000000-0000-0000-0000-000000000000/versions/": "MAX_UPLOAD_BYTES",
    "/api/v1/imports/": "IMPORT_MAX_BYTES",
    "/api/v1/judgements/file/": "MAX_UPLOAD_BYTES",
}


@pytest.mark.parametrize(("path", "setting"), LARGE.items())
def test_a_view_that_accepts_files_states_how_large(path: str, setting: str) -> None:
    expected = getattr(site_settings, setting) + 1024 * 1024
    assert priorities.most_bytes(priorities.view_of(path)) == expected


def test_every_multipart_parser_of_a_view_states_its_limit() -> None:
    def walk(patterns: Any) -> Iterator[Any]:
        for each in patterns:
            if isinstance(each, URLResolver):
                yield from walk(each.url_patterns)
            else:
                yield each.callback

    for view in walk(get_resolver().url_patterns):
        parsers = list(priorities._parsers(view))
        if any(issubclass(parser, MultiPartParser) for parser in parsers):
            assert priorities.most_bytes(view), view
