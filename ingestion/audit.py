"""The audit log of the library: who did what to which document or collection.

The part of a message after a colon may name a file: `forget` removes it, and the title, when the
document is deleted permanently. The user, the action and the time remain.
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
    """Write an audit row; without a user, as in commands, write to the application log instead."""
    if user is None:
        # Not its title, which may be a line of the file.
        logger.info("%s %s: %s", target._meta.verbose_name, target.pk, message)
        return
    queryset = type(target)._default_manager.filter(pk=target.pk)
    LogEntry.objects.log_actions(user.pk, queryset, flag, message, single_object=True)


def forget(user: User | None, document: Document) -> None:
    """Remove the title and file names from a document's audit rows, and record its deletion."""
    named = f"Document {document.public_id}"
    kind = ContentType.objects.get_for_model(Document)
    held = LogEntry.objects.filter(content_type=kind, object_id=str(document.pk))
    for entry in held:
        entry.object_repr = named
        entry.change_message = entry.change_message.partition(":")[0]
    LogEntry.objects.bulk_update(held, ["object_repr", "change_message"], batch_size=500)
    if user is None:
        logger.info("%s: deleted permanently", named)
        return
    LogEntry.objects.create(
        user_id=user.pk,
        content_type=kind,
        object_id=str(document.pk),
        object_repr=named,
        action_flag=DELETION,
        change_message="Deleted permanently",
    )
