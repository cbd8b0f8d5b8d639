"""Ways through a document: its contents, its pages, the passages with the question's words."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

from django.db.models import F, Q, Window
from django.db.models.expressions import RawSQL
from django.db.models.functions import Lag

from ingestion.chunking.sections import common_path, paths
from ingestion.domain import SectionPlace
from ingestion.lexical.bigrams import spaced
from ingestion.models import Document
from ingestion.models.visibility import Viewer
from search.presentation.document_text import DocumentPassage, PassageWindow, chunks_of

# Guesses: about ten screens of headings, and headings deep enough to find a section by.
MOST_ENTRIES = 300
DEEPEST = 3
# The most changes of headings that are read; a document with more has incomplete contents.
MOST_CHANGES = 3_000
# A question of more words is a pasted text, of which any passage holds some.
MOST_WORDS = 16
# If a passage has at least this many words of the question, another passage may lack one of them. A
# guess.
LENIENT_FROM = 3

# Pages without text after one with text: more are looked at in the original. A guess.
MOST_SHEETS = 4

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


@dataclass(frozen=True, slots=True)
class PrintedPage:
    """A page of the original beside the text; `marked`: the passage to be marked on it."""

    number: int
    marked: int | None = None


@dataclass(frozen=True, slots=True)
class PassagesOfPage:
    """The passages that begin on one page, and the pages beside them."""

    sheets: tuple[PrintedPage, ...]
    passages: tuple[DocumentPassage, ...]


def leaves_of(reading: PassageWindow, page_count: int) -> tuple[PassagesOfPage, ...]:
    """The passages by pages, each beside its page and the pages without a passage after it.

    A document without text has one leaf, of its first pages.
    """
    groups = [
        (page or 1, tuple(passages))
        for page, passages in groupby(reading.passages, key=lambda passage: passage.page)
    ] or [(1, ())]
    after = [page for page, _ in groups[1:]]
    after.append(page_count + 1 if reading.later is None else groups[-1][0] + 1)
    leaves: list[PassagesOfPage] = []
    running: int | None = None  # a passage that may go on, on the next page
    for (first, passages), following in zip(groups, after, strict=True):
        ordinal = next((one.ordinal for one in passages if one.is_requested), None)
        last = min(max(first, following - 1), first + MOST_SHEETS - 1, page_count)
        marked = ordinal if ordinal is not None else running
        leaves.append(
            PassagesOfPage(
                tuple(PrintedPage(page, marked) for page in range(first, last + 1)), passages
            )
        )
        running = ordinal if passages and passages[-1].is_requested else None
    return tuple(leaves)


@dataclass(frozen=True, slots=True)
class Hits:
    """The ordinals of a document's hits in order; `requested` is the opened passage."""

    ordinals: tuple[int, ...] = ()
    requested: int | None = None

    @property
    def total(self) -> int:
        return len(self.ordinals)

    @property
    def place(self) -> int | None:
        """The place of the opened passage among the hits, from 1; None before one is opened."""
        return None if self.requested is None else bisect_left(self.ordinals, self.requested) + 1

    @property
    def previous(self) -> int | None:
        place = self.place
        return self.ordinals[place - 2] if place is not None and place > 1 else None

    @property
    def following(self) -> int | None:
        place = self.place or 0
        return self.ordinals[place] if place < self.total else None


def hits_of(document: Document, *, viewer: Viewer, words: str, requested: int | None) -> Hits:
    """The passages with most of the `words`, and the requested one. One query, none without words.

    "Most" is the number in the best passage, or one fewer from LENIENT_FROM words on. The ranking
    of the search cannot tell this: it has a fixed number of nearest passages, however far they are.
    """
    words_once = list(dict.fromkeys(spaced(words).split()))[:MOST_WORDS]
    if not words_once or not document.current_id:
        return Hits()
    column = "ingestion_chunk"
    one = f"({column}.lexemes @@ plainto_tsquery({column}.text_config::regconfig, %s))::int"
    rows = (
        chunks_of(document, viewer)
        .annotate(matches=RawSQL(" + ".join([one] * len(words_once)), words_once))  # noqa: S611  # ours
        .filter(matches__gt=0)
        .values_list("ordinal", "matches")
    )
    return Hits(tuple(chosen_hits(dict(rows), requested)), requested)


def chosen_hits(counts: dict[int, int], requested: int | None) -> list[int]:
    """The ordinals of the passages with most words, and `requested`; `counts` are by ordinal."""
    best = max(counts.values(), default=0)
    least = best - 1 if best >= LENIENT_FROM else best
    ordinals = {ordinal for ordinal, count in counts.items() if count >= least}
    return sorted(ordinals | ({requested} if requested is not None else set()))
