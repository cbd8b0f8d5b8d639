"""Q: the question story. Read this first.

    text -> Query -> class + weights -> {signal: raw scores} -> strengths -> hits -> results

`search` is the one way from a question to an answer, for the page, the API and the tests.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from ingestion.models.library import Viewer
from search import configuration
from search.configuration import Configuration
from search.domain import (
    Classification,
    Hit,
    Profile,
    Query,
    QueryClass,
    Signal,
    TermStatistic,
    Weights,
)
from search.embedding import QueryVector, embed_query
from search.query import classify, parse
from search.ranking import RankingOptions, rank
from search.results import Result, results_for
from search.retrieval import Filters, Retrieval, Scope, retrieve

DEFAULT_PAGE_SIZE = 10
MAX_PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Choices:
    """What a caller decides in place of the active profile and the classifier. Empty: nothing."""

    profile: str = ""
    query_class: QueryClass | None = None
    weights: Weights | None = None


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """One page of a ranking, with everything that shaped it.

    `hits` is the whole ranking, of which `results` shows a page: all candidates that the
    profile's depth brings. `degraded` names the signals that could not run. `milliseconds` has
    `embed`, `retrieve`, `rank`, `show` and `total`.
    """

    query: Query
    profile: Profile
    classification: Classification
    weights: Weights
    results: tuple[Result, ...] = ()
    hits: tuple[Hit, ...] = field(default=(), repr=False)
    page: int = 1
    page_size: int = DEFAULT_PAGE_SIZE
    degraded: tuple[Signal, ...] = ()
    forced: tuple[str, ...] = ()
    terms: tuple[TermStatistic, ...] = ()
    milliseconds: dict[str, float] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many hits can be paged through."""
        return len(self.hits)

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // self.page_size))


def search(
    text: str,
    *,
    viewer: Viewer,
    filters: Filters | None = None,
    choices: Choices | None = None,
    page: int = 1,
    page_size: int = DEFAULT_PAGE_SIZE,
) -> SearchResponse:
    """The results of `text` among what `viewer` may read, best first.

    Costs three queries: the configuration's stamp, the candidates, the page shown. The order
    never depends on the page or its size. Raises QueryTooLong, InvalidFilter, NothingAsked,
    UnknownProfile, NoActiveProfile.
    """
    started = time.perf_counter()
    configured = configuration.current()
    choices = choices or Choices()
    profile = configured.profile(choices.profile)
    query = parse(text, configured.patterns)
    understood = _understand(query, configured, profile, choices)
    if query.is_empty:
        return understood.response(query, page=1, page_size=page_size)

    vector = _vector(query, configured, understood.weights)
    found = _retrieve(query, viewer, filters or Filters(), understood, configured, vector)
    ranking_started = time.perf_counter()
    hits = rank(found.candidates, understood.weights, ranking_options(profile))
    ranked = time.perf_counter()
    shown = page_of(hits, page, page_size)
    results = results_for(shown, viewer=viewer, terms=found.terms)
    finished = time.perf_counter()
    return understood.response(
        query,
        results=results,
        hits=hits,
        page=page,
        page_size=page_size,
        degraded=vector.degraded,
        terms=found.terms,
        milliseconds={
            "embed": vector.milliseconds,
            "retrieve": found.milliseconds,
            "rank": (ranked - ranking_started) * 1000,
            "show": (finished - ranked) * 1000,
            "total": (finished - started) * 1000,
        },
    )


def ranking_options(profile: Profile) -> RankingOptions:
    """How a profile makes strengths and combines them."""
    return RankingOptions(profile.fusion, profile.normalisers, profile.rrf_k)


def page_of(hits: Sequence[Hit], page: int, page_size: int) -> Sequence[Hit]:
    """The hits of a page, counted from 1; none beyond the last."""
    first = (page - 1) * page_size
    return hits[first : first + page_size]


@dataclass(frozen=True, slots=True)
class _Understood:
    """What is settled before anything is retrieved."""

    profile: Profile
    classification: Classification
    weights: Weights
    forced: tuple[str, ...]

    def response(self, query: Query, **fields: object) -> SearchResponse:
        return SearchResponse(
            query=query,
            profile=self.profile,
            classification=self.classification,
            weights=self.weights,
            forced=self.forced,
            **fields,  # type: ignore[arg-type]
        )


def _understand(
    query: Query, configured: Configuration, profile: Profile, choices: Choices
) -> _Understood:
    """The class and the weights: a caller's word first, then the class's, by the profile."""
    classification = classify(query, configured.rules)
    if choices.query_class is not None:
        classification = Classification(choices.query_class, "asked for by the caller", 1.0)
    weights = choices.weights or profile.weights[classification.query_class]
    forced = {
        "profile": bool(choices.profile),
        "class": choices.query_class is not None,
        "weights": choices.weights is not None,
    }
    names = tuple(name for name, is_forced in forced.items() if is_forced)
    return _Understood(profile, classification, weights, names)


def _vector(query: Query, configured: Configuration, weights: Weights) -> QueryVector:
    """The query's vector; none where it can change nothing (S1-29) or there is no space yet."""
    if query.needs_no_embedding or configured.space is None or not weights.vector:
        return QueryVector()
    return embed_query(query.text, configured.space)


def _retrieve(
    query: Query,
    viewer: Viewer,
    filters: Filters,
    understood: _Understood,
    configured: Configuration,
    vector: QueryVector,
) -> Retrieval:
    return retrieve(
        query,
        Scope.of(viewer, filters).narrowed_by(query),
        understood.profile,
        space=configured.space,
        embedding=vector.values,
    )
