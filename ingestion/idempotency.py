"""Idempotency keys: a request repeated with the same key is executed once.

    once   -> the response to a request of the API, or the stored one
    begin  -> claims the key, or returns the stored answer
    finish -> stores the answer for repetitions; release frees the key after a failure
    forget_expired -> removes expired keys

The unique constraint decides between two simultaneous requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Any, TypeVar

from django.core.files.uploadedfile import UploadedFile
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from common.accounts.models import User
from common.api.requests import actor
from ingestion.errors import IngestionError, StateConflict
from ingestion.models import IdempotencyKey

Handler = TypeVar("Handler", bound=Callable[..., Any])

# The time during which a repetition gets the first answer.
RETENTION = timedelta(hours=24)
# A request unfinished after this time has crashed. A guess, above any server's timeout.
ABANDONED = timedelta(minutes=15)


MAX_CHARS = 200
HEADER = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="A word of your choice. The same request with the same key within 24 hours gets "
    "the first answer and creates nothing; another request with it is refused (422).",
)


def keyed(handler: Handler) -> Handler:
    """Declare that one action of a view obeys the header, by `once`."""
    handler.guards = ("Idempotency-Key",)  # type: ignore[attr-defined]
    return extend_schema(parameters=[HEADER])(handler)


class KeyReused(IngestionError):
    """The key was used before, for another request."""

    code = "idempotency_key_reused"


def once(request: Request, work: Callable[[], Response]) -> Response:
    """The response of `work`, or the stored response if a request with the same key was answered.

    Call it once the request has been read and checked: a repetition must still be permitted.
    Raises KeyReused and StateConflict, see `begin`.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return work()
    if not (0 < len(key) <= MAX_CHARS and key.isascii() and key.isprintable()):
        message = f"Give 1 to {MAX_CHARS} letters, digits or signs."
        raise ValidationError({"Idempotency-Key": [message]})
    row = begin(actor(request), key, fingerprint(request))
    if row.status is not None:
        headers = {"Idempotent-Replayed": "true"}
        if row.location:
            headers["Location"] = row.location
        return Response(row.answer, row.status, headers=headers)
    try:
        response = work()
    except BaseException:
        release(row)
        raise
    location = response.headers.get("Location", "")
    finish(row, response.status_code, response.data, location)
    return response


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

    Raises KeyReused if that was another request, StateConflict if it is still being processed.
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
                "each upload."
            )
        )
    if row.status is None:
        raise StateConflict(
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
