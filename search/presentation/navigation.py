"""The contents of a document: its sections, and which of them is read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.db.models import F, Q, Window
from django.db.models.functions import Lag

from ingestion.chunking.sections import common_path, paths
from ingestion.domain import SectionPlace
from ingestion.models import Document
from ingestion.models.visibility import Viewer
from search.presentation.document_text import PassageWindow, chunks_of

# Guesses: about ten screens of headings, and headings deep enough to find a section by.
MOST_ENTRIES = 300
DEEPEST = 3
# The most changes of headings that are read; a document with more has incomplete contents.
MOST_CHANGES = 3_000


Path = tuple[str, ...]


class SectionStart(NamedTuple):
    """A passage's section by its path; with an anchor unless the passage begins with it."""

    ordinal: int
    path: Path
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A heading of the contents: its `level` from 1, its first passage and its anchor there.

    `is_visible`: that passage is on this page of the document. `is_here`: it is the heading of the
    requested passage, or of the first one on the page.
    """

    title: str
    level: int
    ordinal: int
    anchor: str = ""
    is_visible: bool = False
    is_here: bool = False

    @property
    def fragment(self) -> str:
        """The end of an address: the section, or the passage if that begins with it."""
        return f"section-{self.anchor}" if self.anchor else f"chunk-{self.ordinal}"


@dataclass(frozen=True, slots=True)
class Contents:
    """The headings of a document, in order; `is_cut`: there are more."""

    entries: tuple[Entry, ...] = ()
    is_cut: bool = False


def contents_of(document: Document, *, viewer: Viewer, reading: PassageWindow) -> Contents:
    """The contents of the current version; `reading` are the passages on the page. One query.

    Sections too small for a passage have no entry if the chunks are of an earlier release.
    """
    if not reading.passages:
        return Contents()
    first, last = reading.passages[0].ordinal, reading.passages[-1].ordinal
    rows = list(
        chunks_of(document, viewer)
        .annotate(before=Window(Lag("heading_path"), order_by=F("ordinal").asc()))
        .filter(Q(before=None) | ~Q(heading_path=F("before")) | Q(sections__1__isnull=False))
        .values_list("ordinal", "heading_path", "sections")[:MOST_CHANGES]
    )
    changes = [change for row in rows for change in _changes(*row)]
    outline = entries_of(changes, document.title)
    here = first if reading.requested is None else reading.requested
    at = bisect_right(outline, here, key=lambda entry: entry.ordinal) - 1
    entries = (
        replace(entry, is_visible=first <= entry.ordinal <= last, is_here=number == at)
        for number, entry in enumerate(outline[:MOST_ENTRIES])
    )
    return Contents(tuple(entries), len(outline) > MOST_ENTRIES or len(rows) >= MOST_CHANGES)


def _changes(ordinal: int, path: Sequence[str], sections: Sequence[Any]) -> Iterator[SectionStart]:
    """The sections of a passage; for chunks of an earlier release, its headings alone."""
    places = [SectionPlace(*place) for place in sections]
    for place, names in zip(places, paths(path, places), strict=True):
        yield SectionStart(ordinal, names, place.anchor if place.start else "")
    if not places:
        yield SectionStart(ordinal, tuple(path))


def entries_of(changes: Sequence[SectionStart], title: str) -> list[Entry]:
    """The headings of sections whose path differs from the one before, as entries.

    A title that repeats the document's is left out, and so are the deepest levels of very many
    headings.
    """
    words = title.casefold().split()
    is_titled = all(not path or path[0].casefold().split() == words for _, path, _ in changes)
    entries = list(_entries(changes, 1 if is_titled else 0))
    for deepest in range(DEEPEST, 0, -1):
        outline = [entry for entry in entries if entry.level <= deepest]
        if len(outline) <= MOST_ENTRIES:
            break
    return outline


def _entries(changes: Iterable[SectionStart], skipped: int) -> Iterator[Entry]:
    before: Path = ()
    for ordinal, path, anchor in changes:
        same = len(common_path([before, path]))
        for level in range(max(same, skipped), min(len(path), skipped + DEEPEST)):
            yield Entry(path[level], level - skipped + 1, ordinal, anchor)
        before = path
