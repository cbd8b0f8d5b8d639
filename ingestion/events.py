"""Audit rows of documents and collections, and signals within the transaction of the change.

`reindexed` sends the ids of versions whose searchable chunks changed in number, text, collection or
vectors, for indexes outside the database.

A receiver writes its rows in the same transaction, so they exist only if the change is committed.
"""

from __future__ import annotations

import logging
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.dispatch import Signal

from common.accounts.models import User
from ingestion.models import Collection, Document, DocumentVersion

logger = logging.getLogger(__name__)


def log(user: User | None, target: Model, flag: int, message: str) -> None:
    """Write an audit row; without a user, as in commands, write to the application log instead."""
    if user is None:
        # Not its title, which may be a line of the file.
        logger.info("%s %s: %s", target._meta.verbose_name, target.pk, message)
        return
    queryset = type(target)._default_manager.filter(pk=target.pk)
    LogEntry.objects.log_actions(user.pk, queryset, flag, message, single_object=True)


def forget(document: Document) -> None:
    """Remove the title and file names from a document's audit rows, and log its deletion."""
    name = f"Document {document.public_id}"
    kind = ContentType.objects.get_for_model(Document)
    entries = LogEntry.objects.filter(content_type=kind, object_id=str(document.pk))
    for entry in entries:
        entry.object_repr = name
        entry.change_message = entry.change_message.partition(":")[0]
    LogEntry.objects.bulk_update(entries, ["object_repr", "change_message"], batch_size=500)
    logger.info("%s: deleted permanently", name)


DOCUMENT_READY = "document.ready"
DOCUMENT_FAILED = "document.failed"
DOCUMENT_DELETED = "document.deleted"
COLLECTION_DELETED = "collection.deleted"
COLLECTION_RESTORED = "collection.restored"

happened = Signal()
"""Sent with `event`, `collection_id`, `readers_id`, the collection or narrower audience that may
know of it, and `data`, which makes a dict of ids and states.

Never a title or a text: a receiver passes them on to programs whose readers nobody knows.
"""
reindexed = Signal()
"""Sent with `versions`, the ids of versions; some may not exist any more."""

currency_changed = Signal()
"""Sent when a document may have become superseded or valid for some days only, or no longer."""


def tell_of_currency() -> None:
    """Send the signal that a document's currency was changed."""
    currency_changed.send(Document)


def tell_of_index(*versions: int) -> None:
    """Send the signal that the searchable chunks of these versions changed."""
    reindexed.send(DocumentVersion, versions=versions)


def tell_of_document(
    event: str, document: Document, version: DocumentVersion | None = None, **details: Any
) -> None:
    """Send the signal that a document became ready, failed or was deleted, with its `version`."""

    def data() -> dict[str, Any]:
        return {
            "id": str(document.public_id),
            "collection": document.collection.slug,
            "version": version.number if version else None,
            "path": document.get_absolute_url(),
            **details,
        }

    of = {"collection_id": document.collection_id, "readers_id": document.readers_id}
    happened.send(Document, event=event, data=data, **of)


def tell_of_collection(event: str, collection: Collection) -> None:
    """Send the signal that a collection was deleted or restored, with all its documents."""

    def data() -> dict[str, Any]:
        return {"collection": collection.slug}

    of = {"collection_id": collection.pk, "readers_id": collection.pk}
    happened.send(Collection, event=event, data=data, **of)
