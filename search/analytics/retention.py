"""Old events are anonymised, and later deleted."""

from __future__ import annotations

import logging
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef, Q, Value
from django.utils import timezone

from common import database
from search.analytics.models import Gap, GapSign, GapWording, SearchEvent

logger = logging.getLogger(__name__)


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
