"""Record searches as events, in one statement after the response has been built; and complaints.

A failure to record is logged and does not affect the search.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import F, Q, Value
from django.http import HttpRequest
from django.utils import timezone

from common import database, log_ids
from common.accounts.models import User
from ingestion.models import Collection, Visibility
from search.analytics.failed_search_detection import Failure, file_failures
from search.analytics.models import NO_TEAM, SearchEvent, Sign
from search.analytics.pseudonyms import is_recorded, user_of, visitor_of
from search.pipeline import SearchResponse
from search.presentation.results import Result
from search.query import MAX_QUERY_CHARS
from search.query.query_key import fold_query
from search.retrieval.prepared import run

logger = logging.getLogger(__name__)

Channel = SearchEvent.Channel

# The same question within this time continues the previous search: a reload, a return from a
# document, a second page.
SAME_SEARCH = timedelta(minutes=30)
# A question extended within this time was not finished: a guess between the 0.3 s after which
# the page searches during typing, and the time it takes to read a result.
TYPING = timedelta(seconds=5)
MAX_FOLDED = 500


def new_search_id(request: HttpRequest, response: SearchResponse) -> uuid.UUID | None:
    """A new id for a search that will be recorded; None for one that will not be.

    Empty questions are not recorded, nor are searches whose caller forced the profile, the class
    or the weights: such tests say nothing about readers' searches.
    """
    if response.query.is_empty or response.forced or not is_recorded(request):
        return None
    search_id = uuid.uuid4()
    log_ids.note(search_id=str(search_id))
    return search_id


def record_search(
    request: HttpRequest,
    response: SearchResponse,
    search_id: uuid.UUID | None,
    *,
    channel: str,
    collections: Iterable[str] = (),
    typing: bool = False,
) -> None:
    """Save the event of an answered search in one statement; nothing without a `search_id`.

    `collections` are the slugs that the search was restricted to. With `typing` the question may be
    unfinished, and replaces the event of its own beginning. Database errors are logged, not raised.
    """
    if search_id is None:
        return
    visitor = visitor_of(request)
    fields = _fields(response, tuple(collections)) | {
        "search_id": search_id,
        "at": timezone.now(),
        "channel": channel,
        "user": user_of(request),
    }
    try:
        fields["sources"] = sorted(_sources(response, request))
        if typing and _typed_on(visitor, fields):
            return
        _insert(fields | {"visitor": visitor}, response)
    except DatabaseError as error:
        logger.warning("A search was not recorded: %s", error)


def _fields(response: SearchResponse, collections: tuple[str, ...]) -> dict[str, Any]:
    query = response.query.original
    trial = response.trial
    return {
        "query": query[:MAX_QUERY_CHARS],
        "folded": fold_query(query)[:MAX_FOLDED],
        "query_class": response.classification.query_class.value,
        "rule": response.classification.rule[:120],
        "profile_name": f"{response.profile.name}@{response.profile.version}"[:80],
        "collections": sorted(_collections_in(response, collections)),
        "page": response.page,
        "total": response.total,
        "results": [uuid.UUID(result.document_id) for result in response.results],
        "first_rank": response.first,
        "milliseconds": response.milliseconds.get("total", 0.0),
        "confidence": response.confidence,
        "unsure": response.low_confidence,
        "corrected_from": response.corrected_from[:MAX_QUERY_CHARS],
        "degraded": [signal.value for signal in response.degraded],
        "experiment": trial.experiment if trial else None,
        "teams": "".join(team or NO_TEAM for team in response.teams),
    }


def _sources(response: SearchResponse, request: HttpRequest) -> set[int]:
    """The ids of the collections whose readers alone may read the question.

    These are the collections of the displayed text. A question without an answer may still name
    something in a collection: then all collections count that the asker may read as a member of a
    group.
    """
    sources = {passage.collection_id for passage in _passages(response.results)}
    if sources and not response.low_confidence:
        return sources
    if (user := user_of(request)) is None:
        return sources  # a member of no group
    readable = Collection.objects.visible_to(user).with_narrower(user)
    closed = readable.filter(visibility=Visibility.GROUPS).order_by()
    return sources | set(closed.values_list("pk", flat=True))


def _collections_in(response: SearchResponse, collections: Iterable[str]) -> set[str]:
    """The collections named by a filter or within the query."""
    query = response.query
    names = (*collections, *query.filters.collections, *query.unwanted.collections)
    return {name.casefold()[:120] for name in names}


def _passages(results: Iterable[Result]) -> Iterable[Result]:
    """The results with their folded passages and copies: all whose text a page shows."""
    for result in results:
        yield result
        yield from result.folded
        yield from result.copies


# The columns of an event that are given, with their types. Written out and prepared: Django takes
# longer to compile the statement than Postgres to execute it.
_COLUMNS = {
    "search_id": "uuid", "at": "timestamptz", "channel": "text", "query": "text", "folded": "text",
    "user_id": "bigint", "visitor": "text", "query_class": "text", "rule": "text",
    "profile_name": "text", "collections": "text[]", "sources": "bigint[]", "page": "integer",
    "total": "integer", "results": "uuid[]", "first_rank": "integer", "milliseconds": "float8",
    "confidence": "float8", "unsure": "boolean", "corrected_from": "text", "degraded": "text[]",
    "experiment": "bigint", "teams": "text",
}  # fmt: skip
_INSERT = f"""
INSERT INTO analytics_searchevent
    ({", ".join(_COLUMNS)}, follows_id, profile_id, anonymised, gathered)
VALUES (
    {", ".join(f"%({name})s::{kind}" for name, kind in _COLUMNS.items())},
    -- The visitor's earlier search with the same question, only within the same experiment: other
    -- searches showed other results.
    (SELECT id FROM analytics_searchevent
     WHERE visitor = %(visitor)s::text AND at >= %(since)s::timestamptz
       AND folded = %(folded)s::text AND follows_id IS NULL
       AND experiment IS NOT DISTINCT FROM %(experiment)s::bigint
     ORDER BY at DESC, id DESC LIMIT 1),
    (SELECT id FROM search_searchprofile
     WHERE name = %(profile)s::text AND version = %(version)s::integer),
    false, false
)
-- A server that loses power may lose the events of its last second; nobody waits for its disk.
RETURNING set_config('synchronous_commit', 'off', true)
"""  # noqa: S608  # of the constants above


def _insert(fields: dict[str, Any], response: SearchResponse) -> None:
    user: User | None = fields.pop("user")
    values = fields | {
        "user_id": user.pk if user else None,
        "since": fields["at"] - SAME_SEARCH,
        "profile": response.profile.name,
        "version": response.profile.version,
    }
    run(_INSERT, values)


def _typed_on(visitor: str, fields: dict[str, Any]) -> bool:
    """Replace the event of the question's own beginning, if it is recent; return whether it did."""
    folded = fields["folded"]
    latest = SearchEvent.objects.filter(visitor=visitor, at__gte=timezone.now() - TYPING)
    beginnings = (
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
    return bool(beginnings.update(**fields))


@transaction.atomic
def file_complaints(events: Iterable[SearchEvent]) -> None:
    """File the questions of answers that did not help a visitor as gaps.

    Raises EmbeddingError. The events are unsaved. `sources` are the ids of the collections that the
    answer came from, `collections` the names of the requested ones: whoever may not read one of
    them may not read the question.
    """
    failures = []
    for event in events:
        event.folded = fold_query(event.query)[:MAX_FOLDED]
        if event.folded:
            failures.append(Failure(event, (Sign.ANSWER,)))
    if failures:
        database.hold(database.SEARCH_EVENTS)
        file_failures(failures)
