"""Tables of docs/relevance.md: the commit they name, their age; the questions on other manuals."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import manuals, relevance
from benchmarks.judged.collections import JudgedCollection
from benchmarks.judged.profile_runs import MeasuredCollection
from search.presets.default import DEFAULT
from search.tuning.evaluation.measures import NAMES, Interval

UNKNOWN = "0" * 10  # no commit of ours


@pytest.fixture
def document(tmp_path: Path) -> Path:
    return tmp_path / "relevance.md"


def test_tables_of_this_repository_are_recent_enough() -> None:
    assert relevance.outdated(relevance.PAGE) == relevance.outdated(relevance.TABLES) == ""
    assert len(relevance.PAGE.read_text().split()) <= 1500  # two pages


@pytest.mark.parametrize(
    ("releases", "differs", "said"),
    [
        (["0.2.0"], True, ""),
        (["0.3.0", "0.2.0"], True, "0.3.0 is more than one release later"),
        (["0.3.0", "0.2.0"], False, ""),
    ],
    ids=["one release later", "two", "two, of the same code"],
)
def test_tables_are_valid_for_the_next_release_and_the_same_code(
    document: Path, monkeypatch: pytest.MonkeyPatch, releases: list[str], differs: bool, said: str
) -> None:
    monkeypatch.setattr(relevance, "releases", lambda: [*releases, "0.1.0"])
    monkeypatch.setattr(relevance, "_differs_from", lambda commit: differs)
    document.write_text(f"Measured with Steelyard 0.1.0, commit {UNKNOWN}, on 2026-11-22.\n")
    problem = relevance.outdated(document)
    assert said in problem
    assert ("make relevance" in problem) is bool(said) is bool(problem)


def test_tables_that_name_no_commit_are_refused(document: Path) -> None:
    document.write_text("Figures from memory\n")
    assert "does not say what its tables were measured with" in relevance.outdated(document)


def outcome(
    name: str, ranking: list[str], collection: str = "ferries", change: float = 0.0
) -> MeasuredCollection:
    """Measured 1, and 1 + change against the first profile, within .03 on both sides."""
    profile = replace(DEFAULT.profile, name=name)
    judged = JudgedCollection(collection, Path(), {"q": "ferry"}, {"q": {"d1": 1}})
    base = replace(profile, name="default") if change else profile
    made = MeasuredCollection(judged, profile, base, {"q": ranking}, milliseconds=[1.0])
    made.values = {"q": dict.fromkeys(NAMES, 1.0 + change)}
    width = 0.03 if change else 0.0
    made.differences = dict.fromkeys(NAMES, Interval(change, change - width, change + width))
    return made


def test_check_reads_the_written_tables(document: Path) -> None:
    document.write_text(f"Before\n\n{relevance.BEGIN}\nold figures\n{relevance.END}\n\nAfter\n")
    relevance.rewrite(document, relevance.as_markdown([outcome("default", ["d1"])]))
    assert relevance.outdated(document) == ""
    text = document.read_text()
    assert text.startswith(f"Before\n\n{relevance.BEGIN}\n")
    assert text.endswith(f"{relevance.END}\n\nAfter\n")
    assert "old figures" not in text
    assert "| default | 1.000 | 1.000 |" in text


def test_the_overview_has_means_and_intervals_over_the_collections() -> None:
    """Of halves .03, .03 and .03 the mean's is .03 / sqrt(3); of the two English ones / sqrt(2)."""
    places = {"ferries": -0.1, "rivers": 0.04, "xquad_de": -0.02}
    outcomes = [
        each
        for place, change in places.items()
        for each in (outcome("default", ["d1"], place), outcome("rrf", ["d1"], place, change))
    ]
    lines = relevance.summary([*outcomes, outcome("mind", ["d1"])]).splitlines()
    assert lines[0].startswith("| nDCG@10 | all 3 | difference (95%) | 2 in English |")
    assert [line.split(" | ")[1:] for line in lines[2:4]] == [
        ["1.000", "", "1.000", "", " |"],
        ["0.973", "-0.027 (-0.044 to -0.009)", "0.970", "-0.030 (-0.051 to -0.009)", "1, 1 |"],
    ]
    # A profile that was not measured on all of them has no mean to compare.
    assert lines[5:] == ["Collections, and the queries of each: ferries 1, rivers 1, xquad_de 1."]


@pytest.mark.parametrize("name", manuals.MANUALS)
def test_every_judgement_is_of_a_question_and_every_question_has_its_answer(name: str) -> None:
    kinds, judged = manuals.kinds(name), list(manuals.grades(name))
    assert len(kinds) == 50
    assert max(Counter((query, section) for query, section, _ in judged).values()) == 1
    assert {grade for _, _, grade in judged} <= {1, 2, 3}
    answered = {query for query, _, grade in judged if grade >= 2}
    assert answered == {query for query, kind in kinds.items() if kind != "unanswerable"}


def test_an_archive_that_was_not_judged_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manual = manuals.MANUALS["celery"]
    page = tmp_path / "page.json"
    archive = tmp_path / manual.archive
    archive.write_bytes(b"another")
    page.write_text(
        f'{{"files": [{{"filename": "{manual.archive}", "url": "{archive.as_uri()}"}}]}}'
    )
    monkeypatch.setattr(manuals, "INDEX", page.as_uri() + "#")
    with pytest.raises(ValueError, match="SHA-256 differs"):
        manuals.download(manual, tmp_path / "downloads")
    assert not (tmp_path / "downloads" / manual.archive).exists()
