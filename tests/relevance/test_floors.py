"""Floors that the shipped profiles hold on a small part of a judged collection.

Cranfield: 8 of its queries, their relevant abstracts and every 60th of the rest. The figures
of whole collections are in docs/relevance.md; `make relevance` measures them anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from search.tuning.evaluation.collections import DocumentCorpus, JudgedCollection
from search.tuning.evaluation.runner import MeasuredCollection, evaluate
from search.tuning.management.judged import load
from tests.relevance.parts import cut, whole

QUERIES, OTHERS = 8, 60
# nDCG@10 as measured here, less .03: eight queries are for breakage, not for tuning.
FLOORS = {"default": 0.64, "keyword-only": 0.61, "vector-only": 0.60, "rrf": 0.64}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def part(tmp_path: Path) -> JudgedCollection:
    cranfield = whole("cranfield")
    queries = list(cranfield.queries)[:: len(cranfield.queries) // QUERIES][:QUERIES]
    kept = {passage for query in queries for passage in cranfield.qrels[query]}
    kept |= {passage.id for passage in list(cranfield.passages())[::OTHERS]}
    return cut(tmp_path / "cranfield-part", cranfield, queries, kept)


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
