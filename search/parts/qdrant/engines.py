"""The protocol of vector engines; the one of the settings, left alone after a failure."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from django.conf import settings

from common.guarded import CircuitBreaker
from search.retrieval import backends

TERMS = "terms"
"""The name of the sparse vector; dense ones are named by `space_name`."""
GRAPH_BEAM = 800
"""How many points a search of the graph keeps. Of the exact 100 of 20,000 chunks it finds .967 in
.5 ms, Qdrant's default .860 in .3 and 400 .923 (docs/scale.md)."""
OVERSAMPLING = 2.0
"""How many times the limit is taken by the 8-bit vectors, then rescored by the vectors themselves.
A guess: 1 and 3 found as much."""


class EngineError(Exception):
    """The engine did not do what it was asked: it cannot be reached, is too slow, or refused."""


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse vector: the values of some dimensions; the others are 0."""

    indices: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Point:
    """A chunk as the engine holds it. `dense` has its vectors by name.

    `stamp` differs if the text does.
    """

    id: int
    collection: int
    version: int
    stamp: int
    terms: Sparse | None
    dense: Mapping[str, Sequence[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PointState:
    """What the engine says of a point, to be compared with the chunk."""

    id: int
    collection: int
    version: int
    stamp: int


@dataclass(frozen=True, slots=True)
class PointQuery:
    """The `limit` best points by one vector.

    Of the points in one of `collections`, and if there are `ids` only of these. `exact`: by
    comparing all of them, without graph and quantization.
    """

    using: str
    query: Sparse | Sequence[float]
    limit: int
    collections: Collection[int] = ()
    ids: Collection[int] | None = None
    exact: bool = False


Scored = Sequence[tuple[int, float]]
"""Ids with scores, the best first; points without the vector are not among them."""


class Engine(Protocol):
    """A vector engine. Every method raises EngineError; all may be repeated without harm."""

    def create(
        self, name: str, spaces: Mapping[str, int], *, shards: int = 0, replicas: int = 1
    ) -> None:
        """Create a collection with dense vectors of these dimensions; leave one that exists.

        `replicas` are the copies of each shard; 0 `shards`: as many as the engine chooses.
        """

    def drop(self, name: str) -> None:
        """Remove a collection, if it exists."""

    def switch(self, alias: str, name: str) -> None:
        """Let the alias name this collection from now on, in one step."""

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        """Write the points in place of those with their ids, and return when searches see them."""

    def keep_only(self, name: str, version: int, ids: Collection[int]) -> None:
        """Remove the points of a version except these ids."""

    def ask(self, name: str, asks: Sequence[PointQuery]) -> Sequence[Scored]:
        """The answers to several questions, in their order, by one request."""

    def page(self, name: str, start: int, limit: int) -> Sequence[PointState]:
        """Up to `limit` points with ids of at least `start`, by ascending id."""

    def count(self, name: str) -> int:
        """The number of points."""


def space_name(space_id: int) -> str:
    """The name of the dense vector of an embedding space."""
    return f"space_{space_id}"


# Seconds that an engine is left alone after a failure: one search in so many waits for a time-out.
# A guess, as for Redis.
PAUSE = 5.0
# Whole seconds that a search waits; then Postgres alone finds the keywords. A guess.
TIMEOUT = 1.0
EDGE = "edge:"
breaker = CircuitBreaker(PAUSE)


def engine() -> Engine:
    """The engine of the settings. Raises EngineError if it cannot be used."""
    return _engine(settings.QDRANT_URL, os.getpid())  # connections do not survive a fork


@lru_cache(maxsize=4)
def _engine(url: str, _process: int) -> Engine:
    # Imported here: a site without Qdrant does without its packages.
    try:
        if url.startswith(EDGE):
            from search.parts.qdrant.edge import EdgeEngine

            return EdgeEngine(Path(url.removeprefix(EDGE)))
        from search.parts.qdrant.client import ClientEngine
    except ImportError as error:
        raise EngineError(
            "QDRANT_URL is set, but Qdrant's client is not installed: "
            "pip install --require-hashes -r requirements/qdrant.txt"
        ) from error
    return ClientEngine.at(
        url,
        key=settings.QDRANT_API_KEY,
        seconds=TIMEOUT,
    )


_read: ContextVar[str] = ContextVar("qdrant_collection", default="")


@contextmanager
def reading_from(name: str) -> Iterator[None]:
    """Within it searches use this collection, whatever the settings say: to measure it."""
    token = _read.set(name)
    try:
        with backends.using("qdrant"):
            yield
    finally:
        _read.reset(token)


def read_from() -> str:
    """The collection of `reading_from`; "" outside of it."""
    return _read.get()


def ask(name: str, asks: Sequence[PointQuery]) -> Sequence[Scored]:
    """The engine's answers; raises EngineError at once if it failed a moment ago."""
    if breaker.is_open:
        raise EngineError("Qdrant failed a moment ago and is left alone.")
    try:
        return engine().ask(name, asks)
    except EngineError:
        breaker.trip()
        raise
