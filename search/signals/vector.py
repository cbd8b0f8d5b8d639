"""The vector signal: the nearest chunks of the scope, by HNSW or, in a small scope, exactly.

An HNSW scan goes from near to far and drops chunks outside the scope: the smaller the scope, the
longer the scan. A small scope is searched exactly instead, and so is one with too few results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.db.models import BooleanField, FloatField
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _

from common.database import named
from ingestion.models import EmbeddingSpace
from search.domain import Profile, Signal
from search.signals.registry import Inputs, SignalPart, SignalSQL

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
# `hnsw.ef_search` of a site with fewer chunks than that. Of the hundred nearest of 10,589 real ones
# HNSW finds .996 at 200 and .999 at 400, for 1.1 ms more; of 20,000 synthetic ones .91 and .96. Of
# the ten nearest of 1,000,000 it finds .71 at 400 and .79 at 800, for 1.1 ms more
# (benchmarks/README.md). pgvector allows no more than 1,000.
EF_SEARCH = {20_000: 200, 500_000: 400, math.inf: 800}
MAX_EF_SEARCH = 1_000
# A scan ends here, complete or not: pgvector's default. With too few results an exact one follows.
MAX_SCAN_TUPLES = 20_000

INDEX, SCAN, FEW = "index", "scan", "few"

# The size of whole collections is known before the statement is sent, which then has one way; that
# of a narrowed scope is not: its statement has all three, and chooses.
_WAY = """
few(id) AS MATERIALIZED ({few}),
way(name) AS MATERIALIZED (
    SELECT CASE WHEN size > {small} THEN 'index'
                WHEN size <= {fewest} OR size < {part} * every THEN 'few'
                ELSE 'scan' END
    FROM (SELECT count(*) AS size, (SELECT sum(chunks) FROM ingestion_corpusstatistics) AS every
          FROM few) counted
),
"""

# Postgres evaluates it once, before the scan, whose connection may have lost what it was set to. In
# relaxed order a scan keeps chunks met late, even if nearer than those already returned; the
# candidates need no order.
_SETTINGS = """
(SELECT set_config('hnsw.ef_search', %(ef_search)s::text, true)
     || set_config('hnsw.iterative_scan', 'relaxed_order', true)) <> ''
""".strip()

# Placeholders for the condition and the distance in the statement of every way.
_WHEN, _DISTANCE = "when_so_large", "distance_to_query"

# A way's condition depends on no row: Postgres evaluates it once and, if it is false, never
# starts it. Without the cast no index matches the order, so these are exact. The ids are arrays:
# for a join the planner has no size estimate, and reads every embedding.
_EXACT = "ingestion_chunkembedding.vector <=> %(embedding)s::halfvec"
_SCANNED = """
ingestion_chunk.id = ANY(ARRAY(
    SELECT chunk_id FROM ingestion_chunkembedding WHERE space_id = {space}
    ORDER BY vector <=> %(embedding)s::halfvec, chunk_id LIMIT {scanned}))
"""
_NEAREST_FEW = """
SELECT chunk_id FROM ingestion_chunkembedding
WHERE chunk_id = ANY(ARRAY({few})) AND space_id = {space} AND {when}
ORDER BY vector <=> %(embedding)s::halfvec, chunk_id LIMIT {depth}
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
        tables, find, params = _finder(inputs, space)
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
        return {"embedding": literal(inputs.embedding or ()), "ef_search": ef_search(inputs)}

    def measure(self, scorer: str) -> Any:
        return _("cosine")

    def can_engine_score(self, profile: Profile) -> bool:
        return True


def way_of(inputs: Inputs) -> str:
    """The way to search a whole scope, by its size; empty for a narrowed one."""
    size, depth = sum(inputs.words.configs.values()), inputs.profile.depth
    if inputs.scope.narrowed:
        return ""
    if size <= max(SMALL_SCOPE, depth):
        if size <= _fewest(depth) or size < LARGE_PART * inputs.words.every:
            return FEW
        if size <= max(MOST_SCANNED, depth):
            return SCAN
    return INDEX


def _fewest(depth: int) -> int:
    return max(min(FEW_CHUNKS, SMALL_SCOPE), depth)


def _finder(inputs: Inputs, space: EmbeddingSpace) -> tuple[str, str, dict[str, Any]]:
    """The tables of the nearest chunks, the SQL that selects them, and the parameters of both."""
    chunks, depth, way = inputs.scope.chunks, int(inputs.profile.depth), way_of(inputs)
    small = max(SMALL_SCOPE, depth)
    few, params = named(chunks.order_by().values("pk")[: None if way else small + 1], "few")
    nearest = chunks.filter(_condition(_WHEN), embeddings__space_id=space.pk)
    nearest = nearest.order_by(RawSQL(_DISTANCE, (), FloatField()))
    # Compiled once for all: they differ only in the condition and the distance.
    sql, nearest_params = named(nearest.values("pk")[:depth], "near")
    # The cast must read exactly as in the space's index, or Postgres will not use it.
    cast, key = _cast(space), int(space.pk)
    by_index = f"(ingestion_chunkembedding.vector::{cast}) <=> %(embedding)s::{cast}"
    scanned = _SCANNED.format(space=key, scanned=SCANNED * depth)

    def when(name: str) -> str:
        return "true" if way else f"(SELECT name FROM way) = '{name}'"

    ways = {
        INDEX: sql.replace(_WHEN, f"{when(INDEX)} AND {_SETTINGS}").replace(_DISTANCE, by_index),
        SCAN: sql.replace(_WHEN, f"{when(SCAN)} AND {scanned}").replace(_DISTANCE, _EXACT),
    }
    listed = few if way else "SELECT id FROM few"
    find = _NEAREST_FEW.format(few=listed, space=key, when=when(FEW), depth=depth)
    if way == FEW:
        return "", find, params
    starved = f"(SELECT count(*) FROM near) < {depth}"
    starved += "" if way else f" AND NOT {when(FEW)}"
    near = ways[way] if way else "\n    UNION ALL\n    ".join(f"({each})" for each in ways.values())
    whole = sql.replace(_WHEN, starved).replace(_DISTANCE, _EXACT)
    tables = (
        "" if way else _WAY.format(few=few, small=small, fewest=_fewest(depth), part=LARGE_PART)
    )
    finds = ["SELECT id FROM near", f"({whole})", *([] if way else [f"({find})"])]
    return (
        f"{tables}near(id) AS MATERIALIZED (\n    {near}\n),\n",
        "\nUNION ALL\n".join(finds),
        nearest_params | ({} if way else params),
    )


def ef_search(inputs: Inputs) -> int:
    """The depth of an index scan, by the size of the index and the number of candidates."""
    least = next(depth for size, depth in EF_SEARCH.items() if inputs.words.every < size)
    return min(max(inputs.profile.depth, least), MAX_EF_SEARCH)


def _condition(sql: str) -> RawSQL:
    """A condition of constants and common tables, without external values."""
    return RawSQL(sql, (), output_field=BooleanField())


def _cast(space: EmbeddingSpace) -> str:
    return f"halfvec({int(space.dimensions)})"
