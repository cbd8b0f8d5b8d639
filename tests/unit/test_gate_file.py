"""Gate files: what they may say, and the errors that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from search.tuning.evaluation.beir import EvaluationError
from search.tuning.gate import Floor, of_floor
from search.tuning.gate_answers import SiteAnswer, SitePassage, ask_site
from search.tuning.gate_file import GateFile, GateQuestion, read_gate
from search.tuning.gate_report import report
from tests.support.local_site import Answer, local_site

PASSAGE = SitePassage("7e57", "High water", "tides.md", ("Sea", "Tides", "At night"))


def read(tmp_path: Path, text: str) -> GateFile:
    path = tmp_path / "golden.yml"
    path.write_text(text)
    return read_gate(path)


def test_a_file_has_questions_and_conditions(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        """
        collections: [handbook]
        rules: {margin: 0.02, latency_margin: 0.5}
        at_least: {nDCG@10: 0.8, unanswerable: {mean: 0.9, low: 0.7}}
        p95_ms: 400
        questions:
          - question: "when is   high water"
            grades: {tides.md#At night: 3, 2024: 1}
          - {question: who keeps the light, first: keeper.md}
          - {question: who won the cup, unanswerable: true}
        """,
    )
    assert [each.text for each in file.questions] == [
        "when is high water", "who keeps the light", "who won the cup",
    ]  # fmt: skip
    assert [dict(each.grades) for each in file.questions] == [
        {"tides.md#At night": 3, "2024": 1}, {"keeper.md": 3}, {},
    ]  # fmt: skip
    assert [each.by_section for each in file.questions] == [True, False, False]
    assert file.floors == {"nDCG@10": Floor(0.8), "unanswerable": Floor(0.9, 0.7)}
    assert (file.rules.margin, file.rules.min_queries, file.p95_ms) == (0.02, 20, 400)
    assert (file.collections, file.compares_latency) == (("handbook",), True)


def test_a_folder_in_beir_layout_is_a_gate(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text(
        '{"_id": "1", "text": "high water"}\n{"_id": "2", "text": "not judged"}\n'
    )
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\ttides\t2\n1\tferry\t0\n")
    (tmp_path / "unanswerable.jsonl").write_text('{"_id": "u", "text": "who won the cup"}\n')
    (tmp_path / "gate.yml").write_text("at_least: {Success@1: 1}")
    file = read_gate(tmp_path)
    assert file.questions == (
        GateQuestion("high water", {"tides": 2, "ferry": 0}), GateQuestion("who won the cup"),
    )  # fmt: skip
    assert file.floors == {"Success@1": Floor(1)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty. It begins as"),
        ("questions: [", "cannot be read as YAML"),
        ("question: x", "unknown key 'question'. Did you mean questions?"),
        ("p95_ms: 3", "has no list of questions"),
        ("questions: []", "has no questions"),
        ("questions: [{grades: {a: 1}}]", "question 1 has no text"),
        ("questions: [{question: x}]", "(“x”) has no document of a grade above 0"),
        ("questions: [{question: x, grades: {a: 5}}]", "the grade 5 of a is not one of 0, 1, 2, 3"),
        ("questions: [{question: x, grades: {a: 0}}]", "or say unanswerable: true"),
        ("questions: [{question: x, grades: [a]}]", "give grades as document: grade"),
        ("questions: [{question: x, grade: {a: 1}}]", "Did you mean grades?"),
        ("questions: [{question: x, first: a, unanswerable: true}]", "Remove one of the two"),
        ("questions: [{question: x, unanswerable: maybe}]", "is true or false"),
        ("questions: [{question: x, first: a}, {question: x, first: b}]", "asks “x” twice"),
        ("at_least: {NDCG: 1}\nquestions: [{question: x, first: a}]", "unknown key 'NDCG'"),
        ("at_least: {nDCG@10: 80}\nquestions: [{question: x, first: a}]", "a number from 0 to 1"),
        ("rules: {margins: 1}\nquestions: [{question: x, first: a}]", "Did you mean margin?"),
        (
            "rules: {measure: MAP}\nquestions: [{question: x, first: a}]",
            "measure is one of nDCG@10",
        ),
        ("collections: a\nquestions: [{question: x, first: a}]", "collections is a list"),
    ],
)
def test_a_bad_file_says_what_to_do(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(EvaluationError) as error:
        read(tmp_path, text)
    assert said in str(error.value)


@pytest.mark.parametrize("missing", ["nowhere.yml", "."])
def test_a_missing_file_says_what_to_do(tmp_path: Path, missing: str) -> None:
    with pytest.raises(EvaluationError, match=r"There is no file|lacks queries\.jsonl and qrels"):
        read_gate(tmp_path / missing)


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("tides.md", True),
        ("Tides", True),
        ("high water", True),
        ("7e57", True),
        ("ferry.md", False),
        ("tides.md#At night", True),
        ("tides.md#Sea > at night", True),
        ("tides.md#At night > Sea", False),
        ("tides.md#Dawn", False),
        ("ferry.md#At night", False),
    ],
)
def test_documents_have_the_names_that_people_give_them(name: str, fits: bool) -> None:
    assert PASSAGE.fits(name) == fits


def test_the_longest_judged_name_counts_and_others_have_one_of_their_own() -> None:
    graded = GateQuestion("x", {"tides.md": 1, "tides.md#At night": 3})
    assert PASSAGE.judged_as(graded) == "tides.md#At night"
    assert PASSAGE.judged_as(GateQuestion("x", {"ferry": 1})) == "7e57#Sea > Tides > At night"


def test_a_floor_holds_for_the_mean_and_for_the_low_end() -> None:
    values = {"a": 1.0, "b": 0.5, "c": 0.0}  # mean .5; some draws are of c alone
    assert not of_floor("nDCG@10", Floor(0.5), values).refuses
    finding = of_floor("nDCG@10", Floor(0.6), values)
    assert (finding.refuses, finding.queries) == (True, ("c", "b"))
    assert "Lowest: “c”, “b”." in finding.text
    assert of_floor("nDCG@10", Floor(0.5, 0.1), values).refuses
    assert of_floor("nDCG@10", Floor(0.5), {}).refuses


def test_a_gate_that_cannot_refuse_is_an_error() -> None:
    file = GateFile("golden.yml", (GateQuestion("x", {"tides.md": 3}),))
    answers = {"x": SiteAnswer((PASSAGE,), is_sure=True, milliseconds=5)}
    with pytest.raises(EvaluationError, match="nothing could be refused"):
        report(file, answers)
    assert report(file, answers, answers).decision.passed
    with pytest.raises(EvaluationError, match="has none of these questions"):
        report(file, answers, {})


def test_an_unanswerable_question_that_is_no_longer_marked_is_lost() -> None:
    file = GateFile("golden.yml", (GateQuestion("x"),))
    marked, unmarked = (
        {"x": SiteAnswer((PASSAGE,), is_sure=sure, milliseconds=5)} for sure in (False, True)
    )
    assert report(file, marked, marked).decision.passed
    assert report(file, unmarked, marked).lost == ["x"]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Answer(b"<html>"), id="a page"),
        pytest.param(Answer(b"[1]"), id="other JSON"),
        pytest.param(
            Answer(b"{}", 429, {"Retry-After": "Sun, 29 Nov 2020 08:00:00 GMT"}), id="a date"
        ),
    ],
)
def test_an_address_that_is_no_steelyard_is_named(answer: Answer) -> None:
    with local_site() as site:
        site.routes["/api/v1/search/"] = answer
        gate = GateFile("golden.yml", ())
        refusal = pytest.raises(EvaluationError, match="no search of Steelyard's is there")
        with ask_site(gate, "", site.url(""), "") as ask, refusal:
            ask(GateQuestion("when is high water"))
