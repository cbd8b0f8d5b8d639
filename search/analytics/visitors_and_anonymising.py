"""Pseudonyms of visitors, and the anonymising and deletion of their events."""

from __future__ import annotations

import logging
import re
import secrets
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef, Q, Value
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from common import database
from common.accounts.guard import address_of
from common.accounts.models import User
from search.analytics.models import Gap, GapSign, GapWording, SearchEvent

logger = logging.getLogger(__name__)

# User agents of crawlers and monitors. A person's own script does not match.
ROBOT = re.compile(
    r"bot\b|crawl|spider|slurp|scrap|monitor|uptime|pingdom|healthcheck|health-check|kube-probe"
    r"|preview|facebookexternalhit|lighthouse|prometheus|blackbox",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Visitor:
    """A visitor. `key` distinguishes visitors and reveals nothing else about them."""

    user: User | None
    key: str


def visitor_of(request: HttpRequest, *, day: date | None = None) -> Visitor:
    """The visitor behind a request: a user, or an address and browser on one day."""
    user: User | AnonymousUser | None = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        return Visitor(user, _hashed(f"user {user.pk}"))
    day = day or timezone.now().date()
    browser = request.headers.get("User-Agent", "")
    return Visitor(None, _hashed(f"{day} {address_of(request)} {browser}"))


def recorded_visitor(request: HttpRequest) -> str:
    """The key of the visitor behind a request that may be recorded; empty for any other."""
    return visitor_of(request).key if is_recorded(request) else ""


def is_recorded(request: HttpRequest) -> bool:
    """True if this request may be recorded.

    False when recording is off, when the browser asks not to be tracked (`DNT`, `Sec-GPC`), for
    robots, and for prefetched pages.
    """
    if not settings.SEARCH_EVENTS or request.method == "HEAD":
        return False
    headers = request.headers
    if headers.get("DNT") == "1" or headers.get("Sec-GPC") == "1":
        return False
    purpose = "".join(headers.get(name, "") for name in ("Sec-Purpose", "Purpose", "X-Moz"))
    return "prefetch" not in purpose and not ROBOT.search(headers.get("User-Agent", ""))


def _hashed(text: str) -> str:
    return str(salted_hmac("search.analytics.visitor", text, algorithm="sha256").hexdigest())


BATCH = 1_000

# Signs of one visitor within a gap keep a common pseudonym that cannot be traced back: the key is
# random and is not stored.
RENAME_VISITORS = """
UPDATE analytics_gapsign SET anonymised = true,
       visitor = encode(sha256(convert_to(%s || wording_id_gap.gap_id || visitor, 'UTF8')), 'hex')
FROM (SELECT id AS wording_id, gap_id FROM analytics_gapwording) AS wording_id_gap
WHERE wording_id_gap.wording_id = analytics_gapsign.wording_id AND NOT anonymised AND last < %s
"""


def forget(*, now: datetime | None = None) -> int:
    """Anonymise and delete old events; return how many. Safe to repeat and to interrupt.

    After SEARCH_EVENTS_ANONYMISE_DAYS an event loses its visitor, and its query unless at least
    SEARCH_EVENTS_KEEP_WORDS_FROM different visitors asked it; after SEARCH_EVENTS_DAYS it is
    deleted. The same applies to the wordings of open gaps that nobody has worked on.
    """
    now = now or timezone.now()
    anonymous_from = now - timedelta(days=settings.SEARCH_EVENTS_ANONYMISE_DAYS)
    gone_from = now - timedelta(days=settings.SEARCH_EVENTS_DAYS)
    deleted = _delete_events(gone_from)
    anonymised = _anonymise_events(anonymous_from)
    with transaction.atomic():
        database.hold(database.SEARCH_EVENTS)
        _forget_gaps(anonymous_from, gone_from)
    if deleted or anonymised:
        logger.info("Search events: %d deleted, %d anonymised", deleted, anonymised)
    return deleted + anonymised


def _delete_events(before: datetime) -> int:
    old, count = SearchEvent.objects.filter(at__lt=before), 0
    while pks := list(old.values_list("pk", flat=True)[:BATCH]):
        SearchEvent.objects.filter(pk__in=pks).delete()
        count += len(pks)
    return count


def _anonymise_events(before: datetime) -> int:
    due = SearchEvent.objects.filter(anonymised=False, at__lt=before)
    with_words = due.filter(~Q(query="")).order_by()
    # Counted before anonymising: afterwards visitors cannot be distinguished.
    for folded in list(with_words.values_list("folded", flat=True).distinct()):
        if not _is_frequent(folded):
            due.filter(folded=folded).update(query="", folded="", corrected_from="")
    return due.update(user=None, visitor="", anonymised=True)


def _is_frequent(folded: str) -> bool:
    """True if enough different visitors asked it, now or at an earlier anonymisation."""
    same = SearchEvent.objects.filter(folded=folded)
    if same.filter(anonymised=True).exists():
        return True
    visitors = same.aggregate(count=Count("visitor", distinct=True))["count"]
    return bool(visitors >= settings.SEARCH_EVENTS_KEEP_WORDS_FROM)


def _forget_gaps(anonymous_from: datetime, gone_from: datetime) -> None:
    GapSign.objects.filter(last__lt=gone_from, wording__gap__state=Gap.State.OPEN).delete()
    with connection.cursor() as cursor:
        cursor.execute(RENAME_VISITORS, [secrets.token_hex(16), anonymous_from])
    # A gap that somebody has worked on is kept as a record of that work.
    untouched = Gap.objects.filter(state=Gap.State.OPEN, owner=None, steps=None, note="")
    recent = GapSign.objects.filter(wording=OuterRef("pk"), last__gte=anonymous_from)
    lone = (
        GapWording.objects.filter(~Exists(recent), gap__in=untouched)
        .annotate(visitors=Count("signs__visitor", distinct=True))
        .filter(visitors__lt=Value(settings.SEARCH_EVENTS_KEEP_WORDS_FROM))
    )
    GapWording.objects.filter(pk__in=list(lone.values_list("pk", flat=True))).delete()
    untouched.filter(wordings=None).delete()
