"""The active space, and the lock on changing which one it is."""

from __future__ import annotations

from django.db import connection

from ingestion.models import EmbeddingSpace

# Arbitrary and ours: the advisory lock on which space answers.
SWITCH_LOCK = 7_402_117


def active_space() -> EmbeddingSpace | None:
    """The space that answers; None before the first document."""
    return EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).first()


def hold_switch(*, exclusive: bool = False) -> None:
    """Keeps the active space what it is until the transaction ends; `exclusive` to change it.

    Documents become searchable under the shared lock, so that a switch finds each of them either
    whole in the new space or not searchable yet. Searches take no lock.
    """
    function = "pg_advisory_xact_lock" if exclusive else "pg_advisory_xact_lock_shared"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [SWITCH_LOCK])
