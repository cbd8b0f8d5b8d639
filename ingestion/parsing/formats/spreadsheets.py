"""Workbooks (XLSX, XLS, ODS) -> Blocks, by anydoc.

A sheet is a heading and a table; openpyxl was tried and takes 2 GB on one with two cells far apart.
"""

from __future__ import annotations

import re
import zipfile
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ingestion.domain import Block, BlockKind
from ingestion.errors import ParseLimitExceeded
from ingestion.files import filetypes
from ingestion.parsing.formats import office_counts, word_documents, xlsx_formats, xlsx_repair
from ingestion.parsing.formats.asides import with_asides
from ingestion.parsing.formats.header_rows import is_short
from ingestion.parsing.formats.odf_repair import drawn_on, margin_texts, with_comments
from ingestion.parsing.formats.office_counts import column_number
from ingestion.parsing.formats.ooxml import changed
from ingestion.parsing.formats.table_regions import tables_in, without_empty
from ingestion.parsing.formats.xls_texts import texts_of
from ingestion.parsing.formats.zip_safety import UNREADABLE
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import Extraction, Source

if TYPE_CHECKING:
    import anydoc


_SHEETS = re.compile(r"xl/worksheets/.*\.xml")
_TEXTS = re.compile(r"xl/(?:sharedStrings|styles|worksheets/[^/]+)\.xml")
_CONTENT = re.compile(r"content\.xml")
_SHEET_LEVEL = 2
"""As in anydoc. Not 1: a single sheet's name, mostly "Sheet1", is not the file's title."""

_CELL = re.compile(rb'<c\s(?P<before>[^>]*?)\br="(?P<column>[A-Z]{1,3})(?P<row>\d{1,7})"')
_EMPTY_CELL = re.compile(rb"<c\s[^>]*/>|<c\s[^>]*></c>")
_ROW = re.compile(rb'(<row\s(?:[^>]*?\s)?r=")(\d{1,7})"')
# Both refer to positions that change. Merged cells keep their text but not their extent.
_REFERENCES = re.compile(rb"<dimension\s[^>]*>|<mergeCells\b.*?</mergeCells>", re.DOTALL)
# Guesses: a grid of the first size takes 0.3 s; in larger ones a tenth should be used.
_DENSE_POSITIONS = 200_000
_SPARSE_FACTOR = 10
_LONGEST_GAP = 2  # empty rows or columns part tables


class SheetsParser:
    """Cells as displayed, in tables; short merged cells fill their rows."""

    name = "anydoc-sheets"

    def extract(self, source: Source) -> Extraction:
        data = word_documents.read_checked(source)
        # If a member cannot be unpacked, anydoc reports it.
        with suppress(*UNREADABLE):
            data = _repaired(data, source.file_type)
        document = _open(data, source)
        reader = _SheetReader(document, source.limits)
        completeness = office_counts.workbook(source)
        blocks = office_counts.counted_cells(reader.blocks(), completeness)
        blocks = _commented(with_asides(_named(blocks, source)), source)
        return Extraction(blocks, word_documents.read_metadata(source), completeness=completeness)


def _repaired(data: bytes, file_type: filetypes.FileType) -> bytes:
    """The workbook without gaps, with raised text, symbols and amounts as they are shown.

    Raises the errors in `zip_safety.UNREADABLE`.
    """
    if file_type == filetypes.XLSX:
        return changed(
            without_gaps(data),
            _TEXTS,
            lambda part: xlsx_formats.repaired(xlsx_repair.repaired(part)),
        )
    if file_type == filetypes.ODS:
        return changed(data, _CONTENT, lambda part: with_comments(part, b"<text:p>%s</text:p>"))
    return data


def _commented(blocks: Iterator[Block], source: Source) -> Iterator[Block]:
    """The blocks, with the comments on the cells of a sheet and its drawn texts after it."""
    comments: dict[str, list[str]] = {}
    if source.file_type == filetypes.XLS:
        comments |= texts_of(source.path)
    else:
        with zipfile.ZipFile(source.path) as archive:
            for sheet in office_counts.members(source):
                if not sheet.path:
                    comments[sheet.name] = [*drawn_on(archive, sheet.content)]
                elif not sheet.is_hidden:
                    comments[sheet.name] = [
                        *xlsx_repair.comments_on(archive, sheet.path),
                        *xlsx_repair.drawn_on(archive, sheet.path),
                    ]
            comments["\0"] = margin_texts(archive)
    name = ""
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            yield from _paragraphs(comments.pop(name, []))
            name = block.text
        yield block
    yield from _paragraphs(comment for each in comments.values() for comment in each)


def _paragraphs(texts: Iterable[str]) -> Iterator[Block]:
    return (Block(BlockKind.PARAGRAPH, text) for text in texts if text)


def _open(data: bytes, source: Source) -> anydoc.Document:
    try:
        return word_documents.open_document(data, source.file_type)
    except ParseLimitExceeded as error:
        raise ParseLimitExceeded(
            f"This {source.file_type.label} has more cells than are allowed for one file. Delete "
            "cells far from the others, or save each sheet as a CSV file and upload those."
        ) from error


class _SheetReader(word_documents.DocumentReader):
    def __init__(self, document: anydoc.Document, limits: ParseLimits) -> None:
        super().__init__(document)
        self._limits = limits

    def table(self, table: anydoc.Table, depth: int) -> Iterator[Block]:
        widest = max(map(len, table.grid), default=0)
        rows = [
            ["" if slot.cell is None else self.cell_text(slot.cell) for slot in row]
            + [""] * (widest - len(row))
            for row in table.grid
        ]
        _repeat_merged(table, rows)
        full = without_empty(rows)
        self._limits.check_table(len(full), max(map(len, full), default=0))
        yield from tables_in(rows)


def _repeat_merged(table: anydoc.Table, rows: list[list[str]]) -> None:
    """Give each row the short texts of its cells that are merged with those above."""
    for place, slots in enumerate(table.grid):
        for column, slot in enumerate(slots):
            if slot.cell is None and (slot.origin_row or 0) < place and slot.origin_col == column:
                text = rows[slot.origin_row or 0][column]
                rows[place][column] = text if is_short(text) else ""


def _named(blocks: Iterator[Block], source: Source) -> Iterator[Block]:
    """The blocks, preceded by the sheet's name if anydoc omits it, as for a single sheet."""
    first = next(blocks, None)
    if first is None:
        return
    sheet = next(office_counts.members(source), None)
    if first.kind is not BlockKind.HEADING and sheet:
        yield Block(BlockKind.HEADING, sheet.name, level=_SHEET_LEVEL)
    yield first
    yield from blocks


def without_gaps(data: bytes) -> bytes:
    """The workbook with sparse sheets renumbered to leave out unused rows and columns.

    Unchanged if no sheet is sparse. Readers allocate a grid up to the last cell: one stray cell in
    the last corner of a sheet would take 17 billion positions. The container must have passed
    `check_archive`; raises the errors in `zip_safety.UNREADABLE`.
    """
    return changed(data, _SHEETS, _closed_up)


def _closed_up(sheet: bytes) -> bytes:
    """The sheet without gaps, if it is sparse."""
    rows, columns, cells = _used(sheet)
    positions = max(rows, default=0) * max(map(column_number, columns), default=0)
    if positions <= max(_DENSE_POSITIONS, _SPARSE_FACTOR * cells):
        return sheet
    sheet = _EMPTY_CELL.sub(b"", _REFERENCES.sub(b"", sheet))
    rows, columns, _ = _used(sheet)
    in_order = sorted(rows)
    row_of = _renumbered(in_order)
    column_of = _renumbered(sorted(map(column_number, columns)))

    def moved_cell(match: re.Match[bytes]) -> bytes:
        column = _letters(column_of[column_number(match["column"])])
        place = b"%s%d" % (column, row_of[int(match["row"])])
        return b'<c %sr="%s"' % (match["before"], place)

    def moved_row(match: re.Match[bytes]) -> bytes:
        place = bisect_left(in_order, int(match[2]))
        following = in_order[place] if place < len(in_order) else in_order[-1]
        return b'%s%d"' % (match[1], row_of[following])

    return _ROW.sub(moved_row, _CELL.sub(moved_cell, sheet))


def _renumbered(used: Sequence[int]) -> dict[int, int]:
    """New numbers for used rows or columns, with at most _LONGEST_GAP empty ones between them."""
    numbers: dict[int, int] = {}
    last = number = 0
    for each in used:
        number += min(each - last, _LONGEST_GAP + 1)
        numbers[each] = number
        last = each
    return numbers


def _used(sheet: bytes) -> tuple[set[int], set[bytes], int]:
    """The used rows and columns, and the number of cells."""
    cells = [(int(match["row"]), match["column"]) for match in _CELL.finditer(sheet)]
    return {row for row, _ in cells}, {column for _, column in cells}, len(cells)


def _letters(number: int) -> bytes:
    """A column's name: A for 1, AA for 27."""
    name = b""
    while number:
        number, letter = divmod(number - 1, 26)
        name = b"%c" % (ord("A") + letter) + name
    return name


SHEETS = SheetsParser()
