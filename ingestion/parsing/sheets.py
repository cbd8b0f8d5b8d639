"""XLSX, XLS and ODS -> a heading and one table a sheet, by anydoc.

openpyxl was tried and takes 2 GB on a sheet with two cells far apart.
"""

from __future__ import annotations

import html
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ingestion.domain import Block, BlockKind
from ingestion.errors import ParseLimitExceeded
from ingestion.files import filetypes

from .archive import UNREADABLE
from .limits import ParseLimits
from .office import DocumentReader, open_document, read_checked, read_metadata
from .protocol import Extraction, Source
from .sparse_sheets import without_gaps
from .tabular import has_header_row, lone_cell

if TYPE_CHECKING:
    import anydoc

Grid = list[list[str]]

_SHEET_LEVEL = 2
"""anydoc's own. Not 1: the name of an only sheet, mostly "Sheet1", is not the file's title."""
_NAMES_IN = {
    filetypes.XLSX: ("xl/workbook.xml", re.compile(rb'<(?:\w+:)?sheet\s[^>]*?\bname="([^"]*)"')),
    filetypes.ODS: ("content.xml", re.compile(rb'<table:table\s[^>]*?\btable:name="([^"]*)"')),
}


class SheetsParser:
    """Cells as they are shown. Empty rows and columns are left out; merged cells fill their first.

    Rows above the table that hold one cell (a title, a remark) become paragraphs.
    """

    name = "anydoc-sheets"

    def extract(self, source: Source) -> Extraction:
        document = _open(read_checked(source), source)
        reader = _SheetReader(document, source.limits)
        return Extraction(_named(reader.blocks(), source), read_metadata(source))


def _open(data: bytes, source: Source) -> anydoc.Document:
    if source.file_type == filetypes.XLSX:
        # A part that cannot be unpacked: anydoc says what is wrong with it.
        with suppress(*UNREADABLE):
            data = without_gaps(data)
    try:
        return open_document(data, source.file_type)
    except ParseLimitExceeded as error:
        raise _too_big(source) from error


def _too_big(source: Source) -> ParseLimitExceeded:
    return ParseLimitExceeded(
        f"This {source.file_type.label} has more cells than one file may have. Delete cells that "
        "stand far from the others, or save each sheet as a CSV file and upload those."
    )


class _SheetReader(DocumentReader):
    def __init__(self, document: anydoc.Document, limits: ParseLimits) -> None:
        super().__init__(document)
        self._limits = limits

    def table(self, table: anydoc.Table, depth: int) -> Iterator[Block]:
        rows = without_empty(
            [
                ["" if slot.cell is None else self.cell_text(slot.cell) for slot in row]
                for row in table.grid
            ]
        )
        width = max((len(row) for row in rows), default=0)
        if len(rows) > self._limits.table_rows or width > self._limits.table_columns:
            raise ParseLimitExceeded(
                f"A sheet of this workbook has {len(rows):,} rows and {width:,} columns. More "
                f"than {self._limits.table_rows:,} rows or {self._limits.table_columns:,} columns "
                "cannot be read: split it into several files."
            )
        first = 0
        while first < len(rows) and (text := lone_cell(rows[first])):
            yield Block(BlockKind.PARAGRAPH, text)
            first += 1
        body = without_empty(rows[first:])
        if body:
            yield Block.table(body, has_header=has_header_row(body))


def without_empty(grid: Sequence[Sequence[str]]) -> Grid:
    """The grid's rows and columns that hold any text, all rows of one width."""
    rows = [row for row in grid if any(cell.strip() for cell in row)]
    used = sorted({place for row in rows for place, cell in enumerate(row) if cell.strip()})
    return [[row[place] if place < len(row) else "" for place in used] for row in rows]


def _named(blocks: Iterator[Block], source: Source) -> Iterator[Block]:
    """The blocks, opened by the sheet's name where anydoc leaves it out: that of an only sheet."""
    first = next(blocks, None)
    if first is None:
        return
    if first.kind is not BlockKind.HEADING and (names := _sheet_names(source)):
        yield Block(BlockKind.HEADING, names[0], level=_SHEET_LEVEL)
    yield first
    yield from blocks


def _sheet_names(source: Source) -> list[str]:
    member, pattern = _NAMES_IN.get(source.file_type, ("", re.compile(b"$")))
    try:
        with zipfile.ZipFile(source.path) as archive:
            found: list[bytes] = pattern.findall(archive.read(member))
    except (KeyError, *UNREADABLE):
        return []
    return [html.unescape(name.decode("utf-8", "replace")) for name in found]


PARSER = SheetsParser()
