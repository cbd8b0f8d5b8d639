"""The audit of the library: who did what to which document or collection, in words for people.

What stands behind a colon in a message may name a file: `forget` takes it away with the title
when the document is removed for good, and leaves who did what, and when.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model

from ingestion.models import Document

if TYPE_CHECKING:
    from common.accounts.models import User

logger = logging.getLogger(__name__)


def log(user: User | None, target: Model, flag: int, message: str) -> None:
    """Writes the audit row. Django's log names a user; what a command does is in its own log."""
    if user is None:
        logger.info("%s: %s", target, message)
        return
    queryset = type(target)._default_manager.filter(pk=target.pk)
    LogEntry.objects.log_actions(user.pk, queryset, flag, message, single_object=True)


def forget(user: User | None, document: Document) -> None:
    """Takes the title and the names of files out of a document's rows, and adds its end."""
    named = f"Document {document.public_id}"
    kind = ContentType.objects.get_for_model(Document)
    held = LogEntry.objects.filter(content_type=kind, object_id=str(document.pk))
    for entry in held:
        entry.object_repr = named
        entry.change_message = entry.change_message.partition(":")[0]
    LogEntry.objects.bulk_update(held, ["object_repr", "change_message"], batch_size=500)
    if user is None:
        logger.info("%s: removed for good", named)
        return
    LogEntry.objects.create(
        user_id=user.pk,
        content_type=kind,
        object_id=str(document.pk),
        object_repr=named,
        action_flag=DELETION,
        change_message="Removed for good",
    )
