"""A line of a judgement file in any format: a Row, or a Problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# A spreadsheet interprets a cell with this prefix as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class FormatError(ValueError):
    """A file does not have the chosen format."""


@dataclass(frozen=True, slots=True)
class Row:
    """A judgement in a file. Without a `grade`, the line is about the query only.

    `query` is its text and `document` any name of the document; `line` counts from 1.
    """

    line: int
    query: str
    document: str = ""
    grade: int | None = None
    collections: tuple[str, ...] = ()
    judge: str = ""
    note: str = ""
    must_be_first: bool = False
    query_class: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A rejected line with the reason."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"Line {self.line}: {self.text}"


def row_of(line: int, held: Mapping[str, str], *, plain: bool = True) -> Row | Problem:
    """The judgement in a line's cells, or the problem with it.

    With `plain`, cells may have the prefix that keeps spreadsheets from reading a formula.
    """
    clean = without_mark if plain else str.strip
    query = clean(held.get("query", ""))
    if not query:
        return Problem(line, "the query is empty.")
    given = held.get("grade", "").strip()
    try:
        number = float(given) if given else None
    except ValueError:
        return Problem(line, f"the grade {given!r} is not a number.")
    if number is not None and (number != int(number) or not 0 <= number <= 3):
        return Problem(line, f"the grade {given} is not one of 0, 1, 2 and 3.")
    return Row(
        line,
        query,
        clean(held.get("document", "")),
        None if number is None else int(number),
        tuple(sorted(set(held.get("collections", "").split()))),
        clean(held.get("judge", "")),
        clean(held.get("note", "")),
        held.get("must_be_first", "").strip().lower() in {"yes", "true", "1", "x"},
        held.get("class", "").strip().lower(),
    )


def decoded(data: bytes) -> str:
    """The file's text. Raises FormatError unless it is UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError("The file is not UTF-8 text. Save it as UTF-8 and try again.") from error


def with_mark(cell: object) -> object:
    """The cell, marked as text if a spreadsheet would interpret it as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def without_mark(cell: str) -> str:
    """The cell before `with_mark`."""
    stripped = cell.strip()
    return stripped[1:] if stripped[:1] == "'" and stripped[1:2] in _FORMULA else stripped


def numbered(rows: Sequence[Row]) -> dict[str, str]:
    """Numbers of the queries, by text. These formats have no collections: one text, one query."""
    texts = dict.fromkeys(" ".join(row.query.split()) for row in rows)
    return {text: str(number) for number, text in enumerate(texts, start=1)}
