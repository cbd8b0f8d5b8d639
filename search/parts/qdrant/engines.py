"""The engine that the settings name, and whether it is left alone after a failure."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings

from common.circuit_breaker import CircuitBreaker
from search.parts.qdrant.points import EngineError, PointQuery, Scored

if TYPE_CHECKING:
    from search.parts.qdrant.client import ClientEngine

# Seconds that an engine is left alone after a failure: one search in so many waits for a time-out.
# A guess, as for Redis.
PAUSE = 5.0
# Whole seconds that a search waits; then Postgres alone finds the keywords. A guess.
TIMEOUT = 1.0
breaker = CircuitBreaker(PAUSE)


def engine() -> ClientEngine:
    """The engine of the settings. Raises EngineError if it cannot be used."""
    return _engine(settings.QDRANT_URL, os.getpid())  # connections do not survive a fork


@lru_cache(maxsize=4)
def _engine(url: str, _process: int) -> ClientEngine:
    # Imported here: a site without Qdrant does without its packages.
    try:
        from search.parts.qdrant.client import ClientEngine
    except ImportError as error:
        raise EngineError(
            "QDRANT_URL is set, but Qdrant's client is not installed: "
            "make install EXTRAS=qdrant (of a wheel: its extra)"
        ) from error
    return ClientEngine.at(url, key=settings.QDRANT_API_KEY, seconds=TIMEOUT)


def ask(name: str, asks: Sequence[PointQuery]) -> Sequence[Scored]:
    """The engine's answers. Raises EngineError at once if it failed shortly before."""
    if breaker.is_open:
        raise EngineError("Qdrant failed a moment ago and is left alone.")
    try:
        return engine().ask(name, asks)
    except EngineError:
        breaker.trip()
        raise
