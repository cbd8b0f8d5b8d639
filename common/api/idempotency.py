"""Idempotency keys: a POST repeated with the same key is executed once.

    once   -> the response to a request of the API, or the stored one
    begin  -> claims the key, or returns the stored answer
    finish -> stores the answer for repetitions; release frees the key after a failure
    forget_expired -> removes expired keys

The unique constraint decides between two simultaneous requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import copy
from datetime import timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from django.core.files.uploadedfile import UploadedFile
from django.db.models import Q
from django.http import Http404, QueryDict
from django.urls import resolve
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from common.accounts.models import IdempotencyKey, User
from common.api.errors import Conflict
from common.api.requests import actor

HEADER = "Idempotency-Key"
# The time during which a repetition gets the first answer.
RETENTION = timedelta(hours=24)
# A request unfinished after this time has crashed. A guess, above any server's timeout.
ABANDONED = timedelta(minutes=15)
MAX_CHARS = 200


class KeyReused(APIException):
    """The key was used before, for another request."""

    status_code = 422
    default_code = "idempotency_key_reused"


def keyed(handler: Callable[..., Any]) -> Callable[..., Any]:
    """The handler of a request whose response is stored under the key of the request."""

    def handle(request: Request, *args: Any, **kwargs: Any) -> Any:
        return once(request, lambda: handler(request, *args, **kwargs))

    return handle


def once(request: Request, work: Callable[[], Any]) -> Any:
    """The response of `work`, or the stored response if a request with the same key was answered.

    Call it once the request has been permitted: a repetition must still be, and what it made must
    still be visible. Raises KeyReused and Conflict, see `begin`.
    """
    key = request.headers[HEADER]
    if not (0 < len(key) <= MAX_CHARS and key.isascii() and key.isprintable()):
        message = f"Give 1 to {MAX_CHARS} letters, digits or signs."
        raise ValidationError({HEADER: [message]})
    row = begin(actor(request), key, fingerprint(request))
    if row.status is not None:
        return _repeated(request, row)
    try:
        response = work()
    except BaseException:
        release(row)
        raise
    if response.status_code >= 400:
        release(row)
    elif place := response.get("Content-Location"):  # stored there, and only there
        finish(row, response.status_code, None, place)
    else:
        finish(row, response.status_code, response.data, response.get("Location", ""))
    return response


def _repeated(request: Request, row: IdempotencyKey) -> Any:
    """The stored response. Raises Http404 if its user no longer sees what it made."""
    response = Response(row.answer, row.status)
    if row.location:
        there = _get(request, row.location)
        if there.status_code == 404:
            raise Http404
        if row.answer is None:
            response = there
        else:
            response["Location"] = row.location
    response["Idempotent-Replayed"] = "true"
    return response


def _get(request: Request, address: str) -> Any:
    """The response to a GET of an address of this site by the same user."""
    inner = copy(request._request)
    inner.method, inner.path = "GET", urlsplit(address).path
    inner.path_info = inner.path
    inner.META = {**inner.META, "CONTENT_LENGTH": "", "HTTP_ACCEPT": "application/json"}
    inner.GET = QueryDict()
    match = inner.resolver_match = resolve(inner.path)
    return match.func(inner, *match.args, **match.kwargs)


def fingerprint(request: Request) -> str:
    """A hash of the method, the address, the fields, and the names and bytes of the files."""
    data: Any = request.data
    values = {name: data.getlist(name) if hasattr(data, "getlist") else data[name] for name in data}
    parts = [request.method, request.get_full_path(), values]
    text = json.dumps(parts, sort_keys=True, default=_of_file)
    return sha256(text.encode()).hexdigest()


def _of_file(value: Any) -> list[str]:
    if not isinstance(value, UploadedFile):
        return [str(value)]
    digest = sha256()
    for chunk in value.chunks():
        digest.update(chunk)
    value.seek(0)
    return [str(value.name), digest.hexdigest()]


def begin(user: User, key: str, fingerprint: str) -> IdempotencyKey:
    """The user's row of the key: a new one without `status`, or that of an answered request.

    Raises KeyReused if that was another request, Conflict if it is still being processed.
    """
    IdempotencyKey.objects.filter(_over(), user=user, key=key).delete()
    row, is_new = IdempotencyKey.objects.get_or_create(
        user=user, key=key, defaults={"fingerprint": fingerprint}
    )
    if is_new:
        return row
    if row.fingerprint != fingerprint:
        raise KeyReused(
            gettext(
                "This Idempotency-Key was sent with another request. Choose a new key for "
                "each request."
            )
        )
    if row.status is None:
        raise Conflict(
            gettext(
                "A request with this Idempotency-Key is being processed. Try again in a few "
                "seconds."
            )
        )
    return row


def finish(row: IdempotencyKey, status: int, answer: Any, location: str) -> None:
    """Store the answer for repetitions of the request."""
    row.status, row.answer, row.location = status, answer, location
    IdempotencyKey.objects.filter(pk=row.pk).update(status=status, answer=answer, location=location)


def release(row: IdempotencyKey) -> None:
    """Free the key of a failed request, which may be retried with it."""
    IdempotencyKey.objects.filter(pk=row.pk, status=None).delete()


def forget_expired() -> int:
    """Remove expired keys; return how many."""
    return IdempotencyKey.objects.filter(_over()).delete()[0]


def _over() -> Q:
    now = timezone.now()
    return Q(created__lt=now - RETENTION) | Q(status=None, created__lt=now - ABANDONED)
