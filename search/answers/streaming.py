"""Server-sent events: a stream of text over HTTP that begins, waits, fails and ends cleanly.

    AsyncGenerator of frames -> first frame -> StreamingHttpResponse
                                (an error here is an ordinary error response)

The generator runs in the server's event loop and holds no thread while it waits. Without a server
(Django's test client) the response is made whole before it is returned. A proxy that hears nothing
gives up after about a minute: a comment is sent in every silence. If the client leaves, the
generator is cancelled and closed, and with it the request to a model.

The first frame is produced in one task, all others in a second: a generator must not hold a task's
scope, such as `asyncio.timeout`, while it yields its first frame.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from itertools import count
from typing import Any, cast

from asgiref.sync import async_to_sync
from django.core.serializers.json import DjangoJSONEncoder
from django.http import StreamingHttpResponse

from search.answers.answering import code_and_message
from search.answers.as_json import NAMES, event_data
from search.answers.domain import Event

logger = logging.getLogger(__name__)

EventData = Callable[[Event], dict[str, Any]]
KEEPALIVE_SECONDS = 15.0
KEEPALIVE = ": keepalive\n\n"
# Frames that wait for a slow reader; then the model's stream waits too.
_AHEAD = 32
HEADERS = {
    "Cache-Control": "no-cache, no-transform",
    # nginx buffers the responses of an application unless they say so.
    "X-Accel-Buffering": "no",
}


def sse(events: AsyncIterator[Event], data: EventData = event_data) -> StreamingHttpResponse:
    """The events of an answer as server-sent events, in the JSON of `as_json`.

    For a synchronous view. Raises what `events` raises before its first event; a later error
    becomes an event `error`, and the end. `data` makes the data of each.
    """
    numbers = count(1)  # of events

    async def frames() -> AsyncGenerator[str]:
        async with contextlib.aclosing(cast("AsyncGenerator[Event]", events)) as each:
            async for event in each:
                yield frame(NAMES[type(event)], data(event), next(numbers))

    return stream(frames(), failed=lambda error: error_frame(error, next(numbers)))


def stream(
    frames: AsyncGenerator[str], *, failed: Callable[[Exception], str]
) -> StreamingHttpResponse:
    """A response that streams `frames`. `failed` makes the last frame after an error in a later
    frame.
    """
    body = _Body(frames, failed)
    content: Any = body
    if _has_lasting_loop():
        async_to_sync(body.start)()
    else:
        content = async_to_sync(body.whole)()
    return StreamingHttpResponse(content, content_type="text/event-stream", headers=HEADERS)


def error_frame(error: Exception, number: int | None = None) -> str:
    """The event of an error, as its reader may see it."""
    code, message = code_and_message(error)
    return frame("error", {"code": code, "message": message}, number)


def frame(name: str, data: Any, number: int | None = None) -> str:
    """One event: its number, its name, unless it is empty, and its data as JSON on one line."""
    lines = [] if number is None else [f"id: {number}"]
    if name:
        lines.append(f"event: {name}")
    lines.append(f"data: {json.dumps(data, ensure_ascii=False, cls=DjangoJSONEncoder)}")
    return "\n".join(lines) + "\n\n"


class _Body:
    """The bytes of a response: the frames, and a comment in each silence of KEEPALIVE_SECONDS."""

    def __init__(self, frames: AsyncGenerator[str], failed: Callable[[Exception], str]) -> None:
        self._frames = frames
        self._failed = failed
        self._first: str | None = None
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing: Any = None
        self._ready: asyncio.Queue[str | None] = asyncio.Queue(_AHEAD)

    async def start(self) -> None:
        """Wait for the first frame. Raises what the generator raises."""
        self._loop = asyncio.get_running_loop()
        try:
            self._first = await anext(self._frames, None)
        except BaseException:
            await self._frames.aclose()
            raise

    async def whole(self) -> list[bytes]:
        """All of it. Raises what the generator raises before its first frame."""
        await self.start()
        return [each async for each in self]

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        if self._first is not None:
            yield _bytes(self._first)
        self._task = asyncio.create_task(self._run())
        try:
            while not self._is_closed:
                try:
                    ready = await asyncio.wait_for(self._ready.get(), KEEPALIVE_SECONDS)
                except TimeoutError:
                    ready = KEEPALIVE
                if ready is None:
                    return
                yield _bytes(ready)
        finally:
            await self.aclose()

    async def _run(self) -> None:
        try:
            async for each in self._frames:
                await self._ready.put(each)
        except Exception as error:  # every error ends the stream with an event
            await self._ready.put(self._failed(error))
        await self._ready.put(None)

    async def aclose(self) -> None:
        """Cancel what is under way, and close the generator."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            if not self._task.cancelled() and (error := self._task.exception()) is not None:
                logger.error("A stream did not end cleanly.", exc_info=error)
        await self._frames.aclose()

    def close(self) -> None:
        """Close from another thread, without waiting: what Django calls at the end."""
        if self._is_closed or self._loop is None or self._loop.is_closed():
            return
        self._closing = asyncio.run_coroutine_threadsafe(self.aclose(), self._loop)


def _has_lasting_loop() -> bool:
    """Whether the event loop of this request outlives the view, as it does under ASGI."""

    async def running() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    return async_to_sync(running)().is_running()


def _bytes(text: str) -> bytes:
    # A model may write half a surrogate pair.
    return text.encode("utf-8", "replace")
