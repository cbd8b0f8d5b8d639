"""The retrieval backend: the engine finds and scores the words and the meaning (ADR 83).

    Postgres  the words' weights by its statistics                               one statement
    Postgres  the readable collections                                           one statement
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

from common.database import named
from ingestion.models import EmbeddingSpace
from search.domain import Candidates, Profile, Query, Signal
from search.parts.qdrant import engines
from search.parts.qdrant.points import TERMS, EngineError, PointQuery, Sparse, space_name
from search.retrieval import statement
from search.retrieval.filters import Scope
from search.retrieval.prepared import run, send
from search.retrieval.statement import RetrievalOptions
from search.retrieval.word_lookup import asked_words
from search.signals import registry, vector
from search.signals.registry import External, Inputs, SignalPart

logger = logging.getLogger(__name__)

# More than the depth, so that points that are out of date do not thin the candidates out.
MORE = 1.2
# In a narrowed scope each further request is for four times as many candidates until enough of them
# are in it, up to as many as a scan of pgvector's index reads.
STEP = 4
MOST = vector.MAX_SCAN_TUPLES

_QUESTION = """
WITH {phrased}
readable(id) AS MATERIALIZED ({readable})
SELECT ARRAY(SELECT id FROM readable),
       (SELECT name FROM qdrant_pointcollection WHERE state = 'active'),
       (SELECT spaces FROM qdrant_pointcollection WHERE state = 'active'), {few}
"""


def retrieve(
    query: Query,
    scope: Scope,
    profile: Profile,
    *,
    space: EmbeddingSpace | None,
    embedding: Sequence[float] | None,
    options: RetrievalOptions,
) -> Candidates:
    """`statement.retrieve` with the candidates and scores of the engine.

    If the engine fails, Postgres finds the candidates by words, and the vector signal, named in
    `degraded`, does not run: at the size that needs an engine, Postgres cannot replace it there.
    """
    started = time.perf_counter()
    inputs = Inputs(query, scope, profile, options.signals, space, embedding)
    degraded: tuple[Signal, ...] = ()
    external: External | None = None
    has_failed = False
    inputs = replace(inputs, words=asked_words(inputs, scope, options.words))
    try:
        external = _external(inputs, scope)
    except EngineError as error:
        logger.warning("Candidates come from Postgres alone: %s", error)
        has_failed = True
    # Only with an index does Postgres search a space that the engine lacks.
    lacks = external is None or Signal.VECTOR not in external.candidates
    if has_failed or (lacks and not settings.VECTOR_INDEX):
        runs = space is not None and embedding is not None
        degraded, embedding = (Signal.VECTOR,) * runs, None
    waited = (time.perf_counter() - started) * 1000
    candidates = statement.retrieve(
        query, scope, profile, space=space, embedding=embedding, options=options, external=external
    )
    spent = {"retrieve": candidates.milliseconds["retrieve"] + waited}
    return replace(candidates, degraded=degraded, milliseconds=spent)


Vector = Sparse | Sequence[float]


def _scored_signals(inputs: Inputs) -> tuple[SignalPart, ...]:
    """The signals that run and that the engine can score, in their order."""
    return tuple(
        part
        for part in registry.installed()
        if part.runs(inputs) and part.can_engine_score(inputs.profile)
    )


def _word_signals(inputs: Inputs) -> tuple[SignalPart, ...]:
    """The signals among them that are weights of words."""
    return tuple(part for part in _scored_signals(inputs) if part.words)


@dataclass(frozen=True, slots=True)
class _Target:
    """The collections and vectors to search, as Postgres determines them for a question.

    `few` are the chunks of a small narrowed scope; None for a large one and for a whole one.
    """

    collections: Sequence[int]
    name: str
    is_small: bool
    few: Sequence[int] | None
    vectors: Mapping[Signal, tuple[str, Vector]]


def _external(inputs: Inputs, scope: Scope) -> External | None:
    """The engine's candidates; None if it has no collection yet. Raises EngineError."""
    target = _target(inputs, scope)
    if target is None:
        return None
    # A signal without a term or vector finds nothing; one that the engine lacks is left out.
    by_vector_only = inputs.profile.vector_candidates_only and inputs.embedding is not None
    by_vector_only = by_vector_only and inputs.space is not None
    generating = {
        signal: each
        for signal, each in target.vectors.items()
        if signal is Signal.VECTOR or not by_vector_only
    }
    if target.collections:
        best = _candidates(inputs, scope, target, generating)
    else:
        best = dict.fromkeys(generating, ())
    ids = sorted({each for ids in best.values() for each in ids})
    scores = _scores(target, ids)
    # What has no term at all finds nothing, and scores 0 in Postgres' own words.
    words = (part.signal for part in _word_signals(inputs))
    empty = {signal: () for signal in words if signal not in generating}
    return External({**({} if by_vector_only else empty), **best}, ids, scores, inputs.words)


def _scores(target: _Target, ids: Sequence[int]) -> dict[Signal, Sequence[float | None]]:
    """The engine's scores of these chunks by signal; None where it has no vector."""
    scores: dict[Signal, Sequence[float | None]] = {signal: [] for signal in target.vectors}
    if not ids:
        return scores
    asks = [
        PointQuery(using, vector, len(ids), target.collections, ids, exact=True)
        for using, vector in target.vectors.values()
    ]
    for signal, scored in zip(target.vectors, engines.ask(target.name, asks), strict=True):
        by_id = dict(scored)
        # No term in common is a score of 0. No vector is none: Postgres may have it.
        otherwise = None if signal is Signal.VECTOR else 0.0
        scores[signal] = [by_id.get(each, otherwise) for each in ids]
    return scores


def _target(inputs: Inputs, scope: Scope) -> _Target | None:
    """The collections and vectors to search; None without a collection of points in use."""
    space, embedding = inputs.space, inputs.embedding
    collections, name, spaces, few = _row(inputs, scope)
    if name is None:
        return None
    words = inputs.words
    vectors: dict[Signal, tuple[str, Vector]] = {}
    for part in _word_signals(inputs):
        own = words.added(part.words, part.language) if part.words in words.weights else words.terms
        if weights := own.weights():  # in points, terms are numbered from 0
            values = list(weights.values())
            vectors[part.signal] = TERMS, Sparse([key - 1 for key in weights], values)
    if space is not None and embedding is not None and space.pk in spaces:
        # In half precision, as Postgres reads it.
        halves = np.asarray(embedding, np.float16).astype(np.float64)
        vectors[Signal.VECTOR] = (space_name(space.pk), halves.tolist())
    small = max(vector.SMALL_SCOPE, inputs.profile.depth)
    if few is not None and len(few) > small:
        few = None
    order = (part.signal for part in _scored_signals(inputs))
    ordered = {signal: vectors[signal] for signal in order if signal in vectors}
    return _Target(
        collections, name, sum(words.configs.values()) <= small or few is not None, few, ordered
    )


def _row(inputs: Inputs, searched: Scope) -> Sequence[Any]:
    """Postgres' row on the question, see _QUESTION."""
    scope, phrased, phrase_params = searched.with_phrases()
    readable, readable_params = scope.readable("readable")
    few = "NULL::bigint[]"
    few_params: dict[str, Any] = {}
    if scope.narrowed:
        most = max(vector.SMALL_SCOPE, inputs.profile.depth) + 1
        sql, few_params = named(scope.chunks.order_by().values("pk")[:most], "few")
        few = f"ARRAY({sql})"
    text = _QUESTION.format(readable=readable, phrased=phrased, few=few)
    values = {**readable_params, **few_params, **phrase_params}
    (row,) = (run if scope.is_whole else send)(text, values)
    return row


def _candidates(
    inputs: Inputs, scope: Scope, target: _Target, generating: Mapping[Signal, tuple[str, Vector]]
) -> dict[Signal, Sequence[int]]:
    """The candidates of each signal, the best first and of equals the first; at least `depth`."""
    depth = inputs.profile.depth
    enough: dict[Signal, Sequence[int]] = {}
    if not generating or target.few == []:
        return dict.fromkeys(generating, ())
    limit = math.ceil(depth * MORE)
    remaining = dict(generating)
    while remaining:
        asks = [
            PointQuery(using, each, limit, target.collections, target.few, exact=target.is_small)
            for using, each in remaining.values()
        ]
        answers = dict(zip(remaining, engines.ask(target.name, asks), strict=True))
        ranked = {
            signal: [each for each, _ in sorted(scored, key=lambda one: (-one[1], one[0]))]
            for signal, scored in answers.items()
        }
        if scope.is_whole or target.few is not None or limit >= MOST:
            return enough | ranked
        within = _within(scope, {each for ids in ranked.values() for each in ids})
        for signal, ids in ranked.items():
            in_scope = [each for each in ids if each in within]
            if len(in_scope) >= depth or len(ids) < limit:
                enough[signal] = in_scope
                del remaining[signal]
        limit = min(limit * STEP, MOST)
    return enough


def _within(scope: Scope, ids: set[int]) -> set[int]:
    """The chunks among these that are in the scope; one query."""
    return set(scope.chunks.order_by().filter(pk__in=ids).values_list("pk", flat=True))
