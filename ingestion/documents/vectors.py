"""U4: the vectors of a version's chunks, computed while its other steps go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from common.jobs import Lease
from ingestion import spaces
from ingestion.chunking import embedding_text
from ingestion.embedding import Vectors
from ingestion.models import Chunk, ChunkEmbedding, DocumentVersion, EmbeddingSpace
from ingestion.spaces.filling import store

BATCH = 128
# Progress before this step, in [0, 1]: it takes nearly all of the time.
CHUNKED = 0.10


@dataclass(frozen=True, slots=True)
class Begun:
    """Chunks whose vectors are being computed, or will be when they are asked for."""

    space: EmbeddingSpace
    chunk_ids: list[int]
    batches: Iterator[tuple[Sequence[int], Vectors]]


def begin(version: DocumentVersion, space: EmbeddingSpace, chunks: Sequence[Chunk]) -> Begun:
    """Embed the first BATCH of the chunks: a local model works on while the caller does not wait.

    Nothing is stored, so that whoever begins may give up or die.
    """
    chunks = chunks[:BATCH]
    embedder = spaces.embedder(space)
    options = spaces.chunking_options(version.document.collection, embedder)
    texts = [
        embedding_text(version.title, chunk.heading_path, chunk.text, embedder.tokenizer, options)
        for chunk in chunks
    ]
    return Begun(space, [chunk.pk for chunk in chunks], embedder.embed_batches(texts))


def embed(lease: Lease[DocumentVersion], begun: Begun | None = None) -> None:
    """Embed the chunks without a vector in the active space; each finished batch is kept.

    The `backfill` fills the other written spaces later, so that their providers delay nothing. The
    active space is looked up for every batch: a switch loses one batch at most. What has `begun`
    comes first.
    """
    version = lease.row
    total = max(version.chunk_count, 1)
    while True:
        space = spaces.writing_space()
        if begun is None or begun.space != space:
            waiting = spaces.lacking(space, version.chunks.order_by("ordinal"))
            # With `version`, which the manager reads: deferred, it costs a query for each chunk.
            chunks = list(waiting.only("version", "text", "heading_path")[:BATCH])
            if not chunks:
                return
            begun = begin(version, space, chunks)
        left = total - ChunkEmbedding.objects.filter(chunk__version=version, space=space).count()
        for indices, vectors in begun.batches:
            with lease.writing():
                store(space, [begun.chunk_ids[i] for i in indices], vectors)
            left -= len(indices)
        begun = None
        lease.update(progress=CHUNKED + (1 - CHUNKED) * min(1 - left / total, 0.999))
