"""The judged collections of README's table: fetched, or named with source, form and licence."""

from __future__ import annotations

import io
import json
import urllib.request
from pathlib import Path

import pytest

from benchmarks import irds
from benchmarks.judged.collections import read
from benchmarks.judged_sources import SOURCES, folders, write_squad

SQUAD = {
    "data": [
        {
            "title": "Super_Bowl_50",
            "paragraphs": [
                {
                    "context": "The Panthers gave up 308 points.",
                    "qas": [
                        {"id": "a", "question": "How many points? ", "is_impossible": False},
                        {"id": "b", "question": "Who sang?", "is_impossible": True},
                    ],
                },
                {
                    "context": "The Panthers gave up 308 points.",
                    "qas": [{"id": "c", "question": "Points of the Panthers?"}],
                },
            ],
        }
    ]
}


def test_a_file_of_squads_form_becomes_a_judged_collection(tmp_path: Path) -> None:
    folder = tmp_path / "squad20_dev"
    write_squad(SQUAD, folder, titles=True)
    judged = read(folder)
    assert judged.queries == {"a": "How many points?", "c": "Points of the Panthers?"}
    assert judged.qrels == {"a": {"p0": 1}, "c": {"p0": 1}}  # the same paragraph, twice
    (passage,) = judged.passages()
    assert (passage.title, passage.text[:12]) == ("Super Bowl 50", "The Panthers")
    assert json.loads((folder / "unanswerable.jsonl").read_text())["_id"] == "b"


def test_what_nobody_offers_as_a_file_is_named_with_form_and_licence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def written(name: str, folder: Path) -> Path:
        if name == "cranfield":
            raise SystemExit("cranfield could not be read: no route to host")
        target = folder / name.replace("/", "-")
        target.mkdir()
        return target

    monkeypatch.setenv("RELEVANCE_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setattr(irds, "write", written)
    monkeypatch.setattr(
        urllib.request, "urlopen", lambda *_, **__: io.BytesIO(json.dumps(SQUAD).encode())
    )
    present = folders(tmp_path)
    missing = {"checkthat2020_claims", "covidqa_long", "dbpedia_entity_50", "med", "mtrag_cloud",
               "wikiqa_test", "cranfield"}  # fmt: skip
    assert present.keys() == SOURCES.keys() - missing
    assert present["scifact"] == tmp_path / "scifact"
    assert next(read(present["xquad_de"]).passages()).title == ""
    said = capsys.readouterr().err
    assert "cranfield is missing: cranfield could not be read: no route to host" in said
    assert (
        "wikiqa_test is missing: Put it into wikiqa_test/ of RELEVANCE_DIR, in BEIR's layout. It "
        "is at Microsoft Research's WikiQACorpus"
    ) in said
    assert "Licence: Microsoft's data licence, research only." in said


def test_a_collection_of_relevance_dir_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SOURCES:
        (tmp_path / name).mkdir()
    monkeypatch.setenv("RELEVANCE_DIR", str(tmp_path))
    assert folders() == {name: tmp_path / name for name in SOURCES}
