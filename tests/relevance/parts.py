"""Small parts of the judged collections that lie beside the project."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from django.conf import settings

from search.tuning.evaluation.collections import JudgedCollection, read

SOURCE = Path(settings.BASE_DIR).parent / "shared" / "relevance"


def whole(name: str) -> JudgedCollection:
    """The collection; without it the test is skipped, and fails in CI."""
    if not SOURCE.is_dir():
        if os.environ.get("CI"):
            pytest.fail("the judged collections are missing beside the project (../shared)")
        pytest.skip("no judged collections beside the project (../shared)")
    return read(SOURCE / name)


def cut(
    folder: Path, whole: JudgedCollection, queries: list[str], passages: set[str]
) -> JudgedCollection:
    """A collection of these queries and passages of another one, written to the folder."""
    folder.mkdir()
    kept = [passage for passage in whole.passages() if passage.id in passages]
    write(folder / "corpus.jsonl", [{"_id": p.id, "title": p.title, "text": p.text} for p in kept])
    write(folder / "queries.jsonl", [{"_id": q, "text": whole.queries[q]} for q in queries])
    grades = [f"{q}\t{p}\t{grade}" for q in queries for p, grade in whole.qrels[q].items()]
    (folder / "qrels.tsv").write_text("\n".join(grades))
    return read(folder)


def write(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("\n".join(map(json.dumps, rows)))
