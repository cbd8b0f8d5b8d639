"""The query's vector, the scope of a question, and the candidate set that the database returns.

The vector has a time limit: a slow or failing model never fails a search.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone
from django.utils.translation import gettext

from common.circuit_breaker import TimedOut, TimeLimited
from ingestion import models, spaces
from ingestion.currency_dates import Currency
from ingestion.documents.currency import currencies
from ingestion.errors import EmbeddingError
from ingestion.lexical.languages_and_word_parts import language_odds
from ingestion.models import Document, EmbeddingSpace
from ingestion.models.collection_access import Viewer
from search.domain import OPTIONAL, WIDE_HALF_LIFE, Boost, Candidates, Profile, Query, Signal
from search.engine.read import Question
from search.engine.settle_class_and_weights import Settled
from search.query.language import is_listed
from search.query.parse import count_words, relaxed
from search.query.spelling_correction import checked
from search.query.synonyms_and_pins import hidden_from, pins_for
from search.ranking import applicable
from search.ranking.text_boosts import WISHED, by_criteria
from search.retrieval import Filters, RetrievalOptions, Scope, retrieve
from search.signals import registry

logger = logging.getLogger(__name__)

# A full pool counts as slow. A guess.
_calls = TimeLimited("embed-query", workers=8)


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a query, or None. `milliseconds` is the time waited.

    `unread` is the number of words at the query's end that the vector does not cover.
    """

    values: Sequence[float] | None = None
    degraded: tuple[Signal, ...] = ()
    milliseconds: float = 0.0
    unread: int = 0


def embed_query(text: str, space: EmbeddingSpace, patience: float | None = None) -> QueryVector:
    """The vector of `text` in `space`; degraded if the model fails or is slow.

    `patience` are the seconds to wait instead of the settings' limit.
    """
    started = time.perf_counter()
    limit = patience or settings.QUERY_EMBEDDING_TIMEOUT
    values: Sequence[float] | None = None
    unread = 0
    try:
        # Resolved here because the pool's threads must not use the database.
        values, unread = _calls.call(partial(_embed, text, spaces.resolve(space)), limit)
    except TimedOut:
        logger.warning("The query's embedding took over %s s", limit)
    except EmbeddingError as error:
        logger.warning("The query could not be embedded: %s", error)
    elapsed = (time.perf_counter() - started) * 1000
    return QueryVector(values, () if values is not None else (Signal.VECTOR,), elapsed, unread)


def _embed(text: str, space: EmbeddingSpace, seconds: float) -> tuple[Sequence[float], int]:
    """The vector, and the number of words at the end that it does not cover."""
    # Only the space's own embedder: vectors of different models are not comparable.
    embedder = spaces.query_embedder(space)
    vector = embedder.embed_query(text, timeout=seconds)
    return vector.tolist(), count_words(embedder.left_out(text))


def warm_up() -> None:
    """Load the active space's model now, so that the first search does not wait for it.

    Also loads the language recognition, for a model that knows several languages, and the list of
    ordinary words.
    """
    is_listed("warm", "en")
    try:
        embedder = spaces.embedder()
        embedder.embed_query("warm up")
        if len(embedder.card.languages) != 1:
            language_odds("warm up")
    except (EmbeddingError, DatabaseError) as error:
        logger.warning("The embedding model is not available: %s", error)


@dataclass(frozen=True, slots=True)
class Breadth:
    """The rankings that a candidate set serves: under one profile, or under several.

    `profile` has the scorers and the depth. A wide set (`is_wide`) records the candidate generators
    of each candidate, so that a ranking can reduce it to the candidate set of a search under one
    profile. A signal of `required` that cannot run is named in `degraded`.
    """

    profile: Profile
    signals: frozenset[Signal]
    required: frozenset[Signal] = frozenset()
    boosts: tuple[Boost, ...] = ()
    embeddings: bool = False
    is_wide: bool = False

    @classmethod
    def everything(cls, profile: Profile) -> Self:
        """The breadth for any profile with the same scorers, no greater depth, and only boosts of
        this one.
        """
        boosts = by_criteria(profile.boosts)
        signals = frozenset(Signal)
        return cls(profile, signals, boosts=boosts, embeddings=True, is_wide=True)

    @classmethod
    def of(cls, settled: Settled) -> Self:
        """The breadth for a ranking under the profile of the settled question alone."""
        profile = settled.profile
        boosts = by_criteria(applicable(profile.boosts, settled.classification.query_class))
        signals = settled.signals
        return cls(profile, signals, signals, boosts, profile.feedback > 0)

    @classmethod
    def joint(cls, settled: Sequence[Settled]) -> Self:
        """The breadth for rankings under several profiles with the same scorers."""
        profiles = [each.profile for each in settled]
        signals = frozenset[Signal]().union(*(each.signals for each in settled))
        return cls(
            replace(profiles[0], depth=max(each.depth for each in profiles)),
            signals,
            signals,
            by_criteria([boost for each in profiles for boost in each.boosts]),
            embeddings=any(each.feedback > 0 for each in profiles),
            is_wide=True,
        )


def breadths_of(question: Question) -> list[Breadth]:
    """The breadth of each candidate set that the question's plan needs.

    One for all profiles if they give the same raw scores, else one for each.
    """
    settled = question.settled
    if len(settled) > 1 and len({_scorers(each.profile) for each in settled}) == 1:
        return [Breadth.joint(settled)]
    return [Breadth.of(each) for each in settled]


def _scorers(profile: Profile) -> tuple[str, int, str]:
    return profile.keyword_scorer, profile.keyword_budget, profile.title_scorer


def find(question: Question, breadth: Breadth) -> Candidates:
    """The candidate set of this breadth; empty for an empty query.

    If nothing matches in a scope that is not empty, the query is relaxed: its phrases and
    exclusions are no longer required. Raises InvalidFilter, EmptyQuestion.
    """
    query, space = question.query, question.configuration.space
    if query.is_empty:
        return Candidates(query)
    vector = QueryVector()
    if space is not None and Signal.VECTOR in breadth.signals:
        vector = embed_query(query.text, space, question.request.purpose.patience)
    for part in registry.installed():
        if part.signal in breadth.signals:
            query = part.prepare(query)
    candidates = _retrieved(query, question, breadth, vector)
    spent = candidates.milliseconds["retrieve"]
    looser = relaxed(query)
    if not len(candidates) and looser is not query:
        others = _retrieved(looser, question, breadth, vector)
        spent += others.milliseconds["retrieve"]
        candidates = replace(others, unchecked=candidates.unchecked) if len(others) else candidates
    return replace(
        candidates,
        degraded=(*vector.degraded, *candidates.degraded, *_unavailable(breadth.required)),
        unread=vector.unread,
        currency=_currency_of(candidates, question),
        at=timezone.now(),
        milliseconds={"embed": vector.milliseconds, "retrieve": spent},
    )


def _currency_of(candidates: Candidates, question: Question) -> dict[int, Currency]:
    """The candidates' documents that are not current; no query on sites without such documents."""
    documents = candidates.documents[0].tolist() if question.configuration.has_currency else []
    return currencies(documents, question.request.viewer)


def _retrieved(
    query: Query, question: Question, breadth: Breadth, vector: QueryVector
) -> Candidates:
    """The candidates of one retrieval; phrases that the query prefers count as boosts."""
    configuration, request, profile = question.configuration, question.request, breadth.profile
    if breadth.is_wide:
        # A wide set records what every signal generates; its rankings leave out what theirs do not.
        profile = replace(profile, recency_half_life=WIDE_HALF_LIFE, vector_candidates_only=False)
    options = RetrievalOptions(
        signals=breadth.signals & set(OPTIONAL),
        embeddings=breadth.embeddings,
        boosts=(*breadth.boosts, *by_criteria([WISHED])) if query.wished else breadth.boosts,
        pins=pins_for(query.original, configuration.pins),
        words=checked(question.query),
        places=breadth.is_wide,
    )
    hidden = hidden_from(query.original, configuration.hides)
    return retrieve(
        query,
        scope_of(query, request.viewer, request.filters, hidden),
        profile,
        space=configuration.space,
        embedding=vector.values,
        options=options,
    )


def scope_of(query: Query, viewer: Viewer, filters: Filters, hidden: frozenset[int]) -> Scope:
    """The scope of the question, without the documents hidden from it."""
    return Scope.of(viewer, filters).without(hidden).narrowed_by(query)


def _unavailable(signals: frozenset[Signal]) -> tuple[Signal, ...]:
    """The signals that cannot run because their part or its data is not installed."""
    return tuple(each for each in OPTIONAL if each in signals and not registry.is_available(each))


MAY_HIDE = "search.change_hide"


def hiding_notes(hidden: Collection[int], viewer: Viewer) -> tuple[str, ...]:
    """A note with the hidden documents, for viewers who may edit hides and read them."""
    if not hidden or viewer is None or not viewer.has_perm(MAY_HIDE):
        return ()
    rows = Document.objects.visible_to(viewer).filter(pk__in=hidden).order_by("title")
    titles = [f"“{title}”" for title in rows.values_list("title", flat=True)]
    text = gettext("Hidden from this question: %(titles)s.")
    return (text % {"titles": ", ".join(titles)},) if titles else ()


def unreadable_notes(names: Sequence[str], viewer: Viewer) -> tuple[str, ...]:
    """A note if the viewer cannot read a collection that is named: the same, without its name, for
    a missing and a hidden one. One query, none without names.
    """
    if not names:
        return ()
    rows = models.Collection.objects.visible_to(viewer).values_list("slug", "name")
    known = {each.casefold() for row in rows for each in row}
    text = gettext("A collection that you named does not exist, or you may not read it.")
    return () if known.issuperset(map(str.casefold, names)) else (text,)
