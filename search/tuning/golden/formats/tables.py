"""CSV: plain CSV with all fields, and Quepid's."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from search.tuning.golden.formats.rows import (
    FormatError,
    Problem,
    Row,
    decoded,
    row_of,
    with_mark,
    without_mark,
)

COLUMNS = (
    "query", "collections", "document", "title", "grade", "judge", "note", "must_be_first", "class",
)  # fmt: skip
_KNOWN = {*COLUMNS, "docid", "doc_id", "rating"}


def read_csv(data: bytes, queries: bytes | None = None) -> Iterator[Row | Problem]:
    """Columns by name, in any order; `query`, `document` and `grade` are required."""
    names, rows = _read_table(data)
    if missing := [name for name in ("query", "document", "grade") if name not in names]:
        raise FormatError(f"The header must name the columns: {', '.join(missing)} is missing.")
    for line, row in rows:
        yield row_of(line, row)


def read_quepid(data: bytes, queries: bytes | None = None) -> Iterator[Row | Problem]:
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
            yield Row(line, without_mark(row.get("query", "")))
        for name, grade in given.items():
            if grade:
                judge = "" if name == "rating" else name
                held = {"query": row["query"], "document": row[document], "grade": grade}
                yield row_of(line, {**held, "judge": judge})


def write_csv(rows: Sequence[Row]) -> bytes:
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


def write_quepid(rows: Sequence[Row]) -> bytes:
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
    names = [name.strip() for name in next(reader, [])]
    folded = [name.lower() if name.lower() in _KNOWN else name for name in names]

    def rows() -> Iterator[tuple[int, dict[str, str]]]:
        for values in reader:
            if any(value.strip() for value in values):
                padded = [*values, *[""] * (len(folded) - len(values))]
                yield reader.line_num, dict(zip(folded, padded, strict=False))

    return folded, rows()


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows([with_mark(cell) for cell in row] for row in rows)
    return out.getvalue().encode()
