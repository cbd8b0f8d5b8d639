"""Points, queries for points, and chunks as points."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db import connection

from common import UserError

TERMS = "terms"
"""The name of the sparse vector; dense ones are named by `space_name`."""
GRAPH_BEAM = 800
"""How many points a search of the graph keeps. Of the exact 100 of 20,000 chunks it finds .967 in
.5 ms, Qdrant's default .860 in .3 and 400 .923 (docs/scale.md)."""
OVERSAMPLING = 2.0
"""How many times the limit is taken by the 8-bit vectors, then rescored by the vectors themselves.
A guess: 1 and 3 found as much."""


class EngineError(UserError):
    """The engine failed: it cannot be reached, is too slow, or refused the request."""


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse vector: the values of some dimensions; the others are 0."""

    indices: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class PointState:
    """The engine's data of a point, for comparison with the chunk. `stamp` differs if the text
    does.
    """

    id: int
    collection: int
    version: int
    stamp: int


@dataclass(frozen=True, slots=True)
class Point(PointState):
    """A chunk as a point of the engine. `dense` has its vectors by name."""

    terms: Sparse | None
    dense: Mapping[str, Sequence[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PointQuery:
    """A query for the `limit` best points by one vector.

    Restricted to points of the `collections` and, if there are `ids`, to these. `exact`: compares
    all of them, without graph and quantization.
    """

    using: str
    query: Sparse | Sequence[float]
    limit: int
    collections: Collection[int] = ()
    ids: Collection[int] | None = None
    exact: bool = False


Scored = Sequence[tuple[int, float]]
"""Ids with scores, the best first; points without the vector are not among them."""


def space_name(space_id: int) -> str:
    """The name of the dense vector of an embedding space."""
    return f"space_{space_id}"


# The chunks of a page, and so of a request that writes them. A guess: about 2 MB of JSON.
AT_ONCE = 500
# The first 31 bits: a JSON number that every engine keeps whole.
_STAMP = "('x' || substr(md5(c.content_hash), 1, 8))::bit(32)::bigint >> 1"
_POINTS = f"""
SELECT c.id, c.collection_id, c.version_id, {_STAMP}, sparsevec_send(c.terms),
       ARRAY(SELECT e.space_id FROM ingestion_chunkembedding e
             WHERE e.chunk_id = c.id AND e.space_id = ANY(%(spaces)s) ORDER BY e.space_id),
       ARRAY(SELECT halfvec_send(e.vector) FROM ingestion_chunkembedding e
             WHERE e.chunk_id = c.id AND e.space_id = ANY(%(spaces)s) ORDER BY e.space_id)
FROM ingestion_chunk c
WHERE c.searchable AND c.id > %(after)s AND {{which}}
ORDER BY c.id LIMIT %(limit)s
"""
_STATES = f"""
SELECT c.id, c.collection_id, c.version_id, {_STAMP} FROM ingestion_chunk c
WHERE c.searchable AND c.id >= %s ORDER BY c.id LIMIT %s
"""
HEADER = 4  # bytes before a halfvec's numbers: its dimensions


def of_version(version: int, spaces: Sequence[int]) -> Iterator[list[Point]]:
    """The searchable chunks of a version, in pages."""
    after = 0
    while page := _page("c.version_id = %(version)s", after, spaces, version):
        yield page
        after = page[-1].id


def after(last: int, spaces: Sequence[int]) -> list[Point]:
    """The page of searchable chunks with greater ids."""
    return _page("true", last, spaces)


def states(start: int, limit: int) -> list[PointState]:
    """The first expected points with ids of at least `start`."""
    with connection.cursor() as cursor:
        cursor.execute(_STATES, [start, limit])
        return [PointState(*row) for row in cursor.fetchall()]


def sparse(data: bytes) -> Sparse:
    """A sparse vector as pgvector's `sparsevec_send` writes it: header, indices, values."""
    _, count, _ = np.frombuffer(data, ">i4", 3).tolist()
    indices = np.frombuffer(data, ">i4", count, 12)
    values = np.frombuffer(data, ">f4", count, 12 + 4 * count)
    return Sparse(indices.tolist(), values.tolist())


def _page(which: str, last: int, spaces: Sequence[int], version: int = 0) -> list[Point]:
    values: dict[str, Any] = {
        "after": last,
        "limit": AT_ONCE,
        "spaces": list(spaces),
        "version": version,
    }
    with connection.cursor() as cursor:
        cursor.execute(_POINTS.format(which=which), values)
        return [_point(*row) for row in cursor.fetchall()]


def _point(
    chunk: int,
    collection: int,
    version: int,
    stamp: int,
    terms: bytes | None,
    spaces: Sequence[int],
    vectors: Sequence[bytes],
) -> Point:
    dense = {
        space_name(space): np.frombuffer(each, ">f2", offset=HEADER).astype(np.float32).tolist()
        for space, each in zip(spaces, vectors, strict=True)
    }
    sparse_terms = sparse(terms) if terms is not None else None
    return Point(chunk, collection, version, stamp, sparse_terms, dense)
