"""The query's vector, within a time limit."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.db import DatabaseError

from common.circuit_breaker import CircuitBreaker, TimedOut, TimeLimited
from ingestion import spaces
from ingestion.errors import EmbeddingError
from ingestion.lexical.languages import language_odds
from ingestion.models import EmbeddingSpace
from search.domain import Signal
from search.query.language import is_listed
from search.query.parse import count_words

logger = logging.getLogger(__name__)

# A full pool counts as slow. A guess.
_calls = TimeLimited("embed-query", workers=8)
# By space: of a server that hangs, three searches wait, then one in ten seconds. Guesses.
_breakers: defaultdict[int, CircuitBreaker] = defaultdict(lambda: CircuitBreaker(10, failures=3))


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a query, or None. `milliseconds` is the time waited.

    `unread` is the number of words at the query's end that the vector does not cover.
    """

    values: Sequence[float] | None = None
    degraded: tuple[Signal, ...] = ()
    milliseconds: float = 0.0
    unread: int = 0


def embed_query(text: str, space: EmbeddingSpace, timeout: float | None = None) -> QueryVector:
    """The vector of `text` in `space`; degraded if the model fails, is slow, or hung just now.

    `timeout` are the seconds to wait instead of the settings' limit.
    """
    started = time.perf_counter()
    limit = timeout or settings.QUERY_EMBEDDING_TIMEOUT
    breaker = _breakers[space.pk]
    if breaker.enter():
        return QueryVector(degraded=(Signal.VECTOR,))
    values: Sequence[float] | None = None
    unread = 0
    try:
        values, unread = _calls.call(partial(_embed, text, space), limit)
    except TimedOut:
        breaker.trip()
        logger.warning("The query's embedding took over %s s", limit)
    except EmbeddingError as error:
        logger.warning("The query could not be embedded: %s", error)
    else:
        breaker.reset()
    elapsed = (time.perf_counter() - started) * 1000
    return QueryVector(values, () if values is not None else (Signal.VECTOR,), elapsed, unread)


def _embed(text: str, space: EmbeddingSpace, seconds: float) -> tuple[Sequence[float], int]:
    """The vector, and the number of words at the end that it does not cover."""
    # Only the space's own embedder: vectors of different models are not comparable.
    embedder = spaces.query_embedder(space)
    vector = embedder.embed_query(text, timeout=seconds)
    return vector.tolist(), count_words(embedder.left_out(text))


def warm_up() -> None:
    """Load the active space's model now, so that the first search does not wait for it.

    Also loads the list of ordinary words and the language recognition: 70 MB, which the first
    unusual question and the first answer would load.
    """
    is_listed("warm", "en")
    language_odds("warm up")
    try:
        spaces.embedder().embed_query("warm up")
    except (EmbeddingError, DatabaseError) as error:
        logger.warning("The embedding model is not available: %s", error)
