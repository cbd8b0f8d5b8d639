"""Curated rows: saved with the audit, the conflicts of unsaved ones, their effect on a search."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.events import log
from ingestion.identifiers import find_identifiers
from ingestion.models import Chunk, Collection, Document
from ingestion.models.visibility import Viewer
from search.engine import Purpose, configuration
from search.engine.configuration import Configuration
from search.engine.read import read_query
from search.errors import RunConflict
from search.models import ClassRule, Hide, Pin, ScopeProfile, Synonym
from search.models.curated import hides_by_query, pins_by_query
from search.pipeline import search
from search.query.query_key import fold_query, query_key
from search.query.synonyms import Synonyms
from search.retrieval import Scope

CuratedRow = Pin | Hide | Synonym | ClassRule | ScopeProfile


@dataclass(frozen=True, slots=True)
class Conflicts:
    """The conflicts of a row with others, as messages."""

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def of_pin(pin: Pin, *, viewer: Viewer) -> Conflicts:
    """The conflicts of an enabled pin; none for a disabled one."""
    if not pin.enabled:
        return Conflicts()
    errors, warnings = [], []
    folded = query_key(pin.query)
    hides = Hide.objects.filter(Q(folded=folded) | Q(folded=""), document=pin.document_id)
    if hide := hides.filter(enabled=True).first():
        message = (
            gettext("“%(document)s” is hidden from that question. Remove the hide first.")
            if hide.folded
            else gettext("“%(document)s” is hidden from every question. Remove the hide first.")
        )
        errors.append(message % {"document": pin.document})
    others = Pin.objects.filter(folded=folded, position=pin.position, enabled=True)
    if other := others.exclude(pk=pin.pk).exclude(document=pin.document_id).first():
        errors.append(
            gettext(
                "%(document)s is already pinned to that question at position %(position)d. Choose "
                "another position."
            )
            % {"document": _title(other.document_id, viewer), "position": pin.position}
        )
    errors += _excluded(pin)
    if not pin.document.current_id:
        warnings.append(
            gettext("“%(document)s” is not searchable yet.") % {"document": pin.document}
        )
    return Conflicts(tuple(errors), tuple(warnings))


def of_hide(hide: Hide) -> Conflicts:
    """The conflicts of an enabled hide; none for a disabled one."""
    if not hide.enabled:
        return Conflicts()
    folded = query_key(hide.query)
    pins = Pin.objects.filter(document=hide.document_id, enabled=True)
    if folded:
        pins = pins.filter(folded=folded)
    errors = [
        gettext("“%(document)s” is pinned to “%(query)s”. Remove the pin first.")
        % {"document": hide.document, "query": pin.query}
        for pin in pins[:3]
    ]
    warnings = []
    everywhere = Hide.objects.filter(document=hide.document_id, folded="", enabled=True)
    if folded and everywhere.exclude(pk=hide.pk).exists():
        warnings.append(
            gettext("“%(document)s” is already hidden from every question.")
            % {"document": hide.document}
        )
    if not folded:
        warnings.append(
            gettext(
                "No search will find “%(document)s” any more. It can still be opened at its "
                "address; to prevent that, move it to another collection."
            )
            % {"document": hide.document}
        )
    return Conflicts(tuple(errors), tuple(warnings))


def of_synonym(synonym: Synonym) -> Conflicts:
    """The warnings about enabled synonyms: terms shared with other groups, identifiers."""
    if not synonym.enabled:
        return Conflicts()
    others = Synonym.objects.filter(enabled=True).exclude(pk=synonym.pk)
    warnings = [*_chained(synonym, list(others)), *_identifying(synonym)]
    return Conflicts((), tuple(warnings))


def _excluded(pin: Pin) -> Iterator[str]:
    """An error if the filters and exact phrases of the question exclude the document."""
    query = read_query(pin.query, configuration.current())
    document = Chunk.objects.filter(document=pin.document_id)
    narrowed = Scope(lambda: document, Collection.objects.all).narrowed_by(query).chunks
    if narrowed is not document and document.exists() and not narrowed.exists():
        yield gettext(
            "The filters or exact phrases of the question exclude “%(document)s”, so that it would "
            "never rank first."
        ) % {"document": pin.document}


def _chained(synonym: Synonym, others: list[Synonym]) -> Iterator[str]:
    own = {fold_query(term): term for term in synonym.terms}
    for other in others:
        shared = [own[name] for name in map(fold_query, other.terms) if name in own]
        if not shared:
            continue
        first, other_first = fold_query(synonym.terms[0]), fold_query(other.terms[0])
        one_way = synonym.one_way and other.one_way
        if one_way and other_first in own and first in map(fold_query, other.terms):
            yield gettext(
                "Together with “%(other)s”, it expands in both directions. Merge the two into one "
                "group that is not one-way."
            ) % {"other": other}
        else:
            yield gettext(
                "“%(terms)s” is also in “%(other)s”. Synonyms do not chain: a group expands only "
                "questions with one of its own terms."
            ) % {"terms": ", ".join(shared), "other": other}


def _identifying(synonym: Synonym) -> Iterator[str]:
    patterns = configuration.current().patterns
    for term in synonym.terms:
        if mentions := find_identifiers(term, patterns):
            code = term[mentions[0].start : mentions[0].end]
            yield gettext(
                "“%(code)s” is an identifier. Passages with it rank before matches of synonyms; "
                "as a synonym it is searched for by its words, not exactly."
            ) % {"code": code}


def _title(document: int, viewer: Viewer) -> str:
    title = (
        Document.objects.visible_to(viewer)
        .filter(pk=document)
        .values_list("title", flat=True)
        .first()
    )
    return gettext("Another document") if title is None else f"“{title}”"


Row = Pin | Hide | Synonym
TOP_RESULTS = 5


def tried(text: str, row: Row, *, viewer: Viewer) -> dict[str, Any]:
    """The first results for `viewer` with the row, and the differences without it. Raises
    SearchError.

    `lines` are the rank with the row, the rank without it (None if not among the first) and the
    result; `gone` are the titles that dropped out.
    """
    configured = configuration.current()
    before, after = (
        search(
            text,
            viewer=viewer,
            page_size=TOP_RESULTS,
            purpose=Purpose.TUNER,
            configuration=_with(configured, row, counts),
        )
        for counts in (False, True)
    )
    places = {result.document_id: rank for rank, result in enumerate(before.results, start=1)}
    stays = {result.document_id for result in after.results}
    lines = [
        (rank, places.get(result.document_id), result)
        for rank, result in enumerate(after.results, start=1)
    ]
    gone = [each.title for each in before.results if each.document_id not in stays]
    moved = any(rank != was for rank, was, _ in lines)
    return {
        "response": after,
        "total_before": before.total,
        "lines": lines,
        "gone": gone,
        "changes": moved or bool(gone) or after.total != before.total,
        "rule": f"{after.classification.query_class.value} ({after.classification.rule})",
        "identifiers": [each.text for each in after.query.identifiers],
        "pins": [each.title for each in after.results if each.hit.candidate.pin is not None],
    }


def _with(configured: Configuration, row: Row, counts: bool) -> Configuration:
    """The configuration with the unsaved row, or without it."""
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


def check_questions(row: CuratedRow) -> None:
    """Raise what a search raises for the question of a row, or for a synonym in one."""
    if isinstance(row, Pin | Hide | Synonym) and row.enabled:
        for text in row.terms if isinstance(row, Synonym) else [row.query]:
            read_query(text, configuration.current())


def conflicts_of(row: CuratedRow, *, viewer: Viewer) -> Conflicts:
    """The errors that keep a row from being saved, and the warnings that do not.

    Raises what a search of its question raises.
    """
    check_questions(row)
    if isinstance(row, Pin):
        return of_pin(row, viewer=viewer)
    if isinstance(row, Hide):
        return of_hide(row)
    return of_synonym(row) if isinstance(row, Synonym) else Conflicts()


def save(row: CuratedRow, changed: Container[str], *, acting_user: User) -> tuple[str, ...]:
    """Save a row that its model has checked; return the warnings about it.

    Raises RunConflict for a row that conflicts with others, and what `conflicts_of` raises.
    """
    conflicts = conflicts_of(row, viewer=acting_user)
    if conflicts.errors:
        raise RunConflict(" ".join(conflicts.errors))
    is_new = row.pk is None
    try:
        with transaction.atomic():
            row.save()
            message = "Added" if is_new else f"Changed {' and '.join(sorted(changed)) or 'nothing'}"
            log(acting_user, row, ADDITION if is_new else CHANGE, message)
    except IntegrityError as error:  # saved by somebody else since the model's check
        raise RunConflict(
            gettext("Somebody else has just saved the same: “%(row)s”. Reload the page to see it.")
            % {"row": row}
        ) from error
    return conflicts.warnings


@transaction.atomic
def delete(row: CuratedRow, *, acting_user: User) -> None:
    """Delete a row, with the audit."""
    log(acting_user, row, DELETION, "Deleted")
    row.delete()
