"""The largest body that a request may have, by its view and its sender.

Bodies are checked before Django reads them: it stores them before its first middleware runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from django.conf import settings

from kbsite.serving import refusals
from kbsite.serving.priorities import is_known, most_bytes, view_of

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# Seconds for which the rest of a refused body is read and dropped: a client that still sends when
# the connection is closed does not read why (RFC 9112, section 9.6).
LINGER = 2.0


class BodyLimits:
    """ASGI middleware that answers 413 to bodies larger than their view and sender may have.

    By their stated length before they arrive, or when they pass the limit.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = _length(scope)
        if length == 0:
            await self._application(scope, receive, send)
            return
        most = await _most(scope, length)
        if length is not None and length > most:
            await _refuse(scope, most, receive, send)
            return
        body, has_begun = _Body(receive, most), False

        async def sending(message: Mapping[str, Any]) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        await self._application(scope, body.receive, sending)
        if body.is_too_large and not has_begun:
            await _refuse(scope, most, receive, send)


class _Body:
    """Counts the bytes of a body. For the application, a refused request is a client that left."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._received = 0

    @property
    def is_too_large(self) -> bool:
        return self._received > self._most

    async def receive(self) -> Mapping[str, Any]:
        if self.is_too_large:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self._received += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.is_too_large else message


def _length(scope: Scope) -> int | None:
    """The length that the request states; None if it comes in chunks of any number."""
    headers = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return None
    value = headers.get(b"content-length", b"0")
    return int(value) if value.isdigit() else None


async def _most(scope: Scope, length: int | None) -> int:
    """The bytes that this sender may send to this address: files only those who are known."""
    small: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if length is not None and length <= small:
        return small
    large = most_bytes(view_of(scope["path"]))
    return large if large is not None and await is_known(scope) else small


async def _refuse(scope: Scope, most: int, receive: Receive, send: Send) -> None:
    response = refusals.too_large(scope["path"], most)
    await refusals.send_response(response, scope["method"], send)
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            while (await receive()).get("more_body"):
                pass
