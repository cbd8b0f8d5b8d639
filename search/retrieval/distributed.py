"""Q3: a question to Qdrant: the engine finds and scores the words and the meaning (ADR 83).

    Postgres  the readable collections, the words' weights by its statistics     one statement
    engine    the best candidates of each signal                                 one request
    engine    all of these, scored by each of the signals                        one request
    Postgres  the statement of every question, with these candidates and scores  one statement

What the viewer may read is asked of Postgres at each question, before and after: the engine knows
no visibility. Titles, identifiers, pins, concepts and recency come from Postgres as ever, and so do
scores that the engine lacks, so that a ranking cannot tell where its candidates come from.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.conf import settings

from ingestion.models import EmbeddingSpace
from search.domain import Candidates, KeywordScorer, Profile, Query, Signal
from search.qdrant import engines
from search.qdrant.points import sparse
from search.qdrant.port import TERMS, Ask, EngineError, Sparse, space_name
from search.retrieval import query_terms, statement
from search.retrieval import vector as vectors
from search.retrieval.brought import SCORED, Brought
from search.retrieval.filters import Scope
from search.retrieval.kept import Shapes, Statement, run, send
from search.retrieval.lexical import SYNONYM_TABLES, synonym_params
from search.retrieval.related import WORDNET_TABLES, wordnet_params
from search.retrieval.signal_sql import named
from search.retrieval.statement import Wanted

logger = logging.getLogger(__name__)

# More than the depth, so that points that are out of date do not thin the candidates out.
MORE = 1.2
# In a narrowed scope the engine is asked for four times as many until enough of them are in it, up
# to as many as a scan of pgvector's index reads.
STEP = 4
MOST = vectors.MAX_SCAN_TUPLES

_QUESTION = """
WITH readable(id) AS MATERIALIZED ({readable}),
{phrased}
{tables}
SELECT ARRAY(SELECT id FROM readable), (SELECT chunks FROM corpus),
       (SELECT name FROM {points}), (SELECT spaces FROM {points}),
       {few}, {weights}
"""
# The collection in use; or one that is measured.
_POINTS = """
(SELECT name, spaces FROM qdrant_pointcollection
 WHERE CASE %(collection)s WHEN '' THEN state = 'active' ELSE name = %(collection)s END) points
""".strip()
_WEIGHTS = {
    Signal.KEYWORD: ("question", ""),
    Signal.SYNONYM: ("expansion", SYNONYM_TABLES),
    Signal.WORDNET: ("wordnet", WORDNET_TABLES),
}


def retrieve(
    query: Query,
    scope: Scope,
    profile: Profile,
    *,
    space: EmbeddingSpace | None,
    embedding: Sequence[float] | None,
    wanted: Wanted,
) -> Candidates:
    """`statement.retrieve` with the candidates and scores of the engine.

    If the engine fails, with the words' candidates by Postgres and without the vector signal,
    which `degraded` names: at the size that needs an engine, Postgres cannot replace it there.
    """
    started = time.perf_counter()
    asked = _Asked(query, scope, profile, space, embedding, wanted)
    degraded: tuple[Signal, ...] = ()
    brought: Brought | None = None
    has_failed = False
    try:
        brought = _bring(asked)
    except EngineError as error:
        logger.warning("Candidates come from Postgres alone: %s", error)
        has_failed = True
    # With an index Postgres searches a space that the engine lacks.
    lacks = brought is None or Signal.VECTOR not in brought.found
    if has_failed or (lacks and not settings.VECTOR_INDEX):
        runs = space is not None and embedding is not None
        degraded, embedding = (Signal.VECTOR,) * runs, None
    waited = (time.perf_counter() - started) * 1000
    found = statement.retrieve(
        query, scope, profile, space=space, embedding=embedding, wanted=wanted, brought=brought
    )
    spent = {"retrieve": found.milliseconds["retrieve"] + waited}
    return replace(found, degraded=degraded, milliseconds=spent)


@dataclass(frozen=True, slots=True)
class _Asked:
    query: Query
    scope: Scope
    profile: Profile
    space: EmbeddingSpace | None
    embedding: Sequence[float] | None
    wanted: Wanted

    @property
    def words(self) -> tuple[Signal, ...]:
        """The signals of words that an engine can find and score."""
        wanted = self.wanted.signals
        runs = {
            # The other scorers need the words' places, or their own reading of the text.
            Signal.KEYWORD: self.profile.keyword_scorer is KeywordScorer.BM25,
            Signal.SYNONYM: Signal.SYNONYM in wanted and bool(self.query.expansions),
            Signal.WORDNET: Signal.WORDNET in wanted and bool(self.query.related),
        }
        return tuple(signal for signal, is_run in runs.items() if is_run)


@dataclass(frozen=True, slots=True)
class _Known:
    """What Postgres says of a question: where to ask, and with which vectors.

    `few` are the chunks of a small narrowed scope; None for a large one and for a whole one.
    """

    collections: Sequence[int]
    name: str
    is_small: bool
    few: Sequence[int] | None
    queries: Mapping[Signal, tuple[str, Sparse | Sequence[float]]]


def _bring(asked: _Asked) -> Brought | None:
    """What the engine finds; None if it has no collection yet. Raises EngineError."""
    known = _known(asked)
    if known is None:
        return None
    # A signal without a term or vector finds nothing; one that the engine lacks is left out.
    finding = {signal: each for signal, each in known.queries.items() if _finds(asked, signal)}
    found = _found(asked, known, finding) if known.collections else dict.fromkeys(finding, ())
    ids = sorted({each for ids in found.values() for each in ids})
    scores: dict[Signal, Sequence[float | None]] = {signal: [] for signal in known.queries}
    if ids:
        asks = [
            Ask(using, vector, len(ids), known.collections, ids, exact=True)
            for using, vector in known.queries.values()
        ]
        for signal, scored in zip(known.queries, engines.ask(known.name, asks), strict=True):
            held = dict(scored)
            # No term in common is a score of 0. No vector is none: Postgres may have it.
            otherwise = None if signal is Signal.VECTOR else 0.0
            scores[signal] = [held.get(each, otherwise) for each in ids]
    # What has no term at all finds nothing, and scores 0 in Postgres' own words.
    empty = {signal: () for signal in asked.words if signal not in finding}
    vector_only = asked.profile.vector_candidates_only and Signal.VECTOR in _running(asked)
    return Brought({**({} if vector_only else empty), **found}, ids, scores)


def _running(asked: _Asked) -> tuple[Signal, ...]:
    vector = asked.space is not None and asked.embedding is not None
    return (*asked.words, *((Signal.VECTOR,) if vector else ()))


def _finds(asked: _Asked, signal: Signal) -> bool:
    only = asked.profile.vector_candidates_only and Signal.VECTOR in _running(asked)
    return signal is Signal.VECTOR or not only


def _known(asked: _Asked) -> _Known | None:
    """What Postgres says of the question; None without a collection of points in use."""
    row = _asked_of_postgres(asked)
    collections, chunks, name, spaces, few, *weights = row
    if name is None:
        return None
    queries: dict[Signal, tuple[str, Sparse | Sequence[float]]] = {
        signal: (TERMS, sparse(each))
        for signal, each in zip(asked.words, weights, strict=True)
        if each is not None
    }
    if asked.space is not None and asked.embedding is not None and asked.space.pk in spaces:
        # In half precision, as Postgres reads it.
        vector = np.asarray(asked.embedding, np.float16).astype(np.float64)
        queries[Signal.VECTOR] = (space_name(asked.space.pk), vector.tolist())
    small = max(vectors.SMALL_SCOPE, asked.profile.depth)
    if few is not None and len(few) > small:
        few = None
    ordered = {signal: queries[signal] for signal in SCORED if signal in queries}
    is_small = chunks <= small or few is not None
    return _Known(collections, name, is_small, few, ordered)


_shapes = Shapes()


def _asked_of_postgres(asked: _Asked) -> tuple[Any, ...]:
    scope, phrased, phrase_params = asked.scope.with_phrases_found()
    readable, readable_params = named(scope.collections.order_by().values("pk"), "readable")
    words = asked.words
    few = "NULL::bigint[]"
    few_params: dict[str, Any] = {}
    if scope.narrowed:
        most = max(vectors.SMALL_SCOPE, asked.profile.depth) + 1
        sql, few_params = named(scope.chunks.order_by().values("pk")[:most], "few")
        few = f"ARRAY({sql})"
    values = {
        **readable_params,
        **few_params,
        **phrase_params,
        **query_terms.params(asked.query, (), asked.space.languages if asked.space else ()),
        "budget": asked.profile.keyword_budget,
        "collection": engines.read_from(),
        **(synonym_params(asked.query) if Signal.SYNONYM in words else {}),
        **(wordnet_params(asked.query) if Signal.WORDNET in words else {}),
    }

    def text() -> str:
        tables = [
            query_terms.TABLES.strip(),
            *(_WEIGHTS[signal][1].strip(",\n ") for signal in words),
        ]
        weights = (f"(SELECT sparsevec_send(weights) FROM {_WEIGHTS[each][0]})" for each in words)
        return _QUESTION.format(
            readable=readable,
            phrased=phrased,
            tables=",\n".join(filter(None, tables)),
            few=few,
            points=_POINTS,
            weights=", ".join(weights) or "NULL",
        )

    if scope.is_whole:
        kept = _shapes.get((readable, words), lambda: Statement(text()))
        (row,) = run(kept, values)
    else:
        (row,) = send(text(), values, {})
    return row if words else row[:-1]


def _found(
    asked: _Asked,
    known: _Known,
    finding: Mapping[Signal, tuple[str, Sparse | Sequence[float]]],
) -> dict[Signal, Sequence[int]]:
    """The candidates of each signal, the best first and of equals the first; at least `depth`."""
    depth = asked.profile.depth
    found: dict[Signal, Sequence[int]] = {}
    if not finding or known.few == []:
        return dict.fromkeys(finding, ())
    limit = math.ceil(depth * MORE)
    left = dict(finding)
    while left:
        asks = [
            Ask(using, vector, limit, known.collections, known.few, exact=known.is_small)
            for using, vector in left.values()
        ]
        answers = dict(zip(left, engines.ask(known.name, asks), strict=True))
        ranked = {
            signal: [each for each, _ in sorted(scored, key=lambda one: (-one[1], one[0]))]
            for signal, scored in answers.items()
        }
        if asked.scope.is_whole or known.few is not None or limit >= MOST:
            return found | ranked
        within = _within(asked.scope, {each for ids in ranked.values() for each in ids})
        for signal, ids in ranked.items():
            kept = [each for each in ids if each in within]
            if len(kept) >= depth or len(ids) < limit:
                found[signal] = kept
                del left[signal]
        limit = min(limit * STEP, MOST)
    return found


def _within(scope: Scope, ids: set[int]) -> set[int]:
    """Those of the chunks that are in the scope; one query."""
    return set(scope.chunks.order_by().filter(pk__in=ids).values_list("pk", flat=True))
