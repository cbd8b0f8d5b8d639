"""Q: the search pipeline, end to end. Read this first.

    text -> Question -> Candidates -> Ranking -> SearchResponse
            read        find          rank       respond

`search` is the only entry point, for the page, the API and the tests. Each step has a module in
`search.engine`: a question is parsed and settled (plan, class, weights, signals), the database
returns candidates with their raw scores, they are ranked in memory, and a page of them is rendered.
"""

from __future__ import annotations

import time
from dataclasses import replace

from common import metrics
from ingestion.models.visibility import Viewer
from search.engine import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, Choices, Purpose, Request
from search.engine.configuration import Configuration, current
from search.engine.find import find
from search.engine.rank import rank
from search.engine.read import read
from search.engine.response import SearchResponse, respond
from search.engine.spelling import suggested
from search.retrieval import Filters

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
    Costs four queries: the configuration's stamp, the question's words, the candidates, the page
    shown. One more for the texts that a reranker reads, one for a reader's words that no searched
    text contains, one for a collection of chosen groups that names its own profile, two if nothing
    is found with the phrases and exclusions of the query, and four more to search its correction.
    The order never depends on the page or its size. Raises QueryTooLong, InvalidFilter,
    EmptyQuestion, UnknownProfile, NoActiveProfile.
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
    configuration = configuration or current()
    started = time.perf_counter()
    response = steps(text, request, configuration)
    # Tuners and measurements see no suggestion: for them no spelling is looked up.
    if purpose is Purpose.READER:
        response = with_correction(response, request, configuration)
    return counted(response, request, started)


def steps(text: str, request: Request, configuration: Configuration) -> SearchResponse:
    """The four steps of a search, for the text as typed."""
    question = read(text, request, configuration)
    candidates = find(question)
    ranking = rank(candidates, question)
    return respond(ranking, question)


def with_correction(
    response: SearchResponse, request: Request, configuration: Configuration
) -> SearchResponse:
    """The response for the corrected text if a reader's words are misspelt, or with a suggestion.

    A less certain correction is also tried if nothing matches the text as typed.
    """
    suggestion, correction = suggested(response, request)
    if correction:
        as_typed = replace(request, choices=replace(request.choices, exact=True))
        corrected = steps(correction, as_typed, configuration)
        if corrected.total:
            return replace(corrected, corrected_from=response.query.original)
    return replace(response, suggestion=suggestion)


def counted(response: SearchResponse, request: Request, started: float) -> SearchResponse:
    """The response with its total time; searches of readers are counted in the metrics."""
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
