"""Who works on an import or a watched folder: a lease that runs out when its worker dies.

A version's own lease (`ingestion.leases`) counts attempts and states besides; this one does not.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

logger = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 4


class HoldLost(Exception):
    """Another process holds the row, or it was stopped or deleted: end quietly."""


class Hold:
    """A hold on one row that has `lease` and `leased_until`, renewed from a thread in its block."""

    def __init__(self, rows: QuerySet[Any], pk: int, token: uuid.UUID) -> None:
        self._mine = rows.filter(pk=pk, lease=token)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="hold", daemon=True)

    @classmethod
    def claim(cls, rows: QuerySet[Any], pk: int, **fields: Any) -> Self | None:
        """A hold on a row of `rows` that nobody holds, with `fields` written; None otherwise."""
        now, token = timezone.now(), uuid.uuid4()
        free = rows.filter(Q(leased_until=None) | Q(leased_until__lt=now), pk=pk)
        claimed = free.update(lease=token, leased_until=now + _duration(), **fields)
        return cls(rows.model._default_manager.all(), pk, token) if claimed else None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()
        self._mine.update(lease=None, leased_until=None)

    def update(self, **fields: Any) -> None:
        """Writes fields of the row. Raises HoldLost when it is no longer ours."""
        if not self._mine.update(**fields):
            raise HoldLost

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction in which the row stays ours. Raises HoldLost when it is not."""
        with transaction.atomic():
            if not self._mine.select_for_update(no_key=True).exists():
                raise HoldLost
            yield

    def _renew(self) -> None:
        pause = _duration().total_seconds() / RENEWALS_PER_LEASE
        try:
            while not self._done.wait(pause):
                try:
                    self._mine.update(leased_until=timezone.now() + _duration())
                except DatabaseError:
                    # The work goes on as long as it can; the next time by a new connection.
                    logger.exception("Could not renew a hold")
                    connection.close()
        finally:
            connection.close()


def _duration() -> timedelta:
    return timedelta(seconds=settings.INGESTION_LEASE_SECONDS)
