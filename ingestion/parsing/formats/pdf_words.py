"""The words of a PDF page by two readers: liteparse, whose blocks are used, and PDFium.

Both read the same letters, but may part them differently: liteparse tears letter-spaced text into
letters, and either joins words here and there. Of two readings of the same letters the one with
fewer doubtful words is kept: single letters, and words that are nowhere else in the document.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import compress, count
from typing import TYPE_CHECKING

from ingestion.domain import CELL_SEPARATOR, Block, BlockKind
from ingestion.parsing.formats.pdf_directions import RIGHT_TO_LEFT, in_reading_order
from ingestion.parsing.formats.pdf_layout import Placed
from ingestion.parsing.formats.pdf_letters import PARTED, Letters, PageText, page_text
from ingestion.parsing.formats.pdf_notes import Note, notes_on
from ingestion.parsing.formats.pdf_tables import (
    with_parted_cells,
    with_parted_headers,
    without_torn_columns,
)
from ingestion.parsing.formats.pdf_text_boxes import with_text_boxes
from ingestion.parsing.formats.ruled_tables import with_ruled_tables

if TYPE_CHECKING:
    from liteparse import LayoutBlock, ParsedPage
    from pypdfium2 import PdfDocument

# The marks of Hebrew, Arabic and of the scripts from Devanagari to Khmer are no letters to Python.
_WORD = re.compile(
    r"[\w\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0fff\u1000-\u109f\u1780-\u17ff]+"
)
_RAISED_DIGIT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉]")
_RAISED = re.compile(rf"(?<!\w)\w*{_RAISED_DIGIT.pattern}[\w⁻₋⁺₊]*")
_LOOSE_POINT = re.compile(r" [.,;:)\]]")
# Scripts without spaces between words: Thai to Khmer, kana, Han, and their punctuation.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff60"
)
_WRAPPED = re.compile(rf"(\S{{3}}[{_UNSPACED}])\r\n(?=([{_UNSPACED}]\S{{0,3}}))")
# In place of a line break: it parts words, but is no space.
_WRAP = "\u200b"
_CONTEXT = 12
"""Letters on each side that tell which of several equal words is raised. A guess."""

MOST_LETTERS = 100_000
"""Of a page that is repaired: the work grows with their square. A page of print has 5,000."""

Segment = tuple[int, int, int]


class Reading:
    """A text, its words, and its letters and digits without spaces, each with its place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = frozenset(_WORD.findall(text))

    @cached_property
    def _spelt(self) -> tuple[str, list[int]]:
        are_letters = list(map(str.isalnum, self.text))
        places = list(compress(count(), are_letters))
        letters = list(compress(self.text, are_letters))
        if not unicodedata.is_normalized("NFKC", self.text):
            letters = [unicodedata.normalize("NFKC", letter) for letter in letters]
            places = [at for at, some in zip(places, letters, strict=True) for _ in some]
        return "".join(letters), places

    @property
    def letters(self) -> str:
        return self._spelt[0]

    @property
    def places(self) -> list[int]:
        return self._spelt[1]

    @cached_property
    def raised(self) -> list[tuple[int, int]]:
        """The first letter and the letter after the last, of the words with raised digits."""
        if not _RAISED_DIGIT.search(self.text):  # much faster than the words around
            return []
        spans = (match.span() for match in _RAISED.finditer(self.text))
        return [(self.nearest(start), self.nearest(end)) for start, end in spans]

    def parts(self, letter: int) -> bool:
        """Whether a word begins with the letter of this number, or the text ends before it."""
        if letter in (0, len(self.letters)):
            return True
        between = self.text[self.places[letter - 1] + 1 : self.places[letter]]
        return between != "" and _WORD.fullmatch(between) is None

    def nearest(self, place: int) -> int:
        """The number of the letter at `place`, or of the next one."""
        return bisect_left(self.places, place)

    def span(self, first: int, end: int) -> tuple[int, int]:
        """Where the letters from `first` to before `end` are in the text."""
        return self.places[first], self.places[end - 1] + 1


class WordReader:
    """PDFium's readings of a document, page by page, by which blocks are repaired.

    `notes` are those of readers on the pages that were read.
    """

    def __init__(self, document: PdfDocument) -> None:
        self.notes: dict[int, list[Note]] = {}
        self._pages: dict[int, Letters | None] = {}
        self._document = document
        self._known: set[str] = set()

    def in_order(self, page: ParsedPage) -> list[LayoutBlock]:
        """The blocks of the page; if PDFium can read it, with right-to-left text in order, columns
        of prose one after the other, and the tables that lines draw.
        """
        letters = self._read(page.page_num)
        if letters is None:
            return list(page.blocks or ())
        is_from_right = any(RIGHT_TO_LEFT.search(item.text) for item in page.text_items)
        order = in_reading_order if is_from_right else without_torn_columns
        page.blocks = order(page.blocks or [], letters)
        if not is_from_right:
            page.blocks = with_text_boxes(page, letters)
        page.text_items = with_parted_cells(page, letters)
        page.blocks = with_parted_headers(page, letters)
        return with_ruled_tables(page, letters)

    def repaired(self, number: int, blocks: list[Placed]) -> list[Placed]:
        """The blocks of page `number`, as they are if PDFium cannot read it."""
        letters = self._read(number)
        self._pages.pop(number, None)
        if letters is None:
            return blocks
        seen = frozenset(_WORD.findall("\n".join(placed.block.text for placed in blocks)))
        words = PageWords(page_text(letters), seen, self._known)
        # liteparse and PDFium agree on most pages.
        if words.agrees_with(seen):
            return blocks
        return [_repaired(placed, words) for placed in blocks]

    def text(self, number: int) -> str:
        """The text of page `number` in the order of its content."""
        return str(self._document[number - 1].get_textpage().get_text_range())

    def _read(self, number: int) -> Letters | None:
        """The letters of a page; None if PDFium cannot read it or there are too many."""
        import pypdfium2

        if number not in self._pages:
            try:
                letters = Letters(self._document[number - 1])
            except pypdfium2.PdfiumError:
                return None
            self.notes[number] = notes_on(letters.page)
            self._pages[number] = letters if letters.count <= MOST_LETTERS else None
        return self._pages[number]


def _repaired(placed: Placed, words: PageWords) -> Placed:
    block = placed.block
    if block.kind is BlockKind.CODE:
        return placed
    if block.rows:
        return replace(placed, block=_repaired_table(block, words))
    return replace(placed, block=replace(block, text=words.repaired(block.text)))


def _repaired_table(block: Block, words: PageWords) -> Block:
    # As one text, since neighbouring cells tell equal words apart.
    rows = [line.split(CELL_SEPARATOR) for line in words.repaired(block.text).split("\n")]
    if list(map(len, rows)) != list(map(len, block.rows)):
        rows = [[words.repaired(cell) for cell in row] for row in block.rows]
    return Block.table(rows, has_header=block.has_header, page=block.page)


class PageWords:
    """PDFium's reading of a page, by which the text of blocks is repaired.

    `known` are the words that both readers saw on the pages before; the page's are added.
    """

    def __init__(self, page: PageText, blocks: frozenset[str], known: set[str]) -> None:
        self._page = Reading(_WRAPPED.sub(rf"\1{_WRAP}", page.text))
        self._known = known
        known |= self._page.words & blocks
        wraps = ((match[1], match[2]) for match in _WRAPPED.finditer(page.text))
        self._rewritten = [*page.rewritten, *((f"{end} {top}", end + top) for end, top in wraps)]

    def agrees_with(self, blocks: frozenset[str]) -> bool:
        """Whether nothing is to be repaired in blocks of these words."""
        return not self._rewritten and not self._page.raised and blocks <= self._page.words

    def repaired(self, text: str) -> str:
        """The text with PDFium's words where they are less doubtful, and with raised digits."""
        for before, after in self._rewritten:
            text = text.replace(before, after)
        own = Reading(text)
        if own.words <= self._page.words and not self._page.raised:
            return text
        out, end = [], 0
        for first, last, there in sorted({*self._misread(own), *self._raised(own)}):
            start, stop = own.span(first, last)
            if start < end:
                continue
            better = self._better(text[start:stop], there, there + last - first)
            if better is not None:
                out += [text[end:start], better]
                # liteparse ends its piece of the line at a raised mark.
                is_loose = _RAISED_DIGIT.search(better) and _LOOSE_POINT.match(text, stop)
                end = stop + 1 if is_loose else stop
        return "".join([*out, text[end:]])

    def _better(self, text: str, first: int, last: int) -> str | None:
        """PDFium's reading of the letters, None if it is not better than `text`."""
        start, stop = self._page.span(first, last)
        other = self._page.text[start:stop].replace(_WRAP, "")
        if PARTED.search(other):  # liteparse's reading has the whole word
            return None
        is_raised = bool(_RAISED_DIGIT.search(other))
        if is_raised or self._doubtful(other) < self._doubtful(text):
            return " ".join(other.split())
        return None

    def _doubtful(self, text: str) -> int:
        words = [word for word in _WORD.findall(text) if not word.isdecimal()]
        return sum(word not in self._known or (len(word) == 1 and word.isalpha()) for word in words)

    def _misread(self, own: Reading) -> Iterator[Segment]:
        """The runs of words that PDFium does not have, or of single letters beside such words."""
        run: tuple[int, int] | None = None
        is_unknown = False
        for word in [*_WORD.finditer(own.text), None]:
            here = word is not None and word[0] not in self._page.words
            if word is not None and (here or len(word[0]) == 1):
                run = (run[0] if run else word.start(), word.end())
                is_unknown = is_unknown or here
                continue
            if run and is_unknown:
                first, last = map(own.nearest, run)
                # A line to sign on is a word without letters.
                yield from self._same(own, first, last) if first < last else ()
            run, is_unknown = None, False

    def _same(self, own: Reading, first: int, last: int) -> Iterator[Segment]:
        """The segment of whole words of both readings around these letters, if there is one."""
        letters, others = own.letters, self._page.letters
        for context in (_CONTEXT, 0):
            start = max(first - context, 0)
            place = others.find(letters[start : last + context])
            if place >= 0:
                yield from _whole(own, self._page, (first, last, place + first - start))
                return

    def _raised(self, own: Reading) -> Iterator[Segment]:
        for first, last in self._page.raised:
            word = self._page.letters[first:last]
            place = own.letters.find(word)
            while place >= 0:
                if self._is_same_place(own.letters, place, first, last):
                    yield from _whole(own, self._page, (place, place + last - first, first))
                place = own.letters.find(word, place + 1)

    def _is_same_place(self, letters: str, place: int, first: int, last: int) -> bool:
        """Whether the letters around, up to the ends of the text, are those of PDFium's word."""
        others = self._page.letters
        after = place + last - first
        before = letters[max(place - _CONTEXT, 0) : place]
        behind = letters[after : after + _CONTEXT]
        is_after = others.startswith(before, max(first - len(before), 0))
        is_short = min(len(before), len(behind)) < _CONTEXT
        is_sure = not is_short or letters[place:after] not in self._page.words
        return is_sure and is_after and others.startswith(behind, last)


def _whole(own: Reading, page: Reading, segment: Segment) -> Iterator[Segment]:
    """The segment, extended to the words that both readings begin and end together."""
    first, last, there = segment
    while not (own.parts(first) and page.parts(there)):
        first, there = first - 1, there - 1
        if min(first, there) < 0 or own.letters[first] != page.letters[there]:
            return
    end = there + last - first
    while not (own.parts(last) and page.parts(end)):
        if own.letters[last : last + 1] != page.letters[end : end + 1] or last >= len(own.letters):
            return
        last, end = last + 1, end + 1
    yield first, last, there
