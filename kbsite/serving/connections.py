"""Gunicorn's ASGI worker, with an end to connections that are slow or too many.

Gunicorn's own closes only those that are idle between two requests: a client that sends its
headers a line a minute, or never reads what it asked for, keeps its connection for ever.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers import gasgi

# Seconds for the first request's headers, and without a byte of a response being taken. Apache's
# mod_reqtimeout gives headers 20, nginx 60, and 60 for the response.
HEADER_SECONDS = 10.0
WRITE_SECONDS = 60.0


class Connection(ASGIProtocol):  # type: ignore[misc]
    """One connection; those that wait for headers are in `Worker.waiting`, the oldest first."""

    _headers_due: asyncio.TimerHandle | None = None
    _write_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        worker = cast("Worker", self.worker)
        super().connection_made(transport)
        if self._callback_parser is not None:  # HTTP/1, which this site serves
            worker.waiting[self] = None
            self._headers_due = worker.loop.call_later(HEADER_SECONDS, self.end)
        worker.make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._cancel_write()
        super().connection_lost(exc)

    def _on_headers_complete(self) -> Any:
        self._stop_waiting()
        return super()._on_headers_complete()

    def _arm_keepalive_timer(self) -> None:
        # Also bounds the headers of the next request: gunicorn stops it when they are complete.
        cast("Worker", self.worker).waiting[self] = None
        super()._arm_keepalive_timer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._cancel_write()
        self._write_due = self.worker.loop.call_later(WRITE_SECONDS, self.end)

    def resume_writing(self) -> None:
        self._cancel_write()
        super().resume_writing()

    def end(self) -> None:
        """Close the connection at once."""
        self._stop_waiting()
        self.transport.abort()

    def _stop_waiting(self) -> None:
        cast("Worker", self.worker).waiting.pop(self, None)
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _cancel_write(self) -> None:
        if self._write_due is not None:
            self._write_due.cancel()
            self._write_due = None


class Worker(gasgi.ASGIWorker):  # type: ignore[misc]
    """Serves at most `worker_connections` at once, which gunicorn's own leaves unbounded."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.waiting: dict[Connection, None] = {}

    def init_process(self) -> None:
        # Gunicorn has no setting for the class of its connections.
        gasgi.ASGIProtocol = Connection
        super().init_process()

    def make_room(self) -> None:
        """Close the connection that has waited longest, if there are too many.

        Clients that hold connections open without asking lose them to those that come to ask.
        """
        if self.nr_conns > self.worker_connections and self.waiting:
            next(iter(self.waiting)).end()
