"""Headings of a PDF: by its outline, without running titles, divided where two share a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ingestion.domain import Block, BlockKind
from ingestion.parsing.formats.pdf_layout import Page, Placed

if TYPE_CHECKING:
    from liteparse import TextItem
from ingestion.parsing.formats.pdf_metadata import PdfFacts, outline_key

LONGEST_HEADING = 200
_TITLE_KINDS = frozenset({BlockKind.HEADING, BlockKind.PARAGRAPH})
# A shorter paragraph may be repeated on purpose. A guess.
_LONG = 40


def lines_of(heading: str, items: Iterable[TextItem]) -> tuple[str, ...]:
    """The lines of a page that together are the heading; empty if there are not several."""
    letters = _letters(heading)
    rows = [item.text.strip() for item in items if item.text.strip()]
    for first, row in enumerate(rows):
        if not letters.startswith(_letters(row)):
            continue
        joined = ""
        for last, following in enumerate(rows[first:], start=first + 1):
            joined += _letters(following)
            if joined == letters:
                return tuple(rows[first:last]) if last - first > 1 else ()
            if not letters.startswith(joined):
                break
    return ()


def with_parted_titles(pages: Iterable[Page], facts: PdfFacts) -> Iterator[Page]:
    """The pages; a heading that ends a line with the document's title, or with one of the titles
    in the outline, and goes on with another, is two headings.
    """
    for page in pages:
        if any(placed.lines for placed in page.blocks):
            blocks = [part for placed in page.blocks for part in _parted(placed, facts)]
            page = replace(page, blocks=blocks)
        yield page


def _parted(placed: Placed, facts: PdfFacts) -> list[Placed]:
    for count in range(1, len(placed.lines)):
        upper, lower = (" ".join(lines) for lines in (placed.lines[:count], placed.lines[count:]))
        page = placed.block.page or 0
        is_title = page == 1 and outline_key(upper) == outline_key(facts.metadata.title)
        is_listed = all((page, outline_key(part)) in facts.outline for part in (upper, lower))
        if (is_title or is_listed) and any(letter.isalpha() for letter in lower):
            rest = replace(placed, block=replace(placed.block, text=lower), lines=())
            return [replace(placed, block=replace(placed.block, text=upper), lines=()), rest]
    return [placed]


def with_outline(blocks: Iterator[Block], facts: PdfFacts) -> Iterator[Block]:
    """The blocks; titles in the file's outline become headings of the outline's level."""
    for block in blocks:
        level = None
        if block.kind in _TITLE_KINDS and len(block.text) <= LONGEST_HEADING:
            level = facts.outline.get((block.page or 0, outline_key(block.text)))
        if level:
            yield Block(BlockKind.HEADING, block.text, level=level, page=block.page)
        else:
            yield block


def without_repeats(blocks: Iterable[Block], title: str) -> Iterator[Block]:
    """The blocks without consecutive repetitions, and without running titles at the top of a page.

    The title is often on the title page and the first page; a hidden text layer repeats everything.
    """
    before: Block | None = None
    for block in blocks:
        is_running = (
            before is not None
            and block.page != before.page
            and block.kind is BlockKind.PARAGRAPH
            and outline_key(block.text) == outline_key(title)
        )
        if is_running:
            continue
        if before is not None and _is_same(before, block):
            # If a line repeats a heading, the heading is kept.
            before = max((before, block), key=lambda one: one.kind is BlockKind.HEADING)
            continue
        if before is not None:
            yield before
        before = block
    if before is not None:
        yield before


def _is_same(before: Block, block: Block) -> bool:
    if block.text == before.text and block.kind is before.kind and block.page == before.page:
        return block.kind is BlockKind.HEADING or len(block.text) >= _LONG
    is_title = {before.kind, block.kind} <= _TITLE_KINDS and BlockKind.HEADING in (
        before.kind,
        block.kind,
    )
    return is_title and _letters(before.text) == _letters(block.text)


def _letters(text: str) -> str:
    return "".join(text.split()).casefold()
