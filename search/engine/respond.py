"""Ranking -> SearchResponse: the requested page, its results and notes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TypeVar

from search.domain import (
    Candidates,
    Group,
    Hit,
)
from search.engine.notes import hiding_notes, unreadable_notes
from search.engine.ranking import Ranking
from search.engine.read import Question
from search.engine.response import SearchResponse
from search.presentation.marking import with_exact_words, with_nearest
from search.presentation.notices import left_out
from search.presentation.records import RecordLookup
from search.presentation.results import Result, newest_first, results_for, with_currency
from search.query.language import OtherLanguage, other_language
from search.query.spelling_correction import correctable

PlaceT = TypeVar("PlaceT")


def respond(ranking: Ranking, question: Question) -> SearchResponse:
    """The response with the requested page of the ranking; two queries at most, none if empty."""
    request, candidates = question.request, ranking.candidates
    if question.query.is_empty:
        return SearchResponse(ranking, page_size=request.page_size)
    started = time.perf_counter()
    spent = dict(candidates.milliseconds)
    to_rank = 1000 * (started - question.started) - sum(spent.values())
    groups = newest_first(ranking.groups) if request.newest_first else ranking.groups
    page = _page_of(groups, request.page, request.page_size)
    results = results_for(
        page,
        viewer=request.viewer,
        terms=candidates.terms,
        question=candidates.query.text,
        lookup=RecordLookup.of(candidates.query, question.configuration.patterns),
        mark_folded=request.mark_folded,
    )
    results = with_exact_words(results, candidates.query)
    results = with_nearest(results, candidates.query.text, question.configuration.space)
    results = with_currency(results, candidates.currency)
    hidden = hiding_notes(ranking.settled.hidden, request.viewer)
    if not groups:
        named = question.query.filters.collections
        hidden += tuple(unreadable_notes(request.filters, named, request.viewer))
    return SearchResponse(
        ranking,
        results,
        grouped=request.group,
        page=request.page,
        page_size=request.page_size,
        degraded=candidates.degraded,
        notes=(*left_out(candidates), *question.plan.notes, *ranking.settled.notes, *hidden),
        trial=question.plan.trial,
        teams=_teams_of(results, page, _page_of(ranking.teams, request.page, request.page_size)),
        terms=candidates.terms,
        unknown=candidates.unknown,
        other_language=_other_language(candidates, question),
        milliseconds={**spent, "rank": to_rank, "show": 1000 * (time.perf_counter() - started)},
    )


def _other_language(candidates: Candidates, question: Question) -> OtherLanguage | None:
    space = question.configuration.space
    words = [word.text for word in correctable(candidates.query)]
    return other_language(candidates, words, space.languages if space else ("",))


def _page_of(places: Sequence[PlaceT], page: int, page_size: int) -> Sequence[PlaceT]:
    """The slice of `places` on page `page`, counted from 1; empty beyond the last page."""
    first = (page - 1) * page_size
    return places[first : first + page_size]


def _teams_of(
    results: Sequence[Result], groups: Sequence[Group[Hit]], teams: Sequence[str]
) -> tuple[str, ...]:
    """Each result's team; empty if no rankings were mixed."""
    if not teams:
        return ()
    by_group = {id(group): team for group, team in zip(groups, teams, strict=True)}
    return tuple(by_group[id(result.group)] for result in results)
