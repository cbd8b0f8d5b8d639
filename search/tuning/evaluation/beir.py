"""Queries and judgements in BEIR's layout, read from files that people wrote."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from search.errors import SearchError

QUERIES, QRELS = "queries.jsonl", "qrels.tsv"


class EvaluationError(SearchError):
    """Golden queries of a file or a judged collection cannot be read, loaded or asked."""

    code = "evaluation_error"


def rows(path: Path, *keys: str) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines. Raises EvaluationError for one without _id or a key."""
    with path.open(encoding="utf-8") as file:
        yield from objects_of(file, str(path), *keys)


def objects_of(lines: Iterable[str], name: str, *keys: str) -> Iterator[dict[str, Any]]:
    """The objects in the lines of the file `name`; see `rows`."""
    needed = ("_id", *keys)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if any(row[key] is None for key in needed):
                raise ValueError
        except (ValueError, TypeError, KeyError) as error:
            raise EvaluationError(
                f"Line {number} of {name} is not a JSON object with {' and '.join(needed)}."
            ) from error
        yield row


def qrels_of(path: Path) -> dict[str, dict[str, int]]:
    """The grades in a file, by query and passage; BEIR's header line is optional."""
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
            if number == 1 and row[-1:] in (["score"], ["grade"]):
                continue
            try:
                query, passage, grade = row
                grades[query][passage] = max(int(grade), 0)
            except ValueError as error:
                raise EvaluationError(
                    f"Line {number} of {path} is not: query id, passage id, grade, with tabs."
                ) from error
    return dict(grades)
