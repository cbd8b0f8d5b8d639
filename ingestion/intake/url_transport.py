"""Connections to checked addresses only, with one deadline, and counted bodies."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, Self

import httpcore2

from ingestion.errors import TooLong
from ingestion.intake.url_guard import Guard, Resolver, checked_addresses

MIB = 1024 * 1024

# The errors of a connection that ends without a response.
FAILURES = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    ssl.SSLError,
)


class Deadline:
    """A time limit that closes every watched connection. Use as a context manager.

    With time-outs of single reads a server could send one byte per second for ever.
    """

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()
        with self._lock:
            for one in self._sockets:
                one.close()
            self._sockets.clear()

    @property
    def left(self) -> float:
        """Seconds left; 0 or less after the deadline."""
        return self._ends - time.monotonic()

    def watch(self, connection: socket.socket) -> None:
        """Shut `connection` down at the deadline, even during a TLS handshake."""
        with self._lock:
            # TLS takes over the descriptor; a duplicate refers to the same connection.
            self._sockets.append(connection.dup())

    def _cut(self) -> None:
        with self._lock:
            for one in self._sockets:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)


class CheckedBackend(httpcore2.NetworkBackend):
    """Resolves a host once, checks every address, and connects only to those.

    The request and the TLS handshake keep the host's name, but it is never resolved again: DNS
    rebinding has no effect.
    """

    def __init__(self, guard: Guard, resolver: Resolver, deadline: Deadline) -> None:
        self._guard = guard
        self._resolver = resolver
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        remaining = self._deadline.left
        failure: Exception | None = None
        for address in checked_addresses(self._guard, self._resolver, host, port, remaining):
            seconds = max(min(self._deadline.left, timeout or self._deadline.left), 0.01)
            try:
                stream = httpcore2.SyncBackend().connect_tcp(str(address), port, seconds)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
                continue
            self._deadline.watch(stream.get_extra_info("socket"))
            return stream
        raise failure or httpcore2.ConnectError(f"{host} has no address")

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.NetworkStream:
        raise httpcore2.ConnectError("Unix sockets are not supported")


def pool(
    guard: Guard, resolver: Resolver, deadline: Deadline, tls: ssl.SSLContext | None
) -> httpcore2.ConnectionPool:
    """Connections for one fetch. Proxies in the environment are ignored."""
    return httpcore2.ConnectionPool(
        ssl_context=tls or _system_trust(),
        network_backend=CheckedBackend(guard, resolver, deadline),
        max_keepalive_connections=0,
        http2=False,
    )


@cache
def _system_trust() -> ssl.SSLContext:
    """The system's certificate authorities, or SSL_CERT_FILE; loading them takes 50 ms."""
    return ssl.create_default_context()


def counted(parts: Iterable[bytes], limit: int, *, stated: int = 0) -> Iterator[bytes]:
    """`parts` unchanged. Raises TooLong once they exceed `limit` bytes, or if `stated` does."""
    size = 0
    for part in parts:
        size += len(part)
        if max(size, stated) > limit:
            raise TooLong(
                f"The response is larger than {limit // MIB} MB. Download it and upload it as a "
                "file."
            )
        yield part
