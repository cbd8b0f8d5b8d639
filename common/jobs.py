"""Background jobs, and their messages (docs/adr/0031-background-work.md).

Job      a row with the work left to do, its lease and its attempts
enqueue  -> a message to the row's queue, after the transaction
work_on  -> runs one function under a claim
claim    -> a Lease, renewed by a thread, released at the end of its block
revoke   removes the lease: the worker stops at its next write
sweep    -> messages for idle rows that have none

Tasks are sent by name, so that no sender imports a worker's code.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

from celery import current_app
from django.conf import settings
from django.db import DatabaseError, connection, models, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from common.circuit_breaker import REDIS

logger = logging.getLogger(__name__)

# The queues of jobs (docs/adr/0031-background-work.md).
INTERACTIVE, DEFAULT, IMPORTS, BULK = "interactive", "celery", "imports", "bulk"
# A message just sent or received needs a moment to become a lease.
GRACE = timedelta(seconds=10)
# While messages wait, a job enqueued long ago may still be among them.
PATIENCE = timedelta(hours=1)
SWEEP_LIMIT = 1_000


class JobState(models.TextChoices):
    """The default states of a job."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class Job(models.Model):
    """A row with work for a worker. Only the row records the work left; a message just saves time.

    A subclass has a `state`, and a `progress` from 0 to 1 if it reports any. `lease` is the token
    of the attempt that holds the row until `leased_until`; `attempts` counts the claims since the
    last progress. `enqueued_at` is None while the row has no message.
    """

    TASK: ClassVar[str]
    """The name of the Celery task that is called with the row's primary key."""
    QUEUES: ClassVar[Mapping[str, Q]] = {DEFAULT: Q()}
    """The queues of its messages, with the condition on the rows of each."""
    OPEN: ClassVar[tuple[str, ...]] = (JobState.QUEUED, JobState.RUNNING)
    """The states in which work is left."""

    error = models.TextField(
        blank=True, editable=False, help_text="What went wrong and what to do."
    )
    attempts = models.PositiveIntegerField(default=0, editable=False)
    enqueued_at = models.DateTimeField(null=True, blank=True, editable=False)
    not_before = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Earliest next attempt."
    )
    lease = models.UUIDField(
        null=True, blank=True, editable=False, help_text="The attempt that holds it."
    )
    leased_until = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    @classmethod
    def open_jobs(cls) -> models.QuerySet[Self]:
        """The rows with work left for a worker, whether due or not, leased or free.

        Without joins: a claim must check the row that it writes, and an UPDATE over a join checks
        a copy read before it waited for the row's lock.
        """
        return cls._default_manager.filter(state__in=cls.OPEN)

    @property
    def is_open(self) -> bool:
        """Whether work is left."""
        return getattr(self, "state", None) in self.OPEN

    @property
    def is_leased(self) -> bool:
        """Whether a worker had a valid lease on the row when it was read."""
        return self.leased_until is not None and self.leased_until > timezone.now()

    def lock_parents(self) -> bool:
        """Lock the rows before this one in the lock order; False if one is gone."""
        return True


J = TypeVar("J", bound=Job)
T = TypeVar("T")

RENEWALS_PER_LEASE = 4
REPORT_SECONDS = 1.0
# Work that crashes its worker this often without progress will do so again.
MAX_ATTEMPTS = 5
PAUSE_AFTER_ERROR = timedelta(seconds=10)

RELEASED: dict[str, None] = {"lease": None, "leased_until": None, "enqueued_at": None}
"""The columns of a job without a lease and without a message."""


class LeaseLost(Exception):
    """The job was leased to another attempt, stopped or deleted: the worker stops quietly."""

    def __init__(self, lease: Lease[Any]) -> None:
        super().__init__(f"The {lease.name} was lost")
        self.lease = lease


def claim(
    model: type[J], pk: int, *, rows: QuerySet[J] | None = None, early: bool = False, **fields: Any
) -> Lease[J] | None:
    """Claim an open job and write `fields`; None if it is leased, finished or not due.

    `rows` replaces `model.open_jobs()`, likewise without joins; `early` also claims a job that is
    not due. One conditional UPDATE: of two simultaneous claims, one waits for the other's row
    lock and then finds the row leased.
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
    """Run `work` under a lease of the job; None if it could not be claimed or was lost.

    The other arguments are those of `claim`.
    """
    lease = claim(model, pk, rows=rows, early=early, **fields)
    if lease is None:
        return None
    with lease:
        return work(lease)
    return None


def due(now: datetime) -> Q:
    """The jobs whose next attempt need not wait."""
    return Q(not_before=None) | Q(not_before__lte=now)


def free(now: datetime) -> Q:
    """The jobs without a valid lease."""
    return Q(leased_until=None) | Q(leased_until__lt=now)


def revoke(rows: QuerySet[Any], **fields: Any) -> int:
    """Revoke the leases of `rows` and write `fields`; return the number of rows.

    Their workers stop at the next write or report.
    """
    return rows.update(**{**RELEASED, **fields})


class Lease(Generic[J]):
    """The lease of one attempt at a job: a context manager that renews it from a thread.

    The lease is released at the end of the block; after an unhandled exception, with a pause
    before the next attempt. A lost lease ends the block quietly. `update` keeps `row` current.
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
            # A message received during the lease had no effect and no longer exists.
            self.mine.update(**RELEASED)
        else:
            self._give_back_after(error)
        return False

    @property
    def crashes_repeatedly(self) -> bool:
        """Whether earlier attempts ended without an error message, unlike in an outage."""
        return self.row.attempts > MAX_ATTEMPTS and not self.row.error

    def update(self, **fields: Any) -> None:
        """Write fields of the job. Raises LeaseLost if the lease is no longer ours."""
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
        """Raise LeaseLost if a renewal did not find the row; otherwise runs no query.

        For long work that writes nothing.
        """
        if self._doubtful.is_set():
            if not self.mine.exists():
                raise LeaseLost(self)
            self._doubtful.clear()

    @contextmanager
    def writing(self) -> Iterator[J]:
        """Open a transaction that locks the job under this lease. Raises LeaseLost."""
        with transaction.atomic():
            is_locked = self.row.lock_parents()
            if not is_locked or not self.mine.select_for_update(no_key=True).exists():
                raise LeaseLost(self)
            yield self.row

    def postpone(self, delay: timedelta, **fields: Any) -> None:
        """Release the job, not to be claimed before `delay` is over. Raises LeaseLost."""
        self.update(**{**RELEASED, "not_before": timezone.now() + delay, **fields})

    def finish(self, state: str, **fields: Any) -> None:
        """End the job in `state` and release it. Raises LeaseLost."""
        self.update(**{**RELEASED, "state": state, **fields})

    def _give_back_after(self, error: BaseException) -> None:
        """Release the job after `error` at once, instead of at expiry; pause after an Exception."""
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()  # the error may be the connection's own
        values: dict[str, Any] = dict(RELEASED)
        # No pause if the process is being stopped, or if another job's lost lease ended this one.
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
                    # The next renewal opens a new connection, as after a restart of the database.
                    # The work itself continues as long as it can.
                    logger.exception("Could not renew the %s", self.name)
                    connection.close()
        finally:
            connection.close()


def _duration() -> timedelta:
    return timedelta(seconds=settings.INGESTION_LEASE_SECONDS)


def enqueue(model: type[Job], pk: int, *, seconds: float = 0) -> None:
    """Ask a worker to process the job, once the current transaction is committed.

    An unreachable broker raises no error: the sweep enqueues again from the database.
    """
    transaction.on_commit(partial(_send_job, model, pk, seconds))


def send(task: str, *args: object, queue: str, seconds: float = 0) -> bool:
    """Send a message now; return False if the broker cannot be reached or failed a moment ago."""
    # An upload of fifty files waits once for a broker that hangs, not fifty times.
    if REDIS.is_open:
        return False
    try:
        current_app.send_task(task, args=args, queue=queue, countdown=seconds or None)
    except (OperationalError, OSError) as error:
        REDIS.trip()
        logger.warning("Cannot reach the broker (%s); %s %s waits for the sweep", error, task, args)
        return False
    return True


def sweep(model: type[J], rows: QuerySet[J] | None = None) -> int:
    """Enqueue the open jobs of `rows` whose message seems lost; return how many.

    These are due and not leased, and have no recent message: it was lost with the broker, or its
    worker died. Each queue is judged by its own length, so that a long import does not hide the
    lost message of an upload.
    """
    now = timezone.now()
    idle = (model.open_jobs() if rows is None else rows).filter(due(now), free(now))
    pks: list[int] = []
    for queue, lane in model.QUEUES.items():
        since = now - (PATIENCE if waiting(queue) else GRACE)
        lost = Q(enqueued_at=None) | Q(enqueued_at__lt=since)
        # A message received before its job was due had no effect and no longer exists.
        lost |= Q(enqueued_at__lt=F("not_before"), not_before__lt=now - GRACE)
        pks += idle.filter(lane, lost).order_by("pk").values_list("pk", flat=True)[:SWEEP_LIMIT]
    for pk in pks:
        enqueue(model, pk)
    if pks:
        logger.info("Enqueued %d %s again", len(pks), model._meta.verbose_name_plural)
    return len(pks)


def waiting(queue: str) -> int:
    """The number of messages waiting in a queue; 0 if it does not exist yet."""
    with current_app.connection_for_read() as connection, suppress(connection.channel_errors):
        return int(connection.default_channel.queue_declare(queue, passive=True).message_count)
    return 0


def _send_job(model: type[Job], pk: int, seconds: float) -> None:
    """Send the job's message to the queue of its row, if the row still exists.

    The row is marked first, because the worker may claim it before this process continues.
    """
    row = model._default_manager.filter(pk=pk)
    for queue, lane in model.QUEUES.items():
        if row.filter(lane).update(enqueued_at=timezone.now()):
            if not send(model.TASK, pk, queue=queue, seconds=seconds):
                row.update(enqueued_at=None)
            return
