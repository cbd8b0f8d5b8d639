"""Q: the question story. Read this first.

    text -> Query -> class + weights -> {signal: raw scores} -> strengths -> hits -> results

`search` is the one way from a question to an answer, for the page, the API and the tests.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ingestion.models.library import Viewer
from search import configuration
from search.configuration import Configuration
from search.domain import (
    Classification,
    Hit,
    Profile,
    Query,
    Signal,
    TermStatistic,
    Weights,
)
from search.embedding import QueryVector
from search.query import parse
from search.query.expand import expansions, pins_for
from search.query.spelling import correctable, corrected
from search.ranking import applicable
from search.ranking.fusion import OPTIONAL
from search.ranking.grouping import Group
from search.results import Result, results_for
from search.retrieval import Filters, Retrieval, Scope, Wanted, retrieve
from search.retrieval.spelling import neighbours
from search.second_try import SecondTry, is_low, surest
from search.understanding import (
    Choices,
    Understood,
    as_ranked,
    leaning,
    options_for,
    query_vector,
    understand,
)

__all__ = [
    "DEFAULT_PAGE_SIZE",
    "MAX_PAGE_SIZE",
    "Choices",
    "SearchResponse",
    "page_of",
    "search",
]

DEFAULT_PAGE_SIZE = 10
MAX_PAGE_SIZE = 50
KEYWORDS_ALONE = Weights(vector=0, keyword=1, title=0)


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """One page of a ranking, with everything that shaped it.

    `hits` is the whole ranking: all candidates that the profile's depth brings. `groups` are the
    same hits folded by document, of which `results` shows a page; a group each unless `grouped`.
    `degraded` names the signals that could not run. `confidence` is the probability that the
    first ten results answer the query, whatever page is shown; None where the embedding space has
    no calibration. `second_try`: `weights` are not those asked for, but surer ones.
    `notes` say in sentences why the weights are not the class's. `suggestion` is the query in
    better spelling, empty where there is none; `corrected_from` the query as typed where it found
    nothing and this answers its correction. `milliseconds` has `embed`, `retrieve`, `rank`, `show`
    and `total`.
    """

    query: Query
    profile: Profile
    classification: Classification
    weights: Weights
    results: tuple[Result, ...] = ()
    hits: tuple[Hit, ...] = field(default=(), repr=False)
    groups: tuple[Group, ...] = field(default=(), repr=False)
    grouped: bool = True
    page: int = 1
    page_size: int = DEFAULT_PAGE_SIZE
    degraded: tuple[Signal, ...] = ()
    confidence: float | None = None
    second_try: SecondTry | None = None
    forced: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    suggestion: str = ""
    corrected_from: str = ""
    terms: tuple[TermStatistic, ...] = ()
    milliseconds: dict[str, float] = field(default_factory=dict)

    @property
    def low_confidence(self) -> bool:
        """Whether the first page may well hold no answer, as the profile draws the line."""
        return is_low(self.confidence, self.profile)

    @property
    def total(self) -> int:
        """How many groups can be paged through."""
        return len(self.groups)

    @property
    def first(self) -> int:
        """The place of the first result of the page among all results, from 1."""
        return (self.page - 1) * self.page_size + 1

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // self.page_size))


def search(
    text: str,
    *,
    viewer: Viewer,
    filters: Filters | None = None,
    choices: Choices | None = None,
    group: bool = True,
    page: int = 1,
    page_size: int = DEFAULT_PAGE_SIZE,
) -> SearchResponse:
    """The results of `text` among what `viewer` may read, best first.

    With `group` a document has one place, its best passage's, and near-duplicates share one.
    Costs three queries: the configuration's stamp, the candidates, the page shown; one more for
    words that no searched text holds, and three more to search their correction. The order
    never depends on the page or its size. Raises QueryTooLong, InvalidFilter, NothingAsked,
    UnknownProfile, NoActiveProfile.
    """
    started = time.perf_counter()
    choices, filters = choices or Choices(), filters or Filters()
    asked = _Asked(viewer, filters, choices, group, page, page_size)
    response, found = _answer(text, asked)
    suggestion = _suggestion(response, found, asked) if found else ""
    if suggestion and not response.total and not choices.exact:
        insisting = replace(asked, choices=replace(choices, exact=True))
        instead, _ = _answer(suggestion, insisting)
        if instead.total:
            original = response.query.original
            response, suggestion = replace(instead, corrected_from=original), ""
    elapsed = (time.perf_counter() - started) * 1000
    milliseconds = {**response.milliseconds, "total": elapsed}
    return replace(response, suggestion=suggestion, milliseconds=milliseconds)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked besides the words."""

    viewer: Viewer
    filters: Filters
    choices: Choices
    group: bool
    page: int
    page_size: int


def _answer(text: str, asked: _Asked) -> tuple[SearchResponse, Retrieval | None]:
    """The response to `text` as it stands, and what was retrieved; None for an empty query."""
    configured = configuration.current()
    profile = configured.profile(asked.choices.profile)
    query = parse(text, configured.patterns)
    query = replace(query, expansions=expansions(query.text, configured.synonyms))
    understood = understand(query, configured, profile, asked.choices)
    if query.is_empty:
        return _response(understood, query, page_size=asked.page_size), None

    vector = query_vector(query, configured, understood)
    found = _retrieve(query, asked, understood, configured, vector)
    as_classified, understood = understood, leaning(understood, query, found, configured, vector)
    means_something = vector.values is not None and understood is as_classified
    ranking_started = time.perf_counter()
    ranking = surest(
        query,
        found.candidates,
        found.terms,
        understood.weights,
        profile,
        options_for(understood, query, found.terms),
        configured.calibration,
        group=asked.group,
        by_meaning=means_something,
        may_shift=asked.choices.weights is None and means_something,
    )
    ranking_finished = time.perf_counter()
    shown = page_of(ranking.groups, asked.page, asked.page_size)
    results = results_for(shown, viewer=asked.viewer, terms=found.terms)
    finished = time.perf_counter()
    response = _response(
        as_ranked(understood, ranking),
        query,
        results=results,
        hits=ranking.hits,
        groups=ranking.groups,
        confidence=ranking.confidence,
        second_try=ranking.second_try,
        grouped=asked.group,
        page=asked.page,
        page_size=asked.page_size,
        degraded=vector.degraded,
        terms=found.terms,
        milliseconds={
            "embed": vector.milliseconds,
            "retrieve": found.milliseconds,
            "rank": (ranking_finished - ranking_started) * 1000,
            "show": (finished - ranking_finished) * 1000,
        },
    )
    return response, found


def page_of(groups: Sequence[Group], page: int, page_size: int) -> Sequence[Group]:
    """The groups of a page, counted from 1; none beyond the last."""
    first = (page - 1) * page_size
    return groups[first : first + page_size]


def _response(understood: Understood, query: Query, **fields: object) -> SearchResponse:
    return SearchResponse(
        query=query,
        profile=understood.profile,
        classification=understood.classification,
        weights=understood.weights,
        forced=understood.forced,
        notes=understood.notes,
        **fields,  # type: ignore[arg-type]
    )


def _suggestion(response: SearchResponse, found: Retrieval, asked: _Asked) -> str:
    """The query with its unknown words as the searched text spells them; empty without any."""
    if not found.unknown or (response.page > 1 and response.total):
        return ""
    scope = Scope.of(asked.viewer, asked.filters).narrowed_by(response.query)
    return corrected(response.query, neighbours(found.unknown, scope))


def _retrieve(
    query: Query,
    asked: _Asked,
    understood: Understood,
    configured: Configuration,
    vector: QueryVector,
) -> Retrieval:
    profile = understood.profile
    return retrieve(
        query,
        Scope.of(asked.viewer, asked.filters).narrowed_by(query),
        profile,
        space=configured.space,
        embedding=vector.values,
        wanted=Wanted(
            signals=frozenset(s for s in OPTIONAL if understood.weights.of(s) > 0),
            embeddings=profile.feedback > 0,
            boosts=applicable(profile.boosts, understood.classification.query_class),
            pins=pins_for(query.original, configured.pins),
            words=tuple(word.text for word in correctable(query)),
        ),
    )
