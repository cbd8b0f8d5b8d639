"""The versions of a document: queue a new one, revert to an older one, reuse vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.admin.models import CHANGE
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext

from common.accounts.models import User
from common.jobs import Lease, enqueue
from ingestion.documents.activation import finish
from ingestion.errors import StateConflict
from ingestion.events import log
from ingestion.files import storage
from ingestion.models import Document, DocumentVersion, Lane, State
from ingestion.models.embeddings import WRITTEN_STATES
from ingestion.models.versions import UNFINISHED


def make_current(version: DocumentVersion, *, acting_user: User | None) -> DocumentVersion:
    """Revert a document: queue a new version with the file of an older one; return it.

    The searchable version stays until the new one is ready; passages that the two share keep
    their embeddings. Raises StateConflict if the version is the current one, its file is no
    longer kept, or another document holds these bytes; Document.DoesNotExist if the document was
    deleted.
    """
    with transaction.atomic():
        storage.hold(version.sha256)
        document = locked(version.document_id)
        older = DocumentVersion.objects.defer("text").get(pk=version.pk)
        _check_revert(document, older)
        fresh = add_version(document, file_of(older), restored_from=older)
        message = f"Version {older.number} made current again as version {fresh.number}"
        log(acting_user, document, CHANGE, message)
    return fresh


def _check_revert(document: Document, older: DocumentVersion) -> None:
    if older.pk == document.current_id == document.latest_id:
        raise StateConflict(
            gettext("Version %(number)s is the current one already.") % {"number": older.number}
        )
    if not older.file:
        raise StateConflict(
            gettext(
                "The file of version %(number)s is no longer stored (VERSIONS_KEPT). Upload "
                "it again as a new version."
            )
            % {"number": older.number}
        )
    duplicate = by_hash(Document.objects.beside(document), older.sha256)
    if duplicate is not None and duplicate.pk != document.pk:
        text = gettext("“%(title)s” in this collection is the same file. Delete that one first.")
        raise StateConflict(text % {"title": duplicate.title})


def locked(document_id: int) -> Document:
    """The document, locked until the transaction ends. Raises DoesNotExist if deleted."""
    return Document.objects.undeleted().select_for_update(of=("self",)).get(pk=document_id)


def by_hash(documents: QuerySet[Document], sha256: str) -> Document | None:
    """The document outside the bin with these bytes, or None; parts are not considered."""
    documents = documents.select_related("latest", "collection")
    return documents.filter(content_hash=sha256, parent=None, deleted_at=None).first()


def add_version(
    document: Document,
    stored: storage.StoredFile,
    *,
    lane: Lane = Lane.INTERACTIVE,
    restored_from: DocumentVersion | None = None,
    stated: Mapping[str, Any] | None = None,
) -> DocumentVersion:
    """Queue a new version and return it; earlier unfinished ones are superseded.

    `stated` are the currency values of its import.
    """
    numbers = document.versions.values_list("number", flat=True)
    for waiting in document.versions.select_for_update().filter(state__in=UNFINISHED):
        waiting.chunks.all().delete()
        finish(waiting, State.SUPERSEDED)
    version = DocumentVersion.objects.create(
        document=document,
        number=max(numbers, default=0) + 1,
        title=document.title,
        language=document.language,
        file=stored.name,
        file_name=stored.file_name,
        media_type=stored.media_type,
        size=stored.size,
        sha256=stored.sha256,
        lane=lane,
        restored_from=restored_from,
        stated=stated,
    )
    document.latest = version
    document.content_hash = stored.sha256
    document.save(update_fields=["latest", "content_hash", "updated"])
    enqueue(DocumentVersion, version.pk)
    return version


def latest_of(document: Document) -> DocumentVersion | None:
    """The newest version without its text, which may be tens of megabytes."""
    if document.latest_id is None:
        return None
    return DocumentVersion.objects.defer("text").get(pk=document.latest_id)


def file_of(version: DocumentVersion) -> storage.StoredFile:
    """The stored file of a version."""
    return storage.StoredFile(
        str(version.file.name), version.file_name, version.size, version.sha256, version.media_type
    )


# As in `spaces.vectors`, the space is locked so that it cannot be deleted before its vectors.
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
