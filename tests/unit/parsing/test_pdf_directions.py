"""PDF: right-to-left text, whose glyphs a file names and places as a browser prints them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ingestion.domain import BlockKind

from .conftest import Parse

_PAGE = "/MediaBox [0 0 600 800] /Resources << /Font << /F 5 0 R >> >>"


def _pdf(lines: Sequence[tuple[float, float, Sequence[str]]], font: str = "Times-Roman") -> bytes:
    """Lines at a place, each of glyphs from left to right; a glyph stands for its characters."""
    glyphs = sorted({glyph for _, _, line in lines for glyph in line})
    codes = {glyph: f"{0x41 + number:02x}" for number, glyph in enumerate(glyphs)}
    drawn = "".join(
        f"BT /F 12 Tf {x} {y} Td <{''.join(codes[glyph] for glyph in line)}> Tj ET\n"
        for x, y, line in lines
    )
    names = "\n".join(f"<{codes[glyph]}> <{glyph.encode('utf-16-be').hex()}>" for glyph in glyphs)
    unicode_map = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /M def\n"
        "1 begincodespacerange <00> <ff> endcodespacerange\n"
        f"{len(glyphs)} beginbfchar\n{names}\nendbfchar endcmap end end"
    )
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R {_PAGE} /Contents 4 0 R >>",
        f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} /ToUnicode 6 0 R >>",
        f"<< /Length {len(unicode_map)} >>\nstream\n{unicode_map}\nendstream",
    ]
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(bodies, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 7\n0000000000 65535 f \n{table}trailer << /Size 7 /Root 1 0 R >>\n"
    return f"{out}{end}startxref\n{len(out)}\n%%EOF".encode("latin-1")


def _drawn(text: str, *whole: str) -> list[str]:
    """The glyphs of right-to-left text from left to right; `whole` are glyphs or from the left."""
    glyphs = []
    while text:
        glyph = next((part for part in whole if text.startswith(part)), text[0])
        text = text[len(glyph) :]
        glyphs.append(list(glyph) if glyph[0].isascii() else [glyph])
    return [glyph for part in reversed(glyphs) for glyph in part]


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
    blocks = parse(_pdf([(72, 700, _drawn(text, *whole))]), "a.pdf").blocks
    assert [block.text for block in blocks] == [text]


def test_brackets_are_drawn_as_their_mirror_images(parse: Parse) -> None:
    mirrored = str.maketrans("()", ")(")
    line = [glyph.translate(mirrored) for glyph in _drawn("שמן (ראו טבלה) כל שעה")]
    blocks = parse(_pdf([(72, 700, line)]), "a.pdf").blocks
    assert [block.text for block in blocks] == ["שמן (ראו טבלה) כל שעה"]


def test_a_font_of_equal_widths_makes_no_program(parse: Parse) -> None:
    line = _drawn("لا تستخدم السلالم", "لا")
    (block,) = parse(_pdf([(72, 700, line)], font="Courier"), "a.pdf").blocks
    assert (block.kind, block.text) == (BlockKind.PARAGRAPH, "لا تستخدم السلالم")


def test_presentation_forms_become_letters(parse: Parse) -> None:
    blocks = parse(_pdf([(72, 700, _drawn("قال \ufefb أحد"))]), "a.pdf").blocks
    assert [block.text for block in blocks] == ["قال لا أحد"]


def test_words_of_a_line_between_other_words(parse: Parse) -> None:
    line = [*"The word ", *_drawn("שלום עולם"), *" is a greeting of two words"]
    blocks = parse(_pdf([(72, 700, line)]), "a.pdf").blocks
    assert [block.text for block in blocks] == ["The word שלום עולם is a greeting of two words"]


def test_the_first_column_of_a_table_is_at_the_right(parse: Parse) -> None:
    rows = (("תחנה", "עומק", "מליחות"), ("ראשונה", "12.4", "33.1"), ("שנייה", "18.9", "34.2"))
    lines = [
        (450 - 150 * column, 700 - 18 * row, _drawn(cell, "12.4", "33.1", "18.9", "34.2"))
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
    ]
    tables = [b for b in parse(_pdf(lines), "a.pdf").blocks if b.kind is BlockKind.TABLE]
    assert [table.rows for table in tables] == [rows]
