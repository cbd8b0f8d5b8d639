"""Finds work that no message speaks of: the broker lost it, or its worker died."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from celery import current_app
from django.db.models import F, Q
from django.utils import timezone

from ingestion.documents.queueing import IMPORTS, QUEUE_OF, enqueue, enqueue_import, waiting
from ingestion.models import DocumentVersion, Import
from ingestion.models.library import UNFINISHED

logger = logging.getLogger(__name__)

# A message that was just taken from the queue needs a moment to become a lease.
GRACE = timedelta(seconds=10)
# While messages wait, a version enqueued long ago may still be among them.
PATIENCE = timedelta(hours=1)
LIMIT = 1_000


def sweep_unfinished() -> int:
    """How many versions were enqueued again: due, held by nobody, and with no message waiting.

    Each lane by its own queue: a long import does not hide that an upload's message is lost.
    """
    now = timezone.now()
    old = queue_length()
    pks: list[int] = []
    for lane, queue in QUEUE_OF.items():
        lost = _unheld(now) & _silent(now, old + waiting(queue))
        versions = DocumentVersion.objects.filter(
            lost,
            lane=lane,
            state__in=UNFINISHED,
            document__deleted_at=None,
            document__collection__deleted_at=None,
        )
        pks += versions.order_by("pk").values_list("pk", flat=True)[:LIMIT]
    for pk in pks:
        enqueue(pk)
    if pks:
        logger.info("Enqueued %d unfinished version(s) again", len(pks))
    return len(pks)


def sweep_imports() -> int:
    """How many imports were enqueued again, by the same rule."""
    now = timezone.now()
    lost = _unheld(now) & _silent(now, waiting(IMPORTS))
    pks = list(
        Import.objects.filter(lost, state__in=Import.OPEN, collection__deleted_at=None)
        .exclude(options__has_key="host")  # a command's, which no worker may read
        .order_by("pk")
        .values_list("pk", flat=True)[:LIMIT]
    )
    for pk in pks:
        enqueue_import(pk)
    return len(pks)


def queue_length() -> int:
    """Messages waiting in the default queue, where those of earlier releases may still be."""
    return waiting(current_app.conf.task_default_queue)


def _unheld(now: datetime) -> Q:
    due = Q(not_before=None) | Q(not_before__lte=now)
    return due & (Q(leased_until=None) | Q(leased_until__lt=now))


def _silent(now: datetime, messages: int) -> Q:
    """What no message speaks of, when so many wait in the queues that could hold one."""
    since = now - (PATIENCE if messages else GRACE)
    # Whoever held it had taken its message from the queue, and is dead.
    taken = Q(leased_until__gt=F("enqueued_at"), enqueued_at__lt=now - GRACE)
    return Q(enqueued_at=None, created__lt=now - GRACE) | Q(enqueued_at__lt=since) | taken
