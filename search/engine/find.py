"""Q3: the query's vector, the scope of a question, and the candidate set that the database returns.

The vector has a time limit: a slow or failing model never fails a search.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextvars import copy_context
from dataclasses import dataclass, replace

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from common.backoff import patience
from ingestion import spaces
from ingestion.errors import EmbeddingError
from ingestion.lexical.languages import language_odds
from ingestion.models import Document, EmbeddingSpace
from ingestion.models.library import Viewer
from search.domain import OPTIONAL, WIDE_HALF_LIFE, Candidates, Pinned, Profile, Query, Signal
from search.engine.configuration import Configuration
from search.engine.settle import Settled, read
from search.query.expand import correctable, hidden_from, is_ordinary, pins_for
from search.query.parse import count_words, relaxed
from search.ranking import applicable
from search.ranking.boosts import WISHED, by_sought
from search.retrieval import Filters, Scope, Wanted, retrieve
from search.signals import registry

logger = logging.getLogger(__name__)

# Bounds the threads that a slow provider can occupy; a full pool counts as slow.
_pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="embed-query")


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a query, or None. `milliseconds` is the time waited.

    `unread` is the number of words at the query's end that the vector does not cover.
    """

    values: Sequence[float] | None = None
    degraded: tuple[Signal, ...] = ()
    milliseconds: float = 0.0
    unread: int = 0


def embed_query(text: str, space: EmbeddingSpace) -> QueryVector:
    """The vector of `text` in `space`; degraded if the model fails or is slow."""
    started = time.perf_counter()
    limit = patience() or settings.QUERY_EMBEDDING_TIMEOUT
    values: Sequence[float] | None = None
    unread = 0
    try:
        # Resolved here because the pool's threads must not use the database.
        # With the context: the trace and the ids of the request go on in the thread.
        work = copy_context().run
        future = _pool.submit(work, _embed, text, spaces.resolve(space), limit)
        values, unread = future.result(timeout=limit)
    except FutureTimeout:
        logger.warning("The query's embedding took over %s s", limit)
    except EmbeddingError as error:
        logger.warning("The query could not be embedded: %s", error)
    elapsed = (time.perf_counter() - started) * 1000
    return QueryVector(values, () if values is not None else (Signal.VECTOR,), elapsed, unread)


def _embed(text: str, space: EmbeddingSpace, limit: float) -> tuple[Sequence[float], int]:
    """The vector, and the number of words at the end that it does not cover."""
    # Only the space's own embedder: vectors of different models are not comparable.
    embedder = spaces.query_embedder(space)
    vector = embedder.embed_query(text, timeout=limit)
    return vector.tolist(), count_words(embedder.left_out(text))


def warm_up() -> None:
    """Load the active space's model now, so that the first search does not wait for it.

    And what recognises a question's language, which matters to a model that knows several, and the
    list of ordinary words.
    """
    is_ordinary("warm")
    try:
        embedder = spaces.embedder()
        embedder.embed_query("warm up")
        if len(embedder.card.languages) != 1:
            language_odds("warm up")
    except (EmbeddingError, DatabaseError) as error:
        logger.warning("The embedding model is not available: %s", error)


MAY_HIDE = "search.change_hide"


def find(
    settled: Settled, viewer: Viewer, filters: Filters, configured: Configuration
) -> Candidates:
    """The candidate set of the settled question."""
    query, profile = settled.query, settled.profile
    wanted = Wanted(
        signals=settled.signals & set(OPTIONAL),
        embeddings=profile.feedback > 0,
        boosts=by_sought(applicable(profile.boosts, settled.classification.query_class)),
        pins=settled.pins,
        words=tuple(word.text for word in correctable(query)),
    )
    scope = Scope.of(viewer, filters).without(settled.hidden)
    vector = _vector(query, configured, asked=Signal.VECTOR in settled.signals)
    return _found(scope, query, profile, configured, vector, wanted, _lacking(settled.signals))


def find_for_both(
    settled: Sequence[Settled], viewer: Viewer, filters: Filters, configured: Configuration
) -> Candidates:
    """A wide candidate set for one question under several profiles with the same scorers.

    The ranking reduces it to the candidate set of a search under each.
    """
    profiles = [each.profile for each in settled]
    signals = frozenset[Signal]().union(*(each.signals for each in settled))
    boosts = by_sought([boost for each in profiles for boost in each.boosts])
    query = settled[0].query
    widest = replace(profiles[0], depth=max(each.depth for each in profiles))
    wanted = Wanted(
        signals=signals & set(OPTIONAL),
        embeddings=any(each.feedback > 0 for each in profiles),
        boosts=boosts,
        pins=settled[0].pins,
        words=tuple(word.text for word in correctable(query)),
        places=True,
    )
    scope = Scope.of(viewer, filters).without(settled[0].hidden)
    vector = _vector(query, configured, asked=Signal.VECTOR in signals)
    return _found(scope, query, widest, configured, vector, wanted, _lacking(signals))


def find_wide(
    text: str,
    configured: Configuration,
    profile: Profile,
    *,
    viewer: Viewer,
    filters: Filters | None = None,
) -> Candidates:
    """A wide candidate set for `text`, for profiles that go no deeper than this one.

    Every signal runs, and the candidate generators of each candidate are recorded. Any profile with
    the same scorers, a depth no greater, and boosts whose patterns this one has can rank it.
    Raises QueryTooLong, InvalidFilter, NothingAsked.
    """
    query = read(text, configured)
    if query.is_empty:
        return Candidates(query)
    pins: tuple[Pinned, ...] = pins_for(query.original, configured.pins)
    boosts = by_sought(profile.boosts)
    wanted = Wanted(
        frozenset(OPTIONAL),
        embeddings=True,
        boosts=boosts,
        pins=pins,
        words=tuple(word.text for word in correctable(query)),
        places=True,
    )
    hidden = hidden_from(query.original, configured.hides)
    scope = Scope.of(viewer, filters or Filters()).without(hidden)
    vector = _vector(query, configured, asked=True)
    return _found(scope, query, profile, configured, vector, wanted)


def scope_of(query: Query, viewer: Viewer, filters: Filters, hidden: frozenset[int]) -> Scope:
    """The scope of the question, without the documents hidden from it."""
    return Scope.of(viewer, filters).narrowed_by(query).without(hidden)


def _vector(query: Query, configured: Configuration, *, asked: bool) -> QueryVector:
    """The query's vector; empty if the vector signal does not run or there is no space yet."""
    if configured.space is None or not asked:
        return QueryVector()
    return embed_query(query.text, configured.space)


def _lacking(signals: Collection[Signal]) -> tuple[Signal, ...]:
    """The signals that cannot run because their part or its data is not installed."""
    return tuple(each for each in OPTIONAL if each in signals and not registry.is_available(each))


def _found(
    scope: Scope,
    query: Query,
    profile: Profile,
    configured: Configuration,
    vector: QueryVector,
    wanted: Wanted,
    lacking: tuple[Signal, ...] = (),
) -> Candidates:
    """The candidate set that the database returns for the query within the scope.

    If that is empty although the scope is not, its `query` is relaxed: its phrases and exclusions
    do not bind. `lacking` are signals that should have run and cannot.
    """
    if wanted.places:
        # A wide set records what every signal generates; its rankings leave out what theirs do not.
        profile = replace(profile, recency_half_life=WIDE_HALF_LIFE, vector_candidates_only=False)
    for part in registry.installed():
        if part.signal in wanted.signals:
            query = part.prepare(query)
    found = _retrieved(scope, query, profile, configured, vector, wanted)
    spent = found.milliseconds["retrieve"]
    looser = relaxed(query)
    if not len(found) and looser is not query:
        other = _retrieved(scope, looser, profile, configured, vector, wanted)
        spent += other.milliseconds["retrieve"]
        found = replace(other, unchecked=found.unchecked) if len(other) else found
    return replace(
        found,
        degraded=(*vector.degraded, *found.degraded, *lacking),
        unread=vector.unread,
        at=timezone.now(),
        milliseconds={"embed": vector.milliseconds, "retrieve": spent},
    )


def _retrieved(
    scope: Scope,
    query: Query,
    profile: Profile,
    configured: Configuration,
    vector: QueryVector,
    wanted: Wanted,
) -> Candidates:
    """One retrieval; counts the phrases that the query wishes for, besides the boosts."""
    if query.wished:
        wanted = replace(wanted, boosts=(*wanted.boosts, *by_sought([WISHED])))
    return retrieve(
        query,
        scope.narrowed_by(query),
        profile,
        space=configured.space,
        embedding=vector.values,
        wanted=wanted,
    )


def score_alike(one: Profile, other: Profile) -> bool:
    """Whether both profiles give the same raw scores, so that they can share a candidate set."""
    return _scorers(one) == _scorers(other)


def _scorers(profile: Profile) -> tuple[str, int, str]:
    return profile.keyword_scorer, profile.keyword_budget, profile.title_scorer


def together(found: Sequence[Candidates]) -> Candidates:
    """The first of several candidate sets for one query, with all their times and degradations."""
    first = found[0]
    steps = {step: sum(each.milliseconds[step] for each in found) for step in first.milliseconds}
    lacking = dict.fromkeys(signal for each in found for signal in each.degraded)
    return replace(first, degraded=tuple(lacking), milliseconds=steps)


def hiding_notes(hidden: Collection[int], viewer: Viewer) -> tuple[str, ...]:
    """A note naming the hidden documents, for viewers who may edit hides and read them."""
    if not hidden or viewer is None or not viewer.has_perm(MAY_HIDE):
        return ()
    rows = Document.objects.visible_to(viewer).filter(pk__in=hidden).order_by("title")
    titles = [f"“{title}”" for title in rows.values_list("title", flat=True)]
    return (f"Hidden from this question: {', '.join(titles)}.",) if titles else ()
