"""Visitors without names: pseudonyms, what they do with results, how both are forgotten."""

from __future__ import annotations

import logging
import re
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Value
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from common import database
from common.accounts.guard import address_of
from common.accounts.models import User
from ingestion.models import Document
from ingestion.models.library import Viewer
from search.analytics.models import (
    NO_TEAM,
    Gap,
    GapSign,
    GapWording,
    Interaction,
    SearchEvent,
)
from search.errors import InteractionRefused, UnknownSearch

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
    named = due.filter(~Q(query="")).order_by()
    # Counted before anonymising: afterwards visitors cannot be distinguished.
    for folded in list(named.values_list("folded", flat=True).distinct()):
        if not _asked_by_many(folded):
            due.filter(folded=folded).update(query="", folded="", corrected_from="")
    return due.update(user=None, visitor="", anonymised=True)


def _asked_by_many(folded: str) -> bool:
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


Kind = Interaction.Kind

OF_THE_SEARCH = frozenset({Kind.SOLVED, Kind.UNSOLVED})
OPPOSITES = {
    Kind.UP: Kind.DOWN,
    Kind.DOWN: Kind.UP,
    Kind.SOLVED: Kind.UNSOLVED,
    Kind.UNSOLVED: Kind.SOLVED,
}
# Interactions are accepted for this long after the search. A guess.
OPEN_FOR = timedelta(days=1)
# Longer reading times are capped: the page was left open. A guess.
MAX_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class Said:
    """A reported interaction. `undo` withdraws a thumb or an answer."""

    kind: Interaction.Kind
    document: uuid.UUID | None = None
    seconds: float | None = None
    undo: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Said:
        """The interaction in the valid fields of a form."""
        document, seconds = given.get("document"), given.get("seconds")
        return cls(Interaction.Kind(given["kind"]), document, seconds, given["undo"])


def record_interaction(request: HttpRequest, search_id: uuid.UUID, said: Said) -> None:
    """Save an interaction of the searcher behind `request`; repeating it changes nothing.

    Raises UnknownSearch unless the search is a recent one of the same visitor, InteractionRefused
    for a document that was not among its results or that the searcher may no longer see.
    """
    event = _own_search(request, search_id)
    rank = _rank(request, event, said)
    # Its interleaving team; empty outside experiments.
    teams = dict(zip(event.results, event.teams, strict=False))
    team = teams.get(said.document, "").replace(NO_TEAM, "") if said.document else ""
    searched = event.follows or event
    with transaction.atomic():
        # Serialised: concurrent thumbs up and down must not both be kept.
        searched = SearchEvent.objects.select_for_update(no_key=True).get(pk=searched.pk)
        if said.undo:
            _of(searched, said).delete()
        else:
            _write(searched, said, rank, team)
        _note(searched, said, rank)


def _own_search(request: HttpRequest, search_id: uuid.UUID) -> SearchEvent:
    events = SearchEvent.objects.filter(at__gte=timezone.now() - OPEN_FOR)
    event = events.filter(search_id=search_id).select_related("follows").first()
    if event is None or not is_recorded(request) or event.anonymised:
        raise UnknownSearch
    if visitor_of(request, day=event.at.date()).key != event.visitor:
        raise UnknownSearch
    return event


def _rank(request: HttpRequest, event: SearchEvent, said: Said) -> int | None:
    """The rank of the document; None for an answer about the whole search."""
    kind = {"kind": repr(said.kind.value)}
    if said.kind in OF_THE_SEARCH and said.document is not None:
        raise InteractionRefused(gettext("The kind %(kind)s does not take a document.") % kind)
    if said.kind not in OF_THE_SEARCH and said.document is None:
        raise InteractionRefused(gettext("The kind %(kind)s needs a document.") % kind)
    if said.undo and said.kind not in OPPOSITES:
        raise InteractionRefused(gettext("The kind %(kind)s cannot be undone.") % kind)
    if said.document is None:
        return None
    readable = Document.objects.visible_to(cast("Viewer", request.user))
    among = said.document in event.results
    if not among or not readable.filter(public_id=said.document).exists():
        raise InteractionRefused(gettext("That document was not among the results of this search."))
    return event.first_rank + event.results.index(said.document)


def _write(event: SearchEvent, said: Said, rank: int | None, team: str) -> None:
    seconds = None
    if said.kind == Kind.DWELL:
        seconds = min(max(said.seconds or 0.0, 0.0), MAX_SECONDS)
        recorded = _of(event, said).values_list("seconds", flat=True).first()
        seconds = max(seconds, recorded or 0.0)  # the page repeatedly reports the total time
    if said.kind in OPPOSITES:
        opposite = OPPOSITES[said.kind]
        event.interactions.filter(kind=opposite, document=said.document).delete()
    Interaction.objects.update_or_create(
        event=event,
        kind=said.kind,
        document=said.document,
        defaults={"seconds": seconds},
        create_defaults={"seconds": seconds, "rank": rank, "team": team},
    )


def _of(event: SearchEvent, said: Said) -> QuerySet[Interaction]:
    return event.interactions.filter(kind=said.kind, document=said.document)


def _note(event: SearchEvent, said: Said, rank: int | None) -> None:
    """Update the event's best click, and mark it to be processed for gaps again."""
    if said.kind == Kind.CLICK and rank is not None:
        event.best_click = min(rank, event.best_click or rank)
    event.gathered = False
    event.save(update_fields=["best_click", "gathered"])
