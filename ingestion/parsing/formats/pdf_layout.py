"""PDF layout that liteparse does not report, inferred from boxes and letter sizes.

Running headers and footers are removed, headings found by size, code indentation restored.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from ingestion.domain import Block, BlockKind

if TYPE_CHECKING:
    from liteparse import AnnotationRect, LayoutBlock, LayoutCell, TextItem


# All guesses, chosen so that recurring table rows and chapter titles are kept.
FEWEST_PAGES = 4
REPEATED_ON = 0.4
EDGE = 0.2
LONGEST_FURNITURE = 120

_NUMBER = re.compile(r"\d+")
_ROMAN = re.compile(r"\b[ivxlc]+\b")
Signature = tuple[BlockKind, str, str]

_PLAIN_KINDS = frozenset({BlockKind.HEADING, BlockKind.PARAGRAPH})
# All guesses, chosen so that posters and forms get no false headings.
LARGER = 1.2
MOST_OF_TEXT = 0.15
LONGEST_TITLE = 120
MOST_LINES = 3
_LINE_HEIGHT = 1.5

LEVEL = 4
"""Points between the tops of pieces of one line. A guess."""
_DEEPEST = 60
"""Columns; text further to the right is another column of the page. A guess."""


@dataclass(frozen=True)
class Placed:
    """A block and the vertical extent of its box, from the top of its page.

    `size` is the size of its letters in points, 0 if unknown.
    """

    block: Block
    top: float
    bottom: float
    size: int = 0


@dataclass(frozen=True)
class Page:
    number: int
    height: float
    blocks: list[Placed]
    expected: int = 0


def without_furniture(pages: list[Page]) -> Iterator[Block]:
    """All blocks in order, then each running header and footer once; no page numbers.

    These recur at the edge of many pages: the same text, or the same but for a number that
    counts with the pages ("page 7 of 12"). Left and right pages may differ: 40% of the pages
    suffice.
    """
    said: set[str] = set()
    running: dict[str, Block] = {}
    counts: Counter[Signature] = Counter()
    for page in pages:
        for placed in page.blocks:
            counts.update(set(_signatures(placed, page)))
    needed = max(FEWEST_PAGES, REPEATED_ON * sum(1 for page in pages if page.blocks))
    for page in pages:
        for placed in page.blocks:
            text = _flowing(placed.block.text)
            recurs = [counts[signature] >= needed for signature in _signatures(placed, page)]
            if not any(recurs):
                said.add(text)
                yield placed.block
            elif recurs[0]:
                running.setdefault(text, replace(placed.block, kind=BlockKind.PARAGRAPH, level=0))
    yield from (block for text, block in running.items() if text not in said)


def _flowing(text: str) -> str:
    return " ".join(text.split()).lower()


def _signatures(placed: Placed, page: Page) -> Iterator[Signature]:
    """The keys by which this block may recur on other pages; none away from the edges."""
    block = placed.block
    if block.kind not in _PLAIN_KINDS or len(block.text) > LONGEST_FURNITURE:
        return
    if placed.bottom <= EDGE * page.height:
        edge = "top"
    elif placed.top >= (1 - EDGE) * page.height:
        edge = "bottom"
    else:
        return
    # With the kind: the title on page 1 may recur as a running header.
    text = _flowing(block.text)
    yield block.kind, edge, text
    if edge == "top" and block.kind is BlockKind.HEADING:
        # "Chapter 3" above page 3 of a book of one-page chapters.
        return
    for match in _NUMBER.finditer(text):
        if len(match[0]) <= 5:
            # The distance between the printed and the real number is the same on each page; some
            # pages of slides lack the number.
            number = f"#{offset}" if (offset := int(match[0]) - page.number) else ""
            yield block.kind, edge, f"{text[: match.start()]}{number}{text[match.end() :]}".strip()
    if roman := _ROMAN.search(text):
        yield block.kind, edge, f"{text[: roman.start()]}roman{text[roman.end() :]}"


class LetterSizes:
    """The sizes of the upright letters of one page, by position."""

    def __init__(self, items: Iterable[TextItem]) -> None:
        self._pieces = sorted(
            (item.y + item.height / 2, item.x + item.width / 2, round(item.font_size), item.text)
            for item in items
            if item.font_size and not round(item.rotation)
        )
        self._middles = [piece[0] for piece in self._pieces]

    def within(self, left: float, top: float, right: float, bottom: float) -> int:
        """The most frequent size of the letters in the box, in points; 0 if there are none."""
        pieces = self._pieces[bisect_left(self._middles, top) : bisect_right(self._middles, bottom)]
        written: Counter[int] = Counter()
        for _, middle, size, text in pieces:
            if left <= middle <= right:
                written[size] += len(text)
        return max(written, key=lambda size: written[size], default=0)


def contains_heading(page: Page) -> bool:
    """Whether liteparse found a heading on the page."""
    return any(placed.block.kind is BlockKind.HEADING for placed in page.blocks)


def with_headings(pages: list[Page]) -> list[Page]:
    """The pages; if they have no headings, short lines in larger letters become headings.

    The largest size is level 1, the next level 2. liteparse uses more signs than size, but finds
    no heading at all in files with a few counter-signs: lines that end in numbers, a listing.
    """
    if any(map(contains_heading, pages)):
        return pages
    placed = [one for page in pages for one in page.blocks]
    written: Counter[int] = Counter()
    for one in placed:
        written[one.size] += len(one.block.text)
    del written[0]
    body = max(written, key=lambda size: written[size], default=0)
    titles = [one for one in placed if body and one.size >= LARGER * body and _is_title(one)]
    sizes = sorted({one.size for one in titles}, reverse=True)
    share = sum(len(one.block.text) for one in titles) / max(written.total(), 1)
    if not sizes or share > MOST_OF_TEXT:
        return pages
    levels = {id(one): sizes.index(one.size) + 1 for one in titles}
    return [replace(page, blocks=[_levelled(one, levels) for one in page.blocks]) for page in pages]


def _is_title(placed: Placed) -> bool:
    text = placed.block.text
    is_short = placed.bottom - placed.top <= MOST_LINES * _LINE_HEIGHT * placed.size
    is_line = placed.block.kind is BlockKind.PARAGRAPH and len(text) <= LONGEST_TITLE
    return is_line and is_short and any(char.isalpha() for char in text)


def _levelled(placed: Placed, levels: dict[int, int]) -> Placed:
    level = levels.get(id(placed))
    if level is None:
        return placed
    block = placed.block
    text = " ".join(block.text.split())
    return replace(placed, block=Block(BlockKind.HEADING, text, level=level, page=block.page))


def indented(lines: Sequence[str], box: AnnotationRect, items: Iterable[TextItem]) -> list[str]:
    """The lines of a listing, indented according to their horizontal position on the page.

    Unchanged if the text in the box has a different number of lines.
    """
    rows = by_line(item for item in items if is_beside(item, box))
    widths = [item.width / len(item.text) for row in rows for item in row]
    if not rows or len(rows) != len(lines) or median(widths) <= 0:
        return list(lines)
    first = min(row[0].x for row in rows)
    columns = [min(round((row[0].x - first) / median(widths)), _DEEPEST) for row in rows]
    return [" " * column + line.lstrip() for column, line in zip(columns, lines, strict=True)]


def is_beside(item: TextItem, box: AnnotationRect) -> bool:
    """Whether a part of the piece of text is in the box."""
    is_across = item.x < box.x + box.width and item.x + item.width > box.x
    return bool(is_across and box.y <= middle(item) <= box.y + box.height)


def rows_of(table: LayoutBlock) -> list[list[LayoutCell]]:
    """The rows of a table, its header first."""
    return [row for row in (table.header, *(table.rows or ())) if row]


def text_of(block: LayoutBlock) -> str:
    """All that the block says."""
    cells = (cell.text for row in rows_of(block) for cell in row)
    return " ".join([block.text or "", *(block.lines or ()), *cells])


def in_order(blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    """The blocks from top to bottom if none stands beside another, else in their order.

    liteparse takes a gap within a table for one of the page, and a centred title above it for a
    part of the right column.
    """
    ordered = sorted((one for one in blocks if one.bbox), key=lambda one: one.bbox.y)
    ends = (one.bbox.y + one.bbox.height - LEVEL for one in ordered)
    is_column = all(end < below.bbox.y for end, below in zip(ends, ordered[1:], strict=False))
    return ordered if is_column and len(ordered) == len(blocks) else list(blocks)


def around(*blocks: LayoutBlock) -> AnnotationRect | None:
    """The box around those of the blocks; None if none has one."""
    boxes = [block.bbox for block in blocks if block.bbox]
    if not boxes:
        return None
    left, top = min(box.x for box in boxes), min(box.y for box in boxes)
    width = max(box.x + box.width for box in boxes) - left
    height = max(box.y + box.height for box in boxes) - top
    return replace(boxes[0], x=left, y=top, width=width, height=height)


def middle(box: TextItem | AnnotationRect) -> float:
    return float(box.y + box.height / 2)


def by_line(items: Iterable[TextItem]) -> list[list[TextItem]]:
    """The pieces of text by line, from left to right."""
    lines: list[list[TextItem]] = []
    for item in sorted((one for one in items if one.text.strip()), key=middle):
        if not lines or middle(item) > middle(lines[-1][0]) + LEVEL:
            lines.append([])
        lines[-1].append(item)
    return [sorted(line, key=lambda one: one.x) for line in lines]
