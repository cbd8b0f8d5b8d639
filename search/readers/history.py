"""A reader's history: kept unless they switch it off, cleared by them, forgotten in time."""

from __future__ import annotations

import hashlib
import json
import logging
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Count
from django.http import HttpRequest
from django.utils import timezone

from common.accounts import tokens
from common.accounts.models import User
from search.analytics.models import SearchEvent
from search.query import MAX_QUERY_CHARS
from search.readers import saving
from search.readers.models import HistoryEntry, OwnQuerySet, Params, ReaderSettings, SavedSearch

logger = logging.getLogger(__name__)

# A guess: a question that grew within this time was being typed.
TYPING = timedelta(seconds=15)
# Per reader; the oldest go first.
MOST_ENTRIES = 1_000


def of(user: User) -> OwnQuerySet[HistoryEntry]:
    """The reader's entries, the newest first."""
    return HistoryEntry.objects.owned_by(user)


def is_kept(user: User) -> bool:
    """Whether the reader's searches are kept; by default they are, if the site keeps any."""
    if not settings.HISTORY_DAYS:
        return False
    return not ReaderSettings.objects.filter(user=user.pk, keeps_history=False).exists()


def remember(request: HttpRequest, question: str, params: Params, *, typing: bool = False) -> None:
    """Keep a search of a signed-in reader who keeps a history; database errors are logged.

    With `typing`, it replaces its own beginning. Prefetched pages are not kept.
    """
    user = request.user
    if not user.is_authenticated or not question or _is_prefetched(request):
        return
    try:
        if is_kept(user):
            _remember(user, question[:MAX_QUERY_CHARS], params, typing=typing)
    except DatabaseError as error:
        logger.warning("A search was not kept in its reader's history: %s", error)


def switch(user: User, *, keeps: bool) -> None:
    """Keep the reader's searches from now on, or no longer; what is kept stays until cleared."""
    ReaderSettings.objects.update_or_create(user=user, defaults={"keeps_history": keeps})


@transaction.atomic
def clear(user: User) -> int:
    """Delete the reader's history, and unlink the site's records of their searches from them.

    Return the number of entries. The records lose the reader, the visitor's key and the words, as
    they would later by age.
    """
    count, _ = of(user).delete()
    SearchEvent.objects.filter(user=user.pk).update(
        user=None, visitor="", query="", folded="", corrected_from="", anonymised=True
    )
    return count


def forget_one(user: User, pk: int) -> None:
    """Delete one entry of the reader's."""
    of(user).filter(pk=pk).delete()


def forget(*, now: datetime | None = None) -> int:
    """Delete the entries older than HISTORY_DAYS, and a reader's beyond MOST_ENTRIES.

    Return how many.
    """
    limit = (now or timezone.now()) - timedelta(days=settings.HISTORY_DAYS)
    count, _ = HistoryEntry.objects.filter(at__lt=limit).delete()
    counts = HistoryEntry.objects.order_by().values("user").annotate(entries=Count("pk"))
    for row in counts.filter(entries__gt=MOST_ENTRIES):
        own = HistoryEntry.objects.filter(user=row["user"])
        surplus = list(own.values_list("pk", flat=True)[MOST_ENTRIES:])
        deleted, _ = own.filter(pk__in=surplus).delete()
        count += deleted
    return count


def _remember(user: User, question: str, params: Params, *, typing: bool) -> None:
    now = timezone.now()
    entry = HistoryEntry(
        user=user, key=_key(question, params), question=question, params=dict(params), at=now
    )
    if typing:
        _drop_beginnings(user, question, now)
    HistoryEntry.objects.bulk_create(
        [entry], update_conflicts=True, unique_fields=("user", "key"), update_fields=("at",)
    )


def _drop_beginnings(user: User, question: str, now: datetime) -> None:
    """Delete the reader's latest entry if it is a beginning of the question, or the reverse."""
    latest = of(user).filter(at__gte=now - TYPING).first()
    if latest is None or latest.question == question:
        return
    if question.startswith(latest.question) or latest.question.startswith(question):
        latest.delete()


def _is_prefetched(request: HttpRequest) -> bool:
    headers = (request.headers.get(name, "") for name in ("Sec-Purpose", "Purpose", "X-Moz"))
    return request.method == "HEAD" or any("prefetch" in header for header in headers)


def _key(question: str, params: Params) -> str:
    written = json.dumps([question, params], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(written.encode()).hexdigest()


def own_data(user: User) -> dict[str, Any]:
    """The reader's account, history, saved searches, favourites, tokens and recorded searches.

    Without secrets: no password, no token, no feed's address. Conversations are exported by their
    own pages.
    """
    return {
        "account": {
            "username": user.get_username(),
            "email": user.email,
            "first_name": user.first_name,
            "last_name": user.last_name,
            "joined": user.date_joined.isoformat(),
        },
        "keeps_history": is_kept(user),
        "history": [
            {"question": entry.question, "filters": entry.params, "at": entry.at.isoformat()}
            for entry in of(user)
        ],
        "saved_searches": [_saved(search) for search in saving.of(user)],
        "favourites": [
            {"id": str(document.public_id), "title": document.title}
            for document in saving.favourites_of(user)
        ],
        "tokens": [
            {
                "key": row.token_key,
                "name": grant.name if (grant := getattr(row, "grant", None)) else "",
                "scopes": list(grant.scopes) if grant else [],
                "created": row.created.isoformat(),
                "expiry": row.expiry.isoformat() if row.expiry else None,
            }
            for row in tokens.alive(user)
        ],
        "recorded_searches": [
            {"question": query, "at": at.isoformat(), "channel": channel}
            for query, at, channel in SearchEvent.objects.filter(user=user.pk).values_list(
                "query", "at", "channel"
            )
        ],
    }


def _saved(search: SavedSearch) -> dict[str, Any]:
    return {
        "name": search.name,
        "question": search.question,
        "filters": search.params,
        "mails": search.mails,
        "has_feed": bool(search.feed_key),
        "created": search.created.isoformat(),
    }
