"""Q3: the query's vector, within a time limit. A search never waits for a model or fails by it."""

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

# One slow provider must not pile up threads without bound; a full pool counts as slow.
_pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="embed-query")


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a query, or the news that there is none. `milliseconds` is the time waited."""

    values: Sequence[float] | None = None
    degraded: tuple[Signal, ...] = ()
    milliseconds: float = 0.0


def embed_query(text: str, space: EmbeddingSpace) -> QueryVector:
    """The vector of `text` in `space`; degraded when the model fails or is slow."""
    started = time.perf_counter()
    values: Sequence[float] | None = None
    try:
        # Here, not in the pool's thread, which is to need no database.
        future = _pool.submit(_embed, text, spaces.resolve(space))
        values = future.result(timeout=settings.QUERY_EMBEDDING_TIMEOUT)
    except FutureTimeout:
        logger.warning("The query's embedding took over %s s", settings.QUERY_EMBEDDING_TIMEOUT)
    except EmbeddingError as error:
        logger.warning("The query could not be embedded: %s", error)
    elapsed = (time.perf_counter() - started) * 1000
    return QueryVector(values, () if values is not None else (Signal.VECTOR,), elapsed)


def _embed(text: str, space: EmbeddingSpace) -> Sequence[float]:
    # The space's own embedder, or none: a question of one model never meets vectors of another.
    vector: Sequence[float] = (
        spaces.query_embedder(space)
        .embed_query(text, timeout=settings.QUERY_EMBEDDING_TIMEOUT)
        .tolist()
    )
    return vector


def warm_up() -> None:
    """Loads the active space's model now, so that the first searcher does not wait for it."""
    try:
        spaces.embedder().embed_query("warm up")
    except (EmbeddingError, DatabaseError) as error:
        logger.warning("The embedding model is not available: %s", error)
