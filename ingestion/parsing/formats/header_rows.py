"""The rows of a table that name its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

Row = Sequence[str]
Grid = Sequence[Row]

# Guesses.
SAMPLE_ROWS = 200
_LONGEST_HEADER = 60
_NUMERIC_SHARE = 0.8  # of a column's cells
_NUMBER = re.compile(r"[-+(]?[^\w\s]?\s?\d[\d.,:/\s-]*[^\w\s]?\)?")
_DATE = re.compile(r"\d{1,2}\.? [^\W\d_]{3,}\.? \d{4}")
_YEAR = re.compile(r"(?:19|20)\d\d")


def has_header_row(rows: Grid) -> bool:
    """Whether the first row names the columns: short distinct labels, none of them a number.

    Years are accepted above figures, and the corner above row names may be empty.
    """
    if len(rows) < 2:
        return False
    first = [cell.strip() for cell in rows[0]]
    has_corner = len(first) > 2 and not first[0] and bool("".join(rows[1][:1]).strip())
    labels = first[1:] if has_corner else first
    years = _years(first)
    if len(years) > 1 and not _years(rows[1]):
        labels = [label for label in labels if label not in years]
    return (
        len(first) > 1
        and all(labels)
        and len(set(labels)) == len(labels)
        and all(is_short(cell) and not is_number(cell) for cell in labels)
    )


def is_short(cell: str) -> bool:
    """Whether the cell may be a name of columns or rows."""
    return len(cell) <= _LONGEST_HEADER


def is_number(cell: str) -> bool:
    """Whether the cell, without spaces around it, is a figure, an amount or a date."""
    return bool(_NUMBER.fullmatch(cell) or _DATE.fullmatch(cell))


def is_year(cell: str) -> bool:
    return _YEAR.fullmatch(cell) is not None


def _years(row: Row) -> set[str]:
    return {cell.strip() for cell in row if is_year(cell.strip())}


def lone_cell(row: Row) -> str:
    """The row's first cell if it is the only non-empty one; else empty."""
    return row[0].strip() if row and not any(cell.strip() for cell in row[1:]) else ""


def with_one_header(rows: Grid) -> Grid:
    """The table with the two or three rows of its header as one: "2023" above "Q1" as "2023 Q1".

    Unchanged if those rows are not of labels. A label with one below it extends to the next one on
    its right.
    """
    for height in (3, 2):
        if len(rows) > height and (labels := _joined(rows[:height], rows[height:])):
            return [labels, *rows[height:]]
    return rows


def _joined(head: Grid, body: Grid) -> list[str]:
    """The labels of a header of several rows in one; none if it is no such header."""
    labels, has_two = [*head[0]], False
    for row in head[1:]:
        above, joined = "", list[str]()
        for place, pair in enumerate(zip_longest(labels, row, fillvalue="")):
            top, bottom = (cell.strip() for cell in pair)
            bottom = "" if top.endswith(bottom) else bottom  # merged
            above = (top or above) if bottom else ""
            is_below = bool(bottom and above)
            if not (_is_label(top) and _is_label(bottom)) or (
                is_below and not holds_figures(body, place)
            ):
                return []
            has_two = has_two or is_below
            joined.append(f"{above} {bottom}".strip() or top)
        labels = joined
    return labels if has_two and all(labels[1:]) and len(set(labels)) == len(labels) else []


def _is_label(cell: str) -> bool:
    return is_year(cell) or not is_number(cell)


def holds_figures(rows: Grid, place: int) -> bool:
    """Whether a column holds figures or dates; judged by the first rows."""
    cells = (row[place].strip() for row in rows[:SAMPLE_ROWS] if place < len(row))
    full = [cell for cell in cells if cell]
    return bool(full) and sum(map(is_number, full)) >= _NUMERIC_SHARE * len(full)
