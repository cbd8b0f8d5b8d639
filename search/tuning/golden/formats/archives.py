"""Judged collections as ZIP archives: the layouts of BEIR and TREC."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence

from search.tuning.golden.formats.tables import (
    FormatError,
    JudgementRow,
    Problem,
    decoded,
    numbered,
    row_of,
)

MAX_UNPACKED = 200 * 1024 * 1024


def zipped(files: Mapping[str, str]) -> bytes:
    """A ZIP of the texts, given by file name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            # Without a timestamp: the same judgements give the same bytes.
            archive.writestr(zipfile.ZipInfo(name), text)
    return out.getvalue()


def unzipped(data: bytes) -> dict[str, bytes]:
    """The files of a ZIP by path. Raises FormatError if it is broken, encrypted or too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = [entry for entry in archive.infolist() if not entry.is_dir()]
            if sum(entry.file_size for entry in files) > MAX_UNPACKED:
                raise FormatError("The ZIP is too large: it exceeds 200 MB when unpacked.")
            return {entry.filename: archive.read(entry) for entry in files}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise FormatError("The ZIP cannot be read. Create it again, without a password.") from error


def file_named(files: Mapping[str, bytes], *names: str) -> bytes:
    """The file whose path contains one of `names`; the test set if there are several.

    Raises FormatError if there is none.
    """
    fitting = [path for path in files if any(name in path.lower() for name in names)]
    best = sorted(fitting, key=lambda path: ("test" not in path, path))
    if not best:
        raise FormatError(f"The ZIP contains no file whose name includes {' or '.join(names)}.")
    return files[best[0]]


def read_beir(data: bytes, queries: bytes | None = None) -> Iterator[JudgementRow | Problem]:
    """`queries.jsonl` and `qrels.tsv` (or `qrels/test.tsv`) in a ZIP, or two files."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        files = unzipped(data)
        data, queries = file_named(files, "qrels"), file_named(files, "queries.jsonl")
    if queries is None:
        raise FormatError(
            "BEIR's qrels.tsv refers to queries by id: provide queries.jsonl as well."
        )
    texts = _beir_queries(decoded(queries))
    for line, row in enumerate(csv.reader(io.StringIO(decoded(data)), delimiter="\t"), start=1):
        if not row or (line == 1 and row[-1].strip() == "score"):
            continue
        if len(row) != 3:
            yield Problem(line, "expected three columns: query, document, grade.")
        elif row[0] not in texts:
            yield Problem(line, f"query {row[0]} is not in the file of queries.")
        else:
            held = {"query": texts[row[0]], "document": row[1], "grade": row[2]}
            yield row_of(line, held, plain=False)


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
                f"Line {number} of the queries is not a JSON object with _id and text."
            ) from error
    return found


def read_trec(data: bytes, queries: bytes | None = None) -> Iterator[JudgementRow | Problem]:
    """Qrels `topic iteration document grade` and topics; both in a ZIP, or two files."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        files = unzipped(data)
        data, queries = file_named(files, "qrels"), file_named(files, "topic", "quer")
    if queries is None:
        raise FormatError("TREC's qrels refer to queries by number: provide the topics as well.")
    texts = _topics(decoded(queries))
    for line, parts in enumerate(map(str.split, decoded(data).splitlines()), start=1):
        if not parts:
            continue
        if len(parts) != 4:
            yield Problem(line, "expected four parts: topic, iteration, document, grade.")
        elif parts[0] not in texts:
            yield Problem(line, f"topic {parts[0]} is not in the file of topics.")
        else:
            held = {"query": texts[parts[0]], "document": parts[2], "grade": parts[3]}
            yield row_of(line, held, plain=False)


def write_trec(rows: Sequence[JudgementRow]) -> bytes:
    """A ZIP of `qrels.txt` and `topics.tsv`."""
    numbers = numbered(rows)
    qrels = "".join(
        f"{numbers[row.query]} 0 {row.document} {row.grade}\n"
        for row in rows
        if row.grade is not None
    )
    topics = "".join(f"{number}\t{text}\n" for text, number in numbers.items())
    return zipped({"qrels.txt": qrels, "topics.tsv": topics})


def _topics(text: str) -> dict[str, str]:
    """Topics by number, from lines `number<TAB>text` or TREC's `<top>` with `<num>`, `<title>`."""
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
