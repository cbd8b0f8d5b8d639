"""The vector signal: the nearest chunks of the scope, by HNSW or, in a small scope, exactly.

An HNSW scan goes from near to far and drops chunks outside the scope: the smaller the scope, the
longer the scan. A small scope is searched exactly instead, and so is one with too few results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.db.models import BooleanField, FloatField
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _

from common.database import named
from ingestion.models import EmbeddingSpace
from search.domain import Profile, Signal
from search.signals.registry import Inputs, SearchedChunks, SignalPart, SignalSQL

# The largest scope searched exactly. Of 200,000 chunks HNSW took four times as long for a scope of
# 5,000; for 10,000 it was faster, but missed 6% of the ten nearest (benchmarks/README.md).
SMALL_SCOPE = 10_000
# A scope of more than FEW_CHUNKS that is LARGE_PART of all chunks is searched by one scan of all
# embeddings, SCANNED for each candidate, of which those in the scope stay: a search of 10,000 takes
# Postgres a quarter less than if each embedding is looked up. Without a filter the scan ends at
# MOST_SCANNED: among 10,000 synthetic chunks HNSW finds .98 of the ten nearest, among as many real
# ones .999, and a search takes Postgres a quarter less again (benchmarks/README.md).
FEW_CHUNKS = 1_000
LARGE_PART = 0.5
SCANNED = 4
MOST_SCANNED = 5_000
# The minimum of `hnsw.ef_search`: of the ten nearest of 200,000 synthetic chunks HNSW finds .95, of
# 30,000 real ones .96 (benchmarks/README.md).
MIN_EF_SEARCH = 400
MAX_EF_SEARCH = 1_000  # pgvector's own limit
# From so many chunks on it is twice that: of 1,000,000 synthetic ones HNSW finds .71 at 400 and .79
# at 800, for 1.1 ms more.
LARGE = 500_000
# A scan ends here, complete or not: pgvector's default. With too few results an exact one follows.
MAX_SCAN_TUPLES = 20_000

# `few` holds a small scope, `near` the results in any other. Which way leads to them follows from
# the scope's size; that of whole collections is known from their statistics.
_FEW = "few(id) AS MATERIALIZED ({few}),"
_WAY = """
way(name) AS MATERIALIZED (
    SELECT CASE WHEN size > {small} THEN 'index'
                WHEN size <= {few} OR size < {part} * every THEN 'few'
                WHEN size > {scanned} THEN 'index'
                ELSE 'scan' END
    FROM (SELECT {size} AS size,
                 (SELECT coalesce(sum(chunks), 0) FROM ingestion_corpusstatistics) AS every) counted
),
"""
# The scan is LATERAL: it is begun only where it is the way, and by no parallel processes, which
# Postgres would start for a large table even if nothing of it is read.
_NEAR = """
scanned(id, distance) AS MATERIALIZED (
    SELECT id, distance FROM way, LATERAL (
        SELECT chunk_id, vector <=> %(embedding)s::halfvec FROM ingestion_chunkembedding
        WHERE way.name = 'scan' AND space_id = {space}
        ORDER BY 2, 1 LIMIT {scanned}
    ) nearest(id, distance)
),
near(id) AS MATERIALIZED (
    ({near})
    UNION ALL
    (SELECT id FROM scanned JOIN ({in_scope}) held(id) USING (id)
     ORDER BY distance, id LIMIT {depth})
),
"""
_SCANNED = "ingestion_chunk.id IN (SELECT id FROM scanned)"


def _is(way: str) -> str:
    return f"(SELECT name FROM way) = '{way}'"


# Placeholders for the condition and the distance in the statement of either branch.
_WHEN, _DISTANCE = "when_so_large", "distance_to_query"

# A branch's condition depends on no row: Postgres evaluates it once and, if it is false, never
# starts the branch. Without the cast no index matches the order, so these two are exact. The ids
# of a small scope are an array: for a join the planner has no size estimate, and reads every
# embedding.
_FIND = """
SELECT id FROM near
UNION ALL
(SELECT e.chunk_id FROM ingestion_chunkembedding e
 WHERE e.chunk_id = ANY(ARRAY(SELECT id FROM few)) AND e.space_id = {space} AND {is_few}
 ORDER BY e.vector <=> %(embedding)s::halfvec, e.chunk_id
 LIMIT {depth})
UNION ALL
({whole})
"""


# With a limit it is looked up for each candidate, instead of a hash join over the whole table.
_OWN = """
LEFT JOIN LATERAL (
    SELECT e.vector FROM ingestion_chunkembedding e
    WHERE e.chunk_id = c.id AND e.space_id = {space} LIMIT 1
) own ON true
"""


def literal(embedding: Sequence[float]) -> str:
    """The text of the query's embedding, the parameter `embedding`."""
    return "[" + ",".join(["%.7g"] * len(embedding)) % tuple(embedding) + "]"


class VectorSignal(SignalPart):
    """1 - cosine distance, in [-1, 1]; NULL for a chunk not in the space."""

    signal = Signal.VECTOR
    label = _("Meaning")
    advice = _(
        "Finds other words with the same meaning. Raising it gives exact terms, "
        "names and rare words less weight."
    )
    unavailable = _("Meaning-based matching is unavailable; showing keyword and title matches.")

    def runs(self, inputs: Inputs) -> bool:
        return inputs.space is not None and inputs.embedding is not None

    def sql(self, inputs: Inputs) -> SignalSQL:
        space = cast(EmbeddingSpace, inputs.space)
        tables, find, params = _finder(inputs.scope, inputs.profile, space)
        halves = _cast(space)
        return SignalSQL(
            score=f"1 - ((own.vector::{halves}) <=> %(embedding)s::{halves})",
            # Big-endian half-precision numbers, without pgvector's header of four bytes.
            embedding="substring(halfvec_send(own.vector) FROM 5)",
            join=_OWN.format(space=int(space.pk)),
            find=find,
            score_params=params,
            tables=tables,
        )

    def params(self, inputs: Inputs) -> Mapping[str, Any]:
        return {"embedding": literal(inputs.embedding or ())}

    def measure(self, scorer: str) -> Any:
        return _("cosine")

    def can_engine_score(self, profile: Profile) -> bool:
        return True


def _finder(
    scope: SearchedChunks, profile: Profile, space: EmbeddingSpace
) -> tuple[str, str, dict[str, Any]]:
    """The tables of the nearest chunks, the SQL that selects them, and the parameters of both."""
    small, depth = max(SMALL_SCOPE, profile.depth), int(profile.depth)
    in_space = scope.chunks.filter(embeddings__space_id=space.pk)

    way = _WAY.format(
        size="(SELECT count(*) FROM few)" if scope.narrowed else "(SELECT chunks FROM corpus)",
        few=max(min(FEW_CHUNKS, SMALL_SCOPE), depth),
        small=small,
        part=LARGE_PART,
        scanned=small if scope.narrowed else max(MOST_SCANNED, depth),
    )
    few = scope.chunks.order_by()
    few = few[: small + 1] if scope.narrowed else few.filter(_condition(_is("few")))
    scanned = scope.chunks.order_by().filter(_condition(_SCANNED))

    # The cast must read exactly as in the space's index, or Postgres will not use it.
    cast = _cast(space)
    near = f"(ingestion_chunkembedding.vector::{cast}) <=> %(embedding)s::{cast}"
    starved = f"NOT {_is('few')} AND (SELECT count(*) FROM near) < {depth}"
    exact = "ingestion_chunkembedding.vector <=> %(embedding)s::halfvec"

    few_sql, few_params = named(few.values("pk"), "few")
    scanned_sql, scanned_params = named(scanned.values("pk"), "held")
    # Compiled once for both: they differ only in the condition and the distance.
    nearest = in_space.filter(_condition(_WHEN)).order_by(RawSQL(_DISTANCE, (), FloatField()))
    sql, params = named(nearest.values("pk")[:depth], "near")
    whole_sql = sql.replace(_WHEN, starved).replace(_DISTANCE, exact)
    few_table = _FEW.format(few=few_sql)
    near_table = _NEAR.format(
        space=int(space.pk),
        scanned=SCANNED * depth,
        near=sql.replace(_WHEN, _is("index")).replace(_DISTANCE, near),
        in_scope=scanned_sql,
        depth=depth,
    )
    tables = (few_table, way) if scope.narrowed else (way, few_table)
    return (
        "\n".join((*tables, near_table)),
        _FIND.format(space=int(space.pk), is_few=_is("few"), depth=depth, whole=whole_sql),
        {**few_params, **scanned_params, **params},
    )


def index_settings(profile: Profile) -> dict[str, str]:
    """The settings of the vector index for one statement, as SQL expressions.

    In relaxed order a scan keeps chunks met late, even if nearer than those already returned;
    the candidates need no order.
    """
    usual = min(max(profile.depth, MIN_EF_SEARCH), MAX_EF_SEARCH)
    wide = min(max(profile.depth, 2 * MIN_EF_SEARCH), MAX_EF_SEARCH)
    by_size = f"CASE WHEN sum(chunks) >= {LARGE} THEN '{wide}' ELSE '{usual}' END"
    return {
        # The sum over all collections is the size of the index.
        "hnsw.ef_search": f"(SELECT {by_size} FROM ingestion_corpusstatistics)",
        "hnsw.iterative_scan": "'relaxed_order'",
        "hnsw.max_scan_tuples": f"'{MAX_SCAN_TUPLES}'",
    }


def _condition(sql: str) -> RawSQL:
    """A condition of constants and common tables, without external values."""
    return RawSQL(sql, (), output_field=BooleanField())


def _cast(space: EmbeddingSpace) -> str:
    return f"halfvec({int(space.dimensions)})"
