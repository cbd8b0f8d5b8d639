"""The piece of text around the sentence that answers best, as what it is. Pure.

A definition is shown with all its lines, steps as a list from the first, code as its whole block
with the sentence that introduces it, a table as header and row, a list with the line that announces
it; prose in whole sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingestion.domain import BlockKind
from ingestion.lexical.sentences import Kind, is_heading, sentences
from search.answers.domain import Passage

MOST = 1000  # characters of a piece that may be cut anywhere between sentences
WHOLE = 1500  # of one whose last list is complete. A guess: 25 lines

_COLONS = (":", "：")


@dataclass(frozen=True, slots=True)
class TextPart:
    """A sentence, a row or a block of code, at [start, end) of a passage's text.

    `block` and `section` are the numbers of its block and its section.
    """

    start: int
    end: int
    kind: Kind
    block: int
    section: int

    @property
    def line(self) -> int:
        """A number that the parts of one line share: the offset of a row, else the block."""
        return self.start if self.kind is Kind.ROW else self.block


@dataclass(frozen=True, slots=True)
class Quote:
    """A piece of passage `passage`: its parts in order, of which `marked` answers best.

    `score`: higher is better.
    """

    passage: int
    parts: tuple[TextPart, ...]
    marked: TextPart
    score: float


def parts_of(passage: Passage) -> tuple[TextPart, ...]:
    """The parts of a passage in order, without headings."""
    bounds = [start for start, _ in passage.sections]
    parts: list[TextPart] = []
    for block, (start, end, kind) in enumerate(_blocks(passage)):
        for low, high, what in _spans(passage, start, end, kind):
            section = sum(bound <= low for bound in bounds)
            parts.append(TextPart(low, high, what, block, section))
    return tuple(parts)


def _blocks(passage: Passage) -> Iterator[tuple[int, int, str]]:
    """[start, end) and kind of each block; without a layout the paragraphs, of an unknown kind."""
    text = passage.text
    layout = passage.layout if len(passage.layout) > 1 else ()
    if not layout:
        starts = [0, *(gap.end() for gap in re.finditer(r"\n[^\S\n]*\n\s*", text))]
        kind = passage.layout[0][1] if passage.layout else ""
        layout = tuple((start, kind) for start in starts)
    ends = [*(start for start, _ in layout[1:]), len(text)]
    for (start, kind), end in zip(layout, ends, strict=True):
        stripped = text[start:end].strip("\n ")
        if stripped:
            first = text.index(stripped[0], start) if kind != BlockKind.CODE else start
            yield first, first + len(text[first:end].rstrip()), kind


def _spans(passage: Passage, start: int, end: int, kind: str) -> Iterator[tuple[int, int, Kind]]:
    text = passage.text[start:end]
    # A title that its file has as a paragraph stands above the first heading.
    above = passage.sections[:1] if not passage.path_at(start) else ()
    is_title = any(not passage.text[end:at].strip() for at, _ in above) and "\n" not in text
    if kind == BlockKind.HEADING or (is_title and is_heading(text)):
        return
    if kind == BlockKind.CODE:
        yield start, end, Kind.CODE
        return
    for span in sentences(text, language=passage.language):
        what = Kind.PROSE if span.kind is Kind.HEADING else span.kind
        what = Kind.ITEM if kind == BlockKind.LIST_ITEM else what
        yield start + span.start, start + span.end, what


def quote_of(passage: Passage, start: int, score: float) -> Quote:
    """The piece around the part of a passage that holds offset `start`."""
    parts = parts_of(passage)
    at = max((place for place, part in enumerate(parts) if part.start <= start), default=0)
    places = piece_around(passage, parts, at)
    return Quote(passage.number, tuple(parts[place] for place in places), parts[at], score)


def piece_around(passage: Passage, parts: Sequence[TextPart], at: int) -> tuple[int, ...]:
    """The places of the parts that make up the piece around part `at`, ascending.

    All of its section if that is short; else the whole list, code or table of part `at`, and the
    sentences around it within MOST characters.
    """
    own = [place for place, part in enumerate(parts) if part.section == parts[at].section]
    section = _Section(passage.text, parts, own[0], own[-1])
    places = own if section.length(own) <= MOST else section.grown(section.core(at))
    return section.trimmed(places, at)


@dataclass(frozen=True, slots=True)
class _Section:
    """The parts from `first` to `last`, both included, which have the same headings."""

    text: str
    parts: Sequence[TextPart]
    first: int
    last: int

    def words(self, place: int) -> str:
        return self.text[self.parts[place].start : self.parts[place].end]

    def length(self, places: Sequence[int]) -> int:
        return sum(self.parts[place].end - self.parts[place].start + 1 for place in places)

    def run(self, at: int) -> range:
        """The part's whole block of code, list or table; of prose the part alone."""
        kind, low, high = self.parts[at].kind, at, at
        if kind is Kind.PROSE:
            return range(at, at + 1)
        while low > self.first and self.parts[low - 1].kind is kind:
            low -= 1
        while high < self.last and self.parts[high + 1].kind is kind:
            high += 1
        return range(low, high + 1)

    def unit(self, at: int) -> list[int]:
        """The parts of its run that are in the same block."""
        return [p for p in self.run(at) if self.parts[p].block == self.parts[at].block]

    def core(self, at: int) -> list[int]:
        """The places that must be displayed with a part, and the sentence that introduces it."""
        run, places = self.run(at), self.unit(at)
        if self.parts[at].kind is Kind.ROW:
            places = places if len(places) == 2 else sorted({places[0], at})
        elif self.parts[at].kind is Kind.ITEM:
            upto = list(range(run[0], places[-1] + 1))
            places = upto if self.length(upto) <= MOST else places
        return self._led(places)

    def _led(self, places: list[int]) -> list[int]:
        """The places, and before a list, code or a table the sentence that introduces it."""
        low = places[0]
        is_led = self.parts[low].kind is not Kind.PROSE and low > self.first
        return [low - 1, *places] if is_led and self.parts[low - 1].kind is Kind.PROSE else places

    def grown(self, places: list[int]) -> list[int]:
        """The places and their neighbours as far as they fit: from the start of their paragraph,
        so that readers soon see the sentence that answers, the following ones, then those before.
        """
        block = self.parts[places[0]].block
        for step, in_paragraph in ((-1, True), (1, False), (-1, False)):
            while unit := self._next(places, step):
                is_beyond = in_paragraph and self.parts[unit[-1]].block != block
                if is_beyond or self.length([*places, *unit]) > MOST:
                    break
                places = sorted({*places, *unit})
        return self.finished(places)

    def finished(self, places: list[int]) -> list[int]:
        """The places up to the end of the list in which they end, unless that is too long."""
        end = self.run(places[-1])[-1] if self.parts[places[-1]].kind is Kind.ITEM else places[-1]
        whole = [*places, *range(places[-1] + 1, end + 1)]
        return whole if self.length(whole) <= WHOLE else places

    def _next(self, places: list[int], step: int) -> list[int]:
        at = places[-1] + 1 if step > 0 else places[0] - 1
        if not self.first <= at <= self.last:
            return []
        if step > 0:
            return self.unit(at)
        if self.parts[at].kind is not Kind.PROSE:
            return self._led(list(self.run(at)))
        return [at]

    def trimmed(self, places: Sequence[int], at: int) -> tuple[int, ...]:
        """The places without last parts that announce a missing one."""
        span = list(places)
        while span[-1] != at and self.words(span[-1]).endswith(_COLONS):
            span.pop()
        return tuple(span)
