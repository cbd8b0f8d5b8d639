"""Qdrant by its own client, over the network."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import httpx
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException

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

PAYLOAD = ("collection", "version", "stamp")


class ClientEngine:
    """A Qdrant server or cluster.

    Every method raises EngineError; all may be repeated without harm.
    """

    def __init__(self, client: QdrantClient) -> None:
        self._client = client

    @classmethod
    def at(cls, url: str, *, key: str = "", seconds: float) -> ClientEngine:
        """The engine at an address; a request may take so many seconds (whole ones, at least 1)."""
        client = QdrantClient(
            url=url, api_key=key or None, timeout=max(1, round(seconds)), check_compatibility=False
        )
        return cls(client)

    def create(
        self, name: str, spaces: Mapping[str, int], *, shards: int = 0, replicas: int = 1
    ) -> None:
        """Create a collection with dense vectors of these dimensions; leave one that exists.

        `replicas` are the copies of each shard; 0 `shards`: as many as the engine chooses.
        """
        with _named_errors():
            if self._client.collection_exists(name):
                return
            self._client.create_collection(
                name,
                vectors_config={key: _dense(size) for key, size in spaces.items()},
                # Mapped: frequent words stay in memory, and the rest costs none.
                sparse_vectors_config={
                    TERMS: models.SparseVectorParams(
                        index=models.SparseIndexParams(memory=models.Memory.CACHED)
                    )
                },
                quantization_config=models.ScalarQuantization(
                    scalar=models.ScalarQuantizationConfig(
                        type=models.ScalarType.INT8, memory=models.Memory.PINNED
                    )
                ),
                shard_number=shards or None,
                replication_factor=replicas,
            )
            # Before the first point: the graph gets its links within collections from the index.
            for key in ("collection", "version"):
                self._client.create_payload_index(name, key, models.PayloadSchemaType.INTEGER)

    def exists(self, name: str) -> bool:
        """Whether the engine has the collection."""
        with _named_errors():
            return self._client.collection_exists(name)

    def drop(self, name: str) -> None:
        """Remove a collection, if it exists."""
        with _named_errors():
            self._client.delete_collection(name)

    def switch(self, alias: str, name: str) -> None:
        """Let the alias name this collection from now on, in one step."""
        with _named_errors():
            aliases = {each.alias_name for each in self._client.get_aliases().aliases}
            away = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
            creation = models.CreateAliasOperation(
                create_alias=models.CreateAlias(collection_name=name, alias_name=alias)
            )
            self._client.update_collection_aliases(
                [away, creation] if alias in aliases else [creation]
            )

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        """Write the points in place of those with their ids; return when searches see them."""
        rows = [
            models.PointStruct(id=each.id, vector=_vectors(each), payload=_payload(each))
            for each in points
        ]
        with _named_errors():
            self._client.upsert(name, rows, wait=True)

    def keep_only(self, name: str, version: int, ids: Collection[int]) -> None:
        """Remove the points of a version except these ids."""
        condition = models.FieldCondition(key="version", match=models.MatchValue(value=version))
        remaining: list[models.Condition] = [models.HasIdCondition(has_id=sorted(ids))]
        chosen = models.Filter(must=[condition], must_not=remaining if ids else None)
        with _named_errors():
            self._client.delete(name, models.FilterSelector(filter=chosen), wait=True)

    def ask(self, name: str, asks: Sequence[PointQuery]) -> Sequence[Scored]:
        """The answers to several questions, in their order, by one request."""
        requests = [
            models.QueryRequest(
                query=_query(each.query),
                using=each.using,
                limit=each.limit,
                filter=_filter(each),
                params=_params(exact=each.exact) if each.using != TERMS else None,
            )
            for each in asks
        ]
        with _named_errors():
            answers = self._client.query_batch_points(name, requests)
        return [[(int(each.id), each.score) for each in one.points] for one in answers]

    def page(self, name: str, start: int, limit: int) -> Sequence[PointState]:
        """Up to `limit` points with ids of at least `start`, by ascending id."""
        with _named_errors():
            rows, _ = self._client.scroll(
                name, limit=limit, offset=start, with_payload=list(PAYLOAD), with_vectors=False
            )
        payloads = (each.payload or {} for each in rows)
        return [
            PointState(int(row.id), *(int(payload.get(key, 0)) for key in PAYLOAD))
            for row, payload in zip(rows, payloads, strict=True)
        ]

    def count(self, name: str) -> int:
        """The number of points."""
        with _named_errors():
            return self._client.count(name).count


def _dense(size: int) -> models.VectorParams:
    # Half precision, as Postgres stores them; on disk, where only rescoring reads them.
    return models.VectorParams(
        size=size,
        distance=models.Distance.COSINE,
        datatype=models.Datatype.FLOAT16,
        memory=models.Memory.COLD,
    )


def _vectors(point: Point) -> dict[str, models.Vector]:
    vectors: dict[str, models.Vector] = {key: list(each) for key, each in point.dense.items()}
    if point.terms is not None:
        vectors[TERMS] = _sparse(point.terms)
    return vectors


def _payload(point: Point) -> dict[str, int]:
    return {key: getattr(point, key) for key in PAYLOAD}


def _sparse(vector: Sparse) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def _query(query: Sparse | Sequence[float]) -> models.SparseVector | list[float]:
    return _sparse(query) if isinstance(query, Sparse) else list(query)


def _filter(ask: PointQuery) -> models.Filter:
    readable = models.MatchAny(any=sorted(ask.collections))
    must: list[models.Condition] = [models.FieldCondition(key="collection", match=readable)]
    if ask.ids is not None:
        must.append(models.HasIdCondition(has_id=sorted(ask.ids)))
    return models.Filter(must=must)


def _params(*, exact: bool) -> models.SearchParams:
    """Rescored with the vectors themselves, so that scores do not depend on quantization."""
    quantized = models.QuantizationSearchParams(
        ignore=exact, rescore=True, oversampling=OVERSAMPLING
    )
    return models.SearchParams(exact=exact, hnsw_ef=GRAPH_BEAM, quantization=quantized)


@contextmanager
def _named_errors() -> Iterator[None]:
    """Raise EngineError for whatever the client raises when the server fails."""
    try:
        yield
    except (ApiException, QdrantException, httpx.HTTPError, OSError, ValueError) as error:
        raise EngineError(f"Qdrant: {type(error).__name__}: {str(error)[:300]}") from error
