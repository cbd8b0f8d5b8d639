"""`benchmarks.answers`: a judged collection to figures of answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.answers.__main__ import measured
from search.answers.models import Answer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_worker")]

CORPUS = [
    {"_id": "d1", "title": "Ferry", "text": "The ferry crosses the river twice an hour. Its "
     "captain is Ada Lovelace. She has steered it since 1843."},
    {"_id": "d2", "title": "Bread", "text": "Bread is baked from flour, water, salt and yeast. It "
     "bakes for 45 minutes."},
]  # fmt: skip
QUERIES: list[dict[str, Any]] = [
    {"_id": "q1", "text": "Who is the captain of the ferry?",
     "metadata": {"answers": ["Ada Lovelace"]}},
    {"_id": "q2", "text": "How long does bread bake?",
     "metadata": {"answers": ["45 minutes", "45"]}},
    {"_id": "no gold", "text": "What is bread?", "metadata": {}},
]  # fmt: skip
QRELS = [("q1", "d1"), ("q2", "d2"), ("no gold", "d2")]
UNANSWERABLE = [{"_id": "u1", "text": "Who is the owner of the ferry?", "paragraph": "d1"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "ferries and bread"
    made.mkdir()
    write(made / "corpus.jsonl", CORPUS)
    write(made / "queries.jsonl", QUERIES)
    write(made / "unanswerable.jsonl", UNANSWERABLE)
    (made / "qrels.tsv").write_text("".join(f"{query}\t{each}\t1\n" for query, each in QRELS))
    return made


def write(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_figures_of_a_judged_collection(folder: Path, tmp_path: Path) -> None:
    """S5-25, S5-44: every answer has sources, and every citation is valid."""
    other = tmp_path / "elsewhere"
    other.mkdir()
    write(other / "corpus.jsonl", CORPUS[:1])
    write(other / "queries.jsonl", [{"_id": "f", "text": "aortic valve stenosis in children"}])
    (other / "qrels.tsv").write_text("f\td1\t1\n")
    printed: list[str] = []
    (run,) = measured([str(folder)], foreign=[str(other)], write=printed.append)

    text = "\n".join(printed)
    assert "ferries and bread: 2 questions with an answer, 1 without, 1 of other" in text
    assert "Mode instant" in text
    assert run["questions"] == {"answerable": 2, "unanswerable": 1, "foreign": 1, "rejected": 0}
    assert run["context_recall"]["by_shape"][-1]["recall"] == 1
    held = run["containment"]
    assert held["quotes"] == 1
    assert held["baselines"]["first sentence"]["contained"] == 0
    assert held["baselines"]["first sentence"]["quotes_better_by"]["mean"] == 1
    assert held["by_type"]["person"] == {"questions": 1, "contained": 1.0}
    refusal = run["refusal"]["foreign"]
    assert refusal["auroc"] == 1
    assert refusal["risk_by_coverage"]["1.0"] == pytest.approx(1 / 3, abs=1e-4)
    mode = run["modes"]["instant"]
    assert mode["with_sources"] == mode["valid_citations"] == 1
    assert 0 < mode["latency_ms"]["p50"] <= mode["latency_ms"]["p95"]
    assert not Answer.objects.exists()
