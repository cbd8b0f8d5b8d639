"""An XLSX whose cells stand far apart -> the same cells without the gaps between them.

Its readers make a grid of all positions up to the last cell: one stray cell in the last corner
of a sheet asks for 17 billion.
"""

from __future__ import annotations

import io
import re
import zipfile
from bisect import bisect_left

_CELL = re.compile(rb'<c\s(?P<before>[^>]*?)\br="(?P<column>[A-Z]{1,3})(?P<row>\d{1,7})"')
_EMPTY_CELL = re.compile(rb"<c\s[^>]*/>|<c\s[^>]*></c>")
_ROW = re.compile(rb'(<row\s(?:[^>]*?\s)?r=")(\d{1,7})"')
# Both name positions that are no longer true. Merged cells keep their text, not their extent.
_REFERENCES = re.compile(rb"<dimension\s[^>]*>|<mergeCells\b.*?</mergeCells>", re.DOTALL)
# Guesses: a grid of the first size costs 0.3 s; beyond it one position in ten should be used.
_DENSE_POSITIONS = 200_000
_SPARSE_FACTOR = 10


def without_gaps(data: bytes) -> bytes:
    """The workbook with the rows and columns of sparse sheets counted without unused ones.

    Unchanged where no sheet is sparse. The container has passed `check_archive`; raises what
    `archive.UNREADABLE` lists.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        closed = {
            name: sheet
            for name in archive.namelist()
            if name.startswith("xl/worksheets/") and name.endswith(".xml")
            if (sheet := _closed_up(archive.read(name))) is not None
        }
        if not closed:
            return data
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as copy:
            for name in archive.namelist():
                copy.writestr(name, closed.get(name) or archive.read(name))
    return out.getvalue()


def _closed_up(sheet: bytes) -> bytes | None:
    """The sheet without gaps; None where they are small or few."""
    rows, columns, cells = _used(sheet)
    if max(rows, default=0) * max(map(_number, columns), default=0) <= max(
        _DENSE_POSITIONS, _SPARSE_FACTOR * cells
    ):
        return None
    sheet = _EMPTY_CELL.sub(b"", _REFERENCES.sub(b"", sheet))
    rows, columns, _ = _used(sheet)
    in_order = sorted(rows)
    row_of = {row: number for number, row in enumerate(in_order, 1)}
    column_of = {
        name: _letters(number) for number, name in enumerate(sorted(columns, key=_number), 1)
    }

    def moved_cell(match: re.Match[bytes]) -> bytes:
        place = b"%s%d" % (column_of[match["column"]], row_of[int(match["row"])])
        return b'<c %sr="%s"' % (match["before"], place)

    def moved_row(match: re.Match[bytes]) -> bytes:
        return b'%s%d"' % (match[1], bisect_left(in_order, int(match[2])) + 1)

    return _ROW.sub(moved_row, _CELL.sub(moved_cell, sheet))


def _used(sheet: bytes) -> tuple[set[int], set[bytes], int]:
    """The rows and columns in which cells stand, and how many cells do."""
    rows: set[int] = set()
    columns: set[bytes] = set()
    count = 0
    for match in _CELL.finditer(sheet):
        count += 1
        rows.add(int(match["row"]))
        columns.add(match["column"])
    return rows, columns, count


def _number(column: bytes) -> int:
    """A column's number: 1 for A, 27 for AA."""
    number = 0
    for letter in column:
        number = number * 26 + letter - ord("A") + 1
    return number


def _letters(number: int) -> bytes:
    """A column's name: A for 1, AA for 27."""
    name = b""
    while number:
        number, letter = divmod(number - 1, 26)
        name = b"%c" % (ord("A") + letter) + name
    return name
