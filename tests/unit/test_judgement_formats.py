"""Judgements as files: what is written is read again, and every bad line is named."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest

from search.errors import JudgementError
from search.tuning.golden_file_formats import FORMATS, Problem
from search.tuning.golden_file_formats import JudgementRow as Row

ROWS = [
    Row(0, "why, oh why?", "d-1", 3, ("handbook",), "ada", "=1+1", True, "concept", "A “title”"),
    Row(0, "why, oh why?", "d-2", 0, ("handbook",), "bob", "", False, "concept", "Other"),
    Row(0, "-fog ferry", "d-1", 1, (), "ada"),
]


def read(name: str, data: bytes, queries: bytes | None = None) -> list[Row | Problem]:
    return list(FORMATS[name].read(data, queries))


def zipped(**files: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), text)
    return out.getvalue()


@pytest.mark.parametrize("name", FORMATS)
def test_written_judgements_can_be_read_again(name: str) -> None:
    found = read(name, FORMATS[name].write(ROWS))
    assert [(row.query, row.document, row.grade) for row in found if isinstance(row, Row)] == [
        (row.query, row.document, row.grade) for row in ROWS
    ]


def test_plain_csv_keeps_all_but_the_title() -> None:
    found = read("csv", FORMATS["csv"].write(ROWS))
    kept = [
        (row.collections, row.judge, row.note, row.must_be_first, row.query_class)
        for row in found
        if isinstance(row, Row)
    ]
    assert kept == [
        (row.collections, row.judge, row.note, row.must_be_first, row.query_class) for row in ROWS
    ]


@pytest.mark.parametrize("begin", "=+-@\t\r")
def test_no_cell_of_a_csv_is_a_formula_and_each_is_read_again(begin: str) -> None:
    bad = f"{begin}cmd|' /C calc'!A0"
    written = FORMATS["csv"].write([Row(2, bad, bad, 1, (), bad, bad, title=bad)])
    (cells,) = list(csv.reader(io.StringIO(written.decode(), newline="")))[1:]
    assert [cell for cell in cells if bad in cell] == [f"'{bad}"] * 5
    if begin.strip():  # a space before a question is no part of it
        (row,) = read("csv", written)
        assert isinstance(row, Row)
        assert (row.query, row.document, row.judge, row.note) == (bad,) * 4


def test_bad_lines_are_reported_and_the_others_read() -> None:
    data = (
        b"query;document;grade\nferry;d-1;2\n;d-1;2\nferry;d-2;4\nferry;d-3;much\nferry;d-4;1.5\n"
    )
    found = read("csv", data)
    assert [row.document for row in found if isinstance(row, Row)] == ["d-1"]
    assert [str(problem) for problem in found if isinstance(problem, Problem)] == [
        "Line 3: the query is empty.",
        "Line 4: the grade 4 is not one of 0, 1, 2 and 3.",
        "Line 5: the grade 'much' is not a number.",
        "Line 6: the grade 1.5 is not one of 0, 1, 2 and 3.",
    ]


def test_beir_layout_is_read_and_the_test_set_preferred() -> None:
    data = zipped(
        scifact__queries_jsonl='{"_id": "q1", "text": "ferry"}\n',
        scifact__qrels__train_tsv="query-id\tcorpus-id\tscore\nq1\td-9\t1\n",
        scifact__qrels__test_tsv="query-id\tcorpus-id\tscore\nq1\td-1\t1\nq7\td-1\t1\n",
    )
    row, problem = read("beir", data)
    assert row == Row(2, "ferry", "d-1", 1)
    assert str(problem) == "Line 3: query q7 is not in the file of queries."


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("csv", b"question,document\n", "query, grade is missing"),
        ("csv", b"\xff\xfe\x00", "not UTF-8"),
        ("beir", b"q1\td-1\t1\n", "provide queries.jsonl"),
        ("beir", zipped(notes_txt="x"), "contains no file whose name includes qrels"),
    ],
)
def test_file_of_another_format_is_refused(name: str, data: bytes, said: str) -> None:
    with pytest.raises(JudgementError, match=said):
        read(name, data)


def test_a_zip_that_unpacks_too_far_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.tuning.golden_file_formats.MAX_UNPACKED", 10)
    with pytest.raises(JudgementError, match="too large"):
        read("beir", zipped(qrels_tsv="x" * 11, queries_jsonl=""))
