"""BEIR: queries and qrels, in two files or in one ZIP."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Sequence

from search.tuning.formats.archives import file_named, unzipped, zipped
from search.tuning.formats.rows import FormatError, Problem, Row, decoded, numbered, row_of


def read_beir(data: bytes, queries: bytes | None = None) -> Iterator[Row | Problem]:
    """`queries.jsonl` and `qrels.tsv` (or `qrels/test.tsv`) in a ZIP, or two files."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        files = unzipped(data)
        data, queries = file_named(files, "qrels"), file_named(files, "queries.jsonl")
    if queries is None:
        raise FormatError("BEIR's qrels.tsv names queries by id: give queries.jsonl as well.")
    texts = _beir_queries(decoded(queries))
    for line, row in enumerate(csv.reader(io.StringIO(decoded(data)), delimiter="\t"), start=1):
        if not row or (line == 1 and row[-1].strip() == "score"):
            continue
        if len(row) != 3:
            yield Problem(line, "it does not have three columns: query, document, grade.")
        elif row[0] not in texts:
            yield Problem(line, f"query {row[0]} is not among the queries.")
        else:
            held = {"query": texts[row[0]], "document": row[1], "grade": row[2]}
            yield row_of(line, held, plain=False)


def write_beir(rows: Sequence[Row]) -> bytes:
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
                f"Line {number} of the queries is no JSON object with an _id and a text."
            ) from error
    return found
