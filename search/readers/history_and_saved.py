"""What belongs to one reader: history, saved searches and favourites, and all of it as one export.

The history is kept unless they switch it off, cleared by them, and forgotten in time.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Count, F, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext

from common.accounts import tokens
from common.accounts.models import User
from ingestion.metadata import clean
from ingestion.models import Document
from ingestion.models.collection_access import Viewer
from search.analytics.models import SearchEvent
from search.errors import SearchError
from search.query import MAX_QUERY_CHARS
from search.readers.models import (
    Favourite,
    HistoryEntry,
    OwnQuerySet,
    Params,
    ReaderSettings,
    SavedSearch,
)

logger = logging.getLogger(__name__)

# A guess: a question that grew within this time was being typed.
TYPING = timedelta(seconds=15)
# Per reader; the oldest go first.
MOST_ENTRIES = 1_000
# Guesses: more than a reader can survey, few enough for a worker to look through.
MOST_SEARCHES = 100
MOST_FAVOURITES = 2_000


class NotSaved(SearchError):
    """A saved search or a favourite that cannot be saved; the message says why."""

    code = "not_saved"


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
    if not user.is_authenticated or not question or _is_prefetched(request):
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


def _is_prefetched(request: HttpRequest) -> bool:
    headers = (request.headers.get(name, "") for name in ("Sec-Purpose", "Purpose", "X-Moz"))
    return request.method == "HEAD" or any("prefetch" in header for header in headers)


def _key(question: str, params: Params) -> str:
    written = json.dumps([question, params], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(written.encode()).hexdigest()


def searches_of(user: User) -> OwnQuerySet[SavedSearch]:
    """The reader's saved searches by name."""
    return SavedSearch.objects.owned_by(user)


def save(
    user: User, *, name: str, question: str, params: Params, mails: bool = False
) -> SavedSearch:
    """Save a search; the question is its name by default. Raises NotSaved.

    Without a question its filters alone are saved, under a name.
    """
    if not question and not params:
        raise NotSaved(gettext("Type a question or set a filter first: there is nothing to save."))
    if not clean(name) and not question:
        raise NotSaved(gettext("Give the search a name: it has no question to be named after."))
    _check_mail(user, mails=mails)
    label = clean(name)[:120] or clean(question)[:120]
    try:
        with transaction.atomic():
            User.objects.select_for_update().get(pk=user.pk)  # counted and made one at a time
            if searches_of(user).count() >= MOST_SEARCHES:
                raise NotSaved(
                    gettext("You have %(most)d saved searches. Delete one first.")
                    % {"most": MOST_SEARCHES}
                )
            return SavedSearch.objects.create(
                user=user, name=label, question=question, params=dict(params), mails=mails
            )
    except IntegrityError as error:
        raise _duplicate_name(label) from error


def change(search: SavedSearch, *, name: str, mails: bool) -> None:
    """Rename a saved search and switch its mails on or off. Raises NotSaved."""
    _check_mail(search.user, mails=mails and not search.mails)
    label = clean(name)[:120] or search.name
    try:
        with transaction.atomic():
            SavedSearch.objects.filter(pk=search.pk).update(name=label, mails=mails)
    except IntegrityError as error:
        raise _duplicate_name(label) from error


def favourites_of(user: User) -> QuerySet[Document]:
    """The reader's favourites that they may still read, by title."""
    starred = Favourite.objects.owned_by(user).filter(
        document__in=Document.objects.visible_to(user).values("pk")
    )
    rows = Document.objects.filter(pk__in=starred.values("document"))
    return rows.select_related("collection").defer("title_terms").order_by("title", "pk")


def is_favourite(user: User, document: Document) -> bool:
    """Whether the reader has starred the document."""
    return Favourite.objects.owned_by(user).filter(document=document).exists()


def starred_among(user: Viewer, documents: Iterable[str]) -> frozenset[str]:
    """The public ids of the viewer's favourites among `documents`; one query, none for visitors."""
    if user is None or not user.is_authenticated:
        return frozenset()
    starred = Favourite.objects.owned_by(user).filter(document__public_id__in=list(documents))
    return frozenset(map(str, starred.values_list("document__public_id", flat=True)))


def star(user: User, document: Document, *, on: bool) -> None:
    """Add a readable document to the reader's favourites, or remove it. Raises NotSaved."""
    if not on:
        Favourite.objects.owned_by(user).filter(document=document).delete()
        return
    if Favourite.objects.owned_by(user).count() >= MOST_FAVOURITES:
        raise NotSaved(
            gettext("You have %(most)d favourites. Remove one first.") % {"most": MOST_FAVOURITES}
        )
    Favourite.objects.get_or_create(user=user, document=document)


def _check_mail(user: User, *, mails: bool) -> None:
    if mails and not user.email:
        raise NotSaved(
            gettext(
                "Your account has no e-mail address. Ask an administrator to add one, or use the "
                "feed."
            )
        )


def _duplicate_name(name: str) -> NotSaved:
    return NotSaved(
        gettext("You have a saved search named “%(name)s”. Choose another name.") % {"name": name}
    )


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
            "joined": user.date_joined,
        },
        "keeps_history": keeps_history(user),
        "history": list(history_of(user).values("question", "at", filters=F("params"))),
        "saved_searches": list(
            searches_of(user).values(
                "name",
                "question",
                "mails",
                "created",
                filters=F("params"),
                has_feed=~Q(feed_key=""),
            )
        ),
        "favourites": [
            {"id": str(document.public_id), "title": document.title}
            for document in favourites_of(user)
        ],
        "tokens": [
            {
                "key": row.token_key,
                "name": grant.name if (grant := getattr(row, "grant", None)) else "",
                "scopes": list(grant.scopes) if grant else [],
                "created": row.created,
                "expiry": row.expiry,
            }
            for row in tokens.alive(user)
        ],
        "recorded_searches": list(
            SearchEvent.objects.filter(user=user.pk).values("at", "channel", question=F("query"))
        ),
    }
