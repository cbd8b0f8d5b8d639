"""PDF: rows between which no line is drawn, and notes in the margin."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pypdfium2
import pytest
from liteparse import AnnotationRect, LayoutBlock, LayoutCell, TextItem
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

from ingestion.domain import BlockKind
from ingestion.parsing.formats.pdf_letters import Letters
from ingestion.parsing.formats.pdf_tables import with_joined_rows, with_values, without_torn_columns

from .conftest import Parse

COLUMNS = [
    ("BOX", (0, 0), (-1, -1), 0.5, "black"),
    ("LINEBELOW", (0, 0), (-1, 0), 0.5, "black"),
    ("LINEAFTER", (0, 0), (-2, -1), 0.5, "black"),
]
ROWS = (
    ("Year", "Passengers", "Freight t"),
    ("2023", "7,723,293", "269,360"),
    ("2024", "7,793,704", "300,226"),
    ("2025", "8,001,112", "311,902"),
)


def _table(rows: object, style: list[object], widths: list[int] | None) -> bytes:
    out = io.BytesIO()
    SimpleDocTemplate(out, invariant=1).build([Table(rows, widths, style=style)])
    return out.getvalue()


def test_rows_without_lines_between_them(parse: Parse) -> None:
    (table,) = parse(_table(ROWS, COLUMNS, [120, 120, 120]), "a.pdf").blocks
    assert table.rows == ROWS


def test_two_rows_with_values(parse: Parse) -> None:
    (table,) = parse(_table(ROWS[:3], COLUMNS, [120, 120, 120]), "a.pdf").blocks
    assert table.rows == ROWS[:3]


@pytest.mark.parametrize("widths", [None, [80, 200, 80]])
def test_a_narrow_last_column_is_part_of_the_table(parse: Parse, widths: list[int] | None) -> None:
    items = ((f"A-{n:03}", f"Item number {n}", f"{n}.50") for n in range(1, 6))
    rows = (("No", "Item", "Price"), *items)
    grid = [("GRID", (0, 0), (-1, -1), 0.5, "black")]
    (table,) = parse(_table(rows, grid, widths), "a.pdf").blocks
    assert table.rows == rows


def test_wrapped_cells_stay_one_row(parse: Parse) -> None:
    style = ParagraphStyle("cell", fontSize=10, leading=12)
    long = "Pump of the northern basin with two seals and a valve of bronze"
    cells = [["Part", "Place", "Price"], [Paragraph(long, style), Paragraph(long, style), "12.50"]]
    (table,) = parse(
        _table(cells, [("GRID", (0, 0), (-1, -1), 0.5, "black")], [150, 150, 60]), "a.pdf"
    ).blocks
    assert table.rows == (("Part", "Place", "Price"), (long, long, "12.50"))


LONG = "moves the water through the volute and is balanced after each overhaul"
PARTS = (
    ("Part", "Purpose", "Interval"),
    ("Impeller", LONG, "2,000 h"),
    ("Seal", "keeps the shaft dry; it is replaced in pairs and never runs dry", "8,000 h"),
    ("Coupling", "joins motor and pump", "yearly"),
)
STATIONS = (
    ("Station", "Highest", "Lowest"),
    ("Nairn", "25.6 °C", "-7.9 °C"),
    ("Forres", "26.0 °C", "-9.4 °C"),
)


def test_a_table_without_lines_keeps_its_wrapped_cells(parse: Parse) -> None:
    style = ParagraphStyle("cell", fontSize=10, leading=12)
    cells = [[Paragraph(cell, style) for cell in row] for row in PARTS]
    content = _table(cells, [("VALIGN", (0, 0), (-1, -1), "TOP")], [90, 180, 90])
    (table,) = parse(content, "a.pdf").blocks
    assert (table.rows, table.has_header) == (PARTS, True)


def test_a_table_of_shaded_rows_is_one(parse: Parse) -> None:
    shades = ("ROWBACKGROUNDS", (0, 1), (-1, -1), ["white", "lightgrey"])
    (table,) = parse(_table(STATIONS, [shades], None), "a.pdf").blocks
    assert (table.rows, table.has_header) == (STATIONS, True)


def test_a_note_in_the_margin_makes_no_table(parse: Parse) -> None:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    canvas.setFont("Times-Roman", 10)
    lines = [
        "The mooring plan of the northern basin is checked twice a year by the dock master and",
        "his deputy. Lines are replaced after three seasons. Fenders are inspected after each",
        "storm, and any fender that has lost its shape is taken out of service at once. The",
        "inspection book lies in the office of the dock master.",
    ]
    for number, line in enumerate(lines):
        canvas.drawString(110, 780 - 13 * number, line)
    canvas.drawString(40, 780, "HB")
    canvas.drawString(40, 767, "29,2")
    canvas.save()
    blocks = parse(out.getvalue(), "a.pdf").blocks
    assert {block.kind for block in blocks} == {BlockKind.PARAGRAPH}
    assert [block.text for block in blocks] == ["HB 29,2", " ".join(lines)]


def _columns(of: list[list[str]]) -> bytes:
    """Columns of lines that are level, written one column after the other."""
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    canvas.setFont("Times-Roman", 9)
    for column, lines in enumerate(of):
        for number, line in enumerate(lines):
            canvas.drawString(50 + 128 * column, 760 - 11 * number, line)
    canvas.save()
    return out.getvalue()


def test_columns_of_prose_make_no_table(parse: Parse) -> None:
    text = (
        "The mooring plan of the northern basin is checked twice a year by the dock master and his "
        "deputy. Lines are replaced after three seasons. Fenders are inspected after each storm. "
    )
    lines = simpleSplit(20 * text, "Times-Roman", 9, 100)[:80]
    blocks = parse(_columns([lines[at : at + 20] for at in (0, 20, 40, 60)]), "a.pdf").blocks
    assert " ".join(block.text for block in blocks) == " ".join(lines)


def test_a_table_that_was_written_by_columns_stays_one(parse: Parse) -> None:
    cells = [[f"{name} {row}" for row in range(1, 9)] for name in ("Pump", "Place", "Price")]
    (table,) = parse(_columns(cells), "a.pdf").blocks
    assert table.rows == tuple(zip(*cells, strict=True))


def test_a_table_whose_letters_pdfium_does_not_see_stays_one() -> None:
    """As of form fields: it would be an empty paragraph."""
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    page.showPage()
    page.save()
    document = pypdfium2.PdfDocument(out.getvalue())
    rows = [[LayoutCell(f"room {n}"), LayoutCell(f"street {n}")] for n in range(4)]
    table = LayoutBlock("table", rows=rows, bbox=AnnotationRect(72, 72, 200, 60))
    assert without_torn_columns([table], Letters(document[0])) == [table]
    document.close()


def _side_by_side(left: Sequence[str], right: Sequence[str]) -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    for place, texts in ((70, left), (70 + 6 * max(20, *map(len, left)), right)):
        for row, text in enumerate(texts):
            canvas.drawString(place, 700 - 15 * row, text)
    canvas.save()
    return out.getvalue()


@pytest.mark.parametrize(
    ("labels", "values", "lines"),
    [
        (
            ["Invoice:", "Place:", "Due date:"],
            ["4711", "Kiel", "on receipt"],
            "Invoice: 4711\nPlace: Kiel\nDue date: on receipt",
        ),
        (
            ["Policy", "Insured", "Vehicle"],
            ["774-2290", "Ada Lund", "HH-AP 22"],
            "Policy 774-2290\nInsured Ada Lund\nVehicle HH-AP 22",
        ),
        (
            ["Voltage ........", f"Current {'.' * 40}", "Mass ............"],
            ["400 V", "16 A", "38 kg"],
            f"Voltage ........ 400 V\nCurrent {'.' * 40} 16 A\nMass ............ 38 kg",
        ),
    ],
)
def test_labels_and_the_values_beside_them(
    parse: Parse, labels: list[str], values: list[str], lines: str
) -> None:
    (block,) = parse(_side_by_side(labels, values), "a.pdf").blocks
    assert block.text == lines


def test_two_addresses_side_by_side_stay_two(parse: Parse) -> None:
    first, second = ["Pumps Ltd", "Mill 14", "Kiel"], ["Werft Meyer", "Kanal 3", "Papenburg"]
    blocks = parse(_side_by_side(first, second), "a.pdf").blocks
    assert [block.text for block in blocks] == [" ".join(first), " ".join(second)]


def test_the_first_of_several_labels_is_no_header(parse: Parse) -> None:
    labels = ["Number:", "Date:", "Customer:", "Due:", "Contact:"]
    values = ["INV-2291", "9 May 2026", "Harbour Cafe", "8 June 2026", "M. Weiss"]
    rows = list(zip(labels, values, strict=True))
    (table,) = parse(_table(rows, [], [300, 100]), "a.pdf").blocks
    assert (table.has_header, table.rows) == (False, tuple(rows))


@pytest.mark.parametrize("count", [3, 8])
@pytest.mark.parametrize("style", [[], [("LINEBELOW", (0, 0), (-1, 0), 0.5, "black")]])
def test_close_columns_without_lines_are_a_table(
    parse: Parse, count: int, style: list[object]
) -> None:
    """liteparse joins “OR-1 20 mm”, and reads the columns one after the other."""
    rings = [(f"OR-22{n}0", f"{20 + n} mm", "NBR", "for oil and fuel") for n in range(count)]
    rows = (("Part", "Inner diameter", "Material", "Note of the maker"), *rings)
    (table,) = parse(_table(rows, style, None), "a.pdf").blocks
    assert table.rows == rows


def test_text_below_a_table_stays_below_it(parse: Parse) -> None:
    rings = [(f"OR-22{n}0", f"{20 + n} mm", "NBR", "for oil and fuel") for n in range(3)]
    rows = (("Part", "Inner diameter", "Material", "Note of the maker"), *rings)
    out = io.BytesIO()
    below = Paragraph("Call the store for other sizes.", ParagraphStyle("body"))
    SimpleDocTemplate(out, invariant=1).build([Table(rows), below])
    table, paragraph = parse(out.getvalue(), "a.pdf").blocks
    assert (table.rows, paragraph.text) == (rows, "Call the store for other sizes.")


FAULTS = (
    ("Code", "Meaning", "What to do"),
    ("F1", "Lid open", "Close the lid until it clicks"),
    ("F2", "Motor too hot", "Let it cool for 20 minutes, lower the flow rate"),
    ("F4", "No flow", "Look for a kink in the tubing, then prime again"),
    ("F7", "Battery empty", "Charge for four hours"),
)
DATA = (("Property", "Value"), ("Flow rate", "0.05 to 6.5 litres"), ("Suction height", "8.2 m"))
GRID = [("GRID", (0, 0), (-1, -1), 0.5, "black")]


def test_tables_within_drawn_lines_have_their_columns(parse: Parse) -> None:
    """Of narrow and wide columns, and with a heading alone between two tables."""
    out = io.BytesIO()
    heading = Paragraph("5 Technical data", ParagraphStyle("head", fontSize=16, leading=20))
    tables = [Table(FAULTS, [40, 100, 253], style=GRID), Table(DATA, [100, 150], style=GRID)]
    for table in tables:
        table.hAlign = "LEFT"
    SimpleDocTemplate(out, invariant=1).build([tables[0], heading, tables[1]])
    blocks = parse(out.getvalue(), "a.pdf").blocks
    assert [block.rows or block.text for block in blocks] == [FAULTS, "5 Technical data", DATA]


def test_a_name_of_several_rows_is_that_of_each(parse: Parse) -> None:
    rows = (("Road", "Lanes", "Base"), ("Motorway", "8", "2.5"), ("", "6", "2.0"), ("", "4", "1.7"))
    span = ("SPAN", (0, 1), (0, 3))
    (table,) = parse(_table(rows, [*GRID, span], [90, 60, 60]), "a.pdf").blocks
    assert [row[0] for row in table.rows or ()] == ["Road", "Motorway", "Motorway", "Motorway"]


def test_rows_without_lines_keep_their_own_within_columns(parse: Parse) -> None:
    rows = (*ROWS, ("Total", "23,518,109", "881,487"))
    lines = [*COLUMNS, ("LINEABOVE", (0, -1), (-1, -1), 0.5, "black")]
    (table,) = parse(_table(rows, lines, [120, 120, 120]), "a.pdf").blocks
    assert table.rows == rows


DEPOTS = [
    ["Depot", "Opens", "Closes", "Manager"],
    ["Aldermoor", "07:15", "17:45", "R. Pickard"],
    ["Bexford", "06:30", "18:00", "S. Owolabi"],
    ["Cranley", "08:00", "16:20", "T. Halim"],
]
HINGES = [
    ["Part", "Use", "Price"],
    ["Hinge\n40", "Doors up to 25 kg, both sides,\nalso outdoors when painted", "€\n4.20"],
    ["Hinge\n60", "Gates and heavy doors\nof stables and barns\nof every kind", "€ 9.75"],
    ["Latch", "Sheds", "€ 3.10"],
]


@pytest.mark.parametrize(
    "line", [("LINEAFTER", (0, 0), (-2, -1)), ("LINEBEFORE", (0, 0), (-1, -1))]
)
@pytest.mark.parametrize("rows", [DEPOTS, HINGES], ids=["short", "wrapped"])
def test_lines_between_columns_alone_make_a_table(
    parse: Parse, rows: list[list[str]], line: tuple[object, ...]
) -> None:
    style = [(*line, 0.5, "black"), ("VALIGN", (0, 0), (-1, -1), "MIDDLE")]
    blocks = parse(_table(rows, style, None), "a.pdf").blocks
    (table,) = (block for block in blocks if block.rows)
    assert [list(row) for row in table.rows] == [[c.replace("\n", " ") for c in r] for r in rows]


def test_a_box_above_a_table_is_no_part_of_it(parse: Parse) -> None:
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    page.rect(72, 700, 450, 22)
    page.drawString(76, 707, "Warning: switch off the mains before the cover is opened.")
    page.drawString(72, 670, "2 Opening hours of the depots")
    grid = Table(DEPOTS, [70, 44, 44, 72], style=[("GRID", (0, 0), (-1, -1), 0.5, "black")])
    grid.wrapOn(page, 400, 300)
    grid.drawOn(page, 72, 580)
    page.save()
    blocks = parse(out.getvalue(), "a.pdf").blocks
    (table,) = (block for block in blocks if block.rows)
    assert [list(row) for row in table.rows] == DEPOTS
    assert any("2 Opening hours" in block.text for block in blocks if not block.rows)


def test_names_of_columns_that_are_close_are_each_above_theirs(parse: Parse) -> None:
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    names = ("Name", "Duty", "Extension", "E-mail")
    rows = [names, *((f"Ada {n}", "Nurse", f"-44{n}", f"a{n}@x.example") for n in range(10, 16))]
    for line, row in enumerate(rows):
        for x, text in zip((72, 160, 240, 304), row, strict=True):
            page.drawString(x, 700 - 20 * line, text)
    page.save()
    (table,) = (b for b in parse(out.getvalue(), "a.pdf").blocks if b.rows)
    assert table.rows[:2] == (names, ("Ada 10", "Nurse", "-4410", "a10@x.example"))


def test_the_second_lines_of_cells_are_parts_of_their_rows(parse: Parse) -> None:
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    names = ["Name", "Duty", "Room", "Hours"]
    for x, name in zip((72, 200, 320, 400), names, strict=True):
        page.drawString(x, 734, name)
    for top, n in zip(range(700, 500, -34), range(10, 15), strict=False):
        for x, above, below in ((72, f"Dr. Ada {n}", "Lovelace"), (200, "Senior", "nurse")):
            page.drawString(x, top, above)
            page.drawString(x, top - 13, below)
        page.drawString(320, top - 6.5, f"B{n}")
        page.drawString(400, top - 6.5, f"9 to {n}")
    page.save()
    (table,) = (b for b in parse(out.getvalue(), "a.pdf").blocks if b.rows)
    assert table.rows[-2] == ("Dr. Ada 13 Lovelace", "Senior nurse", "B13", "9 to 13")


@pytest.mark.parametrize(
    ("tops", "texts"),
    [
        pytest.param((100, 120, 133, 160, 180), ("ab", "cde", "f ", "gh", "ij"), id="ragged"),
        pytest.param((100, 114, 132, 150), ("n ", "a ", "b ", "c "), id="near to the header"),
        pytest.param((100, 120, 133, 153, 166), ("ab", "cd", "7 ", "ef", "8 "), id="values"),
    ],
)
def test_rows_that_are_no_second_lines_are_left_as_they_are(
    tops: Sequence[int], texts: Sequence[str]
) -> None:
    rows = [
        [LayoutCell(text.strip(), bbox=AnnotationRect(72, top, 40, 10)) for text in row]
        for top, row in zip(tops, texts, strict=True)
    ]
    table = LayoutBlock("table", rows=rows)
    assert with_joined_rows(table) is table


def test_prose_in_columns_with_lines_between_them_is_no_table(parse: Parse) -> None:
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    prose = simpleSplit(
        "The keeper of the Harbour Light wrote down the hour at which each vessel passed, and a "
        "sailor who could not read learnt the marks by the colour of their ink. " * 6,
        "Helvetica", 10, 140,
    )  # fmt: skip
    per = len(prose) // 3
    for column in range(3):
        for line, text in enumerate(prose[column * per : (column + 1) * per]):
            page.drawString(72 + 160 * column, 700 - 13 * line, text)
    for x in (222, 382):
        page.line(x, 712, x, 700 - 13 * per)
    page.save()
    assert not any(block.rows for block in parse(out.getvalue(), "a.pdf").blocks)


def _column(kind: str, x: float, width: float, rows: Sequence[tuple[float, str]]) -> LayoutBlock:
    top = rows[0][0]
    box = AnnotationRect(x, top, width, rows[-1][0] + 10 - top)
    return LayoutBlock(kind, " ".join(text for _, text in rows), bbox=box)


def test_values_in_another_column_of_the_page_follow_their_labels() -> None:
    """Of a safety data sheet, whose labels liteparse reads before all values."""
    labels = [[(120, "After inhalation"), (140, "After swallowing")], [(220, "pH"), (240, "Use")]]
    values = [
        [(120, "Fresh air."), (140, "Rinse the mouth,"), (152, "then call.")],
        [(220, "not applicable"), (240, "Degreaser")],
    ]
    heads = [(100.0, "2 First aid"), (200.0, "3 Properties")]
    blocks = [
        *(
            each
            for head, own in zip(heads, labels, strict=True)
            for each in (_column("heading", 60, 90, [head]), _column("paragraph", 60, 90, own))
        ),
        *(_column("paragraph", 214, 200, own) for own in values),
    ]
    items = [
        TextItem(text, x, top, 80, 10)
        for x, columns in ((60, [heads, *labels]), (214, values))
        for own in columns
        for top, text in own
    ]
    assert [block.text for block in with_values(blocks, items)] == [
        "2 First aid", "After inhalation Fresh air.\nAfter swallowing Rinse the mouth, then call.",
        "3 Properties", "pH not applicable\nUse Degreaser",
    ]  # fmt: skip
    assert with_values([*blocks[1:2], *blocks[-2:-1]], items) == [blocks[1], blocks[-2]]


def test_names_with_digits_have_amounts_beside_them(parse: Parse) -> None:
    names = ("Net", "VAT at 10 %", "Paid on 2 May", "To pay")
    amounts = ("5 815,00 €", "581,50 €", "1 900,00 €", "4 496,50 €")
    (paragraph,) = parse(_side_by_side(names, amounts), "a.pdf").blocks
    assert paragraph.text == "\n".join(map(" ".join, zip(names, amounts, strict=True)))


@pytest.mark.parametrize("style", [[], [("GRID", (0, 0), (-1, -1), 0.5, "black")]])
def test_a_small_table_below_a_centred_title_divides_no_page(
    parse: Parse, style: list[object]
) -> None:
    rows = (
        ("Code", "Meaning", "What to do"),
        ("E07", "Motor cable loose", "Check the plug of the motor"),
        ("E12", "Battery too cold", "Warm it to 10 degrees before riding"),
        ("E15", "Sensor dirty", "Clean the sensor and refit it"),
    )
    title = ParagraphStyle("title", fontName="Helvetica-Bold", fontSize=18, leading=22, alignment=1)
    head = ParagraphStyle("head", fontName="Helvetica-Bold", fontSize=14, leading=20)
    body = ParagraphStyle("body", fontSize=10, leading=12)
    out = io.BytesIO()
    SimpleDocTemplate(out, invariant=1).build(
        [
            Paragraph("Falter manual", title),
            Paragraph("Errors", head),
            Paragraph("The display shows a code.", body),
            Table(rows, style=style, spaceBefore=10, spaceAfter=10),
            Paragraph("Torque", head),
            Paragraph("The crank bolts are tightened to 38 Nm.", body),
        ]
    )
    blocks = parse(out.getvalue(), "falter.pdf").blocks
    texts = ["Falter manual", "Errors", "The display shows a code."]
    assert [block.text for block in blocks[:3]] == texts
    assert blocks[3].rows == rows
    assert [block.text for block in blocks[4:]] == [
        "Torque",
        "The crank bolts are tightened to 38 Nm.",
    ]
