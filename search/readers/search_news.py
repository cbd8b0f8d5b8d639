"""News of saved searches: a worker looks for them, mails a digest, and a page lists them.

A document is news to a saved search if it became searchable since the last look, with a file that
the document did not have before, and the search finds it as its owner: among its first NEWS_DEPTH
results, and without a low confidence when it is searched alone, since in a small library every
document is among the first results. Whether the owner may read it is asked again whenever it is
shown or mailed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from common.accounts.models import User
from ingestion.models import Document, DocumentVersion
from search import pipeline
from search.errors import SearchError
from search.query.field_operators import metadata_filter
from search.readers.mailing import mail_each
from search.readers.models import Find, Params, ReaderSettings, SavedSearch
from search.retrieval import Filters, facets
from search.retrieval.filters import documents_of

logger = logging.getLogger(__name__)

# Guesses: the results that a reader looks through, and the entries of a page or a mail.
NEWS_DEPTH = 20
MAX_NEWS = 50
# A version's time is set before its transaction ends: what ended late is looked at again.
OVERLAP = timedelta(minutes=10)
RETENTION = timedelta(days=90)
_UNSUBSCRIBE = "search.readers.unsubscribe"


def look(*, now: datetime | None = None) -> int:
    """Look for news of all saved searches, and send the mails that are due; return their number."""
    now = now or timezone.now()
    waiting = SavedSearch.objects.filter(checked_at__lt=now, user__is_active=True)
    for pk in list(waiting.order_by("checked_at").values_list("pk", flat=True)):
        try:
            _check(pk, now)
        except SearchError as error:
            # Not its message: of an invalid filter that quotes the question.
            logger.warning("A saved search was not checked for news: %s", type(error).__name__)
    Find.objects.filter(at__lt=now - RETENTION).delete()
    return mail(now=now)


def mail(*, now: datetime | None = None) -> int:
    """Mail each reader one digest of their news, at most every NEWS_MAIL_HOURS; return how many."""
    now = now or timezone.now()
    due = Q(mailed_at=None) | Q(mailed_at__lte=now - timedelta(hours=settings.NEWS_MAIL_HOURS))
    waiting = Find.objects.filter(mailed=False, search__mails=True, search__user__is_active=True)
    users = waiting.order_by().values_list("search__user", flat=True).distinct()

    def digest(user_id: int) -> int:
        ReaderSettings.objects.get_or_create(user_id=user_id)
        rows = ReaderSettings.objects.select_for_update(skip_locked=True)
        reader = rows.filter(due, user=user_id).first()
        return _mail(reader, now) if reader else 0

    return mail_each(list(users), digest, kind="news of saved searches")


def finds_of(search: SavedSearch) -> QuerySet[Find]:
    """The finds that the search's owner may read now, the newest first, with their documents."""
    return readable(Find.objects.filter(search=search), search.user)


def readable(finds: QuerySet[Find], user: User) -> QuerySet[Find]:
    """The finds among these whose documents the user may read, the newest first."""
    documents = Document.objects.visible_to(user).filter(current__isnull=False).order_by()
    rows = finds.filter(version__document__in=documents.values("pk"))
    joined = rows.select_related("version__document__collection")
    return joined.defer("version__text", "version__document__title_terms").order_by("-at", "-pk")


def unsubscribe_token(user: User) -> str:
    """A token that ends the reader's mails, and nothing else; it does not expire."""
    return signing.dumps(user.pk, salt=_UNSUBSCRIBE)


def unsubscribe(token: str, *, dry: bool = False) -> bool:
    """End all mails of the token's reader; return whether the token is valid.

    With `dry` it only checks the token.
    """
    try:
        pk = signing.loads(token, salt=_UNSUBSCRIBE)
    except signing.BadSignature:
        return False
    if not dry:
        SavedSearch.objects.filter(user=pk).update(mails=False)
    return True


def filters_of(params: Params) -> Filters:
    """The filters of a saved search. Raises InvalidFilter."""

    def one(name: str) -> str:
        return next(iter(params.get(name, ())), "")

    return Filters(
        collections=tuple(params.get("collection", ())),
        media_types=tuple(params.get("type", ())),
        languages=tuple(params.get("language", ())),
        after=date.fromisoformat(one("after")) if one("after") else None,
        before=date.fromisoformat(one("before")) if one("before") else None,
        documents=tuple(map(UUID, params.get("document", ()))),
        metadata=tuple(map(metadata_filter, params.get("meta", ()))),
        facets=facets.chosen(lambda name: params.get(name, ())),
        current=bool(one("current")),
    )


@transaction.atomic
def _check(pk: int, now: datetime) -> None:
    """Store the news of one search, unless another worker does."""
    rows = SavedSearch.objects.select_for_update(of=("self",), skip_locked=True)
    search = rows.select_related("user").filter(pk=pk, checked_at__lt=now).first()
    if search is None:
        return
    since = max(search.created, search.checked_at - OVERLAP)
    versions = _news_of(search, since, now)
    if versions is None:
        return  # without one of its signals a search would miss what it finds tomorrow
    Find.objects.bulk_create(
        [Find(search=search, version_id=version, at=now) for version in versions],
        ignore_conflicts=True,
    )
    SavedSearch.objects.filter(pk=pk).update(checked_at=now)


def _news_of(search: SavedSearch, since: datetime, until: datetime) -> list[int] | None:
    """The versions that are news, best first; None if the search was degraded."""
    fresh = dict(_fresh(search.user, since, until).values_list("public_id", "current"))
    if not fresh:
        return []
    filters = filters_of(search.params)
    if not search.question:
        # With filters alone, every matching document is a result that the reader requested.
        fitting = documents_of(search.user, filters).filter(public_id__in=fresh)
        return [fresh[public_id] for public_id in fitting.values_list("public_id", flat=True)]
    response = pipeline.search(
        search.question, viewer=search.user, filters=filters, page_size=NEWS_DEPTH
    )
    among = [UUID(one.document_id) for one in response.results if UUID(one.document_id) in fresh]
    if response.degraded or not among:
        return None if response.degraded else []
    versions = []
    for document in among:
        only = pipeline.search(
            search.question, viewer=search.user, filters=replace(filters, documents=(document,))
        )
        if only.degraded:
            return None
        if only.total and not only.low_confidence:
            versions.append(fresh[document])
    return versions


def _fresh(user: User, since: datetime, until: datetime) -> QuerySet[Document]:
    """The readable documents with a new file since then; reprocessing alone does not count."""
    same = DocumentVersion.objects.filter(
        document=OuterRef("pk"),
        sha256=OuterRef("current__sha256"),
        number__lt=OuterRef("current__number"),
        chunk_count__gt=0,
        finished__lte=since,
    )
    return Document.objects.visible_to(user).filter(
        ~Exists(same), current__finished__gt=since, current__finished__lte=until
    )


def _mail(reader: ReaderSettings, now: datetime) -> int:
    """Send the digest of a reader's unsent finds, in the caller's transaction; return 1 if sent."""
    user = reader.user
    waiting = Find.objects.filter(mailed=False, search__user=user, search__mails=True)
    # What the reader may no longer read is not mailed later either.
    pks = list(waiting.values_list("pk", flat=True))
    news = readable(waiting.filter(version=F("version__document__current")), user)
    finds = list(news.select_related("search", "version__document__collection"))
    Find.objects.filter(pk__in=pks).update(mailed=True)
    if not finds or not user.email:
        return 0
    ReaderSettings.objects.filter(pk=reader.pk).update(mailed_at=now)
    _message(user, finds).send()
    return 1


def _message(user: User, finds: Sequence[Find]) -> EmailMessage:
    """The digest as a plain text, with the header that mail programs show as a button."""
    base = settings.SITE_URL.rstrip("/")
    leave = base + reverse("search:unsubscribe", args=(unsubscribe_token(user),))
    ordered = sorted(finds, key=lambda find: (find.search.name.casefold(), find.search_id))
    groups: list[tuple[SavedSearch, list[Find]]] = [
        (rows[0].search, rows)
        for rows in (list(group) for _, group in groupby(ordered, lambda find: find.search_id))
    ]
    documents = len({find.version_id for find in finds})
    subject = ngettext(
        "[Steelyard] %(count)d new document for your saved searches",
        "[Steelyard] %(count)d new documents for your saved searches",
        documents,
    ) % {"count": documents}
    context: dict[str, Any] = {
        "groups": [(search, rows[:MAX_NEWS], len(rows) - MAX_NEWS) for search, rows in groups],
        "base": base,
        "leave": leave,
        "own": base + reverse("search:me"),
        "greeting": gettext("Your saved searches found something new."),
    }
    return EmailMessage(
        subject,
        render_to_string("search/me/digest.txt", context),
        to=[str(user.email)],
        headers={
            "List-Unsubscribe": f"<{leave}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            "Auto-Submitted": "auto-generated",
        },
    )
