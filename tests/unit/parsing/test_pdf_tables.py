"""PDF: rows between which no line is drawn, and notes in the margin."""

from __future__ import annotations

import io

from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

from ingestion.domain import BlockKind

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


def _table(rows: object, style: list[object], widths: list[int]) -> bytes:
    out = io.BytesIO()
    SimpleDocTemplate(out, invariant=1).build([Table(rows, widths, style=style)])
    return out.getvalue()


def test_rows_without_lines_between_them(parse: Parse) -> None:
    (table,) = parse(_table(ROWS, COLUMNS, [120, 120, 120]), "a.pdf").blocks
    assert table.rows == ROWS


def test_two_rows_with_values(parse: Parse) -> None:
    (table,) = parse(_table(ROWS[:3], COLUMNS, [120, 120, 120]), "a.pdf").blocks
    assert table.rows == ROWS[:3]


def test_wrapped_cells_stay_one_row(parse: Parse) -> None:
    style = ParagraphStyle("cell", fontSize=10, leading=12)
    long = "Pump of the northern basin with two seals and a valve of bronze"
    cells = [["Part", "Place", "Price"], [Paragraph(long, style), Paragraph(long, style), "12.50"]]
    (table,) = parse(
        _table(cells, [("GRID", (0, 0), (-1, -1), 0.5, "black")], [150, 150, 60]), "a.pdf"
    ).blocks
    assert table.rows == (("Part", "Place", "Price"), (long, long, "12.50"))


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
