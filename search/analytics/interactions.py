"""What visitors do with results: clicks, reading time, thumbs."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext

from ingestion.models import Document
from ingestion.models.visibility import Viewer
from search.analytics.models import NO_TEAM, Interaction, SearchEvent
from search.analytics.pseudonyms import is_recorded, visitor_of
from search.errors import InteractionRefused, UnknownSearch

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
class Report:
    """A reported interaction. `undo` withdraws a thumb or an answer."""

    kind: Interaction.Kind
    document: uuid.UUID | None = None
    seconds: float | None = None
    undo: bool = False

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Report:
        """The interaction in the valid fields of a form."""
        document, seconds = data.get("document"), data.get("seconds")
        return cls(Interaction.Kind(data["kind"]), document, seconds, data["undo"])


def record_interaction(request: HttpRequest, search_id: uuid.UUID, report: Report) -> None:
    """Save an interaction of the searcher behind `request`; repeating it changes nothing.

    Raises UnknownSearch unless the search is a recent one of the same visitor, InteractionRefused
    for a document that was not among its results or that the searcher may no longer see.
    """
    event = _own_search(request, search_id)
    rank = _rank(request, event, report)
    # Its interleaving team; empty outside experiments.
    teams = dict(zip(event.results, event.teams, strict=False))
    team = teams.get(report.document, "").replace(NO_TEAM, "") if report.document else ""
    searched = event.follows or event
    with transaction.atomic():
        # Serialised: concurrent thumbs up and down must not both be kept.
        searched = SearchEvent.objects.select_for_update(no_key=True).get(pk=searched.pk)
        if report.undo:
            _of(searched, report).delete()
        else:
            _write(searched, report, rank, team)
        _note(searched, report, rank)


def _own_search(request: HttpRequest, search_id: uuid.UUID) -> SearchEvent:
    events = SearchEvent.objects.filter(at__gte=timezone.now() - OPEN_FOR)
    event = events.filter(search_id=search_id).select_related("follows").first()
    if event is None or not is_recorded(request) or event.anonymised:
        raise UnknownSearch
    if visitor_of(request, day=event.at.date()) != event.visitor:
        raise UnknownSearch
    return event


def _rank(request: HttpRequest, event: SearchEvent, report: Report) -> int | None:
    """The rank of the document; None for an answer about the whole search."""
    kind = {"kind": repr(report.kind.value)}
    if report.kind in OF_THE_SEARCH and report.document is not None:
        raise InteractionRefused(gettext("The kind %(kind)s does not take a document.") % kind)
    if report.kind not in OF_THE_SEARCH and report.document is None:
        raise InteractionRefused(gettext("The kind %(kind)s needs a document.") % kind)
    if report.undo and report.kind not in OPPOSITES:
        raise InteractionRefused(gettext("The kind %(kind)s cannot be undone.") % kind)
    if report.document is None:
        return None
    readable = Document.objects.visible_to(cast("Viewer", request.user))
    among = report.document in event.results
    if not among or not readable.filter(public_id=report.document).exists():
        raise InteractionRefused(gettext("That document was not among the results of this search."))
    return event.first_rank + event.results.index(report.document)


def _write(event: SearchEvent, report: Report, rank: int | None, team: str) -> None:
    seconds = None
    if report.kind == Kind.DWELL:
        seconds = min(max(report.seconds or 0.0, 0.0), MAX_SECONDS)
        recorded = _of(event, report).values_list("seconds", flat=True).first()
        seconds = max(seconds, recorded or 0.0)  # the page repeatedly reports the total time
    if report.kind in OPPOSITES:
        opposite = OPPOSITES[report.kind]
        event.interactions.filter(kind=opposite, document=report.document).delete()
    Interaction.objects.update_or_create(
        event=event,
        kind=report.kind,
        document=report.document,
        defaults={"seconds": seconds},
        create_defaults={"seconds": seconds, "rank": rank, "team": team},
    )


def _of(event: SearchEvent, report: Report) -> QuerySet[Interaction]:
    return event.interactions.filter(kind=report.kind, document=report.document)


def _note(event: SearchEvent, report: Report, rank: int | None) -> None:
    """Update the event's best click, and mark it to be processed for gaps again."""
    if report.kind == Kind.CLICK and rank is not None:
        event.best_click = min(rank, event.best_click or rank)
    event.gathered = False
    event.save(update_fields=["best_click", "gathered"])
