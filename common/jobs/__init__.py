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
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial

from celery import current_app
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from common.circuit_breaker import REDIS
from common.jobs.leases import (
    BULK,
    DEFAULT,
    IMPORTS,
    INTERACTIVE,
    MAX_ATTEMPTS,
    RELEASED,
    J,
    Job,
    JobState,
    Lease,
    LeaseLost,
    claim,
    due,
    free,
    revoke,
    work_on,
)

logger = logging.getLogger(__name__)

# A message just sent or received needs a moment to become a lease.
GRACE = timedelta(seconds=10)
# While messages wait, a job enqueued long ago may still be among them.
PATIENCE = timedelta(hours=1)
SWEEP_LIMIT = 1_000


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
    return waiting_in([queue])[queue]


def waiting_in(queues: Sequence[str]) -> dict[str, int]:
    """The number of messages waiting in each queue, by one connection."""
    counts = dict.fromkeys(queues, 0)
    with current_app.connection_for_read() as connection:
        channel = connection.default_channel
        for queue in queues:
            with suppress(connection.channel_errors):
                counts[queue] = int(channel.queue_declare(queue, passive=True).message_count)
    return counts


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
