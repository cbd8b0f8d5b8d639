"""Qdrant's own engine in this process, one folder a collection, with the methods of ClientEngine.

For tests and benchmarks: one process holds a folder at a time.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import qdrant_edge as edge

from search.parts.qdrant.points import (
    GRAPH_BEAM,
    OVERSAMPLING,
    TERMS,
    EngineError,
    Point,
    PointQuery,
    PointState,
    Scored,
    Sparse,
)

_ALIASES = "aliases.json"
_KEYS = ("collection", "version", "stamp")


class EdgeEngine:
    """Collections in folders below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, edge.EdgeShard] = {}
        self._lock = threading.RLock()

    def create(
        self, name: str, spaces: Mapping[str, int], *, shards: int = 0, replicas: int = 1
    ) -> None:
        """See ClientEngine; a folder is one shard without copies."""
        path = self._folder / name
        if path.exists():
            return
        path.mkdir(parents=True)
        config = edge.EdgeConfig(
            vectors={key: _dense(size) for key, size in spaces.items()},
            sparse_vectors={TERMS: edge.EdgeSparseVectorParams(memory=edge.Memory.Cached)},
        )
        with _named_errors(), self._lock:
            shard = self._open[name] = edge.EdgeShard.create(str(path), config)
            for key in ("collection", "version"):
                shard.update(
                    edge.UpdateOperation.create_field_index(key, edge.PayloadSchemaType.Integer)
                )

    def exists(self, name: str) -> bool:
        return (self._folder / name).exists()

    def drop(self, name: str) -> None:
        with self._lock:
            shard = self._open.pop(name, None)
            if shard is not None:
                shard.close()
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def switch(self, alias: str, name: str) -> None:
        with self._lock:
            aliases = self._aliases() | {alias: name}
            (self._folder / _ALIASES).write_text(json.dumps(aliases))

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        rows = [
            edge.Point(each.id, _vectors(each), {key: getattr(each, key) for key in _KEYS})
            for each in points
        ]
        self._update(name, edge.UpdateOperation.upsert_points(rows))

    def keep_only(self, name: str, version: int, ids: Collection[int]) -> None:
        of_version = edge.FieldCondition("version", match=edge.MatchValue(version))
        remaining: list[Any] = [edge.HasIdCondition(set(ids))]
        chosen = edge.Filter(must=[of_version], must_not=remaining if ids else None)
        self._update(name, edge.UpdateOperation.delete_points_by_filter(chosen))

    def ask(self, name: str, asks: Sequence[PointQuery]) -> Sequence[Scored]:
        requests = [
            edge.QueryRequest(
                each.limit,
                query=edge.Query.Nearest(_query(each.query), each.using),
                filter=_filter(each),
                params=_params(exact=each.exact),
            )
            for each in asks
        ]
        with _named_errors():
            answers = self._shard(name).query_batch(edge.QueryBatchRequest(requests))
        return [[(int(each.id), each.score) for each in one] for one in answers]

    def page(self, name: str, start: int, limit: int) -> Sequence[PointState]:
        request = edge.ScrollRequest(offset=start, limit=limit, with_payload=True)
        with _named_errors():
            rows, _ = self._shard(name).scroll(request)
        return [
            PointState(int(row.id), *(int((row.payload or {})[key]) for key in _KEYS))
            for row in rows
        ]

    def count(self, name: str) -> int:
        with _named_errors():
            return int(self._shard(name).count(edge.CountRequest()))

    def optimize(self, name: str) -> None:
        """Build the indexes now; a server does it in the background."""
        with _named_errors():
            self._shard(name).optimize()

    def close(self) -> None:
        """Release the folders."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    def _update(self, name: str, operation: edge.UpdateOperation) -> None:
        with _named_errors():
            self._shard(name).update(operation)

    def _aliases(self) -> dict[str, str]:
        path = self._folder / _ALIASES
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def _shard(self, name: str) -> edge.EdgeShard:
        with self._lock:
            if (shard := self._open.get(name)) is not None:
                return shard
            name = self._aliases().get(name, name)
            if name not in self._open:
                if not (self._folder / name).exists():
                    raise EngineError(f"The engine has no collection {name}.")
                self._open[name] = edge.EdgeShard.load(str(self._folder / name))
            return self._open[name]


def _dense(size: int) -> edge.EdgeVectorParams:
    return edge.EdgeVectorParams(
        size,
        edge.Distance.Cosine,
        datatype=edge.VectorStorageDatatype.Float16,
        quantization_config=edge.ScalarQuantizationConfig(
            edge.ScalarType.Int8, memory=edge.Memory.Pinned
        ),
    )


def _vectors(point: Point) -> dict[str, Any]:
    vectors: dict[str, Any] = {key: list(each) for key, each in point.dense.items()}
    if point.terms is not None:
        vectors[TERMS] = _query(point.terms)
    return vectors


def _query(query: Sparse | Sequence[float]) -> Any:
    if isinstance(query, Sparse):
        return edge.SparseVector(list(query.indices), list(query.values))
    return list(query)


def _filter(ask: PointQuery) -> edge.Filter:
    must: list[Any] = [
        edge.FieldCondition("collection", match=edge.MatchAny(list(ask.collections)))
    ]
    if ask.ids is not None:
        must.append(edge.HasIdCondition(set(ask.ids)))
    return edge.Filter(must=must)


def _params(*, exact: bool) -> edge.SearchParams:
    quantized = edge.QuantizationSearchParams(ignore=exact, rescore=True, oversampling=OVERSAMPLING)
    return edge.SearchParams(hnsw_ef=GRAPH_BEAM, exact=exact, quantization=quantized)


@contextmanager
def _named_errors() -> Iterator[None]:
    """Raise EngineError: the package raises plain exceptions, and panics of Rust as its own."""
    try:
        yield
    except EngineError:
        raise
    except Exception as error:
        raise EngineError(f"Qdrant: {error}") from error
