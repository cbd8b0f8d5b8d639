"""Activate a version for search, with its vectors; trim the files of older versions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from common.jobs import Lease, LeaseLost, enqueue, revoke
from ingestion import events, spaces
from ingestion.chunking import embedding_text
from ingestion.documents import extractions, hand_edit_transfer, picture_cache, turns
from ingestion.embedding import Vectors
from ingestion.errors import IngestionError
from ingestion.files import storage
from ingestion.lexical import bm25_weights
from ingestion.models import Chunk, ChunkEmbedding, Document, DocumentVersion, EmbeddingSpace, State
from ingestion.parsing.file_titles import with_file_name
from ingestion.spaces import hold_switch, unembedded, writing_space
from ingestion.spaces.vectors import leave_to_backfill, store

BATCH = 128
# Progress before this step, in [0, 1]: it takes nearly all of the time.
CHUNKED = 0.10


@dataclass(frozen=True, slots=True)
class Pending:
    """Chunks whose vectors are being computed in the background, or on first access."""

    space: EmbeddingSpace
    chunk_ids: list[int]
    batches: Iterator[tuple[Sequence[int], Vectors]]


def begin(version: DocumentVersion, space: EmbeddingSpace, chunks: Sequence[Chunk]) -> Pending:
    """Start to embed the first BATCH of the chunks; a local model runs in the background.

    Nothing is stored, so that the caller may give up or crash.
    """
    chunks = chunks[:BATCH]
    embedder = spaces.embedder(space)
    options = spaces.chunking_options(version.document.collection, embedder)
    texts = [
        embedding_text(version.title, chunk.heading_path, chunk.text, embedder.tokenizer, options)
        for chunk in chunks
    ]
    return Pending(space, [chunk.pk for chunk in chunks], embedder.embed_batches(texts))


def embed(lease: Lease[DocumentVersion], pending: Pending | None = None) -> None:
    """Embed the chunks without a vector in the active space; each finished batch is kept.

    The `backfill` fills the other written spaces later, so that their providers delay nothing. The
    active space is looked up for every batch: a switch loses one batch at most. `pending` vectors
    come first. Raises TurnOver, with the finished batches stored.
    """
    version, began = lease.row, time.monotonic()
    total = max(version.chunk_count, 1)
    while True:
        space = spaces.writing_space()
        if pending is None or pending.space != space:
            waiting = spaces.unembedded(space, version.chunks.order_by("ordinal"))
            # Load `version`, which the manager reads: otherwise there is one query for each chunk.
            chunks = list(waiting.only("version", "text", "heading_path")[:BATCH])
            if not chunks:
                return
            if time.monotonic() - began > turns.TURN_SECONDS and turns.others_wait(version):
                raise turns.TurnOver
            pending = begin(version, space, chunks)
        remaining = (
            total - ChunkEmbedding.objects.filter(chunk__version=version, space=space).count()
        )
        for indices, vectors in pending.batches:
            with lease.writing():
                store(space, [pending.chunk_ids[i] for i in indices], vectors)
            remaining -= len(indices)
        pending = None
        lease.update(progress=CHUNKED + (1 - CHUNKED) * min(1 - remaining / total, 0.999))


StoredName = tuple[str, str]


def remove_unused(files: Iterable[StoredName]) -> None:
    """Remove stored files that no version refers to; `files` are pairs of name and hash."""
    for name, sha256 in files:
        with transaction.atomic():
            # An upload that is storing these bytes commits its reference before the check below.
            storage.hold(sha256)
            if name and not DocumentVersion.objects.filter(file=name).exists():
                storage.remove(name)
                picture_cache.forget(sha256)


def trim(document_id: int) -> int:
    """Remove the file and text of older versions, but not their rows; return how many.

    The newest VERSIONS_KEPT distinct files are kept, and always those of the current version, of
    the latest one and of versions in progress.
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


def activate(lease: Lease[DocumentVersion], early: extractions.Results) -> bool:
    """Make a fully embedded version the searchable one, in one transaction.

    The chunks of the previous version are deleted in the same transaction: a search sees one
    version or the other, never a mixture. False, with nothing done, if another embedding space
    has become active and lacks some of the vectors. Raises LeaseLost if the version was
    superseded or deleted. `early` are the extractions made before; the others are made here.
    """
    # Read before locking, because it takes a second for a long document.
    extracted = extractions.extract(lease.row.pk, early)
    with transaction.atomic():
        # Lock the document first, as everywhere: a second lock order could deadlock.
        rows = Document.objects.undeleted().select_for_update(of=("self",))
        document = rows.filter(pk=lease.row.document_id).first()
        if document is None:
            raise LeaseLost(lease)
        with lease.writing() as version:
            if not _is_embedded(version):
                return False
            before = document.current
            if before is not None:
                bm25_weights.count_out(before.pk)
                before.chunks.all().delete()
                events.tell_of_index(before.pk)
                DocumentVersion.objects.filter(pk=before.pk).update(state=State.SUPERSEDED)
            _show_as(document, version)
            show(document)
            hand_edit_transfer.settle(version)
            extractions.store(document, extracted)
            finish(version, State.READY, progress=1, error="", error_code="")
            events.tell_of_document(events.DOCUMENT_READY, document, version, state="ready")
            for space_id in leave_to_backfill(Q(version=version)):
                enqueue(EmbeddingSpace, space_id)
        transaction.on_commit(partial(trim, document.pk))
    return True


def show(document: Document) -> None:
    """Make a document's current chunks searchable and add them to the term statistics.

    Chunks disabled by hand stay hidden. The caller holds the transaction and the document's lock.
    """
    if document.current_id is None:
        return
    chunks = Chunk.objects.filter(version=document.current_id)
    chunks.filter(Q(edit=None) | Q(edit__disabled=False)).update(searchable=True)
    bm25_weights.count_in(document.current_id)
    events.tell_of_index(document.current_id)


def hide(document: Document) -> None:
    """Remove a document's chunks from search and from the term statistics.

    The caller holds the transaction and the document's lock.
    """
    if document.current_id is None:
        return
    bm25_weights.count_out(document.current_id)
    visible = Chunk.objects.filter(version=document.current_id, searchable=True)
    visible.update(searchable=False)
    events.tell_of_index(document.current_id)


def _is_embedded(version: DocumentVersion) -> bool:
    """Whether the active space holds every chunk; it cannot be switched until commit."""
    hold_switch()
    return not unembedded(writing_space(), version.chunks.all()).exists()


def fail(lease: Lease[DocumentVersion], error: IngestionError) -> None:
    """Mark a version as failed with the error's message; the searchable version stays."""
    with lease.writing() as version:
        version.chunks.all().delete()
        finish(version, State.FAILED, error=str(error), error_code=error.code)
        events.tell_of_document(
            events.DOCUMENT_FAILED, version.document, version, state="failed", error=error.code
        )


def finish(version: DocumentVersion, state: State, **fields: Any) -> None:
    """End a version in `state` and release its lease."""
    rows = DocumentVersion.objects.filter(pk=version.pk)
    revoke(rows, state=state, finished=timezone.now(), **fields)


def _show_as(document: Document, version: DocumentVersion) -> None:
    """Set the document's current version, title and language, and the title's lexemes."""
    document.current = version
    document.title = version.title
    document.language = version.language
    document.save(update_fields=["current", "title", "language", "updated"])
    title = with_file_name(version.title, version.file_name)
    bm25_weights.read_title(document.pk, title, version.language)
