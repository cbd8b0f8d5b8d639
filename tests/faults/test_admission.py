"""Who gets a thread, who waits for one, and who is refused at once."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.http import HttpRequest, HttpResponse
from django.urls import path

from common.api.requests import Rank
from kbsite.serving import admission
from kbsite.serving.admission import Admission, Busy
from kbsite.serving.dispatch import Pages, Site
from kbsite.serving.limits import is_search, rank_of, view_of
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


def test_who_would_wait_too_long_is_refused_without_waiting(
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


def test_the_queue_is_bounded_whatever_the_estimate() -> None:
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
        ("/", "GET", Rank.SEARCH),
        ("/api/v1/search/", "POST", Rank.SEARCH),
        ("/v1/chat/completions", "POST", Rank.SEARCH),
        ("/api/v1/collections/", "GET", Rank.SEARCH),
        ("/api/v1/answers/", "POST", Rank.SEARCH),
        ("/api/v1/auth/token/", "POST", Rank.SEARCH),
        ("/api/v1/collections/", "POST", Rank.CHANGE),
        ("/api/v1/nowhere/", "POST", Rank.CHANGE),
        ("/api/v1/documents/", "POST", Rank.UPLOAD),
        ("/admin/ingestion/document/add/", "POST", Rank.UPLOAD),
        ("/admin/ingestion/document/add/", "GET", Rank.STAFF),
        ("/admin/", "GET", Rank.STAFF),
        ("/admin/login/", "GET", Rank.STAFF),
        ("/login/", "POST", Rank.STAFF),
        ("/accounts/2fa/authenticate/", "POST", Rank.STAFF),
    ],
)
def test_ranks_of_addresses(given: str, method: str, expected: Rank) -> None:
    assert rank_of(view_of(given), method) is expected


@pytest.mark.parametrize("given", ["/", "/library/", "/api/v1/search/"])
def test_the_time_of_searches_is_measured(given: str) -> None:
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
        with pytest.raises(Busy):
            await gate.enter(Rank.STAFF)
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
    _gate.wait(10)
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
def test_beyond_its_threads_the_site_refuses_in_the_shape_of_the_address() -> None:
    async def check() -> dict[str, Any]:
        application = _site()
        busy = [await _asked(application, scope("/")) for _ in range(2)]
        await asyncio.to_thread(_entered.acquire)
        await asyncio.to_thread(_entered.acquire)
        found = {}
        for address in ("/library/", "/api/v1/search/", "/v1/models"):
            client = await _asked(application, scope(address))
            start = await client.receive_output(5)
            found[address] = (start, (await client.receive_output(5))["body"])
            await client.wait(5)
        _gate.set()
        for client in busy:
            assert (await client.receive_output(5))["status"] == 200
            await client.wait(5)
        # Those who were refused may come now.
        assert (await response(application, scope("/")))[0] == 200
        return found

    found = run(check)
    headers = {name.decode(): value.decode() for name, value in found["/library/"][0]["headers"]}
    assert {start["status"] for start, _ in found.values()} == {503}
    assert headers["Retry-After"] == "1"
    assert headers["Cache-Control"] == "no-store"
    assert b"The site is busy." in found["/library/"][1]
    assert b'class="brand"' in found["/library/"][1]
    assert json.loads(found["/api/v1/search/"][1])["code"] == "busy"
    assert json.loads(found["/v1/models"][1])["error"]["type"] == "server_error"


@pytest.mark.usefixtures("plain")
def test_a_reader_who_leaves_gives_the_place_back_when_the_thread_is_done() -> None:
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
            await client.wait(5)
        for _ in range(3):
            assert (await response(application, scope("/")))[0] == 200

    run(check)
