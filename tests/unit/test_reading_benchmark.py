"""The benchmark of reading measures what it says, and its files say what it knows of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.reading import faults, known_files, recall
from benchmarks.reading.independent_readers import text_of
from benchmarks.reading.known_files import KnownFile
from benchmarks.reading.letters import LETTERS, Letter
from benchmarks.reading.recall import Share, words
from benchmarks.reading.report import report
from benchmarks.reading.stored_outputs import stored_outputs
from ingestion.domain import Block


@pytest.mark.parametrize("make", [known_files.docx, known_files.pptx, known_files.html])
@pytest.mark.parametrize("letter", LETTERS, ids=lambda letter: letter.language)
def test_a_generated_file_contains_its_words_and_values(
    make: Callable[[Letter], KnownFile], letter: Letter, tmp_path: Path
) -> None:
    file = make(letter)
    text = text_of(file.content, file.format, tmp_path)
    assert text is not None
    assert words(file.text) - words(text) == {}
    assert recall.values_read(file.values, text) == Share(len(letter.values), len(letter.values))


def test_a_generated_pdf_contains_its_words(tmp_path: Path) -> None:
    file = faults.ruled_pdf()
    text = text_of(file.content, "pdf", tmp_path)
    assert text is not None
    assert words(text).keys() == words(file.text).keys()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Cafe\u0301 ﬁne", ["café", "fine"]),
        ("45 m² CO₂", ["45", "m2", "co2"]),
        ("the bearing³ ran 10⁶ times", ["the", "bearing", "3", "ran", "10", "6", "times"]),
        ("gear\u00adbox", ["gearbox"]),
        ("保全課\nまで", ["保全", "全課", "課ま", "まで"]),
        ("pump→tank: 50€", ["pump", "tank", "50"]),
    ],
)
def test_words_of_a_text(text: str, expected: list[str]) -> None:
    assert list(words(text)) == expected


def test_words_made_up_are_those_that_the_source_lacks() -> None:
    known, text = words("two hundred euro 起重机"), words("two two hundredfive 重起 euro")
    assert recall.recall(known, text) == Share(2, 5)
    assert recall.made_up(known, text) == Share(1, 5)


@pytest.mark.parametrize(
    ("value", "text", "is_read"),
    [
        ("10⁶ Pa", "at 106 Pa", False),
        ("10⁶ Pa", "at 10⁶ Pa.", True),
        ("10⁶ Pa", "at 10 6 Pa.", True),
        ("≤ 5 bar", "below ≤5 bar", True),
        ("≤ 5 bar", "below 5 bar", False),
        ("5 bar", "at 1.5 bar", False),
        ("12 m²", "12 m2", True),
        ("5 t", "5 tons", False),
    ],
)
def test_a_value_is_read_with_its_unit_or_not_at_all(value: str, text: str, is_read: bool) -> None:
    assert recall.values_read([value], text) == Share(int(is_read), 1)


def test_a_row_is_read_below_its_own_header() -> None:
    phones, lathes = (("Name", "Phone"), ("Ada", "47")), (("Machine", "Day"), ("Lathe", "9"))
    apart = [Block.table(table, has_header=True) for table in (phones, lathes)]
    together = [Block.table((*phones, *lathes), has_header=True)]
    assert recall.rows_read([phones, lathes], apart) == Share(2, 2)
    assert recall.rows_read([phones, lathes], together) == Share(1, 2)


def test_stored_outputs_are_those_of_which_the_file_is_there_too(tmp_path: Path) -> None:
    text = " ".join(f"word{number}" for number in range(50))
    stored = tmp_path / "unstructured" / "test_unstructured_ingest" / "expected-structured-output"
    for path, content in {
        "docling/tests/data/md/sources/a.md": "",
        "docling/tests/data/md/groundtruth/a.md.md": f"# {text} <!-- image -->",
        "docling/tests/data/pdf/sources/b.pdf": "",
        "docling/tests/data/pdf/groundtruth/b.md": text,
        "docling/tests/data/pdf/groundtruth/without-its-file.md": text,
        "unstructured/example-docs/c.docx": "",
        f"{stored.relative_to(tmp_path)}/local/c.docx.json": json.dumps([{"text": text}]),
        f"{stored.relative_to(tmp_path)}/local/short.docx.json": json.dumps([{"text": "few"}]),
        "unstructured/example-docs/short.docx": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    outputs = stored_outputs(tmp_path)
    assert [each.path.name for each in outputs] == ["c.docx", "a.md", "b.pdf"]
    assert {tuple(words(each.text)) for each in outputs} == {tuple(words(text))}


def test_only_what_is_whole_reads_1_and_two_runs_stand_side_by_side() -> None:
    assert [str(Share(*each)) for each in ((0, 0), (3, 3), (99_999, 100_000), (1, 2))] == [
        "-",
        "1",
        ".999",
        ".500",
    ]
    reading = {name: {"read": 1, "of": 2} for name in ("words", "values", "rows", "made_up")}
    before = {"known": {"md": {**reading, "files": 1, "silent": 1, "failed": 0}}}
    now = {
        "known": {"md": {**before["known"]["md"], "words": {"read": 2, "of": 2}}},
        "files": {},
        "samples": {},
        "cases": {},
        "peers": [],
    }
    assert "| md | 1 | .500 → 1 | .500 |" in report(now, before, "the run before")
