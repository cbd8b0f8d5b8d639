"""Sheets and CSV: each table with its own header, and lines of text above and between them."""

from __future__ import annotations

import pytest

from ingestion.domain import Block
from ingestion.parsing.formats.header_rows import with_one_header
from ingestion.parsing.formats.table_regions import tables_in
from tests.samples.spreadsheets import make_xlsx

from .conftest import Parse
from .shorthand import h, p, table


def blocks(text: str) -> list[Block]:
    """The blocks of a grid: a line a row, cells parted by bars."""
    return list(tables_in([[cell.strip() for cell in row.split("|")] for row in text.split("\n")]))


STAFF = table(("Employee", "Phone"), ("Ada", "555 01"), ("Ben", "555 02"))
LATHES = table(("Machine", "Service"), ("Lathe 1", "2027-01-16"), ("Lathe 2", "2027-02-01"))
ROOMS = table(("Room", "Floor"), ("Forge", "ground"), ("Store", "first"))


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        pytest.param(
            "Employee|Phone\nAda|555 01\nBen|555 02\n|\n|\nMachine|Service\nLathe 1|2027-01-16\n"
            "Lathe 2|2027-02-01",
            [STAFF, LATHES],
            id="two empty rows",
        ),
        pytest.param(
            "Employee|Phone\nAda|555 01\nBen|555 02\n|\nRoom|Floor\nForge|ground\nStore|first",
            [STAFF, ROOMS],
            id="one empty row, other values",
        ),
        pytest.param(
            "Staff\nEmployee|Phone\nAda|555 01\nBen|555 02\n|\nRooms|\nRoom|Floor\nForge|ground\n"
            "Store|first",
            [p("Staff"), STAFF, p("Rooms"), ROOMS],
            id="titles",
        ),
        pytest.param(
            "Employee|Phone\nAda|555 01\nBen|555 02\n||\n|||Room|Floor\n|||Forge|ground\n"
            "|||Store|first",
            [STAFF, ROOMS],
            id="other columns",
        ),
        pytest.param(
            "Employee|Phone\nAda|555 01\n|\nBen|555 02",
            [STAFF],
            id="a row after a gap",
        ),
        pytest.param(
            "Room|Floor\nForge|ground\nStore|first\n|\nYard|ground\nLoft|second",
            [table(*ROOMS.rows, ("Yard", "ground"), ("Loft", "second"))],
            id="rows after a gap",
        ),
        pytest.param(
            "Employee|Phone\nAda|555 01\n\nBen|555 02\n\nAs of May",
            [table(*STAFF.rows, ("As of May",))],
            id="double spaced",
        ),
        pytest.param(
            "Employee|Phone||Machine|Service\nAda|555 01||Lathe 1|2027-01-16\n"
            "Ben|555 02||Lathe 2|2027-02-01\n|||Lathe 3|2027-03-01",
            [STAFF, table(*LATHES.rows, ("Lathe 3", "2027-03-01"))],
            id="side by side",
        ),
        pytest.param(
            "Staff|||Rooms\nEmployee|Phone||Room|Floor\nAda|555 01||Forge|ground\n"
            "Ben|555 02||Store|first\n||||\n|||Note|x",
            [p("Staff"), STAFF, p("Rooms"), table(*ROOMS.rows, ("Note", "x"))],
            id="side by side, then below",
        ),
        pytest.param(
            "Stock|\n|of all halls\n||\n|Room|Floor\n|Forge|ground\n|Store|first",
            [p("Stock"), p("of all halls"), ROOMS],
            id="titles in other columns",
        ),
        pytest.param("|2023\nSales|5", [table(("", "2023"), ("Sales", "5"), header=False)],
                     id="a label"),
        pytest.param(
            "Item|Unit||2023|2024\nBolt|kg||5|6\nNut|kg||7|8",
            [table(("Item", "Unit", "2023", "2024"), ("Bolt", "kg", "5", "6"),
                   ("Nut", "kg", "7", "8"))],
            id="an empty column within",
        ),
        pytest.param(
            "Name|Mark||Name|Mark\nAda|1||Ben|2",
            [table(("Name", "Mark"), ("Ada", "1")), table(("Name", "Mark"), ("Ben", "2"))],
            id="the same labels",
        ),
        pytest.param(
            "Report|Stock in May\nCreated:|2026-05-02\nRemarks|\nArticle|Text|Price\nB1|Bolt|0.10\n"
            "N1|Nut|0.20",
            [
                p("Report: Stock in May"),
                p("Created: 2026-05-02"),
                p("Remarks"),
                table(("Article", "Text", "Price"), ("B1", "Bolt", "0.10"), ("N1", "Nut", "0.20")),
            ],
            id="keys and values above",
        ),
        pytest.param(
            "|2023||2024\nRegion|Q1|Q2|Q1|Q2\nNorth|1|2|3|4\nSouth|5|6|7|8",
            [
                table(
                    ("Region", "2023 Q1", "2023 Q2", "2024 Q1", "2024 Q2"),
                    ("North", "1", "2", "3", "4"),
                    ("South", "5", "6", "7", "8"),
                )
            ],
            id="a header of two rows",
        ),
    ],
)  # fmt: skip
def test_each_table_has_its_own_header(grid: str, expected: list[Block]) -> None:
    assert blocks(grid) == expected


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(["Name|Value|", "Bolt|n/a|x", "Nut|5|y"], id="a missing value"),
        pytest.param(["All figures|||", "|Size|Weight|x", "a|1|2|3", "b|3|4|5"], id="a title"),
        pytest.param(["Name|City", "Ada|Rome", "Ben|Oslo"], id="text"),
        pytest.param(["Name|Value", "Bolt|3", "Nut|5"], id="a figure"),
        pytest.param(["Name|Value", "Bolt|3"], id="two rows"),
    ],
)
def test_a_row_of_values_is_none_of_the_header(rows: list[str]) -> None:
    grid = [row.split("|") for row in rows]
    assert with_one_header(grid) == grid


@pytest.mark.parametrize(
    ("upper", "lower", "labels"),
    [
        ("Region|Sales||", "|Q1|Q2|Q3", ["Region", "Sales Q1", "Sales Q2", "Sales Q3"]),
        ("Size|Weight|Price|", "mm|kg|EUR|USD", ["Size mm", "Weight kg", "Price EUR", "Price USD"]),
        ("Plant|In||Out|", "|2023|2024|2023|2024",
         ["Plant", "In 2023", "In 2024", "Out 2023", "Out 2024"]),
    ],
)  # fmt: skip
def test_two_rows_of_labels_are_one_header(upper: str, lower: str, labels: list[str]) -> None:
    body = [["7"] * len(labels)] * 2
    assert with_one_header([upper.split("|"), lower.split("|"), *body]) == [labels, *body]


def test_tables_of_a_sheet_and_of_a_csv_are_apart(parse: Parse) -> None:
    rows = [*STAFF.rows, (), (), *LATHES.rows]
    sheet = {f"{'AB'[x]}{y}": cell for y, row in enumerate(rows, 1) for x, cell in enumerate(row)}
    assert parse(make_xlsx({"S": sheet}), "a.xlsx").blocks == (h(2, "S"), STAFF, LATHES)
    text = "\r\n".join(";".join(row) for row in rows)
    assert parse(text, "a.csv").blocks == (STAFF, LATHES)


def test_gaps_of_a_sparse_sheet_part_its_tables(parse: Parse) -> None:
    cells = [*((1, row) for row in STAFF.rows), *((900_000, row) for row in LATHES.rows)]
    sheet = {
        f"{'AB'[x]}{first + y}": cell
        for y, (first, row) in enumerate(cells)
        for x, cell in enumerate(row)
    }
    assert parse(make_xlsx({"S": sheet}), "a.xlsx").blocks[1:] == (STAFF, LATHES)
