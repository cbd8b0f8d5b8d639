"""PDF: right-to-left text, whose glyphs a file names and places as a browser prints them."""

from __future__ import annotations

import pypdfium2
import pytest
from liteparse import AnnotationRect, LayoutBlock, LayoutCell

from ingestion.domain import BlockKind
from ingestion.parsing.formats.pdf_directions import in_reading_order
from ingestion.parsing.formats.pdf_letters import Letters

from .conftest import Parse
from .glyphs import from_right, glyph_pdf


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("דליל הבטיחות בעברית", ()),
        ("دليل الإنتاجية في العمل", ("لإ",)),
        ("لا تستخدم السلالم قبل إزالة الأحمال", ("لا", "لأ")),
        ("انخفضت بين عامي 2019 و 2023 بنسبة 7.5% في السنة", ("2019", "2023", "7.5%")),
        ("وفق المعيار ISO 9001 في القاهرة", ("ISO 9001",)),
    ],
)
def test_words_numbers_and_ligatures_are_in_reading_order(
    parse: Parse, text: str, whole: tuple[str, ...]
) -> None:
    blocks = parse(glyph_pdf([(72, 700, from_right(text, *whole))]), "a.pdf").blocks
    assert [block.text for block in blocks] == [text]


def test_brackets_are_drawn_as_their_mirror_images(parse: Parse) -> None:
    mirrored = str.maketrans("()", ")(")
    line = [glyph.translate(mirrored) for glyph in from_right("שמן (ראו טבלה) כל שעה")]
    blocks = parse(glyph_pdf([(72, 700, line)]), "a.pdf").blocks
    assert [block.text for block in blocks] == ["שמן (ראו טבלה) כל שעה"]


def test_a_font_of_equal_widths_makes_no_program(parse: Parse) -> None:
    line = from_right("لا تستخدم السلالم", "لا")
    (block,) = parse(glyph_pdf([(72, 700, line)], font="Courier"), "a.pdf").blocks
    assert (block.kind, block.text) == (BlockKind.PARAGRAPH, "لا تستخدم السلالم")


def test_presentation_forms_become_letters(parse: Parse) -> None:
    blocks = parse(glyph_pdf([(72, 700, from_right("قال \ufefb أحد"))]), "a.pdf").blocks
    assert [block.text for block in blocks] == ["قال لا أحد"]


def test_words_of_a_line_between_other_words(parse: Parse) -> None:
    line = [*"The word ", *from_right("שלום עולם"), *" is a greeting of two words"]
    blocks = parse(glyph_pdf([(72, 700, line)]), "a.pdf").blocks
    assert [block.text for block in blocks] == ["The word שלום עולם is a greeting of two words"]


def test_words_of_cells_are_those_in_their_columns() -> None:
    """liteparse puts a word into the cell beside, and the number behind a word."""
    names = ("القطعة", "الكمية"), ("بكرة الألمنيوم", "7")
    lines = [
        (300 - 200 * column, 700 - 18 * row, from_right(cell, "لأ"))
        for row, cells in enumerate(names)
        for column, cell in enumerate(cells)
    ]
    cells = [[("القطعة", 90), ("الكمية", 290)], [("الألمنيوم", 90), ("7 بكرة", 290)]]
    rows = [
        [LayoutCell(text, AnnotationRect(x, 88 + 18 * at, 200, 18)) for text, x in row]
        for at, row in enumerate(cells)
    ]
    table = LayoutBlock("table", rows=rows, bbox=AnnotationRect(90, 88, 400, 36))
    document = pypdfium2.PdfDocument(glyph_pdf(lines))
    (block,) = in_reading_order([table], Letters(document[0]))
    document.close()
    assert [tuple(cell.text for cell in row) for row in block.rows or ()] == list(names)


def test_the_first_column_of_a_table_is_at_the_right(parse: Parse) -> None:
    rows = (("תחנה", "עומק", "מליחות"), ("ראשונה", "12.4", "33.1"), ("שנייה", "18.9", "34.2"))
    lines = [
        (450 - 150 * column, 700 - 18 * row, from_right(cell, "12.4", "33.1", "18.9", "34.2"))
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
    ]
    tables = [b for b in parse(glyph_pdf(lines), "a.pdf").blocks if b.kind is BlockKind.TABLE]
    assert [table.rows for table in tables] == [rows]
