"""The tables of a PPT, whose cells anydoc reads as paragraphs.

A table is a group of shapes that says so, and each cell one with its place ([MS-ODRAW] 2.3.21).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from struct import iter_unpack, unpack_from

from ingestion.domain import Block
from ingestion.parsing.formats.doc_margins import DAMAGES
from ingestion.parsing.formats.office_counts import DECK
from ingestion.parsing.formats.tabular import table_of

_GROUP, _PROPERTIES, _PLACE, _IS_TABLE = 0xF003, 0xF122, 0xF00F, 0x39F
_TEXTS = {0xFA0: "utf-16-le", 0xFA8: "cp1252"}


def with_tables(path: Path, blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks of a deck; paragraphs that are the cells of a table are that table."""
    import olefile

    tables: dict[tuple[str, ...], Block] = {}
    with suppress(*DAMAGES), olefile.OleFileIO(str(path)) as container:
        for cells in _tables(container.openstream(DECK).read()):
            lines = (_plain(line) for *_, text in cells for line in text.split("\r"))
            tables[tuple(filter(None, lines))] = _table(cells)
    texts = [_plain(block.text) for block in blocks]
    lengths = {len(lines) for lines in tables}
    at = 0
    while at < len(blocks):
        runs = (tuple(texts[at : at + length]) for length in lengths)
        run = next((run for run in runs if run in tables), ())
        yield tables.get(run, blocks[at])
        at += len(run) or 1


def _plain(text: str) -> str:
    return " ".join(text.split())


def _tables(deck: bytes) -> Iterator[list[tuple[int, int, str]]]:
    """Yield the cells of each table of several columns, as they are drawn: top, left, text."""
    cells: list[tuple[int, int, str]] = []
    place = end = left = top = is_table = 0
    while place + 8 <= len(deck):
        flags, kind, length = unpack_from("<2HI", deck, place)
        place += 8
        if kind == _GROUP or place > end:
            # PowerPoint's own limit: of a column a cell, the grid would be their square.
            if 1 < len({left for _, left, _ in cells}) <= 75:
                yield cells
            cells, is_table, end = [], 0, place + length
        if kind == _PROPERTIES:
            properties = iter_unpack("<HI", deck[place : place + (flags >> 4) * 6])
            is_table |= sum(value & 1 for name, value in properties if name & 0x3FFF == _IS_TABLE)
        elif kind == _PLACE:
            left, top = unpack_from("<2i", deck, place)
        elif is_table and kind in _TEXTS:
            text = deck[place : place + length].decode(_TEXTS[kind], "replace")
            cells += [(top, left, text)] if text.strip() else []
        place += 0 if flags & 0xF == 0xF else length


def _table(cells: Sequence[tuple[int, int, str]]) -> Block:
    tops, lefts = sorted({top for top, *_ in cells}), sorted({left for _, left, _ in cells})
    texts = {(top, left): _plain(text) for top, left, text in cells}
    return table_of([[(texts.get((y, x), ""), 1, 1) for x in lefts] for y in tops], has_head=None)
