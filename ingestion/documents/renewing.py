"""How a process holds a row that has `lease` and `leased_until`, until it ends or dies."""

from __future__ import annotations

import logging
import threading
import uuid
from datetime import timedelta
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Q, QuerySet
from django.utils import timezone

logger = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 4


def claimed(rows: QuerySet[Any], pk: int, **fields: Any) -> uuid.UUID | None:
    """What makes a row of `rows` ours, with `fields` written; None where it is held, or gone."""
    now, token = timezone.now(), uuid.uuid4()
    free = rows.filter(Q(leased_until=None) | Q(leased_until__lt=now), pk=pk)
    return token if free.update(lease=token, leased_until=now + _duration(), **fields) else None


class Renewed:
    """A claimed row: a context manager that renews its lease from a thread."""

    lost: ClassVar[type[Exception]]
    """What is raised where the row is no longer ours."""

    def __init__(self, rows: QuerySet[Any], pk: int, token: uuid.UUID) -> None:
        self.mine = rows.filter(pk=pk, lease=token)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._renew, name=f"lease of {pk}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._done.set()
        self._thread.join()
        self.end(failed=kind is not None)

    def end(self, *, failed: bool) -> None:
        """Gives the row back; `failed` by an error that nobody caught."""
        raise NotImplementedError

    def update(self, **fields: Any) -> None:
        """Writes fields of the row. Raises `lost` when it is no longer ours."""
        if not self.mine.update(**fields):
            raise self.lost

    def _renew(self) -> None:
        pause = _duration().total_seconds() / RENEWALS_PER_LEASE
        try:
            while not self._done.wait(pause):
                try:
                    self.mine.update(leased_until=timezone.now() + _duration())
                except DatabaseError:
                    # A database that was restarted is there again the next time, by a new
                    # connection. The work itself goes on meanwhile, as long as it can.
                    logger.exception("Could not renew the %s", self._thread.name)
                    connection.close()
        finally:
            connection.close()


def _duration() -> timedelta:
    return timedelta(seconds=settings.INGESTION_LEASE_SECONDS)
