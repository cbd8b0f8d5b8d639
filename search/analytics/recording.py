"""A search becomes an event: one statement, after the response is made, that no search waits for.

What cannot be recorded is logged and forgotten: nobody's search fails for a statistic.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db import DatabaseError
from django.db.models import F, Q, Subquery, Value
from django.http import HttpRequest
from django.utils import timezone

from search.analytics.models import SearchEvent
from search.analytics.visitors import is_watched, visitor_of
from search.models import SearchProfile
from search.pipeline import SearchResponse
from search.presentation.results import Result
from search.query.expand import fold_query

logger = logging.getLogger(__name__)

Channel = SearchEvent.Channel

# The same question within this time goes on with the search before: a reload, a way back from a
# document, a second page.
SAME_SEARCH = timedelta(minutes=30)
# What is typed on within this time was not yet the question: a guess between the 0.3 s after
# which the page searches while somebody types, and the time it takes to read a result.
TYPING = timedelta(seconds=5)
MAX_FOLDED = 500
MAX_TEXT = 1000
# In `SearchEvent.teams`: a result that two mixed rankings had in common.
NO_TEAM = "-"


def new_search_id(request: HttpRequest, response: SearchResponse) -> uuid.UUID | None:
    """An id for a search that will be recorded; None for one that will not be.

    Not recorded are empty questions, and searches whose caller forced the profile, the class or
    the weights: those try search out, and say nothing of what readers meet.
    """
    if response.query.is_empty or response.forced or not is_watched(request):
        return None
    return uuid.uuid4()


def record_search(
    request: HttpRequest,
    response: SearchResponse,
    search_id: uuid.UUID | None,
    *,
    channel: str,
    collections: Iterable[str] = (),
    typing: bool = False,
) -> None:
    """Writes the event of an answered search in one statement; nothing without a `search_id`.

    `collections` are the slugs that the search was narrowed to. `typing`: the question may still
    be being typed, and takes the place of the one that it goes on from. Never raises for the
    database: it logs.
    """
    if search_id is None:
        return
    visitor = visitor_of(request)
    fields = _fields(response, tuple(collections)) | {
        "search_id": search_id,
        "at": timezone.now(),
        "channel": channel,
        "user": visitor.user,
    }
    try:
        if typing and _typed_on(visitor.key, fields):
            return
        SearchEvent.objects.create(
            visitor=visitor.key,
            follows_id=_search_before(visitor.key, fields["folded"], fields["experiment"]),
            profile_id=_profile(response),
            **fields,
        )
    except DatabaseError as error:
        logger.warning("A search was not recorded: %s", error)


def _fields(response: SearchResponse, collections: tuple[str, ...]) -> dict[str, Any]:
    query = response.query.original
    shown = response.results
    trial = response.trial
    return {
        "query": query[:MAX_TEXT],
        "folded": fold_query(query)[:MAX_FOLDED],
        "query_class": response.classification.query_class.value,
        "rule": response.classification.rule[:120],
        "profile_name": f"{response.profile.name}@{response.profile.version}"[:80],
        "collections": sorted(_asked_in(response, collections)),
        "sources": sorted({passage.collection_id for passage in _passages(shown)}),
        "page": response.page,
        "total": response.total,
        "results": [uuid.UUID(result.document_id) for result in shown],
        "first_rank": response.first,
        "milliseconds": response.milliseconds.get("total", 0.0),
        "confidence": response.confidence,
        "unsure": response.low_confidence,
        "corrected_from": response.corrected_from[:MAX_TEXT],
        "degraded": [signal.value for signal in response.degraded],
        "experiment": trial.experiment if trial else None,
        "arm": trial.arm if trial else "",
        "teams": "".join(team or NO_TEAM for team in response.teams),
    }


def _asked_in(response: SearchResponse, collections: Iterable[str]) -> set[str]:
    """The collections that were asked for, by a filter or within the query."""
    query = response.query
    named = (*collections, *query.filters.collections, *query.unwanted.collections)
    return {name.casefold()[:120] for name in named}


def _passages(results: Iterable[Result]) -> Iterable[Result]:
    """All that a page shows text of."""
    for result in results:
        yield result
        yield from result.folded
        yield from result.copies


def _search_before(visitor: str, folded: str, experiment: int | None) -> Subquery:
    """The visitor's search that the same question goes on with, asked inside the INSERT.

    Not one outside the experiment or of an earlier one: it showed other results.
    """
    since = timezone.now() - SAME_SEARCH
    before = SearchEvent.objects.filter(
        visitor=visitor, at__gte=since, folded=folded, follows=None, experiment=experiment
    )
    return Subquery(before.order_by("-at", "-pk").values("pk")[:1])


def _profile(response: SearchResponse) -> Subquery:
    profile = response.profile
    found = SearchProfile.objects.filter(name=profile.name, version=profile.version)
    return Subquery(found.values("pk")[:1])


def _typed_on(visitor: str, fields: dict[str, Any]) -> bool:
    """Whether the question took the place of its own beginning, typed a moment ago."""
    folded = fields["folded"]
    latest = SearchEvent.objects.filter(visitor=visitor, at__gte=timezone.now() - TYPING)
    taken = (
        SearchEvent.objects.alias(typed=Value(folded))
        .filter(
            Q(folded__startswith=folded) | Q(typed__startswith=F("folded")),
            pk__in=latest.order_by("-at", "-pk").values("pk")[:1],
            channel=Channel.PAGE,
            follows=None,
            best_click=None,
        )
        .exclude(folded=folded)
    )
    return bool(taken.update(**fields))
