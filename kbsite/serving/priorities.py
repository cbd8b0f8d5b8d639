"""The rank of a request in the server's queue, by its view and its sender.

A view, its class or its ModelAdmin states a `rank` and, if it accepts files, `most_bytes`: the name
of the setting that bounds them. Views of the API have the latter on their parsers.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
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


def has_session(scope: dict[str, Any]) -> bool:
    """Whether the request has a session cookie, valid or not."""
    return settings.SESSION_COOKIE_NAME.encode() in dict(scope["headers"]).get(b"cookie", b"")


async def is_staff(scope: dict[str, Any]) -> bool:
    """Whether the session belongs to a member of staff; False if it cannot be looked up."""
    try:
        return bool(await sync_to_async(lambda: _user(_request(scope)).is_staff)())
    except (Error, psycopg.Error):
        return False


@sync_to_async
def is_known(scope: dict[str, Any]) -> bool:
    """Whether a signed-in user sends the request, or one with a token."""
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
