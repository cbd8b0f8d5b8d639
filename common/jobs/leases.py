"""Claims on jobs. A lease is renewed while its process lives, and runs out when it dies."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Generic, Self, TypeVar

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from common.jobs.models import Job

logger = logging.getLogger(__name__)

J = TypeVar("J", bound=Job)
T = TypeVar("T")

RENEWALS_PER_LEASE = 4
REPORT_SECONDS = 1.0
# Work that ends its worker this often without coming forward will do it again.
MAX_ATTEMPTS = 5
PAUSE_AFTER_ERROR = timedelta(seconds=10)

RELEASED: dict[str, None] = {"lease": None, "leased_until": None, "enqueued_at": None}
"""The columns of a job that nobody holds and of which no message speaks."""


class LeaseLost(Exception):
    """Another attempt holds the job, or it was stopped or deleted: the worker stops quietly."""

    def __init__(self, lease: Lease[Any]) -> None:
        super().__init__(f"The {lease.name} was lost")
        self.lease = lease


def claim(
    model: type[J], pk: int, *, rows: QuerySet[J] | None = None, early: bool = False, **fields: Any
) -> Lease[J] | None:
    """The lease of an open job, with `fields` written; None where it is held, ended or not due.

    `rows` stands in for `model.open_jobs()`, likewise without joins; `early` takes what is not due
    as well. One conditional UPDATE: of two workers that claim at once, one waits for the other's
    row lock and then finds the row held.
    """
    now, token = timezone.now(), uuid.uuid4()
    idle = free(now) if early else free(now) & due(now)
    mine = (model.open_jobs() if rows is None else rows).filter(idle, pk=pk)
    values = {
        "lease": token,
        "leased_until": now + _duration(),
        "enqueued_at": None,  # its message was taken from the queue
        "attempts": F("attempts") + 1,
    }
    row = model._default_manager.filter(pk=pk).first() if mine.update(**values, **fields) else None
    return Lease(row, token) if row is not None else None


def work_on(
    model: type[J],
    pk: int,
    work: Callable[[Lease[J]], T],
    *,
    rows: QuerySet[J] | None = None,
    early: bool = False,
    **fields: Any,
) -> T | None:
    """The result of `work` under the lease of the job; None where it was not ours, or was lost.

    The other arguments are those of `claim`.
    """
    lease = claim(model, pk, rows=rows, early=early, **fields)
    if lease is None:
        return None
    with lease:
        return work(lease)
    return None


def due(now: datetime) -> Q:
    """The jobs whose next attempt has not to wait."""
    return Q(not_before=None) | Q(not_before__lte=now)


def free(now: datetime) -> Q:
    """The jobs that nobody holds."""
    return Q(leased_until=None) | Q(leased_until__lt=now)


def revoke(rows: QuerySet[Any], **fields: Any) -> int:
    """Take the leases of `rows` away and write `fields`; return how many rows there were.

    Their workers stop at the next write or report.
    """
    return rows.update(**{**RELEASED, **fields})


class Lease(Generic[J]):
    """One attempt's hold on a job: a context manager that renews it from a thread.

    At its end the job is given back; after an error that nobody caught, with a pause before the
    next attempt. A lost lease ends the block quietly. `row` is kept up with what is written here.
    """

    def __init__(self, row: J, token: uuid.UUID) -> None:
        self.row = row
        self.mine: QuerySet[J] = type(row)._default_manager.filter(pk=row.pk, lease=token)
        self._reported = float("-inf")
        self._ended, self._doubtful = threading.Event(), threading.Event()
        self.name = f"lease of {type(row).__name__} {row.pk}"
        self._thread = threading.Thread(target=self._renew, name=self.name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self._ended.set()
        self._thread.join()
        if isinstance(error, LeaseLost) and error.lease is self:
            logger.info("%s", error)
            return True
        if error is None:
            # A message that came meanwhile found it held, and is gone.
            self.mine.update(**RELEASED)
        else:
            self._give_back_after(error)
        return False

    @property
    def keeps_crashing(self) -> bool:
        """True when earlier attempts ended without a word; an outage leaves its error."""
        return self.row.attempts > MAX_ATTEMPTS and not self.row.error

    def update(self, **fields: Any) -> None:
        """Write fields of the job. Raises LeaseLost when it is no longer ours."""
        if not self.mine.update(**fields):
            raise LeaseLost(self)
        for name, value in fields.items():
            setattr(self.row, name, value)

    def report(self, share: float) -> None:
        """Write the progress, at most once a second. Raises LeaseLost."""
        if time.monotonic() - self._reported < REPORT_SECONDS:
            return
        self._reported = time.monotonic()
        self.update(progress=min(share, 1.0))

    def check(self) -> None:
        """Raise LeaseLost as soon as a renewal has failed to find the row; free of charge before.

        For long work that writes nothing.
        """
        if self._doubtful.is_set():
            if not self.mine.exists():
                raise LeaseLost(self)
            self._doubtful.clear()

    @contextmanager
    def writing(self) -> Iterator[J]:
        """A transaction in which the job stays ours. Raises LeaseLost when it is not."""
        with transaction.atomic():
            held = self.row.lock_parents()
            if not held or not self.mine.select_for_update(no_key=True).exists():
                raise LeaseLost(self)
            yield self.row

    def postpone(self, delay: timedelta, **fields: Any) -> None:
        """Give the job back until the delay is over. Raises LeaseLost."""
        self.update(**{**RELEASED, "not_before": timezone.now() + delay, **fields})

    def finish(self, state: str, **fields: Any) -> None:
        """End the job in `state` and give it back. Raises LeaseLost."""
        self.update(**{**RELEASED, "state": state, **fields})

    def _give_back_after(self, error: BaseException) -> None:
        """Give the job back at once, not when the lease runs out; with a pause after an error."""
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()  # the error may be the connection's own
        values: dict[str, Any] = dict(RELEASED)
        # Not where the process is asked to end, or this job was done for another one that was.
        if isinstance(error, Exception) and not isinstance(error, LeaseLost):
            values["not_before"] = timezone.now() + PAUSE_AFTER_ERROR
        try:
            self.mine.update(**values)
        except DatabaseError:
            logger.exception("The %s ends by itself", self.name)

    def _renew(self) -> None:
        pause = _duration().total_seconds() / RENEWALS_PER_LEASE
        try:
            while not self._ended.wait(pause):
                try:
                    if not self.mine.update(leased_until=timezone.now() + _duration()):
                        self._doubtful.set()
                except DatabaseError:
                    # A restarted database is found again the next time, by a new connection. The
                    # work itself goes on meanwhile, as long as it can.
                    logger.exception("Could not renew the %s", self.name)
                    connection.close()
        finally:
            connection.close()


def _duration() -> timedelta:
    return timedelta(seconds=settings.INGESTION_LEASE_SECONDS)
