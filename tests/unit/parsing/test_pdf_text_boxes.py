"""PDF: the text boxes of slides are read one after the other."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from liteparse import AnnotationRect, LayoutBlock
from pypdfium2 import PdfDocument
from reportlab.pdfgen.canvas import Canvas

from ingestion.domain import BlockKind
from ingestion.parsing.formats.pdf_letters import Letters
from ingestion.parsing.formats.pdf_text_boxes import text_boxes, text_on, with_text_boxes

from .conftest import Parse

TITLE = (40, 365, 28, ["Harbour works"])
CARDS = [
    (90, 260, 18, ["Keep the discussion", "respectful"]),
    (90, 180, 18, ["Speak from your own", "experience"]),
    (420, 260, 18, ["Be curious, seek", "understanding"]),
    (420, 180, 18, ["Challenge through", "questions"]),
]
QUAY = (40, 300, 16, ["On the quay:", "● cranes", "● pumps of the", "north basin"])
WATER = (400, 300, 16, ["On the water:", "1. tugs", "2. dredgers", "3. buoys"])
Box = tuple[int, int, int, list[str]]


def _slide(*boxes: Box, size: tuple[int, int] = (720, 405)) -> bytes:
    """A page with these boxes, written one after the other: left, top, size of letters, lines."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=size, invariant=1)
    for left, top, points, lines in boxes:
        canvas.setFont("Helvetica", points)
        for number, line in enumerate(lines):
            canvas.drawString(left, top - number * points * 1.2, line)
    canvas.save()
    return out.getvalue()


@pytest.mark.parametrize("order", [CARDS, CARDS[::-1], [CARDS[at] for at in (0, 2, 1, 3)]])
def test_boxes_side_by_side_are_read_one_after_the_other(parse: Parse, order: list[Box]) -> None:
    """By their places, in whatever order their program wrote them."""
    blocks = parse(_slide(*order, TITLE), "a.pdf").blocks
    assert [block.text for block in blocks] == [
        "Harbour works",
        "Keep the discussion respectful",
        "Be curious, seek understanding",
        "Speak from your own experience",
        "Challenge through questions",
    ]


def test_lists_side_by_side_make_no_table(parse: Parse) -> None:
    blocks = parse(_slide(TITLE, QUAY, WATER), "a.pdf").blocks
    assert [(block.kind, block.text) for block in blocks] == [
        (BlockKind.HEADING, "Harbour works"),
        (BlockKind.PARAGRAPH, "On the quay:"),
        (BlockKind.LIST_ITEM, "cranes"),
        (BlockKind.LIST_ITEM, "pumps of the north basin"),
        (BlockKind.PARAGRAPH, "On the water:"),
        (BlockKind.LIST_ITEM, "1. tugs"),
        (BlockKind.LIST_ITEM, "2. dredgers"),
        (BlockKind.LIST_ITEM, "3. buoys"),
    ]


def test_labels_have_their_values_beside_them(parse: Parse) -> None:
    labels = (40, 300, 14, ["Owner:", "Since:"])
    values = (120, 300, 14, ["Pilots", "2019"])
    blocks = parse(_slide(TITLE, labels, values), "a.pdf").blocks
    assert "Owner: Pilots Since: 2019" in [block.text for block in blocks]


def test_a_table_with_many_columns_is_not_taken_apart(parse: Parse) -> None:
    columns = [
        (40 + 130 * at, 300, 14, [name, *(f"{name} {row}" for row in range(3))])
        for at, name in enumerate(("Quay", "Depth", "Date", "Crew", "Ship"))
    ]
    text = "\n".join(block.text for block in parse(_slide(TITLE, *columns), "a.pdf").blocks)
    places = [text.index(f"{name} 0") for name in ("Quay", "Depth", "Date", "Crew", "Ship")]
    assert places == sorted(places)
    assert places[-1] < text.index("Quay 1")


def test_a_line_of_spaces_below_a_list_is_no_text(parse: Parse) -> None:
    """PDFium sees the no-break spaces on the line of the next box."""
    quay = (40, 300, 20, ["● cranes", "● pumps of the", "north basin", "\xa0" * 3])
    water = (400, 228, 20, ["● tugs", "● dredgers"])
    shore = (400, 300, 20, ["A harbour has", "a shore."])
    blocks = parse(_slide(TITLE, quay, water, shore), "a.pdf").blocks
    assert [block.text for block in blocks] == [
        "Harbour works",
        "cranes",
        "pumps of the north basin",
        "A harbour has a shore.",
        "tugs",
        "dredgers",
    ]


def test_lines_with_a_word_parted_between_them_are_two() -> None:
    """PDFium sees no break behind the hyphen: one line as high as two, which was a heading."""
    quay = (40, 300, 16, ["The north basin is dredged inter-", "mittently, says the", "manual."])
    water = (400, 300, 16, ["The south basin is not."])
    with PdfDocument(_slide(quay, water)) as document:
        boxes = text_boxes(Letters(document[0]))
    assert [[text_on(line) for line in box.lines] for box in boxes] == [quay[3], water[3]]


def test_a_page_of_more_boxes_than_slides_have_stays() -> None:
    """Stairs of a thousand letters took more nested calls than Python has."""
    stairs = [(2 + place, 2_190 - 2 * place, 1, ["x"]) for place in range(1_080)]
    text = " ".join(f"{left} {right}" for left, right in zip(QUAY[3], WATER[3], strict=True))
    everything = AnnotationRect(x=0, y=0, width=2_700, height=2_200)
    torn = LayoutBlock(kind="paragraph", text=text + " x" * 1_080, bbox=everything)
    page: Any = SimpleNamespace(width=2_700, height=2_200, blocks=[torn])
    boxes = [(left + 1_500, top, points, lines) for left, top, points, lines in (QUAY, WATER)]
    with PdfDocument(_slide(*stairs, *boxes, size=(2_700, 2_200))) as document:
        assert with_text_boxes(page, Letters(document[0])) == [torn]


def test_a_heading_above_comes_before_the_boxes() -> None:
    """liteparse gave the numbers of two lists first, and their headings after them."""
    torn = LayoutBlock(
        kind="paragraph",
        text=" ".join(f"{left} {right}" for left, right in zip(QUAY[3], WATER[3], strict=True)),
        bbox=AnnotationRect(x=40, y=85, width=600, height=100),
    )
    title = AnnotationRect(x=40, y=15, width=300, height=30)
    heading = LayoutBlock(kind="heading", text=TITLE[3][0], level=1, bbox=title)
    page: Any = SimpleNamespace(width=720, height=405, blocks=[torn, heading])
    with PdfDocument(_slide(TITLE, QUAY, WATER)) as document:
        blocks = with_text_boxes(page, Letters(document[0]))
    assert len(blocks) > 2
    assert blocks[0] == heading
