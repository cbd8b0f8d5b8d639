"""A real HTTP server on the loopback interface that follows a script: the base of the fakes."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

D = TypeVar("D")
R = TypeVar("R")  # what a behaviour makes of a request: the reply


class ScriptedServer(ABC, Generic[R]):
    """The server on a free port while the context is open.

    Each request takes the next behaviour of the script; after its end, that of the kind of server.
    """

    def __init__(self, *script: Callable[[Any], R]) -> None:
        self._script = deque(script)
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        """The value for OPENAI_BASE_URL and ANSWER_BASE_URL."""
        return f"{self.base}/v1"

    def then(self, *behaviours: Callable[[Any], R]) -> None:
        """Append behaviours to the script."""
        with self._lock:
            self._script.extend(behaviours)

    def _next(self, default: D) -> Callable[[Any], R] | D:
        """The behaviour for a request. The caller holds the lock."""
        return self._script.popleft() if self._script else default

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)

    @abstractmethod
    def _handler(self) -> type[BaseHTTPRequestHandler]:
        """The handler of this server's requests."""


class Quiet:
    """A request handler that logs nothing: the tests' output is for failures."""

    def log_message(self, *args: object) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256  # many clients at once
