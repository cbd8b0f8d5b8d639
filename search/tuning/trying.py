"""W: a pin, a hide or synonyms before they are saved: what they do to a question.

Both rankings are real searches, under what is saved without the row, and with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ingestion.models.library import Viewer
from search import configuration
from search.configuration import Configuration
from search.models import Hide, Pin, Synonym
from search.models.curated import hides_by_query, pins_by_query
from search.pipeline import SearchResponse, search
from search.query.expand import Synonyms

Row = Pin | Hide | Synonym
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Line:
    """A result with the row, and where it stands without; None: it is not among the first."""

    rank: int
    before: int | None
    title: str
    collection: str
    tier: str


@dataclass(frozen=True, slots=True)
class Tried:
    """What a question finds with the row, and what of that is new. `gone` are titles that left."""

    query: str
    lines: tuple[Line, ...]
    gone: tuple[str, ...]
    total: int
    total_before: int
    rule: str
    identifiers: tuple[str, ...]
    expansions: tuple[str, ...]
    pins: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def changes(self) -> bool:
        moved = any(line.before != line.rank for line in self.lines)
        return moved or bool(self.gone) or self.total != self.total_before


def tried(text: str, row: Row, *, viewer: Viewer) -> Tried:
    """What the question finds for `viewer` with the row and without. Raises SearchError."""
    configured = configuration.current()
    before, after = (
        search(text, viewer=viewer, page_size=SHOWN, configured=_with(configured, row, counts))
        for counts in (False, True)
    )
    places = {result.document_id: rank for rank, result in enumerate(before.results, start=1)}
    stays = {result.document_id for result in after.results}
    lines = tuple(
        Line(
            rank,
            places.get(result.document_id),
            result.title,
            result.collection,
            result.hit.explanation.tier.reason,
        )
        for rank, result in enumerate(after.results, start=1)
    )
    return Tried(
        query=after.query.original,
        lines=lines,
        gone=tuple(each.title for each in before.results if each.document_id not in stays),
        total=after.total,
        total_before=before.total,
        rule=f"{after.classification.query_class.value} ({after.classification.rule})",
        identifiers=tuple(each.text for each in after.query.identifiers),
        expansions=after.query.expansions,
        pins=_pinned(after),
        notes=after.notes,
    )


def _pinned(response: SearchResponse) -> tuple[str, ...]:
    return tuple(
        result.title for result in response.results if result.hit.candidate.pin is not None
    )


def _with(configured: Configuration, row: Row, counts: bool) -> Configuration:
    """The configuration with the row as it stands in the form, or without it."""
    model = type(row)
    saved: list[Row] = [*model.objects.filter(enabled=True).exclude(pk=row.pk)]
    rows = [*saved, row] if counts and row.enabled else saved
    pins = [each for each in rows if isinstance(each, Pin)]
    if model is Pin:
        pins.sort(key=lambda pin: (pin.folded, pin.position, pin.pk or 1 << 62))
        return replace(configured, pins=pins_by_query(pins, configuration.pinning_edits()))
    if model is Hide:
        hides = [each for each in rows if isinstance(each, Hide)]
        return replace(configured, hides=hides_by_query(hides))
    groups = [each.as_group() for each in rows if isinstance(each, Synonym)]
    return replace(configured, synonyms=Synonyms.of(groups))
