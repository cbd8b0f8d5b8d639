"""Finds work that no message speaks of: the broker lost it, or its worker died."""

from __future__ import annotations

import logging
from datetime import timedelta

from celery import current_app
from django.db.models import Q
from django.utils import timezone

from ingestion.models import DocumentVersion
from ingestion.models.library import UNFINISHED
from ingestion.queueing import enqueue

logger = logging.getLogger(__name__)

# A message that was just taken from the queue needs a moment to become a lease.
GRACE = timedelta(seconds=10)
# While messages wait, a version enqueued long ago may still be among them.
PATIENCE = timedelta(hours=1)
LIMIT = 1_000


def sweep_unfinished() -> int:
    """How many versions were enqueued again: due, held by nobody, and with no message waiting."""
    now = timezone.now()
    unheld = Q(leased_until=None) | Q(leased_until__lt=now)
    due = Q(not_before=None) | Q(not_before__lte=now)
    silent_since = now - (GRACE if queue_length() == 0 else PATIENCE)
    silent = Q(enqueued_at=None, created__lt=now - GRACE) | Q(enqueued_at__lt=silent_since)
    versions = DocumentVersion.objects.filter(unheld, due, silent, state__in=UNFINISHED)
    pks = list(versions.order_by("pk").values_list("pk", flat=True)[:LIMIT])
    for pk in pks:
        enqueue(pk)
    if pks:
        logger.info("Enqueued %d unfinished version(s) again", len(pks))
    return len(pks)


def queue_length() -> int:
    """Messages waiting in the default queue; 0 when it does not exist yet."""
    with current_app.connection_for_read() as connection:
        channel = connection.default_channel
        try:
            return int(
                channel.queue_declare(
                    current_app.conf.task_default_queue, passive=True
                ).message_count
            )
        except connection.channel_errors:
            return 0
