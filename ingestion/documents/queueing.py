"""Asks the workers. What is left to do stands in the database; a message only saves time.

Two lanes (docs/adr/0023-two-lanes.md): one worker takes nothing but what a person waits for, so
that a note is searchable in seconds while a thousand imported files are queued.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from celery import current_app
from django.db import transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from ingestion.models import DocumentVersion, Import, Lane

logger = logging.getLogger(__name__)

INTERACTIVE, IMPORTS, BULK = "interactive", "imports", "bulk"
QUEUE_OF: dict[str, str] = {Lane.INTERACTIVE: INTERACTIVE, Lane.BULK: BULK}


def enqueue(version_id: int) -> None:
    """Asks a worker to advance a version, once the present transaction is committed.

    A broker that is away is no error here: the sweep enqueues again from the database.
    """
    transaction.on_commit(partial(_send, version_id))


def enqueue_import(import_id: int, *, seconds: float = 0) -> None:
    """Asks a worker to go on with an import, once the present transaction is committed."""
    transaction.on_commit(partial(_send_import, import_id, seconds))


def enqueue_purge() -> None:
    """Asks a worker to empty the bin of what is due, once the present transaction is committed.

    A broker that is away is no error here either: beat asks again.
    """
    transaction.on_commit(_send_purge)


def enqueue_filling(space_id: int, *, seconds: float = 0) -> None:
    """Asks a worker to go on filling an embedding space, once the transaction is committed.

    Or with what comes after: its index, its removal (`backfill`). A broker that is away is no
    error: the sweep asks again.
    """
    transaction.on_commit(partial(_send_filling, space_id, seconds))


def enqueue_scan(folder_id: int) -> None:
    """Asks a worker to look through a watched folder, once the transaction is committed."""
    transaction.on_commit(partial(_send_scan, folder_id))


def waiting(queue: str) -> int:
    """Messages waiting in a queue; 0 when it does not exist yet."""
    with current_app.connection_for_read() as connection:
        channel = connection.default_channel
        try:
            return int(channel.queue_declare(queue, passive=True).message_count)
        except connection.channel_errors:
            return 0


def _send(version_id: int) -> None:
    # The task runs the steps, which come back here: only the message closes the circle.
    from ingestion.tasks import advance_version

    version = DocumentVersion.objects.filter(pk=version_id)
    lane = version.values_list("lane", flat=True).first()
    if lane is None:
        return  # deleted meanwhile
    queue = QUEUE_OF.get(lane, INTERACTIVE)
    send = partial(advance_version.apply_async, (version_id,), queue=queue)
    if _sent(send, f"version {version_id}"):
        version.update(enqueued_at=timezone.now())


def _send_import(import_id: int, seconds: float) -> None:
    from ingestion.tasks import run_import

    send = partial(run_import.apply_async, (import_id,), queue=IMPORTS, countdown=seconds or None)
    if _sent(send, f"import {import_id}"):
        Import.objects.filter(pk=import_id).update(enqueued_at=timezone.now())


def _send_purge() -> None:
    from ingestion.tasks import purge_bin

    _sent(partial(purge_bin.apply_async, queue=IMPORTS), "emptying the bin")


def _send_filling(space_id: int, seconds: float) -> None:
    from ingestion.tasks import advance_space

    send = partial(advance_space.apply_async, (space_id,), queue=BULK, countdown=seconds or None)
    _sent(send, f"embedding space {space_id}")


def _send_scan(folder_id: int) -> None:
    from ingestion.tasks import scan_folder

    send = partial(scan_folder.apply_async, (folder_id,), queue=IMPORTS)
    _sent(send, f"watched folder {folder_id}")


def _sent(send: Callable[[], object], what: str) -> bool:
    try:
        send()
    except (OperationalError, OSError) as error:
        logger.warning("The broker is away (%s); %s waits for the sweep", error, what)
        return False
    return True
