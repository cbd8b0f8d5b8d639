"""Q: the question story. Read this first.

    text -> Query -> class + weights -> {signal: raw scores} -> strengths -> hits -> results
    read             understand         found_for               weigh                results_for

`search` is the one way from a question to an answer, for the page, the API and the tests. Its two
halves are what is found, by the database (`search.engine.find`), and `weigh`, which ranks that
without the database (`search.engine.weighing`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from ingestion.models.library import Viewer
from search.domain import Query, TakesPart
from search.engine import configuration
from search.engine.configuration import Configuration
from search.engine.find import found_for, found_wide, hiding_notes
from search.engine.found import Found
from search.engine.request import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, Asked, Choices
from search.engine.response import SearchResponse
from search.engine.settle import Understood, read, understand
from search.engine.trials import mixed_ranking, part_of, teams_of
from search.engine.weighing import Weighed, weigh
from search.presentation.results import results_for
from search.query.spelling import corrected
from search.retrieval import Filters, Scope
from search.retrieval.spelling import neighbours

__all__ = [
    "DEFAULT_PAGE_SIZE",
    "MAX_PAGE_SIZE",
    "Choices",
    "SearchResponse",
    "Weighed",
    "found_wide",
    "search",
    "weigh",
]

Place = TypeVar("Place")


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
    asked = Asked(viewer, filters, choices, group, page, page_size, takes_part, configured)
    response, found = _answer(text, asked)
    suggestion = _suggestion(response, found, asked)
    if suggestion and not response.total and not choices.exact:
        insisting = replace(asked, choices=replace(choices, exact=True))
        instead, _ = _answer(suggestion, insisting)
        if instead.total:
            original = response.query.original
            response, suggestion = replace(instead, corrected_from=original), ""
    milliseconds = {**response.milliseconds, "total": _since(started)}
    return replace(response, suggestion=suggestion, milliseconds=milliseconds)


def _answer(text: str, asked: Asked) -> tuple[SearchResponse, Found]:
    """The response to `text` as it stands, and what was found; nothing for an empty query."""
    configured = asked.configured or configuration.current()
    query = read(text, configured)
    trial = part_of(query, asked, configured)
    chosen = trial.named if trial else asked.choices.snapshot
    profile = chosen or configured.profile(asked.choices.profile)
    understood = understand(query, configured, profile, asked.choices)
    if query.is_empty:
        return _response(understood, query, page_size=asked.page_size), Found(query)

    started = time.perf_counter()
    teams: tuple[str, ...] = ()
    if trial is not None and trial.mix is not None:
        found, weighed, teams = mixed_ranking(query, asked, trial, configured)
    else:
        found = found_for(query, asked.viewer, asked.filters, understood, configured)
        weighed = weigh(found, configured, profile, asked.choices, group=asked.group)
    to_rank = _since(started) - sum(found.milliseconds.values())
    response = _response(
        weighed.understood,
        query,
        hits=weighed.ranking.hits,
        groups=weighed.ranking.groups,
        confidence=weighed.ranking.confidence,
        second_try=weighed.ranking.second_try,
        grouped=asked.group,
        page=asked.page,
        page_size=asked.page_size,
        degraded=found.degraded,
        trial=trial,
        terms=found.terms,
        milliseconds={**found.milliseconds, "rank": to_rank},
    )
    return _shown(response, teams, found, asked), found


def _response(understood: Understood, query: Query, **fields: object) -> SearchResponse:
    """A response with what is settled about the question, and these fields."""
    return SearchResponse(
        query=query,
        profile=understood.profile,
        classification=understood.classification,
        weights=understood.weights,
        forced=understood.forced,
        notes=understood.notes,
        **fields,  # type: ignore[arg-type]
    )


def _shown(
    response: SearchResponse, teams: Sequence[str], found: Found, asked: Asked
) -> SearchResponse:
    """The response with its page of results; `teams` has whose pick each group is, if mixed."""
    started = time.perf_counter()
    shown = _page_of(response.groups, asked.page, asked.page_size)
    results = results_for(shown, viewer=asked.viewer, terms=found.terms)
    milliseconds = {**response.milliseconds, "show": _since(started)}
    return replace(
        response,
        results=results,
        teams=teams_of(results, shown, _page_of(teams, asked.page, asked.page_size)),
        notes=(*response.notes, *hiding_notes(found.hidden, asked.viewer)),
        milliseconds=milliseconds,
    )


def _page_of(places: Sequence[Place], page: int, page_size: int) -> Sequence[Place]:
    """The groups of a page, or what stands for each, counted from 1; none beyond the last."""
    first = (page - 1) * page_size
    return places[first : first + page_size]


def _suggestion(response: SearchResponse, found: Found, asked: Asked) -> str:
    """The query with its unknown words as the searched text spells them; empty without any."""
    if not found.unknown or (response.page > 1 and response.total):
        return ""
    scope = Scope.of(asked.viewer, asked.filters).narrowed_by(response.query)
    scope = scope.without(found.hidden)
    return corrected(response.query, neighbours(found.unknown, scope))


def _since(started: float) -> float:
    """Milliseconds since then."""
    return (time.perf_counter() - started) * 1000
