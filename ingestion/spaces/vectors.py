"""The vectors of passages in the written spaces, and those of their sentences."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db import connection, transaction
from django.db.models import Exists, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from ingestion.chunking import ChunkingOptions, embedding_text
from ingestion.embedding import CachedQueryEmbedder, Embedder, Vectors
from ingestion.lexical.sentences import sentences
from ingestion.models import Chunk, ChunkEmbedding, Collection, EmbeddingSpace, State
from ingestion.models.embeddings import WRITTEN_STATES
from ingestion.spaces.configuring import (
    active_space,
    config_of_settings,
    hold_switch,
    settings_embedder,
)
from ingestion.spaces.index import create_index

logger = logging.getLogger(__name__)


def writing_space() -> EmbeddingSpace:
    """The active space, created on first use for the embedder named in the settings."""
    return active_space() or _open_first_space()


def _open_first_space() -> EmbeddingSpace:
    card = settings_embedder().card
    with transaction.atomic():
        # Workers that start together must not both find no space.
        hold_switch(exclusive=True)
        active = active_space()
        if active is not None:
            return active
        space = EmbeddingSpace.objects.create(
            name=card.name,
            fingerprint=card.fingerprint,
            config=config_of_settings(),
            dimensions=card.dimensions,
            max_tokens=card.max_tokens,
            languages=list(card.languages),
            state=EmbeddingSpace.State.ACTIVE,
            activated_at=timezone.now(),
            filled_at=timezone.now(),
        )
        create_index(space)
    return space


# Only chunks that still exist: one that is being deleted is skipped, because waiting for the
# deletion could deadlock. The space is locked so that it cannot be deleted before its vectors; a
# space that is no longer written to gets none.
_STORE = """
INSERT INTO ingestion_chunkembedding (chunk_id, space_id, vector)
SELECT c.id, s.id, sent.vector::halfvec
FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS sent(id, vector, hash)
JOIN (
    SELECT id FROM ingestion_embeddingspace WHERE id = %s AND state = ANY(%s) FOR KEY SHARE
) s ON true
JOIN (
    SELECT id, content_hash FROM ingestion_chunk WHERE id = ANY(%s) FOR KEY SHARE SKIP LOCKED
) c ON c.id = sent.id AND (sent.hash IS NULL OR sent.hash = c.content_hash)
ON CONFLICT DO NOTHING
"""


def texts_of(chunks: Sequence[Chunk], model: Embedder) -> list[str]:
    """The text to embed for each chunk: title and headings, shortened to fit, and its text."""
    options: dict[int, ChunkingOptions] = {}
    texts = []
    for chunk in chunks:
        collection = chunk.version.document.collection
        if collection.pk not in options:
            options[collection.pk] = chunking_options(collection, model)
        texts.append(
            embedding_text(
                chunk.version.title,
                chunk.heading_path,
                chunk.text,
                model.tokenizer,
                options[collection.pk],
            )
        )
    return texts


def chunking_options(collection: Collection, model: Embedder) -> ChunkingOptions:
    """The collection's chunk sizes, limited to the model's window."""
    target = min(collection.chunk_tokens, model.card.max_tokens)
    return ChunkingOptions(
        target_tokens=target,
        overlap_tokens=min(collection.overlap_tokens, (target - 1) // 2),
        max_tokens=model.card.max_tokens,
    )


def store(
    space: EmbeddingSpace,
    chunk_ids: Sequence[int],
    vectors: Vectors,
    hashes: Sequence[str] | None = None,
) -> int:
    """Store vectors, row i for chunk_ids[i]; return how many. Existing ones are not replaced.

    `hashes` are the content hashes of the embedded texts: a chunk changed since gets no vector.
    """
    texts = [literal(vector) for vector in vectors]
    ids = list(chunk_ids)
    states = [state.value for state in WRITTEN_STATES]
    with connection.cursor() as cursor:
        expected = list(hashes) if hashes is not None else [None] * len(ids)
        cursor.execute(_STORE, (ids, texts, expected, space.pk, states, ids))
        return int(cursor.rowcount)


def literal(vector: Iterable[float]) -> str:
    """A vector in pgvector's text format. Five digits exceed half precision."""
    values = tuple(vector)
    return "[" + ",".join(["%.5g"] * len(values)) % values + "]"


def ready_chunks() -> QuerySet[Chunk]:
    """The chunks that every written space should hold: those of ready versions.

    These include chunks disabled by hand or in the bin, so that restoring them needs no model.
    """
    return Chunk.objects.filter(version__state=State.READY)


def unembedded(space: EmbeddingSpace, chunks: QuerySet[Chunk] | None = None) -> QuerySet[Chunk]:
    """Those of `chunks` (all settled ones by default) without a vector in the space."""
    embeddings = ChunkEmbedding.objects.filter(chunk=OuterRef("pk"), space=space)
    return (ready_chunks() if chunks is None else chunks).filter(~Exists(embeddings))


def leave_to_backfill(chunks: Q) -> tuple[int, ...]:
    """Move the backfill of the other spaces back to before these chunks; return the spaces' ids.

    Written in the caller's transaction, so that a lost message does not matter.
    """
    first = Chunk.objects.filter(chunks).aggregate(first=Min("pk"))["first"]
    others = EmbeddingSpace.objects.filter(state__in=WRITTEN_STATES).exclude(
        state=EmbeddingSpace.State.ACTIVE
    )
    if first is None:
        return ()
    # Locked until commit: the backfill must not move past chunks that it cannot see yet.
    locked = others.order_by("pk").select_for_update(no_key=True)
    ids = tuple(locked.values_list("pk", flat=True))
    if ids:
        others.filter(filling_after__gte=first).update(filling_after=first - 1)
    return ids


MAX_SENTENCES = 8  # of a passage, as a usual one has
SHORTEST = 12  # letters; shorter pieces are numbers and abbreviations
Span = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Sentences:
    """The first sentences of a text: their [start, end), and their vectors, a row each.

    A text without a sentence that is long enough has no span, and one vector of the whole text.
    """

    spans: Sequence[Span]
    vectors: Vectors


def sentence_spans(text: str) -> list[Span]:
    """The [start, end) of the first sentences of a text, without its shortest."""
    spans = ((each.start, each.end) for each in sentences(text))
    return list(islice((span for span in spans if _is_long(text[slice(*span)])), MAX_SENTENCES))


def embedded_sentences(embedder: CachedQueryEmbedder, texts: Iterable[str]) -> dict[str, Sentences]:
    """The sentences of the texts, embedded in one call. Raises EmbeddingError.

    They do not depend on a query: the last ones are in the embedder's memory.
    """
    places = {text: sentence_spans(text) for text in texts}
    pieces = [
        text[start:end] for text, its in places.items() for start, end in its or [(0, len(text))]
    ]
    vectors = embedder.embed_documents(pieces)
    by_text: dict[str, Sentences] = {}
    first = 0
    for text, its in places.items():
        last = first + max(1, len(its))
        by_text[text], first = Sentences(its, vectors[first:last]), last
    return by_text


def _is_long(sentence: str) -> bool:
    """Whether the text has at least SHORTEST bytes of letters."""
    return sum(len(letter.encode()) for letter in sentence if letter.isalpha()) >= SHORTEST
