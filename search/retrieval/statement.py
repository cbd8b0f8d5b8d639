"""The statement of a question's candidates: unites all, scores each on every signal."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import FloatField, Q, QuerySet
from django.db.models.expressions import RawSQL
from psycopg.pq import Format

from common.database import named
from ingestion.models import Chunk, EmbeddingSpace
from search.domain import IDENTIFIER, PINNED, Boost, Candidates, Pinned, Profile, Query, Signal
from search.retrieval.boosts import SECTION, SECTION_READ, counts
from search.retrieval.candidate_rows import Sent, read, sent
from search.retrieval.filters import Scope
from search.retrieval.identifiers import (
    IDENTIFIER_MATCH,
    IDENTIFIER_TABLES,
    identifier_matches,
    identifier_params,
)
from search.retrieval.phrases import EXCLUSION_SETTINGS, UNCHECKED
from search.retrieval.prepared import Shapes, run, send, with_constants
from search.retrieval.word_lookup import asked_words
from search.signals import query_terms, registry
from search.signals.query_terms import bm25
from search.signals.registry import ENGINE_JOIN, External, Inputs, SignalPart, SignalSQL
from search.signals.vector import way_of


@dataclass(frozen=True, slots=True)
class RetrievalOptions:
    """The options of a retrieval besides the signals that always run.

    `signals` are the optional ones to run; `embeddings`: return embeddings; `pins` are the pinned
    documents, in order; `words` those of the query to look for, each with
    an identifier's form or "". `places`:
    return each candidate's ranks by candidate generator, as a wide candidate set needs them.
    """

    signals: frozenset[Signal] = frozenset()
    embeddings: bool = False
    boosts: tuple[Boost, ...] = ()
    pins: tuple[Pinned, ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    places: bool = False


# The place of a candidate's document among the pins, from 0. If a document is pinned by one of
# its passages, only that passage has a place, so that it is the one shown.
_PIN = """CASE WHEN coalesce((%(pinned_edits)s::bigint[])[
        array_position(%(pinned)s::bigint[], c.document_id)], 0) IN (0, c.edit_id)
    THEN array_position(%(pinned)s::bigint[], c.document_id) - 1 END"""


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


_NO_MATCH = "NULL::text AS form, NULL::float8 AS strength, NULL::int4 AS place"

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
    options: RetrievalOptions = RetrievalOptions(),
    external: External | None = None,
) -> Candidates:
    """Every candidate of the scope with its raw score under every signal.

    Two round trips: the question's words, then the candidates.

    Without an embedding the vector signal does not run. `external` has the candidates
    and scores of an engine beside Postgres.
    """
    scope, phrased, phrase_params = scope.with_phrases()
    started = time.perf_counter()
    inputs = Inputs(query, scope, profile, options.signals, space, embedding)
    words = external.words if external else asked_words(inputs, scope, options.words)
    inputs = replace(inputs, words=words)
    plan = _StatementPlan(inputs, scope, options, phrased, external)
    boosts, boost_params = counts(options.boosts, query.original)
    readable, readable_params = scope.readable("readable")
    values = {
        **readable_params,
        **words.params(),
        "text": query.text,
        "budget": profile.keyword_budget,
        **_pin_params(options.pins),
        **identifier_params(query),
        **boost_params,
        **phrase_params,
        **plan.values,
    }
    # For a whole scope, the text depends on the shape of the question alone.
    if scope.is_whole and not options.pins:
        shape = (readable, tuple(boosts.items()), *plan.shape)
        statement = _shapes.get(shape, lambda: _prepared(plan, readable, boosts))
        rows = run(statement, values, Format.BINARY)
    else:
        statement, params = _statement(plan, readable, boosts)
        rows = send(statement, params | values, EXCLUSION_SETTINGS if query.excluded else {})
    elapsed = (time.perf_counter() - started) * 1000
    keys, signals = (boost.name for boost in options.boosts), (part.signal for part in plan.parts)
    columns = Sent(tuple(keys), tuple(boosts), tuple(signals), options.places)
    candidates = read(query, words, rows[0], columns)
    return replace(candidates, milliseconds={"retrieve": elapsed})


@dataclass(frozen=True, slots=True)
class _StatementPlan:
    """The inputs of one statement. `phrased` are the common tables of the phrases, or empty."""

    inputs: Inputs
    scope: Scope
    options: RetrievalOptions
    phrased: str
    external: External | None = None

    @property
    def parts(self) -> tuple[SignalPart, ...]:
        """The signals that run, in their order."""
        return tuple(part for part in registry.installed() if part.runs(self.inputs))

    @property
    def shape(self) -> tuple[Hashable, ...]:
        """Everything that determines the text of a whole scope's statement, except collections and
        boosts.
        """
        profile, space = self.inputs.profile, self.inputs.space
        return (
            tuple((part.signal, part.scorer(profile)) for part in self.parts),
            way_of(self.inputs),
            profile.depth,
            profile.keyword_budget,
            profile.vector_candidates_only,
            bool(self.inputs.query.identifiers),
            self.options.embeddings,
            self.options.places,
            None if space is None else (space.pk, space.dimensions),
            self.external and self.external.shape,
        )

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of the signals that depend on the question or a number of the profile."""
        values = dict(self.external.values) if self.external is not None else {}
        for part in self.parts:
            values.update(part.params(self.inputs))
        return values

    def sql(self) -> dict[Signal, SignalSQL]:
        """The SQL of the signals that run, in their order."""
        own = {part: part.sql(self.inputs) for part in self.parts}
        if self.external is None:
            return {part.signal: sql for part, sql in own.items()}
        external, chunks, depth = self.external, self.scope.chunks, self.inputs.profile.depth
        return {
            part.signal: external.instead_of(part, sql, chunks, depth) for part, sql in own.items()
        }


_shapes = Shapes()


def _prepared(plan: _StatementPlan, readable: str, boosts: dict[str, str]) -> str:
    """The statement of a shape, whose only parameters are those of the question and the viewer."""
    scope = plan.scope.within_statement()
    plan = replace(plan, scope=scope, inputs=replace(plan.inputs, scope=scope))
    text, params = _statement(plan, readable, boosts)
    constants = {"budget": plan.inputs.profile.keyword_budget, **params}
    return with_constants(text, constants)


def _generators(
    plan: _StatementPlan, signals: Mapping[Signal, SignalSQL]
) -> dict[str, QuerySet[Chunk, Any] | str]:
    """The candidate generators by name."""
    chunks, profile, pins = plan.scope.chunks, plan.inputs.profile, plan.options.pins
    # Without vectors the other signals find the candidates, so that a search stays possible.
    vector_only = profile.vector_candidates_only and Signal.VECTOR in signals
    generators: dict[str, QuerySet[Chunk, Any] | str] = {
        name.value: signal.find
        for name, signal in signals.items()
        if signal.find is not None and (name is Signal.VECTOR or not vector_only)
    }
    if plan.inputs.query.identifiers:
        generators[IDENTIFIER] = identifier_matches(chunks, profile)
    if pins:
        generators[PINNED] = _pinned_chunks(chunks, pins)
    return generators


def _pin_params(pins: Sequence[Pinned]) -> dict[str, list[int]]:
    """The parameters of _PIN. The id 0 means no edit."""
    return {
        "pinned": [pin.document_id for pin in pins],
        "pinned_edits": [pin.edit_id or 0 for pin in pins],
    }


def _pinned_chunks(chunks: QuerySet[Chunk], pins: Sequence[Pinned]) -> QuerySet[Chunk, Any]:
    """The pinned passages, and of each pinned document the chunk with the highest BM25.

    If several chunks have the highest, the first one.
    """
    score = RawSQL(bm25("ingestion_chunk"), (), output_field=FloatField())
    documents = [pin.document_id for pin in pins if pin.edit_id is None]
    edits = [pin.edit_id for pin in pins if pin.edit_id is not None]
    pinned = chunks.filter(Q(document_id__in=documents) | Q(edit_id__in=edits))
    ordered = pinned.order_by("document_id", score.desc(nulls_last=True), "pk")
    return ordered.distinct("document_id").values("pk")


def _statement(
    plan: _StatementPlan, readable: str, boosts: Mapping[str, str]
) -> tuple[str, dict[str, Any]]:
    """The statement's text and the parameters of its generated parts, by name.

    `readable` is the SQL of the searched collections' ids.
    """
    query, options, signals = plan.inputs.query, plan.options, plan.sql()
    params = {key: value for each in signals.values() for key, value in each.score_params.items()}
    generators: dict[str, str] = {}
    for name, generator in _generators(plan, signals).items():
        if isinstance(generator, str):
            generators[name] = generator
            continue
        generators[name], values = named(generator, f"found_{name}")
        params.update(values)
    # In the order that `columns` expects.
    scores = [*boosts.values(), *(signal.score for signal in signals.values())]
    with_embeddings = options.embeddings and Signal.VECTOR in signals
    joins = [signal.join for signal in signals.values()]
    joins += [IDENTIFIER_MATCH] if query.identifiers else []
    joins += [SECTION] if any(SECTION_READ in boost for boost in boosts.values()) else []
    tables = [signal.tables for signal in signals.values()]
    if plan.external is not None:
        tables, joins = [*tables, plan.external.tables()], [*joins, ENGINE_JOIN]
    text = _STATEMENT.format(
        readable=readable,
        phrased=plan.phrased,
        terms=query_terms.TABLE,
        tables="".join([*tables, IDENTIFIER_TABLES] if query.identifiers else tables),
        candidates=_placed(generators) if options.places else _union(generators),
        held="held.form, held.strength, held.place" if query.identifiers else _NO_MATCH,
        pin=_PIN if options.pins else "NULL::int4",
        embedding=signals[Signal.VECTOR].embedding if with_embeddings else "NULL::bytea",
        scores=",\n           ".join(f"{score} AS value_{i}" for i, score in enumerate(scores)),
        matches="".join(joins),
        sent=sent(
            len(boosts),
            len(signals),
            UNCHECKED if plan.phrased else "false",
            embeddings=with_embeddings,
            is_wide=options.places,
        ),
    )
    return text, params


def _union(selects: Mapping[str, str]) -> str:
    """The table of the candidates of all candidate generators."""
    return _CANDIDATES.format(
        found="\n    UNION\n    ".join(f"({sql})" for sql in selects.values())
    )


def _placed(generators: Mapping[str, str]) -> str:
    """The table of the candidates, with each one's rank in each candidate generator that returns
    it.
    """
    parts = [
        f"SELECT id, '{name}' AS finder, row_number() OVER () AS place FROM ({sql}) AS part(id)"
        for name, sql in generators.items()
    ]
    return _PLACED.format(found="\n    UNION ALL\n    ".join(parts))
