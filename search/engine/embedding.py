"""Q3: the query's vector, within a time limit. A slow or failing model never fails a search."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass

from django.conf import settings
from django.db import DatabaseError

from ingestion import spaces
from ingestion.errors import EmbeddingError
from ingestion.models import EmbeddingSpace
from search.domain import Signal

logger = logging.getLogger(__name__)

# Bounds the threads that a slow provider can occupy; a full pool counts as slow.
_pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="embed-query")


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a query, or None. `milliseconds` is the time waited."""

    values: Sequence[float] | None = None
    degraded: tuple[Signal, ...] = ()
    milliseconds: float = 0.0


def embed_query(text: str, space: EmbeddingSpace) -> QueryVector:
    """The vector of `text` in `space`; degraded if the model fails or is slow."""
    started = time.perf_counter()
    values: Sequence[float] | None = None
    try:
        # Resolved here because the pool's threads must not use the database.
        future = _pool.submit(_embed, text, spaces.resolve(space))
        values = future.result(timeout=settings.QUERY_EMBEDDING_TIMEOUT)
    except FutureTimeout:
        logger.warning("The query's embedding took over %s s", settings.QUERY_EMBEDDING_TIMEOUT)
    except EmbeddingError as error:
        logger.warning("The query could not be embedded: %s", error)
    elapsed = (time.perf_counter() - started) * 1000
    return QueryVector(values, () if values is not None else (Signal.VECTOR,), elapsed)


def _embed(text: str, space: EmbeddingSpace) -> Sequence[float]:
    # Only the space's own embedder: vectors of different models are not comparable.
    vector: Sequence[float] = (
        spaces.query_embedder(space)
        .embed_query(text, timeout=settings.QUERY_EMBEDDING_TIMEOUT)
        .tolist()
    )
    return vector


def warm_up() -> None:
    """Load the active space's model now, so that the first search does not wait for it."""
    try:
        spaces.embedder().embed_query("warm up")
    except (EmbeddingError, DatabaseError) as error:
        logger.warning("The embedding model is not available: %s", error)
