"""Reuse the vectors of passages that a new version shares with the searchable one.

The model embeds title, headings and text. If all three are equal in both versions, so is the
vector: reprocessing or reverting a document, or changing one of its pages, embeds only new
passages.
"""

from __future__ import annotations

from django.db import connection
from django.db.models import F

from common.jobs import Lease
from ingestion.models import DocumentVersion
from ingestion.models.index import WRITTEN_STATES

# As in `spaces.filling`, the space is locked so that it cannot be deleted before its vectors.
_COPY = """
INSERT INTO ingestion_chunkembedding (chunk_id, space_id, vector)
SELECT DISTINCT ON (fresh.id, held.space_id) fresh.id, held.space_id, held.vector
FROM ingestion_chunk fresh
JOIN ingestion_chunk old
  ON old.version_id = %(old)s AND old.content_hash = fresh.content_hash
 AND old.heading_path = fresh.heading_path
JOIN ingestion_chunkembedding held ON held.chunk_id = old.id
JOIN (
    SELECT id FROM ingestion_embeddingspace WHERE state = ANY(%(states)s) FOR KEY SHARE
) space ON space.id = held.space_id
WHERE fresh.version_id = %(fresh)s
ON CONFLICT DO NOTHING
"""


def copy_vectors(lease: Lease[DocumentVersion]) -> int:
    """Copy vectors from the document's searchable version to the new one; return how many."""
    document_id = lease.row.document_id
    with lease.writing() as version, connection.cursor() as cursor:
        searched = DocumentVersion.objects.filter(
            document__pk=document_id, document__current=F("pk"), title=version.title
        )
        old = searched.values_list("pk", flat=True).first()
        if old is None:
            return 0
        states = [state.value for state in WRITTEN_STATES]
        cursor.execute(_COPY, {"old": old, "fresh": version.pk, "states": states})
        return int(cursor.rowcount)
