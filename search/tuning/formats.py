"""W: judgements as files: TREC, BEIR, Quepid's CSV, plain CSV. Pure: bytes <-> rows.

Reading never stops at a bad line: each becomes a Problem with its number. Documents are named as
the file names them; `exchange` looks them up.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

MAX_UNPACKED = 200 * 1024 * 1024
# A spreadsheet takes a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
COLUMNS = (
    "query", "collections", "document", "title", "grade", "judge", "note", "must_be_first", "class",
)  # fmt: skip


class FormatError(ValueError):
    """A file is not of the format that it was said to be."""


@dataclass(frozen=True, slots=True)
class Row:
    """A judgement as a file has it. `grade` None: the line is about the query alone.

    `query` is its text and `document` whatever names it; `line` counts from 1.
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
    """A line that was not taken, and why."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"Line {self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class Format:
    """A file format by its name. `read` takes the file and, if it has one, the queries' file."""

    label: str
    read: Callable[[bytes, bytes | None], Iterator[Row | Problem]]
    write: Callable[[Sequence[Row]], bytes]
    file_name: str
    media_type: str


# --- plain CSV and Quepid's ------------------------------------------------------------------


def read_csv(data: bytes, queries: bytes | None = None) -> Iterator[Row | Problem]:
    """Columns by name, in any order: `query`, `document` and `grade` are needed."""
    yield from _table(data, needed=("query", "document", "grade"))


def read_quepid(data: bytes, queries: bytes | None = None) -> Iterator[Row | Problem]:
    """Quepid's basic export, `query,docid,rating`, or a book's: a column for each judge."""
    names, rows = _read_table(data)
    if "query" not in names or not {"docid", "doc_id"} & set(names):
        raise FormatError(
            "This is no judgement file of Quepid's: its first line must name query, docid and "
            "rating, or a column for each judge."
        )
    document = "docid" if "docid" in names else "doc_id"
    judges = [name for name in names if name not in ("query", document)]
    for line, row in rows:
        given = {name: row.get(name, "").strip() for name in judges}
        if not any(given.values()):
            yield Row(line, _plain(row.get("query", "")))
        for name, grade in given.items():
            if grade:
                judge = "" if name == "rating" else name
                held = {"query": row["query"], "document": row[document], "grade": grade}
                yield _row(line, {**held, "judge": judge})


def write_csv(rows: Sequence[Row]) -> bytes:
    """Every person's judgement, with all that is known of its query."""
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
    """`query,docid,rating`, one rating a document."""
    given = ((row.query, row.document, row.grade) for row in rows if row.grade is not None)
    return _csv(("query", "docid", "rating"), given)


# --- TREC ------------------------------------------------------------------------------------


def read_trec(data: bytes, queries: bytes | None = None) -> Iterator[Row | Problem]:
    """Qrels `topic iteration document grade` beside topics; both in a ZIP, or two files."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        files = _unzipped(data)
        data, queries = _one(files, "qrels"), _one(files, "topic", "quer")
    if queries is None:
        raise FormatError("TREC's qrels name their queries by number: give the topics as well.")
    texts = _topics(_text(queries))
    for line, parts in enumerate(map(str.split, _text(data).splitlines()), start=1):
        if not parts:
            continue
        if len(parts) != 4:
            yield Problem(line, "it does not have four parts: topic, iteration, document, grade.")
        elif parts[0] not in texts:
            yield Problem(line, f"topic {parts[0]} is not among the topics.")
        else:
            held = {"query": texts[parts[0]], "document": parts[2], "grade": parts[3]}
            yield _row(line, held, plain=False)


def write_trec(rows: Sequence[Row]) -> bytes:
    """A ZIP of `qrels.txt` and `topics.tsv`."""
    numbers = _numbered(rows)
    qrels = "".join(
        f"{numbers[row.query]} 0 {row.document} {row.grade}\n"
        for row in rows
        if row.grade is not None
    )
    topics = "".join(f"{number}\t{text}\n" for text, number in numbers.items())
    return _zipped({"qrels.txt": qrels, "topics.tsv": topics})


def _topics(text: str) -> dict[str, str]:
    """Topics by number: `number<TAB>text` a line, or TREC's `<top>` with `<num>` and `<title>`."""
    if "<top" in text.lower():
        number, title = (
            re.compile(pattern, re.IGNORECASE | re.DOTALL)
            for pattern in (
                r"<num>\s*(?:Number:)?\s*(\S+?)\s*(?=<|\s)",
                r"<title>\s*(?:Topic:)?\s*(.+?)\s*(?=<|\n\s*\n|\Z)",
            )
        )
        parts = re.split(r"<top[^>]*>", text, flags=re.IGNORECASE)[1:]
        found = ((number.search(part), title.search(part)) for part in parts)
        return {n[1]: " ".join(t[1].split()) for n, t in found if n and t}
    lines = (line.split("\t", 1) for line in text.splitlines() if "\t" in line)
    return {number.strip(): query.strip() for number, query in lines}


# --- BEIR ------------------------------------------------------------------------------------


def read_beir(data: bytes, queries: bytes | None = None) -> Iterator[Row | Problem]:
    """`queries.jsonl` and `qrels.tsv` (or `qrels/test.tsv`) in a ZIP, or two files."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        files = _unzipped(data)
        data, queries = _one(files, "qrels"), _one(files, "queries.jsonl")
    if queries is None:
        raise FormatError("BEIR's qrels.tsv names queries by id: give queries.jsonl as well.")
    texts = _beir_queries(_text(queries))
    for line, row in enumerate(csv.reader(io.StringIO(_text(data)), delimiter="\t"), start=1):
        if not row or (line == 1 and row[-1].strip() == "score"):
            continue
        if len(row) != 3:
            yield Problem(line, "it does not have three columns: query, document, grade.")
        elif row[0] not in texts:
            yield Problem(line, f"query {row[0]} is not among the queries.")
        else:
            held = {"query": texts[row[0]], "document": row[1], "grade": row[2]}
            yield _row(line, held, plain=False)


def write_beir(rows: Sequence[Row]) -> bytes:
    """A ZIP of `queries.jsonl` and `qrels.tsv`."""
    numbers = _numbered(rows)
    lines = (json.dumps({"_id": number, "text": text}) + "\n" for text, number in numbers.items())
    qrels = "".join(
        f"{numbers[row.query]}\t{row.document}\t{row.grade}\n"
        for row in rows
        if row.grade is not None
    )
    header = "query-id\tcorpus-id\tscore\n"
    return _zipped({"queries.jsonl": "".join(lines), "qrels.tsv": header + qrels})


def _beir_queries(text: str) -> dict[str, str]:
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            found[str(row["_id"])] = str(row["text"])
        except (ValueError, TypeError, KeyError) as error:
            raise FormatError(
                f"Line {number} of the queries is no JSON object with an _id and a text."
            ) from error
    return found


FORMATS: Mapping[str, Format] = {
    "csv": Format("Plain CSV", read_csv, write_csv, "judgements.csv", "text/csv"),
    "quepid": Format("Quepid’s CSV", read_quepid, write_quepid, "quepid.csv", "text/csv"),
    "trec": Format("TREC (ZIP)", read_trec, write_trec, "trec.zip", "application/zip"),
    "beir": Format("BEIR (ZIP)", read_beir, write_beir, "beir.zip", "application/zip"),
}


# --- what they share ---------------------------------------------------------------------------


def _table(data: bytes, needed: Sequence[str]) -> Iterator[Row | Problem]:
    names, rows = _read_table(data)
    if missing := [name for name in needed if name not in names]:
        raise FormatError(f"The first line must name the columns: {', '.join(missing)} is missing.")
    for line, row in rows:
        yield _row(line, row)


def _read_table(data: bytes) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    text = _text(data)
    first = text.partition("\n")[0]
    # As spreadsheets write CSV where the comma is the decimal sign.
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


_KNOWN = {*COLUMNS, "docid", "doc_id", "rating"}


def _row(line: int, held: Mapping[str, str], *, plain: bool = True) -> Row | Problem:
    """`plain`: cells may carry the mark that keeps spreadsheets from reading a formula."""
    clean = _plain if plain else str.strip
    query = clean(held.get("query", ""))
    if not query:
        return Problem(line, "the query is empty.")
    given = held.get("grade", "").strip()
    try:
        number = float(given) if given else None
    except ValueError:
        return Problem(line, f"the grade {given!r} is no number.")
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


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError("The file is not UTF-8 text. Save it as UTF-8 and try again.") from error


def _plain(cell: str) -> str:
    stripped = cell.strip()
    return stripped[1:] if stripped[:1] == "'" and stripped[1:2] in _FORMULA else stripped


def _safe(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows([_safe(cell) for cell in row] for row in rows)
    return out.getvalue().encode()


def _numbered(rows: Sequence[Row]) -> dict[str, str]:
    """Each query's number, in order. These formats know no collections: one text is one query."""
    texts = dict.fromkeys(" ".join(row.query.split()) for row in rows)
    return {text: str(number) for number, text in enumerate(texts, start=1)}


def _zipped(files: Mapping[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            # The same judgements are the same bytes, whenever they are exported.
            archive.writestr(zipfile.ZipInfo(name), text)
    return out.getvalue()


def _unzipped(data: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = [entry for entry in archive.infolist() if not entry.is_dir()]
            if sum(entry.file_size for entry in files) > MAX_UNPACKED:
                raise FormatError("The ZIP is too large: unpacked it is over 200 MB.")
            return {entry.filename: archive.read(entry) for entry in files}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise FormatError("The ZIP cannot be read. Make it anew, without a password.") from error


def _one(files: Mapping[str, bytes], *names: str) -> bytes:
    """The file whose path speaks of one of `names`; the test set where there are several."""
    fitting = [path for path in files if any(name in path.lower() for name in names)]
    best = sorted(fitting, key=lambda path: ("test" not in path, path))
    if not best:
        raise FormatError(f"The ZIP holds no file named after {' or '.join(names)}.")
    return files[best[0]]
