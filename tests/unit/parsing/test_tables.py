"""Delimited tables and the cells of a grid."""

from __future__ import annotations

import pytest

from ingestion.errors import ParseLimitExceeded
from ingestion.parsing.formats.header_rows import has_header_row
from ingestion.parsing.formats.tabular import delimiter_of, spread

from .conftest import Parse
from .shorthand import p, table


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","), ("a;b\n1,5;2,5\n3,1;4\n", ";"), ("a\tb, c\n1\t2\n", "\t"),
        ("a|b|c\n1|2|3\n", "|"), ('"x;y",1\n"z;w",2\n', ","),
        ("Lorem, ipsum; dolor\nsed, do; sit\nenim; ad\n", ";"), ("one column\nof words\n", ","),
        ('"Bank"\n"From";"May"\n"a";"b";"1,50"\n"c";"d";"2,00"\n"sum";"";"3,50"\n', ";"),
    ],
)  # fmt: skip
def test_delimiter_of_a_csv_is_detected(text: str, delimiter: str) -> None:
    assert delimiter_of(text) == delimiter


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["Name", "Size"], ["a", "1"]], True),
        ([["Name", "2024"], ["a", "1"]], False),
        ([["Name", ""], ["a", "1"]], False),
        ([["Valid from", "1. Mai 2026"], ["Currency", "Euro"]], False),
        ([["a", "a"], ["a", "1"]], False),
        ([["1,5", "$2.50"], ["3", "4"]], False),
        ([["Name", "Size"]], False),
        ([["Sales", "2023", "2024"], ["Bread", "1", "2"]], True),
        ([["", "2023", "2024"], ["Bread", "1", "2"]], True),
        ([["Anna", "2019", "2023"], ["Ben", "2018", "2021"]], False),
        ([["", "name", "age"], ["0", "Anna", "31"]], True),
        ([["", "name", "age"], ["", "Anna", "31"]], False),
        (
            [
                ["A whole sentence that goes on for much longer than any label would", "b"],
                ["1", "2"],
            ],
            False,
        ),
    ],
)
def test_header_row_is_detected(rows: list[list[str]], expected: bool) -> None:
    assert has_header_row(rows) is expected


def test_csv_keeps_quoted_cells_and_the_title_line(parse: Parse) -> None:
    document = parse('Sizes;;\nName;Size;Note\nA;1;"x;\ny ""z"""\nB;2\n', "a.csv")
    expected = table(("Name", "Size", "Note"), ("A", "1", 'x; y "z"'), ("B", "2"))
    assert list(document.blocks) == [p("Sizes"), expected]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (r'"say \"hi\", \"ho\"","C:\\"', ('say "hi", "ho"', "C:\\")),
        (r'"C:\beams\","x \ y"', ("C:\\beams\\", "x \\ y")),
    ],
    ids=["a database's", "paths"],
)
def test_quotes_behind_backslashes_of_csv(parse: Parse, text: str, row: tuple[str, str]) -> None:
    assert list(parse(f"Name,Note\n{text}\n", "a.csv").blocks) == [table(("Name", "Note"), row)]


def test_a_csv_may_state_its_delimiter(parse: Parse) -> None:
    document = parse("sep=;\r\nName;Price, net\r\nA;1,5\r\n", "a.csv")
    assert list(document.blocks) == [table(("Name", "Price, net"), ("A", "1,5"))]


def test_too_many_rows_are_refused(parse: Parse) -> None:
    with pytest.raises(ParseLimitExceeded, match="more than 10 rows"):
        parse("a,b\n" * 11, "a.csv", table_rows=10)


def test_too_many_columns_are_refused(parse: Parse) -> None:
    with pytest.raises(ParseLimitExceeded, match="or 3 columns"):
        parse("a,b,c,d\n", "a.csv", table_columns=3)


def test_spans_fill_a_grid() -> None:
    rows = [[("a", 2, 1), ("b", 1, 2)], [("c", 1, 1), ("d", 1, 1)], [("e", 1, 1)]]
    assert spread(rows) == [["a", "b", ""], ["a", "c", "d"], ["e", "", ""]]


def test_hostile_spans_are_refused() -> None:
    with pytest.raises(ParseLimitExceeded):
        spread([[("x", 1, 10**9)] * 10] * 1_000)


def test_cells_and_rows_without_end_tags(parse: Parse) -> None:
    page = (
        "<table><thead><tr><th>Port<th>Ship</thead><tbody><tr><td>Cork<td>Aran"
        "<tr><td>Kiel<td>a <table><tr><td>inner</table> Bere</table><p>End</p>"
    )
    document = parse(page.replace("<table><tr><td>inner</table>", "<b>new</b>"), "a.html")
    rows = table(("Port", "Ship"), ("Cork", "Aran"), ("Kiel", "a new Bere"))
    assert list(document.blocks) == [rows, p("End")]
    assert "inner" in " ".join(block.text for block in parse(page, "a.html").blocks)
