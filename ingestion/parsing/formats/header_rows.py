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
    """The table with the two rows of its header as one: "2023" above "Q1" as "2023 Q1".

    Unchanged if the second row is not one of labels. A label with one below it extends to the next
    one on its right.
    """
    if len(rows) < 3:
        return rows
    upper, lower, *body = rows
    labels: list[str] = []
    above, has_two = "", False
    for place, pair in enumerate(zip_longest(upper, lower, fillvalue="")):
        top, bottom = (cell.strip() for cell in pair)
        bottom = "" if bottom == top else bottom  # merged
        above = (top or above) if bottom else ""
        if not (_is_label(top) and _is_label(bottom)):
            return rows
        if bottom and above:
            if not holds_figures(body, place):
                return rows
            has_two = True
        labels.append(f"{above} {bottom}".strip() or top)
    is_header = has_two and all(labels[1:]) and len(set(labels)) == len(labels)
    return [labels, *body] if is_header else rows


def _is_label(cell: str) -> bool:
    return is_year(cell) or not is_number(cell)


def holds_figures(rows: Grid, place: int) -> bool:
    """Whether a column holds figures or dates; judged by the first rows."""
    cells = (row[place].strip() for row in rows[:SAMPLE_ROWS] if place < len(row))
    full = [cell for cell in cells if cell]
    return bool(full) and sum(map(is_number, full)) >= _NUMERIC_SHARE * len(full)
