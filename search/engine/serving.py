"""Around the steps of a search: the correction of its spelling, its time, and its count."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from django.conf import settings

from common.observing import metrics
from search.engine.configuration import Configuration
from search.engine.find import scope_of
from search.engine.request import Purpose, Request
from search.engine.response import SearchResponse
from search.query.expand import corrected
from search.retrieval.spelling import neighbours

Steps = Callable[[str, Request, Configuration], SearchResponse]
"""Answers a text as typed."""


def with_correction(steps: Steps) -> Steps:
    """The steps, taken once more with the text corrected if it has no results as typed."""

    def answer(text: str, request: Request, configuration: Configuration) -> SearchResponse:
        response = steps(text, request, configuration)
        suggestion = _suggestion(response, request)
        if suggestion and not response.total and not request.choices.exact:
            choices = replace(request.choices, exact=True)
            instead = steps(suggestion, replace(request, choices=choices), configuration)
            if instead.total:
                return replace(instead, corrected_from=response.query.original)
        return replace(response, suggestion=suggestion)

    return answer


def _suggestion(response: SearchResponse, request: Request) -> str:
    """The query with its unknown words corrected; empty if there is no correction."""
    if not response.unknown or (response.page > 1 and response.total):
        return ""
    hidden = response.settled.hidden
    scope = scope_of(response.query, request.viewer, request.filters, hidden)
    near = neighbours(response.unknown, scope)
    return corrected(response.query, near, settings.SEARCH_QUERY_CHARS)


def counted(steps: Steps) -> Steps:
    """The steps with their total time; readers' searches are counted in the metrics."""

    def answer(text: str, request: Request, configuration: Configuration) -> SearchResponse:
        started = time.perf_counter()
        response = steps(text, request, configuration)
        total = 1000 * (time.perf_counter() - started)
        response = replace(response, milliseconds={**response.milliseconds, "total": total})
        # Not those of tuners and measurements, as in the events of analytics.
        is_readers = request.purpose is Purpose.READER and not response.forced
        if is_readers and not response.query.is_empty:
            outcome = "sure" if not response.low_confidence else "unsure"
            metrics.count_search(
                response.classification.query_class.value,
                response.milliseconds,
                [part.value for part in response.degraded],
                found=outcome if response.total else "nothing",
            )
        return response

    return answer
