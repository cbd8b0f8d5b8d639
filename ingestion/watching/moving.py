"""A document whose file has another path now: the same document, chunks and embeddings."""

from __future__ import annotations

import logging

from ingestion import terms
from ingestion.models import Document
from ingestion.titles import title_from_file_name, with_file_name

logger = logging.getLogger(__name__)


def rehome(document: Document, source: str, file_name: str) -> bool:
    """True when the document now comes from `source`; False where another does already.

    Called within a transaction. Its chunks are left as they are; the file name is matched anew.
    """
    row = Document.objects.select_for_update().get(pk=document.pk)
    rivals = Document.objects.kept().filter(collection=row.collection_id, source=source)
    if row.deleted_at is not None or rivals.exclude(pk=row.pk).exists():
        return False
    latest = row.versions.filter(pk=row.latest_id or 0).only("pk", "file_name").first()
    if latest is not None:
        if not row.title_given and row.title == title_from_file_name(latest.file_name)[:500]:
            row.title = title_from_file_name(file_name)[:500]
        row.versions.filter(pk__in={latest.pk, row.current_id or latest.pk}).update(
            file_name=file_name
        )
    logger.info("%s: moved from %s to %s", row, row.source, source)
    row.source = source
    row.save(update_fields=["source", "title", "updated"])
    terms.read_title(row.pk, with_file_name(row.title, file_name), row.language)
    return True
