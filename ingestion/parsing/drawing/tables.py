"""The cells of a table on a slide, with their places and looks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .deck import Box, Colour, Slide, whole
from .fonts import Style
from .text import EMU_PER_POINT, laid_out

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# PowerPoint's table styles "No Style, No Grid" and "No Style, Table Grid"; for all others its
# default, Medium Style 2, is drawn in the theme's first accent.
_PLAIN = ("{2D5ABB26-0587-4C30-8999-92F81FD0307C}", "{5940675A-B579-460E-94D1-54222C63F5DA}")
_MOST_CELLS = 2_000
INSET = 91_440
"""EMU between a cell's edge and its text."""


@dataclass(frozen=True)
class Cell:
    box: Box
    fill: Colour | None
    line: Colour | None
    body: Element | None
    style: Style
    anchor: str


def cells_of(table: Element, box: Box, slide: Slide, scale: float) -> Iterator[Cell]:
    """The cells, row by row; a row is as high as its texts need."""
    rows = table.findall("tr")
    count = max((len(row.findall("tc")) for row in rows), default=0)
    stated = [whole(one, "w") * scale for one in table.iterfind("tblGrid/gridCol")]
    if len(stated) < count or not all(stated):
        stated = [box[2] / max(count, 1)] * count
    properties = table.find("tblPr")
    top, left_over = box[1], _MOST_CELLS
    for number, row in enumerate(rows):
        usual = whole(row, "h") * scale or box[3] / max(len(rows), 1)
        cells = row.findall("tc")
        left_over -= len(cells)
        if left_over < 0:
            return
        made = [
            _cell(one, number, properties, slide, (sum(stated[:at], box[0]), top,
                  sum(stated[at : at + max(whole(one, "gridSpan", 1), 1)]), usual))
            for at, one in enumerate(cells)
            if one.get("hMerge") not in ("1", "true") and one.get("vMerge") not in ("1", "true")
        ]  # fmt: skip
        height = max([usual, *(_needed(one, slide, scale) for one in made)])
        for one in made:
            yield replace(one, box=(*one.box[:3], height))
        top += height


def _cell(cell: Element, row: int, table: Element | None, slide: Slide, box: Box) -> Cell:
    theme, properties = slide.theme, cell.find("tcPr")
    style_id = (table.findtext("tableStyleId") or "").strip() if table is not None else ""
    is_plain = style_id in _PLAIN
    is_head = row == 0 and table is not None and table.get("firstRow") in ("1", "true")
    is_band = table is not None and table.get("bandRow") in ("1", "true")
    accent = theme.named("accent1")
    fill: Colour | None = None
    if not is_plain:
        fill = accent if is_head else _lighter(accent, 0.4 if is_band and row % 2 else 0.2)
    if properties is not None:
        if properties.find("noFill") is not None:
            fill = None
        fill = theme.colour(properties.find("solidFill")) or fill
    ink = theme.named("lt1") if is_head and not is_plain else theme.text()
    line = None if style_id == _PLAIN[0] else theme.text() if is_plain else theme.named("lt1")
    anchor = properties.get("anchor", "t") if properties is not None else "t"
    style = Style(18, ink, is_bold=is_head and not is_plain)
    return Cell(box, fill, line, cell.find("txBody"), style, anchor)


def _needed(cell: Cell, slide: Slide, scale: float) -> float:
    """The height of a cell's text with its margins."""
    if cell.body is None:
        return 0
    width = max(cell.box[2] - 2 * INSET * scale, 8)
    _, height = laid_out(
        cell.body, [], slide.theme, (width, float("inf")), base=cell.style, is_wrapped=True,
        scale=EMU_PER_POINT * scale,
    )  # fmt: skip
    return height + INSET * scale


def _lighter(colour: Colour, part: float) -> Colour:
    red, green, blue = (round(255 - (255 - side) * part) for side in colour[:3])
    return red, green, blue, 255
