"""A request that is repeated under one key is carried out once.

    begin  -> the key is claimed, or the answer of the request that had it
    finish -> the answer is kept for repetitions; release gives the key back after a failure
    forget_expired -> keys past their time are removed

The unique constraint decides between two requests at the same moment.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import Q
from django.utils import timezone

from ingestion.errors import IngestionError, StateConflict
from ingestion.models import IdempotencyKey

if TYPE_CHECKING:
    from common.accounts.models import User

# How long a repetition gets the first answer.
KEPT = timedelta(hours=24)
# A request that has not ended by then died with its process. A guess, above any server's timeout.
ABANDONED = timedelta(minutes=15)


class KeyReused(IngestionError):
    """The key was sent before, with another request."""

    code = "idempotency_key_reused"


def begin(user: User, key: str, fingerprint: str) -> IdempotencyKey:
    """The user's row of the key: new, with no `status`, or of a request that has been answered.

    Raises KeyReused where that was another request, and StateConflict while it is being processed.
    """
    IdempotencyKey.objects.filter(_over(), user=user, key=key).delete()
    row, is_new = IdempotencyKey.objects.get_or_create(
        user=user, key=key, defaults={"fingerprint": fingerprint}
    )
    if is_new:
        return row
    if row.fingerprint != fingerprint:
        raise KeyReused(
            "This Idempotency-Key was sent with another request. Choose a new key for each upload."
        )
    if row.status is None:
        raise StateConflict(
            "A request with this Idempotency-Key is being processed. Try again in a few seconds."
        )
    return row


def finish(row: IdempotencyKey, status: int, answer: Any, location: str) -> None:
    """Keep the answer for whoever repeats the request."""
    row.status, row.answer, row.location = status, answer, location
    IdempotencyKey.objects.filter(pk=row.pk).update(status=status, answer=answer, location=location)


def release(row: IdempotencyKey) -> None:
    """Give the key back: the request failed and may be tried again under it."""
    IdempotencyKey.objects.filter(pk=row.pk, status=None).delete()


def forget_expired() -> int:
    """Remove the keys past their time; return how many."""
    return IdempotencyKey.objects.filter(_over()).delete()[0]


def _over() -> Q:
    now = timezone.now()
    return Q(created__lt=now - KEPT) | Q(status=None, created__lt=now - ABANDONED)
