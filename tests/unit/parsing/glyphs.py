"""A PDF of glyphs at places, as a browser prints text of any script."""

from __future__ import annotations

from collections.abc import Sequence

_PAGE = "/MediaBox [0 0 600 800] /Resources << /Font << /F 5 0 R >> >>"


def glyph_pdf(
    lines: Sequence[tuple[float, float, Sequence[str]]], font: str = "Times-Roman"
) -> bytes:
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


def from_right(text: str, *whole: str) -> list[str]:
    """The glyphs of right-to-left text from left to right; `whole` are glyphs or from the left."""
    glyphs = []
    while text:
        glyph = next((part for part in whole if text.startswith(part)), text[0])
        text = text[len(glyph) :]
        glyphs.append(list(glyph) if glyph[0].isascii() else [glyph])
    return [glyph for part in reversed(glyphs) for glyph in part]
