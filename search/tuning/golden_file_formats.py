"""File formats of judgements: CSV, and BEIR's folder as a ZIP. Pure: bytes <-> rows.

Reading does not stop at a bad line: it becomes a Problem with its number. Documents keep the names
used in the file; `golden_import_export` looks them up.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from search.errors import JudgementError
from search.tuning.evaluation.beir import objects_of

# A spreadsheet interprets a cell with this prefix as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
MAX_UNPACKED = 200 * 1024 * 1024


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


def row_of(line: int, fields: Mapping[str, str], *, plain: bool = True) -> JudgementRow | Problem:
    """The judgement in a line's cells, or the problem with it.

    With `plain`, cells may have the prefix that keeps spreadsheets from reading a formula.
    """
    clean = without_mark if plain else str.strip
    query = clean(fields.get("query", ""))
    if not query:
        return Problem(line, "the query is empty.")
    value = fields.get("grade", "").strip()
    try:
        number = float(value) if value else None
    except ValueError:
        return Problem(line, f"the grade {value!r} is not a number.")
    if number is not None and number not in (0, 1, 2, 3):  # nor infinity, nor not-a-number
        return Problem(line, f"the grade {value} is not one of 0, 1, 2 and 3.")
    return JudgementRow(
        line,
        query,
        clean(fields.get("document", "")),
        None if number is None else int(number),
        tuple(sorted(set(fields.get("collections", "").split()))),
        clean(fields.get("judge", "")),
        clean(fields.get("note", "")),
        fields.get("must_be_first", "").strip().lower() in {"yes", "true", "1", "x"},
        fields.get("class", "").strip().lower(),
    )


def decoded(data: bytes) -> str:
    """The file's text. Raises JudgementError unless it is UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise JudgementError(
            "The file is not UTF-8 text. Save it as UTF-8 and try again."
        ) from error


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


def read_csv(data: bytes, queries: bytes | None = None) -> Iterator[JudgementRow | Problem]:
    """Columns by name, in any order; `query`, `document` and `grade` are required."""
    text = decoded(data)
    first = text.partition("\n")[0]
    # Spreadsheets use semicolons in locales with a decimal comma.
    delimiter = ";" if first.count(";") > first.count(",") else ","
    lines = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval="")
    try:
        names = [name.strip().lower() for name in lines.fieldnames or ()]
        if missing := [name for name in ("query", "document", "grade") if name not in names]:
            text = f"The header must name the columns: {', '.join(missing)} is missing."
            raise JudgementError(text)
        lines.fieldnames = names
        for row in lines:
            if any(row[name].strip() for name in names):
                yield row_of(lines.line_num, row)
    except csv.Error as error:
        raise JudgementError(f"The table cannot be read: {error}.") from error


def write_csv(rows: Sequence[JudgementRow]) -> bytes:
    """All judgements of all people, with the fields of their queries."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in rows:
        cells = (
            row.query, " ".join(row.collections), row.document, row.title,
            "" if row.grade is None else row.grade, row.judge, row.note,
            "yes" if row.must_be_first else "", row.query_class,
        )  # fmt: skip
        writer.writerow([with_mark(cell) for cell in cells])
    return out.getvalue().encode()


def zipped(files: Mapping[str, str]) -> bytes:
    """A ZIP of the texts, given by file name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            # Without a timestamp: the same judgements give the same bytes.
            archive.writestr(zipfile.ZipInfo(name), text)
    return out.getvalue()


def unzipped(data: bytes) -> dict[str, bytes]:
    """The files of a ZIP by path. Raises JudgementError if it is broken, encrypted or too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = [entry for entry in archive.infolist() if not entry.is_dir()]
            if sum(entry.file_size for entry in files) > MAX_UNPACKED:
                raise JudgementError("The ZIP is too large: it exceeds 200 MB when unpacked.")
            return {entry.filename: archive.read(entry) for entry in files}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise JudgementError(
            "The ZIP cannot be read. Create it again, without a password."
        ) from error


def file_named(files: Mapping[str, bytes], *names: str) -> bytes:
    """The file whose path contains one of `names`; the test set if there are several.

    Raises JudgementError if there is none.
    """
    fitting = [path for path in files if any(name in path.lower() for name in names)]
    best = sorted(fitting, key=lambda path: ("test" not in path, path))
    if not best:
        raise JudgementError(f"The ZIP contains no file whose name includes {' or '.join(names)}.")
    return files[best[0]]


def read_beir(data: bytes, queries: bytes | None = None) -> Iterator[JudgementRow | Problem]:
    """`queries.jsonl` and `qrels.tsv` (or `qrels/test.tsv`) in a ZIP, or two files."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        files = unzipped(data)
        data, queries = file_named(files, "qrels"), file_named(files, "queries.jsonl")
    if queries is None:
        raise JudgementError(
            "BEIR's qrels.tsv refers to queries by id: provide queries.jsonl as well."
        )
    rows = objects_of(decoded(queries).splitlines(), "the queries", "text")
    texts = {str(row["_id"]): str(row["text"]) for row in rows}
    for line, row in enumerate(csv.reader(io.StringIO(decoded(data)), delimiter="\t"), start=1):
        if not row or (line == 1 and row[-1].strip() == "score"):
            continue
        if len(row) != 3:
            yield Problem(line, "expected three columns: query, document, grade.")
        elif row[0] not in texts:
            yield Problem(line, f"query {row[0]} is not in the file of queries.")
        else:
            fields = {"query": texts[row[0]], "document": row[1], "grade": row[2]}
            yield row_of(line, fields, plain=False)


def write_beir(rows: Sequence[JudgementRow]) -> bytes:
    """A ZIP of `queries.jsonl` and `qrels.tsv`."""
    numbers = numbered(rows)
    lines = (json.dumps({"_id": number, "text": text}) + "\n" for text, number in numbers.items())
    qrels = "".join(
        f"{numbers[row.query]}\t{row.document}\t{row.grade}\n"
        for row in rows
        if row.grade is not None
    )
    header = "query-id\tcorpus-id\tscore\n"
    return zipped({"queries.jsonl": "".join(lines), "qrels.tsv": header + qrels})


@dataclass(frozen=True, slots=True)
class Format:
    """A file format. `read` takes the file and, for BEIR, the file of queries."""

    label: str
    read: Callable[[bytes, bytes | None], Iterator[JudgementRow | Problem]]
    write: Callable[[Sequence[JudgementRow]], bytes]
    file_name: str
    media_type: str


FORMATS: Mapping[str, Format] = {
    "csv": Format("CSV", read_csv, write_csv, "judgements.csv", "text/csv"),
    "beir": Format("BEIR (ZIP)", read_beir, write_beir, "beir.zip", "application/zip"),
}
