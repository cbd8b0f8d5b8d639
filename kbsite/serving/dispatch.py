"""Django and the agents' server (MCP) as one ASGI application.

All synchronous work of a process runs in one pool of WEB_THREADS threads, whatever the number of
requests: Django alone would start a thread for each request and keep it until the response ends,
which is two hundred idle threads for two hundred streams.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from contextvars import copy_context
from functools import lru_cache, partial
from typing import IO, Any, TypeAlias, TypeVar, cast

from asgiref.sync import (
    ThreadSensitiveContext,
    iscoroutinefunction,
    sync_to_async,
)
from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.db import connections
from django.http.response import FileResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import Resolver404, resolve, set_script_prefix

from kbsite.operations.monitoring import endpoint, requests
from kbsite.operations.probes import health
from kbsite.serving import bodies, refusals
from kbsite.serving.admission import Admission, Busy, Place, Rank, rank_of
from kbsite.serving.bodies import Bodies
from kbsite.serving.memory import with_room

Scope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

T = TypeVar("T")

# Downloads that are made at once, each in a thread and mostly with a connection; others wait.
DOWNLOADS = 2
_SEARCHES = ("/", "/api/v1/search/")
_PLACE = "steelyard.place"  # of the request, in its scope
_AHEAD = 4  # parts that wait for a slow reader


class Threads(ThreadPoolExecutor):
    """A pool whose threads hold no database connection between two pieces of work.

    The parts of one request may run in different threads, so no thread may keep a connection for
    the next part. Each is returned to psycopg's pool, which checks it before its next use.
    """

    def submit(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        return super().submit(_released, partial(work, *args, **kwargs))


@with_room
def _released(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        for connection in connections.all(initialized_only=True):
            connection.close()


class Site:
    """Requests to the agents' paths and the lifespan go to `agents`, all others to `pages`.

    Only the health endpoint and the metrics need none of the threads.
    """

    def __init__(
        self,
        pages: Application,
        agents: Application,
        *,
        is_for_agents: Callable[[str], bool],
        threads: int,
        admission: Admission | None = None,
    ) -> None:
        self._pages = pages
        self._agents = agents
        self._is_for_agents = is_for_agents
        self._threads = Threads(threads, thread_name_prefix="web")
        self._admission = admission or Admission(threads, patience=math.inf)
        self._bodies = Bodies(self._choose)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})
        elif scope["type"] != "http":
            # Without its lifespan the SDK's application answers every call with a 500.
            await self._agents(scope, receive, send)
        elif scope["path"] == health.PATH and scope["method"] in ("GET", "HEAD"):
            await health.health.app(scope, receive, send)
        elif scope["path"] == endpoint.PATH and scope["method"] in ("GET", "HEAD"):
            await endpoint.metrics.app(scope, receive, send)
        else:
            with requests.named(scope, send) as send_named:
                async with ThreadSensitiveContext(executor=self._threads):
                    await self._bodies(scope, receive, send_named)

    async def _choose(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_for_agents(scope["path"]):
            # Pages take their place once the body has arrived.
            await self._pages(scope, receive, send)
            return
        try:
            place = await self._admission.enter(Rank.AGENT)
        except Busy as busy:
            await refusals.send_busy(scope, busy.retry_after, send)
            return
        try:
            await self._agents(scope, receive, send)
        finally:
            place.leave()


class Pages(ASGIHandler):
    """Django's handler, within the threads of `Site`, with downloads of any size.

    A synchronous view runs with all its middleware and signals in one piece of work of one thread,
    as under WSGI: in Django's asynchronous chain a request changes threads a dozen times, and waits
    for one each time.
    """

    def __init__(self, admission: Admission | None = None) -> None:
        super().__init__()
        self._admission = admission
        self._synchronous = BaseHandler()
        self._synchronous.load_middleware()
        self._downloads = Threads(DOWNLOADS, thread_name_prefix="download")
        self._in_thread = sync_to_async(self._respond)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_asynchronous(scope["path"], settings.ROOT_URLCONF):
            await super().handle(scope, receive, send)
            return
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with closing(body):
            response = await self._in_thread(scope, body, asyncio.get_running_loop())
            if not response.streaming:  # and closed
                await self.send_response(response, send)
                return
            try:
                await self._stream(response, receive, send)
            finally:
                await sync_to_async(response.close)()

    def _respond(
        self, scope: Scope, body: IO[bytes], loop: asyncio.AbstractEventLoop
    ) -> HttpResponseBase:
        """The response to a request, with all that Django does around it; closed if it is whole.

        By the thread alone: it works to its end even if the client has left.
        """
        place: Place | None = scope.get(_PLACE)
        if place is not None:
            place.is_used = True
        try:
            set_script_prefix(get_script_prefix(scope))
            signals.request_started.send(sender=type(self), scope=scope)
            request, refusal = self.create_request(scope, body)
            found = refusal if request is None else self._synchronous.get_response(request)
            response = cast("HttpResponseBase", found)
            response._handler_class = type(self)  # type: ignore[attr-defined]
            if isinstance(response, FileResponse):
                response.block_size = self.chunk_size
            if not response.streaming:
                response.close()
            return response
        finally:
            if place is not None:
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(place.leave)

    async def _stream(self, response: HttpResponseBase, receive: Receive, send: Send) -> None:
        """Send a response part by part, until its reader leaves."""
        sending = asyncio.ensure_future(self.send_response(response, send))
        leaving = asyncio.ensure_future(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (leaving, sending):
                task.cancel()
            # Each has ended when its response is closed. A reader who left is no error.
            ended = await asyncio.gather(sending, leaving, return_exceptions=True)
        if isinstance(ended[0], Exception):
            raise ended[0]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.handle(scope, _Request(scope, receive), send)
        except Busy as busy:
            await refusals.send_busy(scope, busy.retry_after, send)
        finally:
            place: Place | None = scope.get(_PLACE)
            if place is not None and not place.is_used:
                place.leave()

    async def read_body(self, receive: Receive) -> Any:
        """The body, with a place for its request. Raises Busy.

        From here on Django needs threads, for its signals at first. The body must be there: a
        slow one would hold the place.
        """
        body = await super().read_body(receive)
        try:
            await cast("_Request", receive).admit(self._admission)
        except BaseException:
            body.close()
            raise
        return body

    async def send_response(self, response: HttpResponseBase, send: Send) -> None:
        # Django would read a body of any size into memory first, and warn of it.
        if isinstance(response, FileResponse) and not response.is_async:
            content = iter(cast("Iterator[bytes]", response.streaming_content))
            response.streaming_content = _parts(content)
        elif isinstance(response, StreamingHttpResponse) and not response.is_async:
            response.streaming_content = _Download(response, self._downloads)
        await super().send_response(response, send)


class _Request:
    """The messages of one request, which gets a place in its scope."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope = scope
        self._receive = receive

    async def __call__(self) -> Mapping[str, Any]:
        return await self._receive()

    async def admit(self, admission: Admission | None) -> None:
        path, method = self._scope["path"], self._scope["method"]
        is_static = path.startswith(settings.STATIC_URL)
        is_asynchronous = _is_asynchronous(path, settings.ROOT_URLCONF)
        if admission is not None and not is_static and not is_asynchronous:
            files = method == "POST" and bodies.takes_files(path)
            rank = rank_of(path, method, takes_files=files)
            is_search = path in _SEARCHES
            self._scope[_PLACE] = await admission.enter(rank, is_measured=is_search)


@lru_cache(maxsize=256)
def _is_asynchronous(path: str, urlconf: str) -> bool:
    """Whether the path's view is; no view: an error page, which is not."""
    try:
        return iscoroutinefunction(resolve(path, urlconf).func)
    except Resolver404:
        return False


async def _parts(content: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The parts of a file, each read in any thread: a slow reader holds none."""
    read = sync_to_async(partial(next, content, None))
    while (part := await read()) is not None:
        yield part


class _Download:
    """The parts of a synchronous body, made in one thread from the first to the last.

    Such a body may hold a transaction, which belongs to its thread's connection. The thread waits
    for a reader who is more than _AHEAD parts behind, and ends when the reader leaves.
    """

    def __init__(self, response: StreamingHttpResponse, threads: ThreadPoolExecutor) -> None:
        self._content = iter(cast("Iterator[bytes]", response.streaming_content))
        # A generator is closed by the thread that runs it, and not by Django from another one.
        closers: list[Callable[[], None]] = cast("Any", response)._resource_closers
        self._closers = [*closers]
        closers.clear()
        self._threads = threads
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self._free = threading.Semaphore(_AHEAD)
        self._is_left = False

    def __aiter__(self) -> _Download:
        return self

    async def __anext__(self) -> bytes:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._threads.submit(copy_context().run, self._make)
        try:
            part = await self._ready.get()
        except asyncio.CancelledError:
            self.close()
            raise
        self._free.release()
        if isinstance(part, Exception):
            raise part
        if part is None:
            raise StopAsyncIteration
        return part

    def close(self) -> None:
        """End the thread's work; what Django calls at the end, in any thread."""
        self._is_left = True
        self._free.release()
        if self._loop is None:
            self._close_content()

    def _make(self) -> None:
        end: Exception | None = None
        try:
            while self._has_reader() and (part := next(self._content, None)) is not None:
                self._send(part)
        except Exception as error:  # the reader's task raises it
            end = error
        finally:
            self._close_content()
            self._send(end)

    def _has_reader(self) -> bool:
        """Whether there is one still, when there is room for another part."""
        self._free.acquire()
        return not self._is_left

    def _send(self, part: bytes | Exception | None) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._ready.put_nowait, part)
        except RuntimeError:  # the loop has ended, and with it every reader
            self._is_left = True

    def _close_content(self) -> None:
        while self._closers:
            self._closers.pop()()
