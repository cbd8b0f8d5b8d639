"""Q: the search pipeline, end to end. Read this first.

    text -> Query -> Settled -> Candidates -> Ranking -> SearchResponse
            read     settle     find          ranking_of  results_for

`search` is the only entry point, for the page, the API and the tests. Each step has a module in
`search.engine`: a question is parsed and settled (class, weights, signals), the database returns
candidates with their raw scores, and they are ranked in memory. `search.presentation` renders the
results.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from django.conf import settings

from common.backoff import patience
from common.observing import metrics
from common.observing.tracing import span
from ingestion.models.library import Viewer
from search.domain import Candidates, TakesPart
from search.engine import configuration
from search.engine.configuration import Configuration
from search.engine.experiment import mixed_ranking, part_of, teams_of
from search.engine.find import find, hiding_notes, scope_of
from search.engine.rank import Ranking
from search.engine.rerank import live_ranking
from search.engine.response import SearchResponse, left_out
from search.engine.scopes import of_scope
from search.engine.settle import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, Choices, Request, read, settle
from search.presentation.exact import with_exact_words
from search.presentation.nearest import with_nearest
from search.presentation.results import newest_first, results_for
from search.query.expand import corrected
from search.retrieval import Filters
from search.retrieval.spelling import neighbours

__all__ = ["DEFAULT_PAGE_SIZE", "MAX_PAGE_SIZE", "Choices", "SearchResponse", "search"]

ResultT = TypeVar("ResultT")


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
    newest_first: bool = False,
    mark_folded: bool = False,
    configured: Configuration | None = None,
) -> SearchResponse:
    """The results for `text` among the chunks that `viewer` may read, best first.

    `configured` replaces the saved configuration.
    `takes_part` assigns the search's trial while an experiment runs and nothing is forced.
    `newest_first` shows the relevant groups by their documents' dates, for one query more; the
    ranking stays as it is. `mark_folded` marks the query's words in folded passages too, for
    those who show their texts.

    With `group` a document appears once, at its best passage's rank; near-duplicates are folded.
    Costs three queries: the configuration's stamp, the candidates, the page shown;
    one more for the texts that a reranker reads, one for words that no searched text contains, one
    for a collection of chosen groups that names its own profile, one if nothing is found with the
    phrases and exclusions of the query, and three more to search its correction. The order never
    depends on the page or its size. Raises QueryTooLong, InvalidFilter, NothingAsked,
    UnknownProfile, NoActiveProfile.
    """
    started = time.perf_counter()
    choices, filters = choices or Choices(), filters or Filters()
    asked = Request(
        viewer, filters, choices, group, page, page_size, takes_part, newest_first, mark_folded
    )
    with span("search"):
        return _searched(text, asked, configured, started)


def _searched(
    text: str, asked: Request, configured: Configuration | None, started: float
) -> SearchResponse:
    """The response to `text`; readers' searches are counted."""
    is_saved = configured is None
    response = _made(text, asked, configured or configuration.current(), started)
    # Not those of tuners and measurements, as in the events of analytics.
    is_readers = is_saved and patience() is None and not response.forced
    if is_readers and not response.query.is_empty:
        _count(response)
    return response


def _made(text: str, asked: Request, configured: Configuration, started: float) -> SearchResponse:
    """The response to `text` or, if it has no results, to its correction."""
    response, found = _answer(text, asked, configured)
    suggestion = _suggestion(response, found, asked)
    if suggestion and not response.total and not asked.choices.exact:
        insisting = replace(asked, choices=replace(asked.choices, exact=True))
        instead, _ = _answer(suggestion, insisting, configured)
        if instead.total:
            original = response.query.original
            response, suggestion = replace(instead, corrected_from=original), ""
    milliseconds = {**response.milliseconds, "total": _since(started)}
    return replace(response, suggestion=suggestion, milliseconds=milliseconds)


def _count(response: SearchResponse) -> None:
    found = "nothing" if not response.total else "unsure" if response.low_confidence else "sure"
    metrics.count_search(
        response.classification.query_class.value,
        response.milliseconds,
        [part.value for part in response.degraded],
        found=found,
    )


def _answer(
    text: str, asked: Request, configured: Configuration
) -> tuple[SearchResponse, Candidates]:
    """The response to `text` as typed, and its candidates; both empty for an empty query."""
    query = read(text, configured, insist=asked.choices.insist)
    scope = of_scope(query, asked, configured)
    # An experiment compares the site's profiles, on the searches that they rank (ADR 42).
    trial = None if scope.profile else part_of(query, asked, configured)
    chosen = trial.named if trial else asked.choices.snapshot or scope.profile
    profile = chosen or configured.profile(asked.choices.profile)
    if query.is_empty:
        settled = settle(query, configured, profile, asked.choices)
        nothing = Candidates(query)
        return SearchResponse(Ranking(settled, nothing), page_size=asked.page_size), nothing

    started = time.perf_counter()
    teams: tuple[str, ...] = ()
    if trial is not None and trial.mix is not None:
        found, ranking, teams = mixed_ranking(query, asked, trial, trial.mix, configured)
    else:
        settled = settle(query, configured, profile, asked.choices)
        found = find(settled, asked.viewer, asked.filters, configured)
        ranking = live_ranking(found, settled, configured, asked.viewer, group=asked.group)
        found = ranking.candidates
    settled = replace(ranking.settled, query=found.query)  # relaxed, if nothing was found
    ranking = replace(ranking, settled=settled)
    to_rank = _since(started) - sum(found.milliseconds.values())
    response = SearchResponse(
        ranking,
        grouped=asked.group,
        page=asked.page,
        page_size=asked.page_size,
        degraded=found.degraded,
        notes=(
            *left_out(found),
            *scope.notes,
            *settled.notes,
            *hiding_notes(settled.hidden, asked.viewer),
        ),
        trial=trial,
        terms=found.terms,
        unknown=found.unknown,
        milliseconds={**found.milliseconds, "rank": to_rank},
    )
    return _shown(response, teams, asked, configured), found


def _shown(
    response: SearchResponse, teams: Sequence[str], asked: Request, configured: Configuration
) -> SearchResponse:
    """The response with its page of results; `teams`: of each group, if rankings were mixed."""
    started = time.perf_counter()
    groups = newest_first(response.groups) if asked.newest_first else response.groups
    shown = _page_of(groups, asked.page, asked.page_size)
    results = results_for(
        shown,
        viewer=asked.viewer,
        terms=response.terms,
        question=response.query.text,
        mark_folded=asked.mark_folded,
    )
    results = with_exact_words(results, response.query)
    results = with_nearest(results, response.query.text, configured.space)
    return replace(
        response,
        results=results,
        teams=teams_of(results, shown, _page_of(teams, asked.page, asked.page_size)),
        milliseconds={**response.milliseconds, "show": _since(started)},
    )


def _page_of(places: Sequence[ResultT], page: int, page_size: int) -> Sequence[ResultT]:
    """The slice of `places` on page `page`, counted from 1; empty beyond the last page."""
    first = (page - 1) * page_size
    return places[first : first + page_size]


def _suggestion(response: SearchResponse, found: Candidates, asked: Request) -> str:
    """The query with its unknown words corrected; empty if there is no correction."""
    if not found.unknown or (response.page > 1 and response.total):
        return ""
    hidden = response.settled.hidden
    scope = scope_of(response.query, asked.viewer, asked.filters, hidden)
    near = neighbours(found.unknown, scope)
    return corrected(response.query, near, settings.SEARCH_QUERY_CHARS)


def _since(started: float) -> float:
    """Milliseconds since `started`."""
    return (time.perf_counter() - started) * 1000
