"""Running headers, footers and page numbers: found by their repetition, and left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ingestion.domain import Block, BlockKind

# All guesses, chosen so that a table row or a chapter title that recurs is kept.
FEWEST_PAGES = 4
REPEATED_ON = 0.4
EDGE = 0.2
LONGEST = 120

_NUMBER = re.compile(r"\d+")
_ROMAN = re.compile(r"\b[ivxlc]+\b")
Signature = tuple[BlockKind, str, str]

_PLAIN_KINDS = frozenset({BlockKind.HEADING, BlockKind.PARAGRAPH})


@dataclass(frozen=True)
class Placed:
    """A block and the vertical extent of its box, from the top of its page.

    `size` is that of its letters in points, 0 where it is unknown.
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


def without_furniture(pages: list[Page]) -> Iterator[Block]:
    """All blocks in order but those that recur at the edge of many pages.

    Text recurs when it is the same, or the same but for a number that counts with the
    pages ("page 7 of 12"). Left and right pages may differ: 40% of the pages suffice.
    """
    seen: Counter[Signature] = Counter()
    for page in pages:
        for placed in page.blocks:
            seen.update(set(_signatures(placed, page)))
    needed = max(FEWEST_PAGES, REPEATED_ON * sum(1 for page in pages if page.blocks))
    for page in pages:
        for placed in page.blocks:
            if not any(seen[signature] >= needed for signature in _signatures(placed, page)):
                yield placed.block


def _signatures(placed: Placed, page: Page) -> Iterator[Signature]:
    """Under which names this block may recur on other pages; none away from the edges."""
    block = placed.block
    if block.kind not in _PLAIN_KINDS or len(block.text) > LONGEST:
        return
    if placed.bottom <= EDGE * page.height:
        edge = "top"
    elif placed.top >= (1 - EDGE) * page.height:
        edge = "bottom"
    else:
        return
    # The kind counts too: a title on page 1 may run on as a header in small print.
    text = " ".join(block.text.split()).lower()
    yield block.kind, edge, text
    if edge == "top" and block.kind is BlockKind.HEADING:
        # "Chapter 3" above page 3 of a book of one-page chapters.
        return
    for match in _NUMBER.finditer(text):
        if len(match[0]) <= 5:
            # The distance between the printed and the real number is the same on each page.
            offset = int(match[0]) - page.number
            yield block.kind, edge, f"{text[: match.start()]}#{offset}{text[match.end() :]}"
    if roman := _ROMAN.search(text):
        yield block.kind, edge, f"{text[: roman.start()]}roman{text[roman.end() :]}"
