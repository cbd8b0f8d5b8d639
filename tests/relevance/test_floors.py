"""Floors that the shipped profiles hold on a small part of a judged collection.

Cranfield: 8 of its queries, their relevant abstracts and every 60th of the rest. The figures
of whole collections are in docs/relevance.md; `make relevance` measures them anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from django.conf import settings

from search.tuning.evaluation.collections import DocumentCorpus, JudgedCollection, read
from search.tuning.evaluation.runner import MeasuredCollection, evaluate
from search.tuning.management.judged import load

SOURCE = Path(settings.BASE_DIR).parent / "shared" / "relevance" / "cranfield"
QUERIES, OTHERS = 8, 60
# nDCG@10 as measured here, less .03: eight queries are for breakage, not for tuning.
FLOORS = {"default": 0.64, "keyword-only": 0.61, "vector-only": 0.60, "rrf": 0.64}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def part(tmp_path: Path) -> JudgedCollection:
    if not SOURCE.is_dir():
        if os.environ.get("CI"):
            pytest.fail("the judged collections are missing beside the project (../shared)")
        pytest.skip("no judged collections beside the project (../shared)")
    whole = read(SOURCE)
    folder = tmp_path / "cranfield-part"
    folder.mkdir()
    queries = list(whole.queries)[:: len(whole.queries) // QUERIES][:QUERIES]
    relevant = {passage for query in queries for passage in whole.qrels[query]}
    kept = [
        {"_id": passage.id, "title": passage.title, "text": passage.text}
        for number, passage in enumerate(whole.passages())
        if passage.id in relevant or number % OTHERS == 0
    ]
    texts = [{"_id": query, "text": whole.queries[query]} for query in queries]
    grades = [
        f"{query}\t{passage}\t{grade}"
        for query in queries
        for passage, grade in whole.qrels[query].items()
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, kept)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, texts)))
    (folder / "qrels.tsv").write_text("\n".join(grades))
    return read(folder)


def test_shipped_profiles_hold_their_floors(part: JudgedCollection, no_worker: None) -> None:
    corpus = DocumentCorpus.of(part, load(part, write=print))
    found = dict(zip(FLOORS, evaluate(part, corpus, list(FLOORS)), strict=True))

    figures = {name: round(ndcg(outcome), 4) for name, outcome in found.items()}
    assert not {name for name in FLOORS if figures[name] < FLOORS[name]}, figures
    assert found["default"].means["R@100"] > 0.95
    # The point of weighing both: better than each alone.
    assert ndcg(found["default"]) > ndcg(found["keyword-only"])
    assert ndcg(found["default"]) > ndcg(found["vector-only"])


def ndcg(outcome: MeasuredCollection) -> float:
    return outcome.means["nDCG@10"]
