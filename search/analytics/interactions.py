"""What a searcher does with a result, or says of all of them, tied to their own search."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from ingestion.models import Document
from ingestion.models.library import Viewer
from search.analytics.models import Interaction, SearchEvent
from search.analytics.recording import NO_TEAM
from search.analytics.visitors import is_watched, visitor_of
from search.errors import InteractionRefused, UnknownSearch

Kind = Interaction.Kind

OF_THE_SEARCH = frozenset({Kind.SOLVED, Kind.UNSOLVED})
OPPOSITES = {
    Kind.UP: Kind.DOWN,
    Kind.DOWN: Kind.UP,
    Kind.SOLVED: Kind.UNSOLVED,
    Kind.UNSOLVED: Kind.SOLVED,
}
# Later than this nobody is still reading what a search found: a guess.
OPEN_FOR = timedelta(days=1)
# A page left open over lunch was not read for so long: a guess.
MAX_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class Said:
    """What a searcher reports. `undo` takes back a thumb or an answer."""

    kind: Interaction.Kind
    document: uuid.UUID | None = None
    seconds: float | None = None
    undo: bool = False


def record_interaction(request: HttpRequest, search_id: uuid.UUID, said: Said) -> None:
    """Writes what the searcher behind `request` did or said; saying it twice changes nothing.

    Raises UnknownSearch for a search of somebody else, an old one or none, InteractionRefused for
    a document that was not among its results or that the searcher may not see any longer.
    """
    event = _own_search(request, search_id)
    rank = _rank(request, event, said)
    team = _team(event, said)
    searched = event.follows or event
    with transaction.atomic():
        # One at a time: a thumb up and a thumb down at once must not both stay.
        searched = SearchEvent.objects.select_for_update(no_key=True).get(pk=searched.pk)
        if said.undo:
            _of(searched, said).delete()
        else:
            _write(searched, said, rank, team)
        _note(searched, said, rank)


def _own_search(request: HttpRequest, search_id: uuid.UUID) -> SearchEvent:
    events = SearchEvent.objects.filter(at__gte=timezone.now() - OPEN_FOR)
    event = events.filter(search_id=search_id).select_related("follows").first()
    if event is None or not is_watched(request) or event.anonymised:
        raise UnknownSearch
    if visitor_of(request, day=event.at.date()).key != event.visitor:
        raise UnknownSearch
    return event


def _rank(request: HttpRequest, event: SearchEvent, said: Said) -> int | None:
    """The place of the document that something was done with; None where it is about them all."""
    if (said.document is None) != (said.kind in OF_THE_SEARCH):
        wanted = "no" if said.kind in OF_THE_SEARCH else "a"
        raise InteractionRefused(f"The kind {said.kind.value!r} takes {wanted} document.")
    if said.undo and said.kind not in OPPOSITES:
        raise InteractionRefused(f"The kind {said.kind.value!r} cannot be taken back.")
    if said.document is None:
        return None
    readable = Document.objects.visible_to(cast("Viewer", request.user))
    among = said.document in event.results
    if not among or not readable.filter(public_id=said.document).exists():
        raise InteractionRefused("That document was not among the results of this search.")
    return event.first_rank + event.results.index(said.document)


def _team(event: SearchEvent, said: Said) -> str:
    """Whose pick the document was, as it was drafted; empty outside mixed rankings."""
    if said.document is None or not event.teams:
        return ""
    return event.teams[event.results.index(said.document)].replace(NO_TEAM, "")


def _write(event: SearchEvent, said: Said, rank: int | None, team: str) -> None:
    seconds = None
    if said.kind == Kind.DWELL:
        seconds = min(max(said.seconds or 0.0, 0.0), MAX_SECONDS)
        held = _of(event, said).values_list("seconds", flat=True).first()
        seconds = max(seconds, held or 0.0)  # the page reports the whole time again and again
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
    """What the event itself keeps: its best click, and that its gaps are to be looked at again."""
    if said.kind == Kind.CLICK and rank is not None:
        event.best_click = min(rank, event.best_click or rank)
    event.gathered = False
    event.save(update_fields=["best_click", "gathered"])
