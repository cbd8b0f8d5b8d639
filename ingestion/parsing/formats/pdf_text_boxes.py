"""Text boxes of slides: one after the other, where liteparse reads across them.

liteparse takes what is level for one line, or for a row of a table. A program that makes slides
writes one text box after the other, and PDFium keeps that order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from ingestion.parsing.formats.pdf_directions import is_alike
from ingestion.parsing.formats.pdf_layout import LARGER, LONGEST_TITLE, middle, rows_of, text_of
from ingestion.parsing.formats.pdf_letters import PARTED, Letters, Line, lines_of
from ingestion.parsing.formats.pdf_tables import spelt

if TYPE_CHECKING:
    from liteparse import LayoutBlock, ParsedPage

# Guesses: the letters and the boxes of a slide at most, and its width by its height; by the height
# of a line, the gap between two lines of a box, and the one between two boxes on a line; the share
# of a table's cells that are a line; the columns of a slide at most.
_LETTERS, _BOXES, _WIDE, _BELOW, _BESIDE, _CELLS, _COLUMNS = 4_000, 300, 1.2, 1.0, 2.0, 0.8, 4
_MARK = re.compile(r"([●•▪■○◦‣➢✓–\-\uf000-\uf0ff]|\(?\d{1,2}[.)])\s+(?=\S)")
_END = re.compile(r"[.:?!]$")


@dataclass(frozen=True)
class TextBox:
    """Lines that stand one below the other, as the program wrote them."""

    lines: Sequence[Line]

    @cached_property
    def left(self) -> float:
        return min(letter.left for line in self.lines for letter in line.letters)

    @cached_property
    def right(self) -> float:
        return max(letter.right for line in self.lines for letter in line.letters)

    @property
    def top(self) -> float:
        return min(line.top for line in self.lines)

    @property
    def bottom(self) -> float:
        return max(line.bottom for line in self.lines)

    @cached_property
    def spelt(self) -> str:
        return spelt(" ".join(map(text_on, self.lines)))

    def takes(self, line: Line) -> bool:
        """Whether the line goes on below the last one, in letters of about the same size."""
        last = self.lines[-1]
        height, other = last.bottom - last.top, line.bottom - line.top
        is_below = -0.5 * height < line.top - last.bottom < _BELOW * min(height, other)
        is_as_large = max(height, other) < LARGER * min(height, other)
        is_across = line.letters[0].left < self.right and line.letters[-1].right > self.left
        return is_below and is_as_large and is_across and line.top > last.top

    def has_labels(self) -> bool:
        """Whether its lines are labels, whose values stand beside them."""
        return len(self.lines) > 1 and all(text_on(line).endswith(":") for line in self.lines)

    def is_in(self, block: LayoutBlock) -> bool:
        """Whether a line of the box is in the block."""
        return block.bbox is not None and any(line.within(block.bbox) for line in self.lines)


def with_text_boxes(page: ParsedPage, letters: Letters) -> list[LayoutBlock]:
    """The blocks of the page; of a slide, those that mix text boxes are these boxes.

    Nothing is changed where a table would be taken apart, or a letter lost.
    """
    blocks = list(page.blocks or ())
    if page.width < _WIDE * page.height or letters.count > _LETTERS:
        return blocks
    boxes = text_boxes(letters)
    torn, mixed = _torn(blocks, boxes) if len(boxes) <= _BOXES else ([], [])
    text = " ".join(text_on(line) for box in mixed for line in box.lines)
    if not torn or not is_alike(" ".join(map(text_of, torn)), text):
        return blocks
    lines = {spelt(text_on(line)) for box in boxes for line in box.lines}
    if _is_grid(mixed) or any(_is_table(block, lines) for block in torn):
        return blocks
    usual = median(line.bottom - line.top for box in boxes for line in box.lines)
    headings = {spelt(text_of(one)): one.level for one in torn if one.kind == "heading"}
    made = [one for box in _in_order(mixed) for one in _blocks(box, torn[0], usual, headings)]
    first, top = blocks.index(torn[0]), min(box.top for box in mixed)
    rest = [one for one in blocks[first:] if one not in torn]
    above = [one for one in rest if one.bbox and middle(one.bbox) < top]
    return [*blocks[:first], *above, *made, *(one for one in rest if one not in above)]


def _torn(
    blocks: Sequence[LayoutBlock], boxes: Sequence[TextBox]
) -> tuple[list[LayoutBlock], list[TextBox]]:
    """The blocks that do not have a box of several lines in one piece, and the boxes in them, with
    all blocks and boxes that share lines with these.
    """
    read = spelt(" ".join(map(text_of, blocks)))
    mixed = [box for box in boxes if len(box.lines) > 1 and box.spelt not in read]
    torn: list[LayoutBlock] = []
    while True:
        met = [block for block in blocks if any(box.is_in(block) for box in mixed)]
        if len(met) == len(torn):
            return torn, mixed
        torn, mixed = met, [box for box in boxes if any(map(box.is_in, met))]


def text_boxes(letters: Letters) -> list[TextBox]:
    """The text boxes of a page, in the order in which they are written."""
    boxes: list[TextBox] = []
    for line in lines_of(letters):
        for part in filter(text_on, _parts(line)):
            if boxes and boxes[-1].takes(part):
                boxes[-1] = TextBox([*boxes[-1].lines, part])
            else:
                boxes.append(TextBox([part]))
    return boxes


def _parts(line: Line) -> Iterator[Line]:
    """The parts of a line between its widest gaps and behind hyphens; some are spaces alone."""
    start = 0
    for at, (before, after) in enumerate(pairwise(line.letters), 1):
        is_wide = after.left - before.right > _BESIDE * (line.bottom - line.top)
        if is_wide or PARTED.match(before.text):
            yield Line.of(line.letters[start:at])
            start = at
    yield Line.of(line.letters[start:])


def _in_order(boxes: Sequence[TextBox]) -> list[TextBox]:
    """The boxes as they are read: parted at the widest gap, between columns or between rows.

    The recursive cut of Nagy & Seth (1984).
    """
    if len(boxes) < 2:
        return list(boxes)
    across = _widest([(box.left, box.right, box) for box in boxes])
    down = _widest([(box.top, box.bottom, box) for box in boxes])
    _, before = max(across, down, key=lambda cut: cut[0])
    after = [box for box in boxes if box not in before]
    if not before or not after:
        return sorted(boxes, key=lambda box: (box.top, box.left))
    return _in_order(before) + _in_order(after)


def _widest(spans: list[tuple[float, float, TextBox]]) -> tuple[float, list[TextBox]]:
    """The widest gap between the spans, and the boxes before it; 0 and none without a gap."""
    spans = sorted(spans, key=lambda span: span[:2])
    widest, place, end = 0.0, 0, spans[0][1]
    for at, (start, stop, _) in enumerate(spans):
        if start - end > widest:
            widest, place = start - end, at
        end = max(end, stop)
    return widest, [box for _, _, box in spans[:place]]


def _is_grid(boxes: Sequence[TextBox]) -> bool:
    """Whether some boxes are labels, or more begin on one level than slides have columns."""
    first = [box.lines[0] for box in boxes]
    return any(box.has_labels() for box in boxes) or any(
        sum(other.top < (line.top + line.bottom) / 2 < other.bottom for other in first) > _COLUMNS
        for line in first
    )


def _is_table(block: LayoutBlock, lines: set[str]) -> bool:
    """Whether most cells are numbers or whole lines of text boxes, which those of a torn list are
    not, and few are items of lists.
    """
    cells = [cell.text.strip() for row in rows_of(block) for cell in row if cell.text.strip()]
    whole = sum(spelt(cell) in lines or not any(map(str.isalpha, cell)) for cell in cells)
    items = sum(_MARK.match(cell) is not None for cell in cells)
    return block.kind == "table" and whole >= _CELLS * len(cells) and 2 * items < len(cells)


def _blocks(
    box: TextBox, like: LayoutBlock, usual: float, headings: dict[str, int | None]
) -> Iterator[LayoutBlock]:
    """The headings, paragraphs and items of a list in a box."""
    rect = replace(
        like.bbox, x=box.left, y=box.top, width=box.right - box.left, height=box.bottom - box.top
    )
    nothing = dict.fromkeys(("level", "marker", "ordered", "lines", "header", "rows"))
    is_large = box.lines[0].bottom - box.lines[0].top >= LARGER * usual
    for mark, text in _pieces(box):
        block = replace(like, kind="paragraph", text=text, bbox=rect, **nothing)
        if mark:
            block = replace(block, kind="list_item", level=0, marker=mark, ordered=mark[-1] in ".)")
        elif spelt(text) in headings or (is_large and len(text) <= LONGEST_TITLE):
            block = replace(block, kind="heading", level=headings.get(spelt(text)) or 2)
        yield block


def _pieces(box: TextBox) -> Iterator[tuple[str, str]]:
    """The mark, if any, and the text of each paragraph and item of a list."""
    mark, text, left = "", "", 0.0
    for line in box.lines:
        words, start = text_on(line), line.letters[0].left
        found = _MARK.match(words)
        if mark:
            goes_on = start > left or words[0].islower()
        else:
            goes_on = text != "" and not _END.search(text) and not words.endswith(":")
        if goes_on and not found:
            text = f"{text} {words}"
            continue
        if text:
            yield mark, text
        mark, text, left = (found[1], words[found.end() :], start) if found else ("", words, start)
    yield mark, text


def text_on(line: Line) -> str:
    """The words of the line, one space between each."""
    return " ".join(line.text.split())
