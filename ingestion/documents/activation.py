"""U5: make a version the one that searches read, and keep only as many older ones as wanted."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from common.jobs import Lease, LeaseLost, enqueue, revoke
from ingestion.edits import carrying
from ingestion.errors import IngestionError
from ingestion.files import storage
from ingestion.lexical import terms
from ingestion.models import Chunk, Document, DocumentVersion, EmbeddingSpace, State
from ingestion.parsing.titles import with_file_name
from ingestion.spaces import hold_switch, lacking, writing_space
from ingestion.spaces.filling import leave_to_backfill

StoredName = tuple[str, str]


def remove_unused(files: Iterable[StoredName]) -> None:
    """Removes stored files that no version names any longer; `files` are names with hashes."""
    for name, sha256 in files:
        with transaction.atomic():
            # Whoever is storing these bytes just now names them before this goes on.
            storage.hold(sha256)
            if name and not DocumentVersion.objects.filter(file=name).exists():
                storage.remove(name)


def trim(document_id: int) -> int:
    """How many older versions of a document gave up their file and text; their rows stay.

    The newest VERSIONS_KEPT files are kept, each counted once however often it was processed,
    and what is searched or under way always is.
    """
    with transaction.atomic():
        rows = Document.objects.select_for_update(of=("self",)).filter(pk=document_id)
        document = rows.first()
        if document is None:
            return 0
        surplus = list(_surplus(document))
        files = {(str(version.file.name), version.sha256) for version in surplus}
        pks = [version.pk for version in surplus]
        count = DocumentVersion.objects.filter(pk__in=pks).update(file="", text="")
        transaction.on_commit(partial(remove_unused, files))
    return count


def _surplus(document: Document) -> Iterable[DocumentVersion]:
    needed = {document.current_id, document.latest_id}
    seen: set[str] = set()
    for version in document.versions.defer("text").order_by("-number"):
        seen.add(version.sha256)
        is_needed = version.pk in needed or version.is_open
        if len(seen) > settings.VERSIONS_KEPT and not is_needed and version.file:
            yield version


def activate(lease: Lease[DocumentVersion]) -> bool:
    """Makes a fully embedded version the one that search reads, in one transaction.

    The chunks of the version before it go in the same moment: a search sees the one or the
    other, never half. False, with nothing done, when another embedding space became the active
    one meanwhile and does not hold it whole. Raises LeaseLost when the version was superseded or
    deleted.
    """
    with transaction.atomic():
        # The document first, as everywhere: two orders of locking could wait on each other.
        rows = Document.objects.kept().select_for_update(of=("self",))
        document = rows.filter(pk=lease.row.document_id).first()
        if document is None:
            raise LeaseLost(lease)
        with lease.writing() as version:
            if not _is_embedded(version):
                return False
            before = document.current
            if before is not None:
                terms.count_out(before.pk)
                before.chunks.all().delete()
                DocumentVersion.objects.filter(pk=before.pk).update(state=State.SUPERSEDED)
            _show_as(document, version)
            show(document)
            carrying.settle(version)
            finish(version, State.READY, progress=1, error="", error_code="")
            for space_id in leave_to_backfill(Q(version=version)):
                enqueue(EmbeddingSpace, space_id)
        transaction.on_commit(partial(trim, document.pk))
    return True


def show(document: Document) -> None:
    """Lets search find a document's current chunks, less those disabled by hand, and counts them.

    In the caller's transaction, with the document locked.
    """
    if document.current_id is None:
        return
    chunks = Chunk.objects.filter(version=document.current_id)
    chunks.filter(Q(edit=None) | Q(edit__disabled=False)).update(searchable=True)
    terms.count_in(document.current_id)


def hide(document: Document) -> None:
    """Takes a document's chunks out of search and out of its statistics, likewise."""
    if document.current_id is None:
        return
    terms.count_out(document.current_id)
    Chunk.objects.filter(version=document.current_id).update(searchable=False)


def _is_embedded(version: DocumentVersion) -> bool:
    """Whether the active space holds all of the version; it stays the active one until commit."""
    hold_switch()
    return not lacking(writing_space(), version.chunks.all()).exists()


def fail(lease: Lease[DocumentVersion], error: IngestionError) -> None:
    """Marks a version failed with the error's words; what search reads stays as it is."""
    with lease.writing() as version:
        version.chunks.all().delete()
        finish(version, State.FAILED, error=str(error), error_code=error.code)


def finish(version: DocumentVersion, state: State, **fields: Any) -> None:
    """Ends a version in `state` and lets go of its lease."""
    rows = DocumentVersion.objects.filter(pk=version.pk)
    revoke(rows, state=state, finished=timezone.now(), **fields)


def _show_as(document: Document, version: DocumentVersion) -> None:
    """Gives the document the version's text, title and language, and the title its lexemes."""
    document.current = version
    document.title = version.title
    document.language = version.language
    document.save(update_fields=["current", "title", "language", "updated"])
    named = with_file_name(version.title, version.file_name)
    terms.read_title(document.pk, named, version.language)
