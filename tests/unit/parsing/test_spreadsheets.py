"""Workbooks: what their blocks are, and what the limits leave of hostile ones."""

from __future__ import annotations

import pytest

from ingestion.domain import BlockKind
from ingestion.errors import NoText, ParseLimitExceeded
from tests.samples.builders import TABLE
from tests.samples.spreadsheets import make_ods, make_xlsx

from .conftest import Parse
from .shorthand import h, p, table


def test_xlsx_workbook_is_read(parse: Parse) -> None:
    document = parse(make_xlsx(), "a.xlsx")
    assert list(document.blocks) == [
        h(2, "Regions"),
        table(*TABLE),
        h(2, "Notes"),
        p("Weighed with a steelyard."),
    ]
    assert (document.title, document.author) == ("Beam sizes", "Ada Weigher")


def test_ods_workbook_is_read(parse: Parse) -> None:
    document = parse(make_ods(), "a.ods")
    assert list(document.blocks) == [h(2, "Regions"), table(*TABLE)]
    assert document.title == "Beam sizes"


def test_the_only_sheet_has_its_name_and_is_not_the_title(parse: Parse) -> None:
    sheet = {"A1": "Region", "B1": "Area", "A2": "D40", "B2": "120"}
    document = parse(make_xlsx({"R&D": sheet}, title=""), "a.xlsx")
    assert document.blocks[0] == h(2, "R&D")
    assert document.title == ""


def test_lone_cells_above_a_table_are_paragraphs_and_gaps_are_left_out(parse: Parse) -> None:
    sheet = {"A1": "Areas", "C3": "Region", "E3": "Area", "C5": "D40", "E5": "120"}
    sheet["A2"] = "of all regions"
    document = parse(make_xlsx({"S": sheet}), "a.xlsx")
    assert list(document.blocks[1:]) == [
        p("Areas"),
        p("of all regions"),
        table(("Region", "Area"), ("D40", "120")),
    ]


@pytest.mark.parametrize("corner", ["XFD1048576", "P1048576", "XFD3"])
def test_a_sparse_xlsx_keeps_its_cells(parse: Parse, corner: str) -> None:
    sheet = {"A1": "Region", "B1": "Area", "A2": "D40", "B2": "120", corner: "far"}
    document = parse(make_xlsx({"S": sheet}), "a.xlsx", memory_bytes=1 << 30)
    (cells,) = (block.rows for block in document.blocks if block.kind is BlockKind.TABLE)
    assert cells == (("Region", "Area", ""), ("D40", "120", ""), ("", "", "far"))


def test_a_sparse_xlsx_keeps_its_columns_in_order(parse: Parse) -> None:
    sheet = {"B1": "b", "AA1": "aa", "Z2": "z", "XFD1048576": "far", "B2": "1"}
    document = parse(make_xlsx({"S": sheet}), "a.xlsx")
    assert document.blocks[-1].rows == (
        ("b", "", "aa", ""),
        ("1", "z", "", ""),
        ("", "", "", "far"),
    )


def test_repeated_empty_cells_of_an_ods_are_skipped(parse: Parse) -> None:
    empty = '<table:table-cell table:number-columns-repeated="16384"/>'
    filler = f'<table:table-row table:number-rows-repeated="1048000">{empty}</table:table-row>'
    last = "<table:table-row><table:table-cell><text:p>last</text:p></table:table-cell>"
    document = parse(make_ods(filler=f"{filler}{last}</table:table-row>"), "a.ods")
    assert document.blocks[-1].rows == (*TABLE, ("last", ""))


def test_repeated_full_cells_of_an_ods_are_refused(parse: Parse) -> None:
    cell = '<table:table-cell table:number-columns-repeated="16000"><text:p>x</text:p>'
    filler = f'<table:table-row table:number-rows-repeated="1048000">{cell}</table:table-cell>'
    with pytest.raises(ParseLimitExceeded, match="save each sheet as a CSV"):
        parse(make_ods(filler=f"{filler}</table:table-row>"), "a.ods")


@pytest.mark.parametrize("limit", ["table_rows", "table_columns"])
def test_a_sheet_beyond_the_limits_is_refused(parse: Parse, limit: str) -> None:
    with pytest.raises(ParseLimitExceeded, match="has 3 rows and 2 columns"):
        parse(make_xlsx(), "a.xlsx", **{limit: 1})


def test_an_empty_workbook_has_no_text(parse: Parse) -> None:
    with pytest.raises(NoText):
        parse(make_xlsx({"Sheet1": {}}), "a.xlsx")
