"""Chunks as points, read from Postgres in the binary form of their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from django.db import connection

from search.parts.qdrant.engines import Point, PointState, Sparse, space_name

# Of a page of chunks, and so of a request that writes them. A guess: about 2 MB of JSON.
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
WHERE c.searchable AND c.id >= %s AND (%s::bigint IS NULL OR c.id <= %s) ORDER BY c.id LIMIT %s
"""
HEADER = 4  # bytes before a halfvec's numbers: its dimensions


def of_version(version: int, spaces: Sequence[int]) -> Iterator[list[Point]]:
    """The searchable chunks of a version, in pages."""
    after = 0
    while page := _page("c.version_id = %(version)s", after, AT_ONCE, spaces, version):
        yield page
        after = page[-1].id


def after(last: int, spaces: Sequence[int]) -> list[Point]:
    """The page of searchable chunks with greater ids."""
    return _page("true", last, AT_ONCE, spaces)


def states(start: int, end: int | None, limit: int) -> list[PointState]:
    """What the engine should hold of the ids from `start` to `end`, both included."""
    with connection.cursor() as cursor:
        cursor.execute(_STATES, [start, end, end, limit])
        return [PointState(*row) for row in cursor.fetchall()]


def sparse(sent: bytes) -> Sparse:
    """A sparse vector as pgvector's `sparsevec_send` writes it: header, indices, values."""
    _, count, _ = np.frombuffer(sent, ">i4", 3).tolist()
    indices = np.frombuffer(sent, ">i4", count, 12)
    values = np.frombuffer(sent, ">f4", count, 12 + 4 * count)
    return Sparse(indices.tolist(), values.tolist())


def _page(
    which: str, last: int, limit: int, spaces: Sequence[int], version: int = 0
) -> list[Point]:
    values: dict[str, Any] = {
        "after": last,
        "limit": limit,
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
    sent: Sequence[bytes],
) -> Point:
    dense = {
        space_name(space): np.frombuffer(each, ">f2", offset=HEADER).astype(np.float32).tolist()
        for space, each in zip(spaces, sent, strict=True)
    }
    held_terms = sparse(terms) if terms is not None else None
    return Point(chunk, collection, version, stamp, held_terms, dense)
