"""What happens to documents and collections, told within the transaction that does it.

`reindexed` tells of versions, by id, whose searchable chunks changed in number, text, collection or
vectors: an index elsewhere must follow.

A receiver writes its rows in the same transaction: what it was told is true once it commits.
"""

from __future__ import annotations

from typing import Any

from django.dispatch import Signal

from ingestion.models import Collection, Document, DocumentVersion

DOCUMENT_READY = "document.ready"
DOCUMENT_FAILED = "document.failed"
DOCUMENT_DELETED = "document.deleted"
COLLECTION_DELETED = "collection.deleted"
COLLECTION_RESTORED = "collection.restored"

happened = Signal()
"""Sent with `event`, `collection_id`, and `data`, which makes a dict of ids and states.

Never a title or a text: a receiver passes them on to programs whose readers nobody knows.
"""
reindexed = Signal()
"""Sent with `versions`, the ids of versions; some may not exist any more."""


def tell_of_index(*versions: int) -> None:
    """Tell that the searchable chunks of these versions changed."""
    reindexed.send(DocumentVersion, versions=versions)


def tell_of_document(
    event: str, document: Document, version: DocumentVersion | None = None, **details: Any
) -> None:
    """Tell that a document became ready, failed or was deleted; `version` is the one meant."""

    def data() -> dict[str, Any]:
        return {
            "id": str(document.public_id),
            "collection": document.collection.slug,
            "version": version.number if version else None,
            "path": document.get_absolute_url(),
            **details,
        }

    happened.send(Document, event=event, collection_id=document.collection_id, data=data)


def tell_of_collection(event: str, collection: Collection) -> None:
    """Tell that a collection was deleted or restored, with all its documents."""

    def data() -> dict[str, Any]:
        return {"collection": collection.slug}

    happened.send(Collection, event=event, collection_id=collection.pk, data=data)
