"""The cells of a sheet or a CSV -> its tables, each with its own header, and lines of text.

A sheet may hold several tables, one above the other or side by side. Empty rows and columns part
them; but a table may have some within it, and then its rows belong together.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from ingestion.domain import Block, BlockKind
from ingestion.parsing.formats.header_rows import (
    SAMPLE_ROWS,
    Grid,
    Row,
    has_header_row,
    holds_figures,
    lone_cell,
    with_one_header,
)

# Guesses.
_WIDE_GAP = 2  # empty rows or columns; within a table they are mostly single
_MOST_KEY_LINES = 30


def tables_in(grid: Grid) -> Iterator[Block]:
    """The tables in reading order; lines of one cell, or of a key and a value, as paragraphs."""
    for region in _stacked(grid):
        parts = _side_by_side(region)
        tables = parts if len(parts) == 1 else [one for part in parts for one in _stacked(part)]
        for table in tables:
            yield from _blocks(without_empty(table))


def without_empty(grid: Grid) -> list[list[str]]:
    """The grid without empty rows and columns."""
    rows = [row for row in grid if _is_full(row)]
    columns = _columns(rows)
    return [[row[place] for place in columns if place < len(row)] for row in rows]


def _is_full(row: Row) -> bool:
    return any(cell.strip() for cell in row)


def _is_row(row: Row) -> bool:
    """Whether the row has two cells or more; one is a title, a remark or a subtotal."""
    return sum(1 for cell in row if cell.strip()) > 1


def _is_line(row: Row) -> bool:
    return sum(1 for cell in row if cell.strip()) == 1


def _columns(rows: Grid) -> list[int]:
    """The places of the columns that are not empty, in order."""
    width = max(map(len, rows), default=0)
    empty = set(range(width))
    for row in rows:
        empty -= {place for place in empty if row[place : place + 1] and row[place].strip()}
        if not empty:
            break
    return [place for place in range(width) if place not in empty]


def _stacked(grid: Grid) -> Iterator[Grid]:
    """The parts of the grid one above the other: a table, or several side by side."""
    current: list[Row] = []
    lines: list[Row] = []  # of one cell: they name the next table, or are within this one
    gap = 0
    for is_full, group in groupby(grid, _is_full):
        rows = list(group)
        if not is_full:
            gap = len(rows)
        elif all(map(_is_line, rows)):
            lines += rows
        elif current and _begins_table(rows, current, gap, is_named=bool(lines)):
            yield current
            current, lines = [*lines, *rows], []
        else:
            current += [*lines, *rows]
            lines = []
    if current or lines:
        yield [*current, *lines]


def _begins_table(rows: Grid, before: Grid, gap: int, *, is_named: bool) -> bool:
    """Whether the rows after a gap are a table of their own, and do not continue the one before."""
    if len(rows) < 2:
        return False
    body = _below_lines(rows)
    table = with_one_header(without_empty(body))
    if len(table) < 2 or not has_header_row(table):
        return False
    if gap >= _WIDE_GAP or is_named or len(body) < len(rows):
        return True
    before, columns = before[:SAMPLE_ROWS], _columns(rows)
    figures = [holds_figures(body[1:], place) for place in columns]
    earlier = [holds_figures(before[1:], place) for place in columns]
    return any(figures) or figures != earlier or not set(columns) <= set(_columns(before))


def _side_by_side(grid: Grid) -> list[Grid]:
    """The parts of the grid with empty columns between them; the grid alone if it is one table.

    Parts of at least two columns, each with a header, are tables of their own if their rows differ
    in number or place, if they have a label in common, or if they are far apart.
    """
    used = _columns(grid)
    full = set(used)
    starts = [place for place in used if place - 1 not in full]
    if len(starts) < 2:
        return [grid]
    ends = [place + 1 for place in used if place + 1 not in full]
    spans = zip(starts, ends, strict=True)
    parts: list[Grid] = [[row[start:end] for row in grid] for start, end in spans]
    tables = [with_one_header(without_empty(_below_lines(part))) for part in parts]
    if not all(table and len(table[0]) > 1 and has_header_row(table) for table in tables):
        return [grid]
    places = {tuple(place for place, row in enumerate(part) if _is_row(row)) for part in parts}
    labels = [label for table in tables for label in table[0]]
    is_far = all(start - end >= _WIDE_GAP for start, end in zip(starts[1:], ends, strict=False))
    return parts if is_far or len(places) > 1 or len(set(labels)) < len(labels) else [grid]


def _below_lines(grid: Grid) -> Grid:
    """The grid without the lines of one cell at its beginning."""
    first = next(
        (place for place, row in enumerate(grid) if _is_full(row) and not _is_line(row)), 0
    )
    return grid[first:]


def _blocks(rows: Grid) -> Iterator[Block]:
    """The lines above a table's header, and the table."""
    # "Stanley Cups,," above the header row is the table's title.
    first = next((n for n, row in enumerate(rows) if not lone_cell(row)), len(rows))
    last = next((n for n, row in enumerate(rows) if _is_row(row)), first)
    if last > first and has_header_row(with_one_header(without_empty(rows[last:]))):
        first = last
    yield from (Block(BlockKind.PARAGRAPH, "".join(row).strip()) for row in rows[:first])
    rows = without_empty(rows[first:]) if first else rows
    count = _key_lines(rows)
    for row in rows[:count]:
        key, value = row[0].strip().rstrip(":"), " ".join(row[1:2]).strip()
        yield Block(BlockKind.PARAGRAPH, f"{key}: {value}" if value else key)
    table = with_one_header(without_empty(rows[count:]) if count else rows)
    if table:
        yield Block.table(table, has_header=has_header_row(table))


def _key_lines(rows: Grid) -> int:
    """The number of lines above the header of only a key and a value each: "Created; 5 May"."""
    count = next((n for n, row in enumerate(rows) if not row[0].strip() or _is_full(row[2:])), 0)
    if not 0 < count <= _MOST_KEY_LINES or not rows[count][0].strip():
        return 0
    table = with_one_header(without_empty(rows[count:]))
    is_wide = all(sum(bool(cell.strip()) for cell in row) > 2 for row in table[:2])
    return count if is_wide and has_header_row(table) else 0
