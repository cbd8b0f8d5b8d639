"""Idempotency keys: a request repeated with the same key is executed once.

    begin  -> claims the key, or returns the stored answer
    finish -> stores the answer for repetitions; release frees the key after a failure
    forget_expired -> removes expired keys

The unique constraint decides between two simultaneous requests.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from ingestion.errors import IngestionError, StateConflict
from ingestion.models import IdempotencyKey

if TYPE_CHECKING:
    from common.accounts.models import User

# The time during which a repetition gets the first answer.
KEPT = timedelta(hours=24)
# A request unfinished after this time has crashed. A guess, above any server's timeout.
ABANDONED = timedelta(minutes=15)


class KeyReused(IngestionError):
    """The key was used before, for another request."""

    code = "idempotency_key_reused"


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
    return Q(created__lt=now - KEPT) | Q(status=None, created__lt=now - ABANDONED)
