"""Q: the question story. Read this first.

    text -> Query -> class + weights -> {signal: raw scores} -> strengths -> hits -> results

`search` is the one way from a question to an answer, for the page, the API and the tests. Its two
halves are what is found, by the database, and `weigh`, which ranks that and is pure.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ingestion.models.library import Viewer
from search import configuration
from search.configuration import Configuration
from search.domain import (
    Classification,
    Hit,
    Profile,
    Query,
    Signal,
    TakesPart,
    TermStatistic,
    Trial,
    Weights,
)
from search.embedding import QueryVector, embed_query
from search.finding import (
    found_for_both,
    found_in,
    hiding_notes,
    scope_of,
    score_alike,
    together,
)
from search.found import WIDE_HALF_LIFE, Found, as_found_by, by_what_they_seek
from search.mixing import mixed
from search.query import parse
from search.query.expand import expansions, pins_for
from search.query.spelling import correctable, corrected
from search.ranking import applicable
from search.ranking.fusion import OPTIONAL
from search.ranking.grouping import Group
from search.results import Result, results_for
from search.retrieval import Filters, Scope, Wanted
from search.retrieval.spelling import neighbours
from search.second_try import Ranking, SecondTry, is_low, surest
from search.understanding import (
    Choices,
    Understood,
    as_ranked,
    leaning,
    options_for,
    query_vector,
    signals_for,
    understand,
)

__all__ = [
    "DEFAULT_PAGE_SIZE",
    "MAX_PAGE_SIZE",
    "Choices",
    "SearchResponse",
    "Weighed",
    "found_wide",
    "page_of",
    "search",
    "weigh",
]

Place = TypeVar("Place")

DEFAULT_PAGE_SIZE = 10
MAX_PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """One page of a ranking, with everything that shaped it.

    `hits` is the whole ranking: all candidates that the profile's depth brings. `groups` are the
    same hits folded by document, of which `results` shows a page; a group each unless `grouped`.
    `degraded` names the signals that could not run. `confidence` is the probability that the
    first ten results answer the query, whatever page is shown; None where the embedding space has
    no calibration. `second_try`: `weights` are not those asked for, but surer ones.
    `trial` is the search's part in an experiment; where that mixes two rankings, `teams` says of
    each of `results` whose pick it is, "" for both's.
    `notes` say in sentences why the weights are not the class's, and to those who decide it what
    is hidden. `suggestion` is the query in
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
    trial: Trial | None = None
    teams: tuple[str, ...] = ()
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
    takes_part: TakesPart | None = None,
    configured: Configuration | None = None,
) -> SearchResponse:
    """The results of `text` among what `viewer` may read, best first.

    `configured` is what it searches by in place of what administrators have saved.
    `takes_part` is asked for the search's part where an experiment runs and nothing is forced.

    With `group` a document has one place, its best passage's, and near-duplicates share one.
    Costs three queries: the configuration's stamp, the candidates, the page shown; one more for
    words that no searched text holds, and three more to search their correction. The order
    never depends on the page or its size. Raises QueryTooLong, InvalidFilter, NothingAsked,
    UnknownProfile, NoActiveProfile.
    """
    started = time.perf_counter()
    choices, filters = choices or Choices(), filters or Filters()
    asked = _Asked(viewer, filters, choices, group, page, page_size, takes_part, configured)
    response, found = _answer(text, asked)
    suggestion = _suggestion(response, found, asked)
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
    takes_part: TakesPart | None = None
    configured: Configuration | None = None


def _answer(text: str, asked: _Asked) -> tuple[SearchResponse, Found]:
    """The response to `text` as it stands, and what was found; nothing for an empty query."""
    configured = asked.configured or configuration.current()
    query = read(text, configured)
    trial = None if query.is_empty else _trial(query, asked, configured)
    chosen = trial.named if trial else asked.choices.snapshot
    profile = chosen or configured.profile(asked.choices.profile)
    understood = understand(query, configured, profile, asked.choices)
    if query.is_empty:
        return _response(understood, query, page_size=asked.page_size), Found(query)

    ranking_started = time.perf_counter()
    if trial is not None and trial.mix is not None:
        found, weighed, teams = _mixed(query, asked, trial, configured)
    else:
        found = _find(query, asked, understood, configured)
        weighed = weigh(found, configured, profile, asked.choices, group=asked.group)
        teams = ()
    ranking = weighed.ranking
    ranking_finished = time.perf_counter()
    shown = page_of(ranking.groups, asked.page, asked.page_size)
    results = results_for(shown, viewer=asked.viewer, terms=found.terms)
    finished = time.perf_counter()
    response = _response(
        weighed.understood,
        query,
        results=results,
        hits=ranking.hits,
        groups=ranking.groups,
        confidence=ranking.confidence,
        second_try=ranking.second_try,
        grouped=asked.group,
        page=asked.page,
        page_size=asked.page_size,
        degraded=found.degraded,
        trial=trial,
        teams=_teams_of(results, shown, page_of(teams, asked.page, asked.page_size)),
        terms=found.terms,
        milliseconds={
            **found.milliseconds,
            "rank": (ranking_finished - ranking_started) * 1000 - sum(found.milliseconds.values()),
            "show": (finished - ranking_finished) * 1000,
        },
    )
    notes = hiding_notes(found.hidden, asked.viewer)
    return replace(response, notes=(*response.notes, *notes)), found


def _trial(query: Query, asked: _Asked, configured: Configuration) -> Trial | None:
    """The search's part in the experiment that runs; none for a caller who forces anything."""
    choices, running = asked.choices, configured.experiment
    forced = choices.profile or choices.snapshot or choices.query_class or choices.weights
    if running is None or asked.takes_part is None or forced:
        return None
    return asked.takes_part(running, query.original, configured.active)


def _mixed(
    query: Query, asked: _Asked, trial: Trial, configured: Configuration
) -> tuple[Found, Weighed, tuple[str, ...]]:
    """Both profiles' rankings as one, from one find where their scorers are the same."""
    assert trial.mix is not None
    settled = [understand(query, configured, each, asked.choices) for each in trial.profiles]
    if score_alike(*trial.profiles):
        found = found_for_both(query, asked.viewer, asked.filters, settled, configured)
        finds = [found, found]
    else:
        finds = [_find(query, asked, each, configured) for each in settled]
        found = together(finds)
    first, second = (
        weigh(each, configured, profile, asked.choices, group=asked.group)
        for each, profile in zip(finds, trial.profiles, strict=True)
    )
    both = mixed(first.ranking, second.ranking, trial.mix, grouped=asked.group)
    named = (first, second)[trial.profiles.index(trial.named)]
    return found, replace(named, ranking=both.ranking), both.teams


def _teams_of(
    results: Sequence[Result], groups: Sequence[Group], teams: Sequence[str]
) -> tuple[str, ...]:
    """Each result's team; nothing where no rankings were mixed."""
    if not teams:
        return ()
    by_group = {id(group): team for group, team in zip(groups, teams, strict=True)}
    return tuple(by_group[id(result.group)] for result in results)


def read(text: str, configured: Configuration) -> Query:
    """The question, read with the administrators' patterns and synonyms."""
    query = parse(text, configured.patterns)
    return replace(query, expansions=expansions(query.text, configured.synonyms))


@dataclass(frozen=True, slots=True)
class Weighed:
    """A ranking, and what was settled about the question by the time it stood."""

    understood: Understood
    ranking: Ranking


def weigh(
    found: Found,
    configured: Configuration,
    profile: Profile,
    choices: Choices | None = None,
    *,
    group: bool = True,
) -> Weighed:
    """The ranking of what was found: the second half of a search, without the database.

    The search and the what-if of the workbench both rank by this. Of a wide find it takes what a
    search under the profile would have found.
    """
    choices = choices or Choices()
    query = found.query
    as_classified = understand(query, configured, profile, choices)
    found = as_found_by(found, profile, signals_for(query, as_classified))
    understood = leaning(as_classified, found, configured)
    means_something = found.by_meaning and understood is as_classified
    ranking = surest(
        query,
        found.candidates,
        found.terms,
        understood.weights,
        profile,
        options_for(understood, query, found.terms),
        configured.calibration,
        group=group,
        by_meaning=means_something,
        may_shift=choices.weights is None and means_something,
    )
    return Weighed(as_ranked(understood, ranking), ranking)


def page_of(places: Sequence[Place], page: int, page_size: int) -> Sequence[Place]:
    """The groups of a page, or what stands for each, counted from 1; none beyond the last."""
    first = (page - 1) * page_size
    return places[first : first + page_size]


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


def _suggestion(response: SearchResponse, found: Found, asked: _Asked) -> str:
    """The query with its unknown words as the searched text spells them; empty without any."""
    if not found.unknown or (response.page > 1 and response.total):
        return ""
    scope = Scope.of(asked.viewer, asked.filters).narrowed_by(response.query)
    scope = scope.without(found.hidden)
    return corrected(response.query, neighbours(found.unknown, scope))


def _find(query: Query, asked: _Asked, understood: Understood, configured: Configuration) -> Found:
    """What a search under what was understood looks for, and no more."""
    profile = understood.profile
    wanted = Wanted(
        signals=signals_for(query, understood) & set(OPTIONAL),
        embeddings=profile.feedback > 0,
        boosts=applicable(profile.boosts, understood.classification.query_class),
        pins=pins_for(query.original, configured.pins),
        words=tuple(word.text for word in correctable(query)),
    )
    vector = query_vector(query, configured, understood)
    scope = scope_of(query, asked.viewer, asked.filters, configured)
    return found_in(scope, query, profile, configured, vector, wanted)


def found_wide(
    text: str,
    configured: Configuration,
    profile: Profile,
    *,
    viewer: Viewer,
    filters: Filters | None = None,
) -> Found:
    """All that searches for `text` could find that look no further than this profile.

    Every signal runs, and what brought each candidate is kept: `weigh` ranks it by any profile
    with the same scorers, a depth no greater, and boosts whose patterns this one has.
    Raises QueryTooLong, InvalidFilter, NothingAsked.
    """
    query = read(text, configured)
    if query.is_empty:
        return Found(query)
    wanted = Wanted(
        signals=frozenset(OPTIONAL),
        embeddings=True,
        boosts=by_what_they_seek(profile.boosts),
        pins=pins_for(query.original, configured.pins),
        places=True,
    )
    space = configured.space
    vector = embed_query(query.text, space) if space is not None else QueryVector()
    scope = scope_of(query, viewer, filters or Filters(), configured)
    wide = replace(profile, recency_half_life=WIDE_HALF_LIFE)
    return found_in(scope, query, wide, configured, vector, wanted)
