"""Messages to the workers. Tasks are sent by name, so that no sender imports a worker's code."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial

from celery import current_app
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from common.jobs.leases import J, due, free
from common.jobs.models import Job

logger = logging.getLogger(__name__)

# A message that was just sent or taken from the queue needs a moment to become a lease.
GRACE = timedelta(seconds=10)
# While messages wait, a job enqueued long ago may still be among them.
PATIENCE = timedelta(hours=1)
SWEEP_LIMIT = 1_000


def enqueue(model: type[Job], pk: int, *, seconds: float = 0) -> None:
    """Ask a worker to take up the job, once the present transaction is committed.

    An unreachable broker is no error: the sweep enqueues again from the database.
    """
    transaction.on_commit(partial(_send_job, model, pk, seconds))


def send(task: str, *args: object, queue: str, seconds: float = 0) -> bool:
    """Send a message now; False, and a line in the log, where the broker cannot be reached."""
    try:
        current_app.send_task(task, args=args, queue=queue, countdown=seconds or None)
    except (OperationalError, OSError) as error:
        logger.warning("Cannot reach the broker (%s); %s %s waits for the sweep", error, task, args)
        return False
    return True


def sweep(model: type[J], rows: QuerySet[J] | None = None) -> int:
    """Enqueue the open jobs of `rows` that a worker should have by now; return how many.

    These are due, held by nobody, and no message speaks of them: it was lost with the broker, or
    its worker died. Each queue by its own length: a long import does not hide that an upload's
    message is lost.
    """
    now = timezone.now()
    idle = (model.open_jobs() if rows is None else rows).filter(due(now), free(now))
    pks: list[int] = []
    for queue, lane in model.QUEUES.items():
        since = now - (PATIENCE if waiting(queue) else GRACE)
        lost = Q(enqueued_at=None) | Q(enqueued_at__lt=since)
        # A message that came before its job was due found nothing to do, and is gone.
        lost |= Q(enqueued_at__lt=F("not_before"), not_before__lt=now - GRACE)
        pks += idle.filter(lane, lost).order_by("pk").values_list("pk", flat=True)[:SWEEP_LIMIT]
    for pk in pks:
        enqueue(model, pk)
    if pks:
        logger.info("Enqueued %d %s again", len(pks), model._meta.verbose_name_plural)
    return len(pks)


def waiting(queue: str) -> int:
    """Messages waiting in a queue; 0 when it does not exist yet."""
    with current_app.connection_for_read() as connection:
        channel = connection.default_channel
        try:
            return int(channel.queue_declare(queue, passive=True).message_count)
        except connection.channel_errors:
            return 0


def _send_job(model: type[Job], pk: int, seconds: float) -> None:
    """Send the job's message to the queue of its row, if it is still there.

    The row is marked first: the worker may claim it before this process goes on.
    """
    row = model._default_manager.filter(pk=pk)
    for queue, lane in model.QUEUES.items():
        if row.filter(lane).update(enqueued_at=timezone.now()):
            if not send(model.TASK, pk, queue=queue, seconds=seconds):
                row.update(enqueued_at=None)
            return
