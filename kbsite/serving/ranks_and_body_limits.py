"""The rank of a view in the server's queue, and the largest request body that it accepts.

A view, its class or its ModelAdmin states a `rank` and, if it accepts files, `most_bytes`: the name
of the setting that bounds them. Views of the API have the latter on their parsers. Bodies are
checked before Django reads them: it stores them before its first middleware runs.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import psycopg
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest
from django.db import Error
from django.urls import Resolver404, resolve
from django.utils.module_loading import import_string
from rest_framework.exceptions import APIException

from common.api.access import TokenAuthentication, token_of
from common.api.requests import FORM_BYTES, Rank
from kbsite.serving import overload_and_outages

View = Callable[..., Any]
_SAFE = ("GET", "HEAD", "OPTIONS")


def view_of(path: str) -> View | None:
    """The view at this address; None if there is none."""
    return _view_of(path, settings.ROOT_URLCONF)


@lru_cache(maxsize=256)
def _view_of(path: str, urlconf: str) -> View | None:
    try:
        return resolve(path, urlconf).func
    except Resolver404:
        return None


def rank_of(view: View | None, method: str) -> Rank:
    """The rank of a request: what the view states, by default SEARCH, and CHANGE of the API."""
    if method not in _SAFE and most_bytes(view) is not None:
        return Rank.UPLOAD
    if (value := _attribute(view, "rank")) is not None:
        return Rank(value)
    return Rank.CHANGE if hasattr(view, "cls") and method not in _SAFE else Rank.SEARCH


def is_search(view: View | None) -> bool:
    """Whether the view answers searches: their time says how fast the machine is."""
    return bool(_attribute(view, "is_search"))


def most_bytes(view: View | None) -> int | None:
    """The most bytes that a body for this view may have; None if it accepts no files."""
    names = {str(_attribute(view, "most_bytes") or "")}
    names |= {getattr(parser, "most_bytes", "") for parser in _parsers(view)}
    limits = [getattr(settings, name) for name in names if name]
    return max(limits) + FORM_BYTES if limits else None


def _attribute(view: View | None, name: str) -> Any:
    owners = (view, getattr(view, "view_class", None), getattr(view, "cls", None))
    return next((getattr(each, name) for each in owners if hasattr(each, name)), None)


def _parsers(view: View | None) -> Sequence[Any]:
    """The parsers of a view of the API."""
    owned = getattr(getattr(view, "cls", None), "parser_classes", ())
    return list(getattr(view, "initkwargs", {}).get("parser_classes", owned))


async def is_known(scope: dict[str, Any]) -> bool:
    """Whether a signed-in user sends the request, or one with a token."""
    return await sync_to_async(_is_known)(scope)


def has_session(scope: dict[str, Any]) -> bool:
    """Whether the request has a session cookie, valid or not."""
    return settings.SESSION_COOKIE_NAME.encode() in dict(scope["headers"]).get(b"cookie", b"")


async def is_staff(scope: dict[str, Any]) -> bool:
    """Whether the session belongs to a member of staff; False if it cannot be looked up."""
    try:
        return bool(await sync_to_async(lambda: _user(_request(scope)).is_staff)())
    except (Error, psycopg.Error):
        return False


def _is_known(scope: dict[str, Any]) -> bool:
    request = _request(scope)
    if _user(request).is_authenticated:
        return True
    if value := token_of(request.headers.get("Authorization", "").encode()):
        with suppress(APIException):
            url = request.build_absolute_uri(request.path)
            return bool(TokenAuthentication().identify(value, url))
    return False


def _request(scope: dict[str, Any]) -> Any:
    return ASGIRequest(scope, io.BytesIO())


def _user(request: Any) -> Any:
    store = import_string(f"{settings.SESSION_ENGINE}.SessionStore")
    request.session = store(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    return get_user(request)


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
    response = overload_and_outages.too_large(scope["path"], most)
    await overload_and_outages.send_response(response, scope["method"], send)
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            while (await receive()).get("more_body"):
                pass
