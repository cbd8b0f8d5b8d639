"""How large a request's body may be, by address, and how slowly it may arrive.

Django stores a body before its first middleware runs, on disk if it is large. So size, sender and
pace are checked here, before and while it arrives.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse
from django.urls import Resolver404, resolve
from django.utils.module_loading import import_string

from kbsite.serving import refusals

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# The addresses that accept files, and the setting that bounds all files of one request.
LARGE = {
    "admin:ingestion_document_add": "IMPORT_MAX_BYTES",
    "admin:ingestion_document_preview": "MAX_UPLOAD_BYTES",
    "admin:ingestion_document_new_version": "MAX_UPLOAD_BYTES",
    "admin:ingestion_import_add": "IMPORT_MAX_BYTES",
    "admin:tuning_goldenquery_import": "MAX_UPLOAD_BYTES",
    "api:document-list": "MAX_UPLOAD_BYTES",
    "api:document-version-list": "MAX_UPLOAD_BYTES",
    "api:document-batch-list": "IMPORT_MAX_BYTES",
    "api:import-list": "IMPORT_MAX_BYTES",
    "api:judgement-import-file": "MAX_UPLOAD_BYTES",
}
# Seconds for the beginning of a body, and the bytes a second after that, as Apache's
# mod_reqtimeout has them by default (body=20,MinRate=500).
SECONDS, LEAST_RATE = 20.0, 500
# Seconds for which the rest of a refused body is read and dropped: a client that still sends when
# the connection is closed does not read why (RFC 9112, section 9.6).
LINGER = 2.0


def takes_files(path: str) -> bool:
    """Whether the address accepts uploads."""
    return _large(path) is not None


def _large(path: str) -> int | None:
    try:
        name = resolve(path, settings.ROOT_URLCONF).view_name
    except Resolver404:
        return None
    if name not in LARGE:
        return None
    from common.api.requests import FORM_BYTES  # no app may be loaded when this module is

    most: int = getattr(settings, LARGE[name]) + FORM_BYTES
    return most


class Bodies:
    """Passes requests on to `application` if their bodies are as they may be."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = _length(scope)
        if length == 0:
            await self._application(scope, receive, send)
            return
        most = await _most(scope, length)
        if length is not None and length > most:
            await _refuse(refusals.too_large(scope["path"], most), scope, receive, send)
            return
        body = _Body(receive, most)
        sent = _Sent(send)
        await self._application(scope, body.receive, sent)
        if body.problem is not None and not sent.has_begun:
            refused = (
                refusals.too_slow(scope["path"])
                if body.problem == "slow"
                else refusals.too_large(scope["path"], most)
            )
            await _refuse(refused, scope, receive, send)


class _Body:
    """A request's body on its way. For the application a refused one is a client that left."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._received = 0
        self._began = time.monotonic()
        self._is_whole = False
        self.problem: str | None = None

    async def receive(self) -> Mapping[str, Any]:
        if self.problem is not None:
            return {"type": "http.disconnect"}
        if self._is_whole:
            return await self._receive()
        due = self._began + SECONDS + self._received / LEAST_RATE
        try:
            async with asyncio.timeout(due - time.monotonic()):
                message = await self._receive()
        except TimeoutError:
            self.problem = "slow"
            return {"type": "http.disconnect"}
        self._received += len(message.get("body", b""))
        if self._received > self._most:
            self.problem = "large"
            return {"type": "http.disconnect"}
        self._is_whole = not message.get("more_body", False)
        return message


class _Sent:
    """Passes messages on, and knows whether there were any."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, message: Mapping[str, Any]) -> None:
        self.has_begun = True
        await self._send(message)


def _length(scope: Scope) -> int | None:
    """The length that the request states; None if it comes in chunks of any number."""
    headers = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return None
    stated = headers.get(b"content-length", b"0")
    return int(stated) if stated.isdigit() else None


async def _most(scope: Scope, length: int | None) -> int:
    """The bytes that this sender may send to this address."""
    small: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if length is not None and length <= small:
        return small
    large = _large(scope["path"])
    if large is None or not await sync_to_async(_is_known)(scope):
        return small
    return large


def _is_known(scope: Scope) -> bool:
    """Whether a signed-in user sends the request, or one with a token."""
    request: Any = ASGIRequest(scope, io.BytesIO())
    store = import_string(f"{settings.SESSION_ENGINE}.SessionStore")
    request.session = store(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    if get_user(request).is_authenticated:
        return True
    from knox.auth import TokenAuthentication
    from rest_framework.exceptions import APIException

    with suppress(APIException):
        return TokenAuthentication().authenticate(request) is not None
    return False


async def _refuse(response: HttpResponse, scope: Scope, receive: Receive, send: Send) -> None:
    await refusals.send_response(response, scope["method"], send)
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            while (await receive()).get("more_body"):
                pass
