"""Ranking -> SearchResponse: the requested page, its results and notes."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ingestion.models import Document
from search.domain import Group, Hit
from search.engine.notes import hiding_notes, unreadable_notes
from search.engine.ranking import Ranking
from search.engine.read import Question
from search.engine.response import SearchResponse
from search.presentation.marking import with_nearest
from search.presentation.notices import left_out
from search.presentation.records import RecordLookup
from search.presentation.results import Result, results_for
from search.query.language import other_language
from search.query.spelling_correction import correctable

RELEVANT = 0.5  # of the best score; a guess


def respond(ranking: Ranking, question: Question) -> SearchResponse:
    """The response with the requested page of the ranking; two queries at most, none if empty."""
    request, candidates = question.request, ranking.candidates
    if question.query.is_empty:
        return SearchResponse(ranking, page_size=request.page_size)
    started = time.perf_counter()
    spent = dict(candidates.milliseconds)
    to_rank = 1000 * (started - question.started) - sum(spent.values())
    space = question.configuration.space
    words = [word.text for word in correctable(candidates.query)]
    return SearchResponse(
        ranking,
        _page(ranking, question),
        grouped=request.group,
        page=request.page,
        page_size=request.page_size,
        degraded=candidates.degraded,
        notes=_notes(ranking, question),
        trial=question.plan.trial,
        terms=candidates.terms,
        unknown=candidates.unknown,
        other_language=other_language(candidates, words, space.languages if space else ("",)),
        milliseconds={**spent, "rank": to_rank, "show": 1000 * (time.perf_counter() - started)},
        configuration=question.configuration,
    )


def _page(ranking: Ranking, question: Question) -> tuple[Result, ...]:
    """The results of the requested page, counted from 1; empty beyond the last one."""
    request, candidates = question.request, ranking.candidates
    groups = newest_first(ranking.groups) if request.newest_first else ranking.groups
    first = (request.page - 1) * request.page_size
    results = results_for(
        groups[first : first + request.page_size],
        viewer=request.viewer,
        terms=candidates.terms,
        query=candidates.query,
        lookup=RecordLookup.of(candidates.query, question.configuration.patterns),
        currencies=candidates.currency,
        mark_folded=request.mark_folded,
    )
    return with_nearest(results, candidates.query.text, question.configuration.space)


def newest_first(groups: Sequence[Group[Hit]]) -> list[Group[Hit]]:
    """The relevant groups by their documents' dates, then the others in their order; one query.

    A group is relevant from RELEVANT of the best score on: the nearest passages include some that
    do not answer the question at all, and their dates must not lead.
    """
    documents = Document.objects.filter(pk__in={group.best.document_id for group in groups})
    dates = dict(documents.order_by().values_list("pk", "created"))
    least = RELEVANT * max((group.best.ranked_score for group in groups), default=0.0)

    def place(group: Group[Hit]) -> tuple[bool, float]:
        # A document deleted since it was ranked has no date.
        date = dates.get(group.best.document_id)
        is_dated = date is not None and group.best.ranked_score >= least
        return not is_dated, -date.timestamp() if is_dated and date else 0.0

    return sorted(groups, key=place)


def _notes(ranking: Ranking, question: Question) -> tuple[str, ...]:
    """The notes on a long question, its plan, its weights, hidden and unreadable documents."""
    query, request = question.query, question.request
    unreadable = unreadable_notes(request.filters, query.filters.collections, request.viewer)
    return (
        *left_out(ranking.candidates),
        *question.plan.notes,
        *ranking.settled.notes,
        *hiding_notes(query.hidden, request.viewer),
        *(() if ranking.groups else unreadable),
    )
