"""W: what speaks against a pin, a hide or synonyms, beside the others that are saved.

Errors keep a row from being saved; warnings say what will happen that may surprise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Q

from ingestion.identifiers import find_identifiers
from ingestion.models import Chunk, Collection, Document
from ingestion.models.library import Viewer
from search import configuration
from search.errors import SearchError
from search.models import Hide, Pin, Synonym
from search.query.expand import fold_query
from search.retrieval import Scope
from search.understanding import read


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
