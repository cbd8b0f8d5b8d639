"""Django and the agents' server (MCP) as one ASGI application.

All synchronous work of a process runs in one pool of threads, whatever the number of requests:
Django alone would start a thread for each request and keep it until the response ends, which is
two hundred idle threads for two hundred streams.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, closing, suppress
from contextvars import copy_context
from functools import partial
from typing import IO, Any, TypeAlias, TypeVar, cast

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.db import connections
from django.http.response import FileResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import set_script_prefix

from common.api.requests import Rank
from kbsite.operations import endpoints, instrumentation
from kbsite.serving import priorities, refusals
from kbsite.serving.admission import RESERVED, Admission, Busy, Place
from kbsite.serving.body_limits import BodyLimits

Scope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

T = TypeVar("T")

# Downloads that are made at once, each in a thread and mostly with a connection; others wait.
DOWNLOADS = 2


class Threads(ThreadPoolExecutor):
    """A pool whose threads hold no database connection between two pieces of work.

    The parts of one request may run in different threads, so no thread may keep a connection for
    the next part. Each is returned to psycopg's pool, which checks it before its next use.
    """

    def submit(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        return super().submit(_released, partial(work, *args, **kwargs))


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
        self._threads = Threads(threads + RESERVED, thread_name_prefix="web")
        self._admission = admission or Admission(threads, patience=math.inf)
        self._limited = BodyLimits(self._choose)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})
        elif scope["type"] != "http":
            # Without its lifespan the SDK's application answers every call with a 500.
            await self._agents(scope, receive, send)
        elif scope["path"] == endpoints.HEALTH_PATH and scope["method"] in ("GET", "HEAD"):
            await endpoints.health.app(scope, receive, send)
        elif scope["path"] == endpoints.METRICS_PATH and scope["method"] in ("GET", "HEAD"):
            await endpoints.metrics.app(scope, receive, send)
        else:
            with instrumentation.identified(scope, send) as send_identified:
                async with ThreadSensitiveContext(executor=self._threads):
                    await self._limited(scope, receive, send_identified)

    async def _choose(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_for_agents(scope["path"]):
            # Pages acquire a place once the body has arrived.
            await self._pages(scope, receive, send)
            return
        try:
            place = await self._admission.enter(Rank.AGENT)
        except Busy as busy:
            await refusals.send_busy(scope, busy, send)
            return
        try:
            await self._agents(scope, receive, send)
        finally:
            place.leave()


class Pages(ASGIHandler):
    """Django's handler, within the threads of `Site`, with downloads of any size.

    A view runs with all its middleware and signals in one piece of work of one thread: in Django's
    asynchronous chain a request changes threads a dozen times, and waits for one each time.
    """

    def __init__(self, admission: Admission | None = None) -> None:
        self.load_middleware()  # Django's own handler loads the asynchronous chain
        self._admission = admission
        self._downloads = asyncio.Semaphore(DOWNLOADS)
        self._in_thread = sync_to_async(self._respond)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with closing(body):
            try:
                place = await self._enter(scope)
            except Busy as busy:
                await refusals.send_busy(scope, busy, send)
                return
            await self._answer(scope, body, place, receive, send)

    async def _enter(self, scope: Scope) -> Place | None:
        """A place for the request, after its body has arrived: a slow upload must not block one.

        None for static files, which take no time. Raises Busy.
        """
        path = scope["path"]
        if self._admission is None or path.startswith(settings.STATIC_URL):
            return None
        view = priorities.view_of(path)
        rank = priorities.rank_of(view, scope["method"])
        try:
            # The time of a search that draws pages says nothing about other searches.
            draws = b"rectangles=" in scope.get("query_string", b"")
            is_measured = priorities.is_search(view) and not draws
            return await self._admission.enter(rank, is_measured=is_measured)
        except Busy:
            if rank is Rank.STAFF or not priorities.has_session(scope):
                raise
            # Looking up the session costs a query: at most one for each reserved place at once.
            place, is_staff = await self._admission.enter(Rank.STAFF), False
            try:
                is_staff = await priorities.is_staff(scope)
            finally:
                if not is_staff:
                    place.leave()
            if is_staff:
                return place
            raise

    async def _answer(
        self, scope: Scope, body: IO[bytes], place: Place | None, receive: Receive, send: Send
    ) -> None:
        try:
            loop = asyncio.get_running_loop()
            response = await self._in_thread(scope, body, place, loop)
        finally:
            if place is not None and not place.is_used:
                place.leave()
        if not response.streaming:  # and closed
            await self.send_response(response, send)
            return
        try:
            await self._stream(response, receive, send)
        finally:
            if not response.closed:
                await sync_to_async(response.close)()

    def _respond(
        self, scope: Scope, body: IO[bytes], place: Place | None, loop: asyncio.AbstractEventLoop
    ) -> HttpResponseBase:
        """The response to a request, with Django's signals and middleware; closed if not streaming.

        By the thread alone: it works to its end even if the client has left.
        """
        if place is not None:
            place.is_used = True
        try:
            set_script_prefix(get_script_prefix(scope))
            signals.request_started.send(sender=type(self), scope=scope)
            request, refusal = self.create_request(scope, body)
            if request is not None:
                # Chunks state none, and without a length forms and the API read no body at all.
                request.META["CONTENT_LENGTH"] = str(body.seek(0, os.SEEK_END))
                body.seek(0)
            response = cast(
                "HttpResponseBase", refusal if request is None else self.get_response(request)
            )
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
        """Send a response part by part, until the client disconnects."""
        sending = asyncio.ensure_future(self.send_response(response, send))
        leaving = asyncio.ensure_future(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (leaving, sending):
                task.cancel()
            # Both have ended when the response is closed. A disconnected reader is not an error.
            results = await asyncio.gather(sending, leaving, return_exceptions=True)
        if isinstance(results[0], Exception):
            raise results[0]

    async def send_response(self, response: HttpResponseBase, send: Send) -> None:
        if not isinstance(response, StreamingHttpResponse) or response.is_async:
            await super().send_response(response, send)
            return
        # Django would read a body of any size into memory first, and warn of it.
        content = iter(cast("Iterator[bytes]", response.streaming_content))
        is_file = isinstance(response, FileResponse)
        parts = _file(content) if is_file else self._download(response, content)
        response.streaming_content = parts
        async with aclosing(parts):
            await super().send_response(response, send)

    async def _download(
        self, response: StreamingHttpResponse, content: Iterator[bytes]
    ) -> AsyncGenerator[bytes]:
        """The parts of a synchronous body, made and closed in one thread.

        Such a body may hold a transaction, which belongs to its thread's connection.
        """
        loop, run = asyncio.get_running_loop(), copy_context().run
        make = partial(run, partial(next, content, None))
        async with self._downloads:
            thread = ThreadPoolExecutor(1, thread_name_prefix="download")
            try:
                while (part := await loop.run_in_executor(thread, make)) is not None:
                    yield part
            finally:
                await loop.run_in_executor(thread, run, _released, response.close)
                thread.shutdown(wait=False)


async def _file(content: Iterator[bytes]) -> AsyncGenerator[bytes]:
    """The parts of a file, each read in any thread, so that a slow client occupies none."""
    read = sync_to_async(partial(next, content, None))
    while (part := await read()) is not None:
        yield part
