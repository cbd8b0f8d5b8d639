"""Asks the workers. What is left to do stands in the database; a message only saves time."""

from __future__ import annotations

import logging
from functools import partial

from django.db import transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from ingestion.models import DocumentVersion

logger = logging.getLogger(__name__)


def enqueue(version_id: int) -> None:
    """Asks a worker to advance a version, once the present transaction is committed.

    A broker that is away is no error here: the sweep enqueues again from the database.
    """
    transaction.on_commit(partial(_send, version_id))


def _send(version_id: int) -> None:
    # The task runs the steps, which come back here: only the message closes the circle.
    from ingestion.tasks import advance_version

    try:
        advance_version.delay(version_id)
    except (OperationalError, OSError) as error:
        logger.warning("The broker is away (%s); version %s waits for the sweep", error, version_id)
        return
    DocumentVersion.objects.filter(pk=version_id).update(enqueued_at=timezone.now())
