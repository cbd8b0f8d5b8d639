"""Synonyms, pins and hides before they are saved: their conflicts, and what a search would show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from django.db.models import Q

from ingestion.identifiers import find_identifiers
from ingestion.models import Chunk, Collection, Document
from ingestion.models.library import Viewer
from search.engine import configuration
from search.engine.configuration import Configuration
from search.engine.settle import read
from search.errors import SearchError
from search.models import Hide, Pin, Synonym
from search.models.curated import hides_by_query, pins_by_query
from search.pipeline import SearchResponse, search
from search.query.expand import Synonyms, fold_query
from search.retrieval import Scope


@dataclass(frozen=True, slots=True)
class Conflicts:
    """What speaks against a row, a sentence each."""

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def of_pin(pin: Pin, *, viewer: Viewer) -> Conflicts:
    """What speaks against an enabled pin; nothing against one that is switched off."""
    if not pin.enabled:
        return Conflicts()
    errors, warnings = [], []
    folded = fold_query(pin.query)
    hides = Hide.objects.filter(Q(folded=folded) | Q(folded=""), document=pin.document_id)
    if hide := hides.filter(enabled=True).first():
        where = "from that question" if hide.folded else "from every question"
        errors.append(
            f"“{pin.document}” is hidden {where}, so it cannot come first. Remove the hide first."
        )
    others = Pin.objects.filter(folded=folded, position=pin.position, enabled=True)
    if other := others.exclude(pk=pin.pk).exclude(document=pin.document_id).first():
        errors.append(
            f"{_title(other.document_id, viewer)} is pinned at position {pin.position} of that "
            "question already. Choose another position."
        )
    errors += _left_out(pin)
    if not pin.document.current_id:
        warnings.append(f"“{pin.document}” cannot be found yet: it has no passages.")
    return Conflicts(tuple(errors), tuple(warnings))


def of_hide(hide: Hide) -> Conflicts:
    """What speaks against an enabled hide; nothing against one that is switched off."""
    if not hide.enabled:
        return Conflicts()
    folded = fold_query(hide.query)
    pins = Pin.objects.filter(document=hide.document_id, enabled=True)
    if folded:
        pins = pins.filter(folded=folded)
    errors = [
        f"“{hide.document}” is pinned to “{pin.query}”. Remove the pin first." for pin in pins[:3]
    ]
    warnings = []
    everywhere = Hide.objects.filter(document=hide.document_id, folded="", enabled=True)
    if folded and everywhere.exclude(pk=hide.pk).exists():
        warnings.append(f"“{hide.document}” is hidden from every question already.")
    if not folded:
        warnings.append(
            f"“{hide.document}” is not found by any question from now on. It still opens at its "
            "address; to keep people from reading it, change its collection."
        )
    return Conflicts(tuple(errors), tuple(warnings))


def of_synonym(synonym: Synonym) -> Conflicts:
    """What may surprise of enabled synonyms: other groups with their words, identifiers."""
    if not synonym.enabled:
        return Conflicts()
    others = Synonym.objects.filter(enabled=True).exclude(pk=synonym.pk)
    warnings = [*_chained(synonym, list(others)), *_identifying(synonym)]
    return Conflicts((), tuple(warnings))


def _left_out(pin: Pin) -> Iterator[str]:
    """That the question's own filters and exact words never find the document."""
    try:
        query = read(pin.query, configuration.current())
    except SearchError as error:
        yield f"No one can ask that: {error}"
        return
    document = Chunk.objects.filter(document=pin.document_id)
    narrowed = Scope(document, Collection.objects.all()).narrowed_by(query).chunks
    if narrowed is not document and document.exists() and not narrowed.exists():
        yield (
            f"The question itself leaves “{pin.document}” out, by its filters or exact words, so "
            "that it would never come first."
        )


def _chained(synonym: Synonym, others: list[Synonym]) -> Iterator[str]:
    own = {fold_query(term): term for term in synonym.terms}
    for other in others:
        shared = [own[name] for name in map(fold_query, other.terms) if name in own]
        if not shared:
            continue
        first, other_first = fold_query(synonym.terms[0]), fold_query(other.terms[0])
        one_way = synonym.one_way and other.one_way
        if one_way and other_first in own and first in map(fold_query, other.terms):
            yield (
                f"With “{other}” it goes both ways: each finds the other. Make one group of them "
                "that is not one-way."
            )
        else:
            yield (
                f"“{', '.join(shared)}” also stands in “{other}”. Synonyms do not chain: the words "
                "of that group are looked for only where a question says one of its own."
            )


def _identifying(synonym: Synonym) -> Iterator[str]:
    patterns = configuration.current().patterns
    for term in synonym.terms:
        if found := find_identifiers(term, patterns):
            code = term[found[0].start : found[0].end]
            yield (
                f"“{code}” is an identifier. A question that names it puts what holds it first, "
                "before anything found by a synonym; and as a synonym it is looked for by its "
                "words, not exactly."
            )


def _title(document: int, viewer: Viewer) -> str:
    title = (
        Document.objects.visible_to(viewer)
        .filter(pk=document)
        .values_list("title", flat=True)
        .first()
    )
    return "Another document" if title is None else f"“{title}”"


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
