"""Tables of contents, which are left out: they only repeat headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from ingestion.domain import Block, BlockKind

# Guesses, chosen so that a price list or a table of figures is kept.
FEWEST_ENTRIES = 3
LONGEST_ENTRY = 160
LONGEST_BLOCK = 20_000

_NAMES = re.compile(
    r"(?:table of )?contents?|list of (?:figures|tables|illustrations)|(?:inhalts|abbildungs|"
    r"tabellen)verzeichnis|inhalt|table des mati[eè]res|sommaire|[ií]ndice(?: general)?|contenido|"
    r"sommario|inhoud(?:sopgave)?|sum[aá]rio|innehåll|indhold|innhold|sis[aä]llys|spis treści|"
    r"obsah|tartalom|содержание|оглавление|περιεχόμενα|目次|目录|目錄|차례",
    re.IGNORECASE,
)
_PAGE = r"(?P<page>\d{1,4}|[ivxlc]{1,6})(?=\s|$)"
_TITLE = rf"(?=\S)[^\n\t]{{1,{LONGEST_ENTRY}}}?"
# "1.2 History ........ 7", "History<tab>7"
_LED = re.compile(rf"\s*{_TITLE}\s*(?:(?:\s*[.·…_]){{3,}}|…+|\t+)\s*{_PAGE}")
# "1.2 History 7": accepted only below a heading that announces a table of contents.
_LOOSE = re.compile(rf"\s*(?:[\dA-Z]+(?:\.\d+)*\.?\s+)?(?=\D*[^\W\d_]){_TITLE}\s+{_PAGE}")
# "Chapter 1 7": only the last number of a line is a page.
_LOOSE_LINE = re.compile(
    rf"\s*(?=[^\n]*[^\W\d_])(?=\S)[^\n]{{1,{LONGEST_ENTRY}}}[ \t]{_PAGE}(?=[ \t]*(?:\n|$))"
)


def without_contents(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks in order, without tables of contents and the headings above them.

    A table of contents is a run of entries that end in page numbers that never decrease.
    """
    run: list[Block] = []
    pages: list[int] = []
    is_named = False
    for block in blocks:
        numbers = _entry_pages(block, is_named=is_named)
        if numbers is not None and _continues(pages, numbers):
            run.append(block)
            pages += numbers
            continue
        yield from _unless_contents(run, pages)
        is_named = _names_contents(block)
        numbers = None if is_named else _entry_pages(block, is_named=False)
        run, pages = ([block], numbers or []) if is_named or numbers is not None else ([], [])
        if not run:
            yield block
    yield from _unless_contents(run, pages)


def _unless_contents(run: list[Block], pages: list[int]) -> Iterator[Block]:
    """The blocks of a run that is too short to be a table of contents; else none."""
    if len(pages) < FEWEST_ENTRIES:
        yield from run


def _continues(pages: list[int], numbers: list[int]) -> bool:
    together = [*pages[-1:], *numbers]
    return all(before <= after for before, after in pairwise(together))


def _names_contents(block: Block) -> bool:
    """Whether the block is a heading that announces a table of contents."""
    text = block.text.strip().rstrip(":").strip()
    is_line = block.kind in (BlockKind.HEADING, BlockKind.PARAGRAPH)
    return is_line and _NAMES.fullmatch(" ".join(text.split())) is not None


def _entry_pages(block: Block, *, is_named: bool) -> list[int] | None:
    """The page numbers of a block that consists of entries alone, roman ones as 0; else None."""
    if block.kind is BlockKind.CODE or len(block.text) > LONGEST_BLOCK:
        return None
    pages = _read(_LED, block.text)
    if pages is None and is_named:
        return _read(_LOOSE, block.text) or _read(_LOOSE_LINE, block.text)
    return pages


def _read(entry: re.Pattern[str], text: str) -> list[int] | None:
    pages, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = entry.match(text, position)
        if match is None:
            return None
        page = match["page"]
        pages.append(int(page) if page.isdecimal() else 0)
        position = match.end()
    return pages or None
