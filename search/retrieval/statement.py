"""Q3: the one statement of a question: finds the union, scores all of it on every signal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from ingestion.models import Chunk, EmbeddingSpace
from search.domain import Candidate, IdentifierMatch, Profile, Query, Signal, TermStatistic
from search.retrieval import identifier, lexical
from search.retrieval.filters import Scope
from search.retrieval.lexical import keyword
from search.retrieval.sql import SignalSQL, compiled
from search.retrieval.title import title
from search.retrieval.vector import vector

# HNSW looks at this many neighbours at least; below the depth it could not fill the list.
MIN_EF_SEARCH = 100
MAX_EF_SEARCH = 1000


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The union of the candidates, the query's terms rarest first, and what the database took."""

    candidates: tuple[Candidate, ...]
    terms: tuple[TermStatistic, ...]
    milliseconds: float


def retrieve(
    query: Query,
    scope: Scope,
    profile: Profile,
    *,
    space: EmbeddingSpace | None = None,
    embedding: Sequence[float] | None = None,
) -> Retrieval:
    """Every candidate of the scope with its raw score under every signal; one round trip.

    Without an embedding the vector signal does not run.
    """
    chunks = scope.chunks
    signals = {Signal.KEYWORD: keyword(chunks, profile), Signal.TITLE: title(chunks, profile)}
    if space is not None and embedding is not None:
        signals[Signal.VECTOR] = vector(chunks, profile, space, embedding)
    finders = [signal.find for signal in signals.values() if signal.find is not None]
    if query.identifiers:
        finders.append(identifier.holders(chunks, profile))
    statement, params = _statement(scope, signals, finders, named=bool(query.identifiers))
    values = {
        "text": query.text,
        "budget": profile.keyword_budget,
        **identifier.params(query),
        **{key: value for s in signals.values() for key, value in s.score_params.items()},
    }
    started = time.perf_counter()
    rows = _run(statement, params | values, ef_search=profile.depth)
    elapsed = (time.perf_counter() - started) * 1000
    return Retrieval(*_read(rows, tuple(signals)), elapsed)


def _statement(
    scope: Scope,
    signals: dict[Signal, SignalSQL],
    finders: list[QuerySet[Chunk, Any]],
    *,
    named: bool,
) -> tuple[str, dict[str, Any]]:
    """The statement's text and the parameters of its generated parts, all of them by name."""
    params: dict[str, Any] = {}

    def part(queryset: QuerySet[Any, Any]) -> str:
        sql, values = compiled(queryset)
        keys = [f"p{len(params) + i}" for i in range(len(values))]
        params.update(zip(keys, values, strict=True))
        return sql % tuple(f"%({key})s" for key in keys) if values else sql.replace("%%", "%")

    readable = part(scope.collections.order_by().values("pk"))
    found = "\n    UNION\n    ".join(f"({part(finder)})" for finder in finders)
    scores = ",\n           ".join(f"{s.score} AS {name}" for name, s in signals.items())
    held = "held.form, held.strength, held.place" if named else "NULL, NULL, NULL"
    text = f"""
WITH readable(id) AS MATERIALIZED ({readable}),
{lexical.TABLES},
{identifier.TABLES if named else ""}
candidate(id) AS MATERIALIZED (
    {found}
),
scored AS (
    SELECT c.id, c.document_id, {held},
           {scores}
    FROM candidate JOIN ingestion_chunk c USING (id)
    JOIN ingestion_document d ON d.id = c.document_id
    {identifier.MATCH if named else ""}
)
SELECT (SELECT json_agg(json_build_array(lexeme, chunks, idf) ORDER BY chunks, lexeme) FROM term),
       scored.*
FROM (VALUES (1)) always LEFT JOIN scored ON true
"""
    return text, params


def _run(statement: str, params: dict[str, Any], *, ef_search: int) -> list[tuple[Any, ...]]:
    """The statement's rows. The settings of the index travel with it and end with it."""
    ef = min(max(ef_search, MIN_EF_SEARCH), MAX_EF_SEARCH)
    settings = (
        f"SELECT set_config('hnsw.ef_search', '{ef}', true),"
        " set_config('hnsw.iterative_scan', 'strict_order', true);"
    )
    with connection.cursor() as cursor:
        cursor.execute(settings + statement, params)
        cursor.nextset()
        return list(cursor.fetchall())


def _read(
    rows: list[tuple[Any, ...]], signals: tuple[Signal, ...]
) -> tuple[tuple[Candidate, ...], tuple[TermStatistic, ...]]:
    terms = tuple(TermStatistic(*values) for values in rows[0][0] or ())
    candidates = tuple(
        Candidate(
            chunk_id=row[1],
            document_id=row[2],
            raw={s: float(raw) for s, raw in zip(signals, row[6:], strict=True) if raw is not None},
            identifier=IdentifierMatch(row[3], row[4], row[5]) if row[3] is not None else None,
        )
        for row in rows
        if row[1] is not None
    )
    return candidates, terms
