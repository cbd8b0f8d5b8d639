"""A reader's history of searches.

It is kept unless they switch it off, cleared by them, and forgotten in time.
"""

from __future__ import annotations

import hashlib
import json
import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Count
from django.http import HttpRequest
from django.utils import timezone

from common.accounts.models import User
from search.analytics.models import SearchEvent
from search.analytics.pseudonyms import is_prefetched
from search.query import MAX_QUERY_CHARS
from search.readers.models import HistoryEntry, OwnQuerySet, Params, ReaderSettings

logger = logging.getLogger(__name__)

# A guess: a question that grew within this time was being typed.
TYPING = timedelta(seconds=15)
# Per reader; the oldest go first.
MOST_ENTRIES = 1_000


def history_of(user: User) -> OwnQuerySet[HistoryEntry]:
    """The reader's entries, the newest first."""
    return HistoryEntry.objects.owned_by(user)


def keeps_history(user: User) -> bool:
    """Whether the reader's searches are recorded; by default yes, if the site records any."""
    if not settings.HISTORY_DAYS:
        return False
    return not ReaderSettings.objects.filter(user=user.pk, keeps_history=False).exists()


def remember(request: HttpRequest, question: str, params: Params, *, typing: bool = False) -> None:
    """Record a search of a signed-in reader who keeps a history; database errors are logged.

    With `typing`, it replaces its own beginning. Prefetched pages are not recorded.
    """
    user = request.user
    if not user.is_authenticated or not question:
        return
    if request.method == "HEAD" or is_prefetched(request):
        return
    try:
        if keeps_history(user):
            _remember(user, question[:MAX_QUERY_CHARS], params, typing=typing)
    except DatabaseError as error:
        logger.warning("A search was not kept in its reader's history: %s", error)


def switch_history(user: User, *, keeps: bool) -> None:
    """Record the reader's searches from now on, or stop; existing entries stay until cleared."""
    ReaderSettings.objects.update_or_create(user=user, defaults={"keeps_history": keeps})


@transaction.atomic
def clear_history(user: User) -> int:
    """Delete the reader's history and return the number of entries.

    The site's records of their searches lose the reader, the visitor's key and the words, as they
    would later by age.
    """
    count, _ = history_of(user).delete()
    SearchEvent.objects.filter(user=user.pk).update(
        user=None, visitor="", query="", folded="", corrected_from="", anonymised=True
    )
    return count


def forget_entry(user: User, pk: int) -> None:
    """Delete one of the reader's entries."""
    history_of(user).filter(pk=pk).delete()


def forget_history(*, now: datetime | None = None) -> int:
    """Delete entries older than HISTORY_DAYS, and a reader's oldest beyond MOST_ENTRIES; return the
    number.
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
    latest = history_of(user).filter(at__gte=now - TYPING).first()
    if latest is None or latest.question == question:
        return
    if question.startswith(latest.question) or latest.question.startswith(question):
        latest.delete()


def _key(question: str, params: Params) -> str:
    written = json.dumps([question, params], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(written.encode()).hexdigest()
