"""Which embedding space answers, and the embedder that fills it. One embedder a process."""

from __future__ import annotations

import threading
from functools import lru_cache

from django.conf import settings
from django.core.cache import cache
from django.db import connection, transaction

from ingestion.embedding import CachedQueryEmbedder, Embedder, EmbedderConfig, build_embedder
from ingestion.errors import EmbeddingRejected
from ingestion.models import EmbeddingSpace

# pgvector's defaults for HNSW (m 16, ef_construction 64) are stated, so that a change is a choice.
HNSW_OPTIONS = "m = 16, ef_construction = 64"

_building = threading.Lock()


@lru_cache(maxsize=1)
def _embedder() -> Embedder:
    kind = settings.EMBEDDER
    return build_embedder(EmbedderConfig.of(kind, **settings.EMBEDDER_OPTIONS.get(kind, {})))


def embedder() -> Embedder:
    """The embedder that the settings name, loaded once a process."""
    with _building:
        return _embedder()


@lru_cache(maxsize=1)
def query_embedder() -> CachedQueryEmbedder:
    """The same embedder behind the query cache in Redis."""
    return CachedQueryEmbedder(embedder(), cache, ttl=settings.QUERY_EMBEDDING_TTL)


def forget_embedders() -> None:
    """Drops the loaded embedders: after the settings changed, and in tests."""
    query_embedder.cache_clear()
    _embedder.cache_clear()


def writing_space() -> EmbeddingSpace:
    """The active space, made on first use. Raises EmbeddingRejected when another model fills it."""
    card = embedder().card
    active = EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).first()
    if active is None:
        active = _open_first_space()
    if active.fingerprint != card.fingerprint:
        raise EmbeddingRejected(
            f"The documents are embedded with {active.name}, but the settings name {card.name}. "
            "Vectors of two models cannot be compared: set EMBEDDER and its model back."
        )
    return active


def _open_first_space() -> EmbeddingSpace:
    card = embedder().card
    with transaction.atomic(), connection.cursor() as cursor:
        # Workers that start together must not both find no space.
        cursor.execute("LOCK TABLE ingestion_embeddingspace IN SHARE ROW EXCLUSIVE MODE")
        active = EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).first()
        if active is not None:
            return active
        space = EmbeddingSpace.objects.create(
            name=card.name,
            fingerprint=card.fingerprint,
            dimensions=card.dimensions,
            max_tokens=card.max_tokens,
            languages=list(card.languages),
            state=EmbeddingSpace.State.ACTIVE,
        )
        create_index(space)
    return space


def create_index(space: EmbeddingSpace) -> None:
    """Builds the space's own partial HNSW index (decision D4)."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE INDEX IF NOT EXISTS {space.index_name} ON ingestion_chunkembedding"
            f" USING hnsw ((vector::halfvec({space.dimensions})) halfvec_cosine_ops)"
            f" WITH ({HNSW_OPTIONS}) WHERE space_id = {space.pk}"
        )
