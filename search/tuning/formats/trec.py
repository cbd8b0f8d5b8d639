"""TREC: qrels and topics, in two files or in one ZIP."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence

from search.tuning.formats.archives import file_named, unzipped, zipped
from search.tuning.formats.rows import FormatError, Problem, Row, decoded, numbered, row_of


def read_trec(data: bytes, queries: bytes | None = None) -> Iterator[Row | Problem]:
    """Qrels `topic iteration document grade` beside topics; both in a ZIP, or two files."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        files = unzipped(data)
        data, queries = file_named(files, "qrels"), file_named(files, "topic", "quer")
    if queries is None:
        raise FormatError("TREC's qrels name their queries by number: give the topics as well.")
    texts = _topics(decoded(queries))
    for line, parts in enumerate(map(str.split, decoded(data).splitlines()), start=1):
        if not parts:
            continue
        if len(parts) != 4:
            yield Problem(line, "it does not have four parts: topic, iteration, document, grade.")
        elif parts[0] not in texts:
            yield Problem(line, f"topic {parts[0]} is not among the topics.")
        else:
            held = {"query": texts[parts[0]], "document": parts[2], "grade": parts[3]}
            yield row_of(line, held, plain=False)


def write_trec(rows: Sequence[Row]) -> bytes:
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
