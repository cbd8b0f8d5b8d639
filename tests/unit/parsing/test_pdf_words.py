"""PDF: the words of two readers, raised digits, letter-spaced and right-to-left text."""

from __future__ import annotations

import io

import pytest
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

from ingestion.domain import BlockKind
from ingestion.parsing.formats.pdf_letters import PageText
from ingestion.parsing.formats.pdf_words import PageWords

from .conftest import Parse
from .glyphs import glyph_pdf
from .shorthand import p

STYLE = ParagraphStyle("body", fontName="Helvetica", fontSize=11, leading=15)
GRID = [("GRID", (0, 0), (-1, -1), 0.5, "black")]
SENTENCE = "The gearbox oil is changed every 500 hours."


def _document(*flowables: object) -> bytes:
    out = io.BytesIO()
    SimpleDocTemplate(out, invariant=1).build(list(flowables))
    return out.getvalue()


def _spaced(text: str, spacing: float) -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    line = canvas.beginText(72, 700)
    line.setFont("Helvetica", 12)
    line.setCharSpace(spacing)
    line.textLine(text)
    canvas.drawText(line)
    canvas.save()
    return out.getvalue()


def _placed(text: str, spacing: float) -> bytes:
    """Each letter drawn at its own place, without spaces, as browsers print."""
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    left = 72.0
    for letter in text:
        if not letter.isspace():
            canvas.drawString(left, 700, letter)
        left += canvas.stringWidth(letter) + spacing
    canvas.save()
    return out.getvalue()


def test_raised_and_lowered_digits_stay_apart_from_their_word(parse: Parse) -> None:
    text = (
        "The limit of 106 bolts is 10<super>6</super> cycles per bearing<super>3</super> and "
        "5 m<super>2</super>. Use H<sub>2</sub>O<super>12</super> only, 106 times."
    )
    (block,) = parse(_document(Paragraph(text, STYLE)), "a.pdf").blocks
    assert block.text == (
        "The limit of 106 bolts is 10⁶ cycles per bearing³ and 5 m². Use H₂O¹² only, 106 times."
    )


def test_raised_digits_of_a_table(parse: Parse) -> None:
    cells = [["Part", "Area"], ["Plate", Paragraph("12 m<super>2</super>", STYLE)], ["m2", "7"]]
    (block,) = parse(_document(Table(cells, [90, 90], style=GRID)), "a.pdf").blocks
    assert block.rows == (("Part", "Area"), ("Plate", "12 m²"), ("m2", "7"))


@pytest.mark.parametrize("spacing", [0.5, 1, 2, 3, 4])
def test_letter_spaced_text_is_read_in_words(parse: Parse, spacing: float) -> None:
    assert parse(_spaced(SENTENCE, spacing), "a.pdf").blocks == (p(SENTENCE, page=1),)


@pytest.mark.parametrize("spacing", [1.8, 2.4])
def test_letters_at_places_of_their_own_are_read_in_words(parse: Parse, spacing: float) -> None:
    title = "MAINTENANCE MANUAL"
    assert [block.text for block in parse(_placed(title, spacing), "a.pdf").blocks] == [title]


def test_labels_of_one_letter_stay_apart(parse: Parse) -> None:
    text = " ".join(block.text for block in parse(_placed("A B C D E", 12), "a.pdf").blocks)
    assert text.replace(" | ", " ").split() == list("ABCDE")


@pytest.mark.parametrize(
    ("pdfium", "liteparse", "expected"),
    [
        ("the infrastructure such as", "the infrastructuresuch as", "the infrastructure such as"),
        ("the incharge office", "the in charge office", "the in charge office"),
        ("the O F F I C E is", "the OFFICE is", "the OFFICE is"),
        ("row 254.6 is", "row 2 54.6 is", "row 2 54.6 is"),
        ("a long instru\x02\r\nment is", "a long instrument is", "a long instrument is"),
        ("other letters", "othcr letters", "othcr letters"),
    ],
)
def test_the_less_doubtful_reading_is_kept(pdfium: str, liteparse: str, expected: str) -> None:
    known = {"infrastructure", "such", "in", "charge", "OFFICE"}
    assert PageWords(PageText(pdfium), frozenset(), known).repaired(liteparse) == expected


def test_a_line_to_sign_on_has_no_letters_to_look_for() -> None:
    text = "Signed: ____"
    assert PageWords(PageText("Signed: _"), frozenset(), set()).repaired(text) == text


def test_lines_of_a_script_without_spaces_are_joined_without_one() -> None:
    words = PageWords(PageText("检查人员打开外壳进\r\n行维修工作。\r\n第二 章"), frozenset(), set())
    assert words.repaired("检查人员打开外壳进 行维修工作。") == "检查人员打开外壳进行维修工作。"
    assert words.repaired("第二 章") == "第二 章"


def test_a_mark_that_is_named_with_its_letter_is_there_once(parse: Parse) -> None:
    pieces = [(72, ["รั"]), (81, ["ก"]), (74, ["รั"]), (91, ["ษ", "า"])]
    (block,) = parse(glyph_pdf([(left, 700, glyphs) for left, glyphs in pieces]), "a.pdf").blocks
    assert block.text == "รักษา"


@pytest.mark.parametrize(("left", "expected"), [(124, "오일 500시간"), (150, "오일 500 시간")])
def test_a_small_gap_beside_hangul_is_no_space(parse: Parse, left: int, expected: str) -> None:
    lines = [(72, 700, [*"오일 500"]), (left, 700, [*"시간"])]
    text = " ".join(block.text for block in parse(glyph_pdf(lines), "a.pdf").blocks)
    assert text == expected


def test_code_is_left_as_it_is(parse: Parse) -> None:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    canvas.setFont("Courier", 9)
    program = ["x = [ 1, 2 ]", "y = x [ 1 ]"]
    for number, line in enumerate(program):
        canvas.drawString(72, 730 - 11 * number, line)
    canvas.save()
    (block,) = parse(out.getvalue(), "a.pdf").blocks
    assert (block.kind, block.text.split("\n")) == (BlockKind.CODE, program)
