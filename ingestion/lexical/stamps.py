"""A sign for searches that something they show has changed, where no statistic says so.

Whatever becomes searchable, or stops being so, adds a row to the statistics (`terms`), in its own
transaction: from the rows that it sees, a search knows whether its results of a moment ago still
hold (`search.retrieval.state`). A change of a title or of metadata adds a row that counts nothing.
"""

from __future__ import annotations

from typing import Any

from django.db import connection

from ingestion.models import Document

# Saved while a new version is still being read: searches show nothing of it.
_UNSEEN = {"latest", "content_hash", "updated"}
# A collection without statistics has nothing to be found.
_MARK = """
INSERT INTO ingestion_corpuschange (collection_id, text_config, chunks, total_length)
SELECT collection_id, text_config, 0, 0 FROM (
    SELECT collection_id, text_config FROM ingestion_corpusstatistics WHERE collection_id = %(of)s
    UNION ALL
    SELECT collection_id, text_config FROM ingestion_corpuschange WHERE collection_id = %(of)s
) held LIMIT 1
"""


def mark_changed(collection_id: int) -> None:
    """Say that what searches show of the collection has changed, in the caller's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_MARK, {"of": collection_id})


def mark_saved(
    instance: Document, *, created: bool, update_fields: frozenset[str] | None = None, **_: Any
) -> None:
    """Say so of a saved document's collection; not where its passages are counted anyway."""
    fields = None if update_fields is None else set(update_fields)
    is_counted = created or (fields is not None and "current" in fields)
    is_unseen = fields is not None and "latest" in fields and fields <= _UNSEEN
    if not is_counted and not is_unseen:
        mark_changed(instance.collection_id)
