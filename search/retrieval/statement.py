"""Q3: the one statement of a question: unites all candidates, scores each on every signal."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from django.db.models import QuerySet

from ingestion.models import Chunk, EmbeddingSpace
from search.domain import (
    HOLDERS,
    PINNED,
    Boost,
    Candidates,
    Pinned,
    Profile,
    Query,
    Signal,
)
from search.retrieval import boosts as pinning
from search.retrieval import identifier, query_terms
from search.retrieval.boosts import (
    PLACE,
    SECTION,
    SECTION_READ,
    counts,
    pinned_chunks,
    recency,
)
from search.retrieval.brought import JOIN, Brought
from search.retrieval.columns import Sent, read, sent
from search.retrieval.filters import Scope
from search.retrieval.kept import Shapes, Statement, run, send
from search.retrieval.lexical import keyword, synonym, synonym_params, title
from search.retrieval.phrases import EXCLUSION_SETTINGS, UNCHECKED
from search.retrieval.related import concept, wordnet, wordnet_params
from search.retrieval.signal_sql import SignalSQL, named
from search.retrieval.vector import index_settings, literal, vector


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of a retrieval besides the signals that always run.

    `signals` are the optional ones to run; `embeddings`: return embeddings; `pins` are the pinned
    documents, in order; `words` those of the query to check against the vocabulary. `places`:
    return each candidate's ranks by candidate generator, as a wide candidate set needs them.
    """

    signals: frozenset[Signal] = frozenset()
    embeddings: bool = False
    boosts: tuple[Boost, ...] = ()
    pins: tuple[Pinned, ...] = ()
    words: tuple[str, ...] = ()
    places: bool = False


_CANDIDATES = """
candidate(id, places) AS MATERIALIZED (
    SELECT id, NULL::json FROM ({found}) found(id)
),
""".strip()

# Each candidate generator returns its ids in its own order, which the numbers preserve.
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


_NOT_HELD = "NULL::text AS form, NULL::float8 AS strength, NULL::int4 AS place"

_STATEMENT = """
WITH readable(id) AS MATERIALIZED ({readable}),
{phrased}
{terms},
{tables}
{candidates}
scored AS MATERIALIZED (
    SELECT c.id, candidate.places, c.document_id, {held}, {pin} AS pin, c.signature, d.language,
           {embedding} AS embedding,
           {scores}
    FROM candidate JOIN ingestion_chunk c USING (id)
    JOIN ingestion_document d ON d.id = c.document_id
    {matches}
)
{sent}"""


def retrieve(
    query: Query,
    scope: Scope,
    profile: Profile,
    *,
    space: EmbeddingSpace | None = None,
    embedding: Sequence[float] | None = None,
    wanted: Wanted = Wanted(),
    brought: Brought | None = None,
) -> Candidates:
    """Every candidate of the scope with its raw score under every signal; one round trip.

    Without an embedding the vector signal does not run. `brought` is what an engine found.
    """
    scope, phrased, phrase_params = scope.with_phrases_found()
    asked = _Asked(query, scope, profile, space, embedding, wanted, phrased, brought)
    boosts, boost_params = counts(wanted.boosts, query)
    readable, readable_params = scope.readable("readable")
    values = {
        **readable_params,
        **query_terms.params(query, wanted.words, space.languages if space else ()),
        "budget": profile.keyword_budget,
        **pinning.params(wanted.pins),
        **identifier.params(query),
        **boost_params,
        **phrase_params,
        **asked.values,
    }
    # Of a whole scope the text depends on the shape of the question alone.
    is_kept = scope.is_whole and not wanted.pins
    started = time.perf_counter()
    exclusions = EXCLUSION_SETTINGS if query.excluded else {}
    local = index_settings(profile) | exclusions
    if is_kept:
        shape = (readable, tuple(boosts.items()), *asked.shape)
        rows = run(_shapes.get(shape, lambda: _kept(asked, readable, boosts)), values, local)
    else:
        statement, params = _statement(asked, readable, boosts)
        rows = send(statement, params | values, local)
    elapsed = (time.perf_counter() - started) * 1000
    found = read(query, rows[0], asked.sent(tuple(boosts)))
    return replace(found, milliseconds={"retrieve": elapsed})


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a statement is made of. `phrased` are the common tables of the phrases, or empty."""

    query: Query
    scope: Scope
    profile: Profile
    space: EmbeddingSpace | None
    embedding: Sequence[float] | None
    wanted: Wanted
    phrased: str
    brought: Brought | None = None

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals that run, in their order."""
        query, wanted = self.query, self.wanted.signals
        runs = {
            Signal.KEYWORD: True,
            Signal.TITLE: True,
            Signal.VECTOR: self.space is not None and self.embedding is not None,
            Signal.RECENCY: Signal.RECENCY in wanted,
            Signal.SYNONYM: Signal.SYNONYM in wanted and bool(query.expansions),
            Signal.CONCEPT: Signal.CONCEPT in wanted,
            Signal.WORDNET: Signal.WORDNET in wanted and bool(query.related),
        }
        return tuple(signal for signal, is_run in runs.items() if is_run)

    @property
    def shape(self) -> tuple[Hashable, ...]:
        """What the text of a whole scope's statement depends on, besides collections and boosts."""
        profile, space = self.profile, self.space
        return (
            self.signals,
            profile.keyword_scorer,
            profile.title_scorer,
            profile.depth,
            profile.keyword_budget,
            profile.vector_candidates_only,
            bool(self.query.identifiers),
            self.wanted.embeddings,
            self.wanted.places,
            None if space is None else (space.pk, space.dimensions),
            self.brought and self.brought.shape,
        )

    def sent(self, counted: tuple[str, ...]) -> Sent:
        """The contents of the statement's row; `counted` are the boosts that can match."""
        boosts = tuple(boost.name for boost in self.wanted.boosts)
        return Sent(boosts, counted, self.signals, self.wanted.places)

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of the signals that depend on the question or a number of the profile."""
        found: dict[str, Any] = {"recency_half_life": float(self.profile.recency_half_life)}
        if Signal.VECTOR in self.signals and self.embedding is not None:
            found["embedding"] = literal(self.embedding)
        if Signal.SYNONYM in self.signals:
            found |= synonym_params(self.query)
        if Signal.WORDNET in self.signals:
            found |= wordnet_params(self.query)
        if self.brought is not None:
            found |= self.brought.values
        return found


_shapes = Shapes()


def _kept(asked: _Asked, readable: str, boosts: dict[str, str]) -> Statement:
    """The statement of a shape: of its parameters only the question's and the viewer's stay."""
    asked = replace(asked, scope=asked.scope.within_statement())
    text, params = _statement(asked, readable, boosts)
    constants = {"budget": asked.profile.keyword_budget, **params}
    return Statement.with_constants(text, constants)


def _signals(asked: _Asked) -> dict[Signal, SignalSQL]:
    """The SQL of the signals that run, in their order."""
    chunks, profile = asked.scope.chunks, asked.profile
    made: dict[Signal, Callable[[], SignalSQL]] = {
        Signal.KEYWORD: lambda: keyword(chunks, profile),
        Signal.TITLE: lambda: title(chunks, profile),
        Signal.VECTOR: lambda: vector(asked.scope, profile, cast(EmbeddingSpace, asked.space)),
        Signal.RECENCY: recency,
        Signal.SYNONYM: lambda: synonym(chunks, profile),
        Signal.CONCEPT: lambda: concept(chunks, profile),
        Signal.WORDNET: lambda: wordnet(chunks, profile),
    }
    parts = {signal: made[signal]() for signal in asked.signals}
    if (brought := asked.brought) is None:
        return parts
    return {
        signal: brought.instead_of(signal, part, chunks, profile) for signal, part in parts.items()
    }


def _finders(
    asked: _Asked, signals: Mapping[Signal, SignalSQL]
) -> dict[str, QuerySet[Chunk, Any] | str]:
    """The candidate generators by name."""
    chunks, profile, wanted = asked.scope.chunks, asked.profile, asked.wanted
    # Without vectors the other signals find the candidates, so that a search stays possible.
    vector_only = profile.vector_candidates_only and Signal.VECTOR in signals
    finders: dict[str, QuerySet[Chunk, Any] | str] = {
        name.value: signal.find
        for name, signal in signals.items()
        if signal.find is not None and (name is Signal.VECTOR or not vector_only)
    }
    if asked.query.identifiers:
        finders[HOLDERS] = identifier.holders(chunks, profile)
    if wanted.pins:
        finders[PINNED] = pinned_chunks(chunks, wanted.pins)
    return finders


def _statement(
    asked: _Asked, readable: str, boosts: Mapping[str, str]
) -> tuple[str, dict[str, Any]]:
    """The statement's text and the parameters of its generated parts, by name.

    `readable` is the SQL of the searched collections' ids.
    """
    query, wanted, signals = asked.query, asked.wanted, _signals(asked)
    params = {key: value for each in signals.values() for key, value in each.score_params.items()}
    found: dict[str, str] = {}
    for name, finder in _finders(asked, signals).items():
        if isinstance(finder, str):
            found[name] = finder
            continue
        found[name], values = named(finder, f"found_{name}")
        params.update(values)
    # In the order that `columns` expects.
    scores = [*boosts.values(), *(signal.score for signal in signals.values())]
    brings_embeddings = wanted.embeddings and Signal.VECTOR in signals
    joins = [signal.join for signal in signals.values()]
    joins += [identifier.MATCH] if query.identifiers else []
    joins += [SECTION] if any(SECTION_READ in boost for boost in boosts.values()) else []
    findings = query_terms.FINDINGS.format(unchecked=UNCHECKED if asked.phrased else "false")
    tables = [signal.tables for signal in signals.values()]
    if asked.brought is not None:
        tables, joins = [*tables, asked.brought.tables()], [*joins, JOIN]
    text = _STATEMENT.format(
        readable=readable,
        phrased=asked.phrased,
        terms=query_terms.TABLES,
        tables="".join([*tables, identifier.TABLES] if query.identifiers else tables),
        candidates=_placed(found) if wanted.places else _union(found),
        held="held.form, held.strength, held.place" if query.identifiers else _NOT_HELD,
        pin=PLACE if wanted.pins else "NULL::int4",
        embedding=signals[Signal.VECTOR].embedding if brings_embeddings else "NULL::bytea",
        scores=",\n           ".join(f"{score} AS value_{i}" for i, score in enumerate(scores)),
        matches="".join(joins),
        sent=sent(
            len(boosts),
            len(signals),
            findings,
            embeddings=brings_embeddings,
            is_wide=wanted.places,
        ),
    )
    return text, params


def _union(found: Mapping[str, str]) -> str:
    """The table of the candidates of all candidate generators."""
    return _CANDIDATES.format(found="\n    UNION\n    ".join(f"({sql})" for sql in found.values()))


def _placed(found: Mapping[str, str]) -> str:
    """The same, with each candidate's rank in each candidate generator that returns it."""
    parts = [
        f"SELECT id, '{name}' AS finder, row_number() OVER () AS place FROM ({sql}) AS part(id)"
        for name, sql in found.items()
    ]
    return _PLACED.format(found="\n    UNION ALL\n    ".join(parts))
