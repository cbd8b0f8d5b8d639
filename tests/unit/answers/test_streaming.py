"""Server-sent events: the frames, the silences, the errors, and readers who leave."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.core.signals import request_finished
from django.db import close_old_connections
from django.http import StreamingHttpResponse

from search.answers import streaming
from search.answers.domain import Context, Event, NewStep, Sources, Step, Token
from search.answers.streaming import KEEPALIVE, sse
from search.errors import NoActiveProfile


@pytest.fixture(autouse=True)
def no_database() -> Iterator[None]:
    """The end of a response closes stale connections, which a test before this one may have left;
    without a database in these tests that is refused. Django's test client does the same.
    """
    request_finished.disconnect(close_old_connections)
    yield
    request_finished.connect(close_old_connections)


def read(make: Callable[[], StreamingHttpResponse]) -> list[str]:
    """As Django's ASGI handler reads: the view in a thread, its response in the loop."""

    async def read() -> list[str]:
        response = await sync_to_async(make)()
        try:
            return [bytes(part).decode() async for part in response]  # type: ignore[union-attr]
        finally:
            response.close()

    return async_to_sync(read)()


async def three() -> AsyncIterator[Event]:
    yield NewStep(Step("search", "tides", 12.0))
    yield Sources(Context())
    yield Token("Zweimal am Tag\n[1]")


def fields(frame: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in frame.strip().split("\n"))


def test_frames_have_a_number_a_name_and_json_on_one_line() -> None:
    """S5-26: events as they come."""
    seen = [fields(frame) for frame in read(lambda: sse(three()))]

    assert [each["id"] for each in seen] == ["1", "2", "3"]
    assert [each["event"] for each in seen] == ["step", "sources", "token"]
    assert json.loads(seen[2]["data"]) == {"text": "Zweimal am Tag\n[1]"}


def test_headers_forbid_proxies_to_cache_or_buffer_the_stream() -> None:
    response = sse(three())

    assert response["Content-Type"] == "text/event-stream"
    assert response["Cache-Control"] == "no-cache, no-transform"
    assert response["X-Accel-Buffering"] == "no"
    response.close()


def test_an_error_before_the_first_event_is_raised() -> None:
    closed = []

    async def broken() -> AsyncIterator[Event]:
        try:
            raise NoActiveProfile("No profile is active.")
            yield Token("")
        finally:
            closed.append(True)

    with pytest.raises(NoActiveProfile):
        read(lambda: sse(broken()))
    assert closed == [True]


def test_error_after_the_first_event_is_the_last_event() -> None:
    async def broken() -> AsyncIterator[Event]:
        yield Token("a")
        raise NoActiveProfile("No profile is active.")

    seen = [fields(frame) for frame in read(lambda: sse(broken()))]

    assert [each["event"] for each in seen] == ["token", "error"]
    assert json.loads(seen[1]["data"]) == {
        "code": "no_active_profile",
        "message": "No profile is active.",
    }


def test_an_unexpected_error_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> AsyncIterator[Event]:
        yield Token("a")
        raise RuntimeError("secret")

    last = read(lambda: sse(broken()))[-1]

    assert "secret" not in last
    assert json.loads(fields(last)["data"])["code"] == "internal"
    assert "secret" in caplog.text


def test_silent_stream_sends_keepalive_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "KEEPALIVE_SECONDS", 0.01)

    async def slow(pause: threading.Event) -> AsyncIterator[Event]:
        yield Token("a")
        while not pause.is_set():
            await asyncio.sleep(0.005)
        yield Token("b")

    heard = threading.Event()
    parts: list[str] = []

    def listen() -> StreamingHttpResponse:
        return sse(slow(heard))

    async def listening() -> None:
        response = await sync_to_async(listen)()
        async for part in response:  # type: ignore[union-attr]
            parts.append(bytes(part).decode())
            if parts.count(KEEPALIVE) == 2:
                heard.set()
        response.close()

    async_to_sync(listening)()

    assert parts[1:3] == [KEEPALIVE, KEEPALIVE]
    assert [fields(part)["id"] for part in parts if part != KEEPALIVE] == ["1", "2"]


class Endless:
    """Events without end, and whether their source was closed."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    async def events(self, *, waits: bool = False) -> AsyncGenerator[Event]:
        try:
            yield Token("a")
            while True:
                await asyncio.sleep(3600 if waits else 0)
                yield Token("b")
        finally:
            self.closed.set()


def test_a_stream_that_is_closed_while_it_is_silent_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "KEEPALIVE_SECONDS", 0.01)

    async def silent() -> AsyncIterator[Event]:
        yield Token("a")
        await asyncio.sleep(600)

    async def listening() -> int:
        response = await sync_to_async(lambda: sse(silent()))()
        count = 0
        async for part in response:  # type: ignore[union-attr]
            if bytes(part).decode() == KEEPALIVE:
                response.close()
                count += 1
            assert count < 50
        return count

    assert async_to_sync(listening)() > 0


@pytest.mark.parametrize("waits", [True, False], ids=["in a silence", "between events"])
def test_disconnected_reader_closes_the_events(waits: bool) -> None:
    """S5-26: nothing is left running. The server cancels, as Django's ASGI handler does."""
    endless = Endless()

    async def leave() -> None:
        response = await sync_to_async(lambda: sse(endless.events(waits=waits)))()

        async def send() -> None:
            async for _part in response:  # type: ignore[union-attr]
                arrived.set()

        arrived = asyncio.Event()
        reading = asyncio.create_task(send())
        await arrived.wait()
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await sync_to_async(response.close)()
        while not endless.closed.is_set():
            await asyncio.sleep(0)

    async_to_sync(leave)()

    assert endless.closed.is_set()


def test_a_response_that_nobody_reads_is_closed_under_asgi() -> None:
    endless = Endless()

    async def drop() -> None:
        response = await sync_to_async(lambda: sse(endless.events()))()
        await sync_to_async(response.close)()
        while not endless.closed.is_set():
            await asyncio.sleep(0)

    async_to_sync(drop)()


def test_synchronous_parts_run_in_the_thread_of_the_request() -> None:
    """A test's transaction, and a thread's connection, stay the same."""
    threads = set()

    async def asking() -> AsyncIterator[Event]:
        for _ in range(3):
            await sync_to_async(lambda: threads.add(threading.current_thread()))()
            yield Token("a")

    read(lambda: sse(asking()))

    assert threads == {threading.current_thread()}
