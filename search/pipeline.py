"""Q: the search pipeline, end to end. Read this first.

    text -> Question -> Candidates -> Ranking -> SearchResponse
            read        find          rank       respond

`search` is the only entry point, for the page, the API and the tests. Each step has a module in
`search.engine`: a question is parsed and settled (plan, class, weights, signals), the database
returns candidates with their raw scores, they are ranked in memory, and a page of them is rendered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from django.conf import settings

from common import metrics
from ingestion.models.collections import Viewer
from search.engine import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, Choices, Purpose, Request
from search.engine.configuration import Configuration, current
from search.engine.find import breadths_of, find, scope_of
from search.engine.rank import rank
from search.engine.read import read
from search.engine.response import SearchResponse, respond
from search.query.language import is_listed, text_languages
from search.query.spelling_correction import Neighbour, correctable, corrected
from search.retrieval import Filters
from search.retrieval.spelling_candidates import neighbours

__all__ = ["DEFAULT_PAGE_SIZE", "MAX_PAGE_SIZE", "Choices", "Purpose", "SearchResponse", "search"]


def search(
    text: str,
    *,
    viewer: Viewer,
    filters: Filters | None = None,
    choices: Choices | None = None,
    group: bool = True,
    page: int = 1,
    page_size: int = DEFAULT_PAGE_SIZE,
    newest_first: bool = False,
    mark_folded: bool = False,
    visitor: str = "",
    purpose: Purpose = Purpose.READER,
    configuration: Configuration | None = None,
) -> SearchResponse:
    """The results for `text` among the chunks that `viewer` may read, best first.

    `configuration` replaces the saved one. `visitor` is a key by which a part may choose the plan
    of a search for which nothing is forced, such as an experiment's arm; without it none does.
    `newest_first` shows the relevant groups by their documents' dates, for one query more; the
    ranking stays as it is. `mark_folded` marks the query's words in folded passages too, for
    those who show their texts.

    With `group` a document appears once, at its best passage's rank; near-duplicates are folded.
    Costs three queries: the configuration's stamp, the candidates, the page shown. One more for the
    texts that a reranker reads, one for a reader's words that no searched text contains, one for a
    collection of chosen groups that names its own profile, one if nothing is found with the phrases
    and exclusions of the query, and three more to search its correction. The order never depends
    on the page or its size. Raises QueryTooLong, InvalidFilter, EmptyQuestion, UnknownProfile,
    NoActiveProfile.
    """
    request = Request(
        viewer,
        filters or Filters(),
        choices or Choices(),
        group=group,
        page=page,
        page_size=page_size,
        newest_first=newest_first,
        mark_folded=mark_folded,
        visitor=visitor,
        purpose=purpose,
    )
    return _served(text, request, configuration or current())


def _answer(text: str, request: Request, configuration: Configuration) -> SearchResponse:
    question = read(text, request, configuration)
    candidates = [find(question, breadth) for breadth in breadths_of(question)]
    ranking = rank(candidates, question)
    return respond(ranking, question)


# --- what wraps the steps: their count in the metrics, and spelling correction ---

Steps = Callable[[str, Request, Configuration], SearchResponse]
"""Answers a text as typed."""


def with_correction(steps: Steps) -> Steps:
    """The steps, repeated with the corrected text if a reader's words are misspelt.

    A less certain correction is also tried if nothing matches the text as typed.
    """

    def answer(text: str, request: Request, configuration: Configuration) -> SearchResponse:
        response = steps(text, request, configuration)
        # Tuners and measurements see no suggestion: for them no spelling is looked up.
        if request.purpose is not Purpose.READER or not (near := _near(response, request)):
            return response
        suggestion = _corrected(response, near)
        if suggestion and not request.choices.exact:
            choices = replace(request.choices, exact=True)
            if better := _corrected(response, near, surely=response.total > 0):
                instead = steps(better, replace(request, choices=choices), configuration)
                if instead.total:
                    return replace(instead, corrected_from=response.query.original)
        return replace(response, suggestion=suggestion)

    return answer


def _corrected(
    response: SearchResponse, near: Mapping[str, Sequence[Neighbour]], *, surely: bool = False
) -> str:
    most, names = settings.SEARCH_QUERY_CHARS, response.unknown
    return corrected(response.query, near, most, names=names, surely=surely)


def _near(response: SearchResponse, request: Request) -> Mapping[str, Sequence[Neighbour]]:
    """The words of the texts with a similar spelling, by each unknown word of the query.

    A word is unknown if neither the texts nor the word lists of their languages and of English have
    it: bread is not a misspelt broad. Empty for a question in another language.
    """
    if response.other_language:
        return {}
    codes = {"en", *text_languages(response.ranking.candidates.readings)}
    known = {word.text for word in correctable(response.query)} - set(response.unknown)
    words = [
        word.text
        for word in correctable(response.query, response.unknown)
        if word.text not in known and not any(is_listed(word.text, code) for code in codes)
    ]
    hidden = response.settled.hidden
    scope = scope_of(response.query, request.viewer, request.filters, hidden)
    return neighbours(words, scope, response.terms) if words else {}


def counted(steps: Steps) -> Steps:
    """The steps with their total time; searches of readers are counted in the metrics."""

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


_served = counted(with_correction(_answer))
