"""Judgements as CSV (plain, and Quepid's); a line in any format is a JudgementRow, or a Problem."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

# A spreadsheet interprets a cell with this prefix as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class FormatError(ValueError):
    """A file does not have the chosen format."""


@dataclass(frozen=True, slots=True)
class JudgementRow:
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


def row_of(line: int, held: Mapping[str, str], *, plain: bool = True) -> JudgementRow | Problem:
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
    if number is not None and number not in (0, 1, 2, 3):  # nor infinity, nor not-a-number
        return Problem(line, f"the grade {given} is not one of 0, 1, 2 and 3.")
    return JudgementRow(
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


def numbered(rows: Sequence[JudgementRow]) -> dict[str, str]:
    """Numbers of the queries, by text. These formats have no collections: one text, one query."""
    texts = dict.fromkeys(" ".join(row.query.split()) for row in rows)
    return {text: str(number) for number, text in enumerate(texts, start=1)}


COLUMNS = (
    "query", "collections", "document", "title", "grade", "judge", "note", "must_be_first", "class",
)  # fmt: skip
_KNOWN = {*COLUMNS, "docid", "doc_id", "rating"}


def read_csv(data: bytes, queries: bytes | None = None) -> Iterator[JudgementRow | Problem]:
    """Columns by name, in any order; `query`, `document` and `grade` are required."""
    names, rows = _read_table(data)
    if missing := [name for name in ("query", "document", "grade") if name not in names]:
        raise FormatError(f"The header must name the columns: {', '.join(missing)} is missing.")
    for line, row in rows:
        yield row_of(line, row)


def read_quepid(data: bytes, queries: bytes | None = None) -> Iterator[JudgementRow | Problem]:
    """Quepid's basic export, `query,docid,rating`, or a book with one column per judge."""
    names, rows = _read_table(data)
    if "query" not in names or not {"docid", "doc_id"} & set(names):
        raise FormatError(
            "Not a judgement file of Quepid: its header must name query, docid and rating, or "
            "one column per judge."
        )
    document = "docid" if "docid" in names else "doc_id"
    judges = [name for name in names if name not in ("query", document)]
    for line, row in rows:
        given = {name: row.get(name, "").strip() for name in judges}
        if not any(given.values()):
            yield JudgementRow(line, without_mark(row.get("query", "")))
        for name, grade in given.items():
            if grade:
                judge = "" if name == "rating" else name
                held = {"query": row["query"], "document": row[document], "grade": grade}
                yield row_of(line, {**held, "judge": judge})


def write_csv(rows: Sequence[JudgementRow]) -> bytes:
    """All judgements of all people, with the fields of their queries."""
    return _csv(
        COLUMNS,
        (
            (
                row.query, " ".join(row.collections), row.document, row.title,
                "" if row.grade is None else row.grade, row.judge, row.note,
                "yes" if row.must_be_first else "", row.query_class,
            )
            for row in rows
        ),
    )  # fmt: skip


def write_quepid(rows: Sequence[JudgementRow]) -> bytes:
    """`query,docid,rating`, one rating per document."""
    given = ((row.query, row.document, row.grade) for row in rows if row.grade is not None)
    return _csv(("query", "docid", "rating"), given)


def _read_table(data: bytes) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """The names of the columns, and the rows as dictionaries with their line numbers."""
    text = decoded(data)
    first = text.partition("\n")[0]
    # Spreadsheets use semicolons in locales with a decimal comma.
    delimiter = ";" if first.count(";") > first.count(",") else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    lines = _readable(reader)
    names = [name.strip() for name in next(lines, [])]
    folded = [name.lower() if name.lower() in _KNOWN else name for name in names]

    def rows() -> Iterator[tuple[int, dict[str, str]]]:
        for values in lines:
            if any(value.strip() for value in values):
                padded = [*values, *[""] * (len(folded) - len(values))]
                yield reader.line_num, dict(zip(folded, padded, strict=False))

    return folded, rows()


def _readable(lines: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        yield from lines
    except csv.Error as error:
        raise FormatError(f"The table cannot be read: {error}.") from error


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows([with_mark(cell) for cell in row] for row in rows)
    return out.getvalue().encode()
