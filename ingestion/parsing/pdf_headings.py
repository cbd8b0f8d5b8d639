"""Headings by the size of their letters, for a PDF in which liteparse finds none.

It goes by more signs than size, and misses all of them in a file where a few speak against it:
lines that end in numbers, a listing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ingestion.domain import Block, BlockKind

from .pdf_furniture import Page, Placed

if TYPE_CHECKING:
    from liteparse import TextItem

# All guesses, chosen so that posters, forms and text off a scanner keep what they are.
LARGER = 1.2
MOST_SIZES = 5
MOST_OF_TEXT = 0.15
LONGEST = 120
MOST_LINES = 3
_LINE_HEIGHT = 1.5


class LetterSizes:
    """The sizes of the upright letters of one page, by where they stand."""

    def __init__(self, items: Iterable[TextItem]) -> None:
        self._pieces = sorted(
            (item.y + item.height / 2, item.x + item.width / 2, round(item.font_size), item.text)
            for item in items
            if item.font_size and not round(item.rotation)
        )
        self._middles = [piece[0] for piece in self._pieces]

    def within(self, left: float, top: float, right: float, bottom: float) -> int:
        """The size of most letters in the box, in points; 0 where there are none."""
        pieces = self._pieces[bisect_left(self._middles, top) : bisect_right(self._middles, bottom)]
        written: Counter[int] = Counter()
        for _, middle, size, text in pieces:
            if left <= middle <= right:
                written[size] += len(text)
        return max(written, key=lambda size: written[size], default=0)


def found_headings(page: Page) -> bool:
    """Whether liteparse sees a heading on the page."""
    return any(placed.block.kind is BlockKind.HEADING for placed in page.blocks)


def with_headings(pages: list[Page]) -> list[Page]:
    """The pages; where no block of theirs is a heading, short lines in larger letters become ones.

    The largest size is level 1, the next level 2.
    """
    if any(map(found_headings, pages)):
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
    if not sizes or len(sizes) > MOST_SIZES or share > MOST_OF_TEXT:
        return pages
    levels = {id(one): sizes.index(one.size) + 1 for one in titles}
    return [replace(page, blocks=[_levelled(one, levels) for one in page.blocks]) for page in pages]


def _is_title(placed: Placed) -> bool:
    text = placed.block.text
    is_short = placed.bottom - placed.top <= MOST_LINES * _LINE_HEIGHT * placed.size
    is_line = placed.block.kind is BlockKind.PARAGRAPH and len(text) <= LONGEST
    return is_line and is_short and any(char.isalpha() for char in text)


def _levelled(placed: Placed, levels: dict[int, int]) -> Placed:
    level = levels.get(id(placed))
    if level is None:
        return placed
    block = placed.block
    text = " ".join(block.text.split())
    return replace(placed, block=Block(BlockKind.HEADING, text, level=level, page=block.page))
