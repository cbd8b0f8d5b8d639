"""Q3: the one statement of a question: finds the union, scores all of it on every signal."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from ingestion.models import Chunk, EmbeddingSpace
from search.domain import (
    Boost,
    Candidate,
    IdentifierMatch,
    Pinned,
    Profile,
    Query,
    Signal,
    TermStatistic,
)
from search.query.language import Reading
from search.retrieval import identifier, lexical
from search.retrieval import pins as pinning
from search.retrieval.boosts import counts
from search.retrieval.filters import Scope
from search.retrieval.lexical import keyword
from search.retrieval.pins import PLACE, pinned_chunks
from search.retrieval.recency import recency
from search.retrieval.sql import SignalSQL, named
from search.retrieval.synonym import synonym
from search.retrieval.title import title
from search.retrieval.vector import index_settings, vector


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a search wants of the candidates besides the signals that always run.

    `signals` are the optional ones that count; `embeddings`: their embeddings too; `pins` what
    stands first, in order; `words` those of the query that are looked up in the vocabulary.
    `places`: what brought each candidate, so that a search that looks less far can be told from it.
    """

    signals: frozenset[Signal] = frozenset()
    embeddings: bool = False
    boosts: tuple[Boost, ...] = ()
    pins: tuple[Pinned, ...] = ()
    words: tuple[str, ...] = ()
    places: bool = False


# What brings candidates besides the signals, in `Retrieval.places`.
HOLDERS, PINNED = "identifier", "pin"
Places = Mapping[str, int]
"""What brought a candidate, with its place there, from 1."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The union of the candidates, the query's terms rarest first, and what the database took.

    `unknown` are the words asked about that no searched collection holds; `readings` the query
    under the text configurations of the searched collections and of the space's languages.
    `places` are the candidates', in their order; empty where nobody asked for them.
    """

    candidates: tuple[Candidate, ...]
    terms: tuple[TermStatistic, ...]
    unknown: tuple[str, ...]
    readings: tuple[Reading, ...]
    milliseconds: float
    places: tuple[Places, ...] = ()


_CANDIDATES = """
candidate(id, places) AS MATERIALIZED (
    SELECT id, NULL::json FROM ({found}) found(id)
),
""".strip()

# Each finder returns its ids in its own order, which the numbers keep.
_PLACED = """
brought(id, finder, place) AS MATERIALIZED (
    {found}
),
candidate(id, places) AS MATERIALIZED (
    SELECT id, json_object_agg(finder, place)
    FROM (SELECT id, finder, min(place) AS place FROM brought GROUP BY id, finder) first
    GROUP BY id
),
""".strip()


_STATEMENT = """
WITH readable(id) AS MATERIALIZED ({readable}),
{terms},
{tables}
{candidates}
scored AS (
    SELECT c.id, candidate.places, c.document_id, {held}, {pin} AS pin, c.signature,
           {embedding} AS embedding,
           {scores}
    FROM candidate JOIN ingestion_chunk c USING (id)
    JOIN ingestion_document d ON d.id = c.document_id
    {matches}
)
SELECT ({findings}), scored.*
FROM (VALUES (1)) always LEFT JOIN scored ON true
"""


def retrieve(
    query: Query,
    scope: Scope,
    profile: Profile,
    *,
    space: EmbeddingSpace | None = None,
    embedding: Sequence[float] | None = None,
    wanted: Wanted = Wanted(),
) -> Retrieval:
    """Every candidate of the scope with its raw score under every signal; one round trip.

    Without an embedding the vector signal does not run.
    """
    signals = _signals(query, scope, profile, space, embedding, wanted)
    boosts, boost_params = counts(wanted.boosts, query)
    finders: dict[str, QuerySet[Chunk, Any] | str] = {
        name.value: signal.find for name, signal in signals.items() if signal.find is not None
    }
    if query.identifiers:
        finders[HOLDERS] = identifier.holders(scope.chunks, profile)
    if wanted.pins:
        finders[PINNED] = pinned_chunks(scope.chunks, wanted.pins)
    statement, params = _statement(scope, signals, finders, boosts, query, wanted)
    values = {
        **lexical.params(query, wanted.words, space.languages if space else ()),
        "budget": profile.keyword_budget,
        **pinning.params(wanted.pins),
        **identifier.params(query),
        **boost_params,
        **{key: value for s in signals.values() for key, value in s.score_params.items()},
    }
    started = time.perf_counter()
    rows = _run(statement, params | values, index_settings(profile))
    elapsed = (time.perf_counter() - started) * 1000
    return _read(rows, tuple(boosts), tuple(signals), elapsed)


def _signals(
    query: Query,
    scope: Scope,
    profile: Profile,
    space: EmbeddingSpace | None,
    embedding: Sequence[float] | None,
    wanted: Wanted,
) -> dict[Signal, SignalSQL]:
    """The signals that run, in their order."""
    chunks = scope.chunks
    signals = {Signal.KEYWORD: keyword(chunks, profile), Signal.TITLE: title(chunks, profile)}
    if space is not None and embedding is not None:
        signals[Signal.VECTOR] = vector(scope, profile, space, embedding)
    if Signal.RECENCY in wanted.signals:
        signals[Signal.RECENCY] = recency(profile)
    if Signal.SYNONYM in wanted.signals and query.expansions:
        signals[Signal.SYNONYM] = synonym(chunks, profile, query)
    return signals


def _statement(
    scope: Scope,
    signals: dict[Signal, SignalSQL],
    finders: dict[str, QuerySet[Chunk, Any] | str],
    boosts: dict[str, str],
    query: Query,
    wanted: Wanted,
) -> tuple[str, dict[str, Any]]:
    """The statement's text and the parameters of its generated parts, all of them by name."""
    readable, params = named(scope.collections.order_by().values("pk"), "readable")
    found: dict[str, str] = {}
    for name, finder in finders.items():
        if isinstance(finder, str):
            found[name] = finder
            continue
        found[name], values = named(finder, f"found_{name}")
        params.update(values)
    # In the order in which `_candidate` reads them.
    scores = [*boosts.values(), *(signal.score for signal in signals.values())]
    embedding = signals[Signal.VECTOR].embedding if _brings_embeddings(signals, wanted) else "NULL"
    tables = [signal.tables for signal in signals.values()]
    text = _STATEMENT.format(
        readable=readable,
        terms=lexical.TABLES,
        tables="".join([*tables, identifier.TABLES] if query.identifiers else tables),
        candidates=_placed(found) if wanted.places else _union(found),
        held="held.form, held.strength, held.place" if query.identifiers else "NULL, NULL, NULL",
        pin=PLACE if wanted.pins else "NULL",
        embedding=embedding,
        scores=",\n           ".join(f"{score} AS value_{i}" for i, score in enumerate(scores)),
        matches=identifier.MATCH if query.identifiers else "",
        findings=lexical.FINDINGS,
    )
    return text, params


def _union(found: Mapping[str, str]) -> str:
    """The table of the candidates: what any finder brings."""
    return _CANDIDATES.format(found="\n    UNION\n    ".join(f"({sql})" for sql in found.values()))


def _placed(found: Mapping[str, str]) -> str:
    """The same, with the place of each candidate in the order of each finder that brings it."""
    parts = [
        f"SELECT id, '{name}' AS finder, row_number() OVER () AS place FROM ({sql}) AS part(id)"
        for name, sql in found.items()
    ]
    return _PLACED.format(found="\n    UNION ALL\n    ".join(parts))


def _brings_embeddings(signals: dict[Signal, SignalSQL], wanted: Wanted) -> bool:
    """Whether there are embeddings to bring along, and somebody asks for them."""
    return wanted.embeddings and Signal.VECTOR in signals


def _run(statement: str, params: dict[str, Any], settings: dict[str, str]) -> list[tuple[Any, ...]]:
    """The statement's rows. The settings travel with it and end with it."""
    set_all = ", ".join(
        f"set_config('{name}', '{value}', true)" for name, value in settings.items()
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {set_all};{statement}", params)
        cursor.nextset()
        return list(cursor.fetchall())


def _read(
    rows: list[tuple[Any, ...]],
    boosts: tuple[str, ...],
    signals: tuple[Signal, ...],
    milliseconds: float,
) -> Retrieval:
    findings = rows[0][0]
    found = [row[1:] for row in rows if row[1] is not None]
    return Retrieval(
        candidates=tuple(_candidate((row[0], *row[2:]), boosts, signals) for row in found),
        terms=tuple(TermStatistic(*values) for values in findings["terms"] or ()),
        unknown=tuple(findings["unknown"] or ()),
        readings=tuple(Reading(*values) for values in findings["readings"] or ()),
        milliseconds=milliseconds,
        places=tuple(row[1] for row in found) if found and found[0][1] is not None else (),
    )


def _candidate(
    row: tuple[Any, ...], boosts: tuple[str, ...], signals: tuple[Signal, ...]
) -> Candidate:
    chunk, document, form, strength, place, pin, signature, embedding, *values = row
    counted, scores = values[: len(boosts)], values[len(boosts) :]
    return Candidate(
        chunk_id=chunk,
        document_id=document,
        raw={s: float(raw) for s, raw in zip(signals, scores, strict=True) if raw is not None},
        identifier=IdentifierMatch(form, strength, place) if form is not None else None,
        boosts={name: count for name, count in zip(boosts, counted, strict=True) if count},
        pin=pin,
        signature=signature,
        embedding=embedding,
    )
