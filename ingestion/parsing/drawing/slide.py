"""One slide of a PPTX as a picture, with its words and their places.

Texts, fills, lines, pictures, tables and groups are drawn at their places, as slide, layout and
master state them. Charts and pictures in formats of Windows (EMF) are frames: docs/adr/0086.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ingestion.errors import DamagedFile
from ingestion.parsing.archive import UNREADABLE
from ingestion.parsing.marks import Word
from ingestion.parsing.office import read_checked
from ingestion.parsing.protocol import Source

from .canvas import Canvas
from .deck import Box, Colour, Deck, Slide, placeholder, share, whole
from .fonts import Style
from .shapes import Outline, outline_of
from .tables import INSET, cells_of
from .text import EMU_PER_POINT, laid_out

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# Drawn at twice its size and reduced: Pillow's edges are jagged.
_FINER = 2
# Of a slide with more shapes the rest is left out; guesses, as the next two are.
_MOST_SHAPES = 1_000
_DEEPEST_GROUP = 12
# Slides: a shape that lies further outside is left out.
_FURTHEST = 10
# Where placeholders stand whose place nothing states, as shares of the slide.
_TITLE, _BODY = (0.06, 0.05, 0.88, 0.17), (0.06, 0.26, 0.88, 0.66)
_USUAL_INSETS = {"lIns": 91_440, "tIns": 45_720, "rIns": 91_440, "bIns": 45_720}
# Points, where no style states them: PowerPoint's own.
_TEXT_SIZE, _TITLE_SIZE = 18, 44


def draw_slide(source: Source, number: int, width: int, most_height: int) -> tuple[Any, list[Word]]:
    """The picture of slide `number` (from 1) and its words. Raises ParseFailed."""
    data = read_checked(source)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            slide = Deck(archive).slide(number)
            across, down = slide.size
            scale = min(width / across, most_height / down) * _FINER
            drawing = _Drawing(slide, scale, source.limits.image_pixels)
            drawing.draw()
    except UNREADABLE as error:
        raise DamagedFile("A part of the presentation cannot be unpacked.") from error
    return drawing.canvas.image.reduce(_FINER), drawing.canvas.words


@dataclass(frozen=True)
class _Frame:
    """How places in a group become pixels."""

    across: float
    down: float
    left: float = 0
    top: float = 0

    def box(self, box: Box) -> Box:
        left, top, width, height = box
        return (
            left * self.across + self.left,
            top * self.down + self.top,
            width * self.across,
            height * self.down,
        )


class _Drawing:
    def __init__(self, slide: Slide, scale: float, most_pixels: int) -> None:
        across, down = (max(round(side * scale), _FINER) for side in slide.size)
        self.slide, self.scale = slide, scale
        self.canvas = Canvas(across, down, most_pixels)
        self._left = _MOST_SHAPES

    def draw(self) -> None:
        self._background()
        for name, tree in self.slide.trees():
            is_own = name == self.slide.names[0]
            self._shapes(tree, name, _Frame(self.scale, self.scale), is_own=is_own)

    def _background(self) -> None:
        if (found := self.slide.background()) is None:
            return
        name, stated = found
        across, down = self.canvas.image.size
        whole_slide = (0.0, 0.0, float(across), float(down))
        if stated.tag == "bgPr":
            self._fill(stated, name, whole_slide, [whole_slide], None)
        elif colour := self.slide.theme.colour(stated):
            self.canvas.paint([whole_slide], colour)

    def _shapes(
        self, tree: Element, name: str, frame: _Frame, *, is_own: bool, depth: int = 0
    ) -> None:
        """Draw shapes; of layout and master (not `is_own`) all but placeholders."""
        for shape in tree:
            self._left -= 1
            if self._left < 0:
                return
            if _is_hidden(shape) or (not is_own and placeholder(shape) is not None):
                continue
            if shape.tag == "grpSp" and depth < _DEEPEST_GROUP:
                inner = _within(shape, frame)
                self._shapes(shape, name, inner, is_own=is_own, depth=depth + 1)
            elif shape.tag in ("sp", "cxnSp", "pic", "graphicFrame"):
                self._shape(shape, name, frame)

    def _shape(self, shape: Element, name: str, frame: _Frame) -> None:
        box, turn = self._place(shape, frame)
        furthest = _FURTHEST * max(self.canvas.image.size)
        if not all(math.isfinite(side) and abs(side) < furthest for side in box):
            return
        if turn:
            with self.canvas.turned(turn, box):
                self._drawn(shape, name, box)
        else:
            self._drawn(shape, name, box)

    def _place(self, shape: Element, frame: _Frame) -> tuple[Box, float]:
        """The shape's box in pixels, and by how many degrees it is turned."""
        for one in self.slide.inherited(shape):
            found = one.find("xfrm") if one.tag == "graphicFrame" else one.find("spPr/xfrm")
            if found is not None and found.find("off") is not None:
                return frame.box(_box(found)), whole(found, "rot") / 60_000 % 360
        left, top, width, height = _TITLE if _is_title(shape) else _BODY
        across, down = self.canvas.image.size
        return (left * across, top * down, width * across, height * down), 0

    def _drawn(self, shape: Element, name: str, box: Box) -> None:
        stated = shape.find("spPr")
        if shape.tag == "pic":
            outline = outline_of(stated, box)
            self._picture(shape.find("blipFill"), name, box, outline)
            self._line(stated, None, outline)
        elif shape.tag == "graphicFrame":
            self._graphic(shape, box)
        else:
            self._figure(shape, name, box)

    def _graphic(self, shape: Element, box: Box) -> None:
        """A table; of other graphics such as charts, a frame."""
        table = shape.find("graphic/graphicData/tbl")
        if table is None:
            self.canvas.frame(box)
            return
        for cell in cells_of(table, box, self.slide, self.scale):
            if cell.fill:
                self.canvas.paint([cell.box], cell.fill)
            if cell.line:
                self.canvas.stroke([cell.box], cell.line, self.scale * EMU_PER_POINT)
            if cell.body is not None:
                inset = INSET * self.scale
                left, top, width, height = cell.box
                space = (width - 2 * inset, height - inset)
                held = (left + inset, top + inset / 2, *space)
                self._words(cell.body, [], held, cell.style, anchor=cell.anchor)

    def _figure(self, shape: Element, name: str, box: Box) -> None:
        """A shape with its fill, its outline and its text."""
        theme, style = self.slide.theme, shape.find("style")
        chain = self.slide.inherited(shape)
        stated = [found for one in chain if (found := one.find("spPr")) is not None]
        first = next(iter(stated), None)
        outline = outline_of(first, box, is_line=shape.tag == "cxnSp")
        if shape.tag == "sp":
            referred = style.find("fillRef") if style is not None else None
            own = theme.colour(referred) if whole(referred, "idx") else None
            if not any(self._fill(one, name, box, outline, own) for one in stated) and own:
                self.canvas.paint(outline, own)
        self._line(first, style, outline)
        body = shape.find("txBody")
        if body is not None:
            colour = theme.colour(style.find("fontRef")) if style is not None else None
            size = _TITLE_SIZE if _is_title(shape) else _TEXT_SIZE
            base = Style(size, colour or theme.text(), is_stated=colour is not None)
            self._text(body, shape, box, base)

    def _text(self, body: Element, shape: Element, box: Box, base: Style) -> None:
        chain = self.slide.inherited(shape)
        stated = [found for one in chain if (found := one.find("txBody/bodyPr")) is not None]

        def said(name: str) -> str:
            return next((one.get(name, "") for one in stated if one.get(name)), "")

        left, top, right, bottom = (
            (int(said(name)) if said(name).isdecimal() and len(said(name)) < 9 else usual)
            * self.scale
            for name, usual in _USUAL_INSETS.items()
        )
        space = (box[2] - left - right, box[3] - top - bottom)
        held = (box[0] + left, box[1] + top, *space)
        self._words(
            body,
            self.slide.styles(shape),
            held,
            base,
            anchor=said("anchor"),
            is_wrapped=said("wrap") != "none",
        )

    def _words(
        self,
        body: Element,
        styles: Sequence[Element],
        box: Box,
        base: Style,
        *,
        anchor: str = "t",
        is_wrapped: bool = True,
    ) -> None:
        """Write a text into a box."""
        tokens, height = laid_out(
            body,
            styles,
            self.slide.theme,
            (max(box[2], 8), max(box[3], 8)),
            base=base,
            is_wrapped=is_wrapped,
            scale=EMU_PER_POINT * self.scale,
        )
        spare = max(box[3] - height, 0)
        self.canvas.write(tokens, box[0], box[1] + {"ctr": 0.5, "b": 1.0}.get(anchor, 0) * spare)

    def _fill(
        self, stated: Element, name: str, box: Box, outline: Outline, own: Colour | None
    ) -> bool:
        """Fill a shape as its properties state; False if they state nothing."""
        theme = self.slide.theme
        for one in stated:
            if one.tag == "noFill":
                return True
            if one.tag in ("solidFill", "pattFill"):
                held = one if one.tag == "solidFill" else one.find("fgClr")
                if colour := theme.colour(held, own):
                    self.canvas.paint(outline, colour)
                return True
            if one.tag == "gradFill":
                stops = sorted(one.iterfind("gsLst/gs"), key=lambda stop: share(stop, "pos"))
                colours = [found for stop in stops if (found := theme.colour(stop, own))]
                if colours:
                    angle = whole(one.find("lin"), "ang") / 60_000
                    self.canvas.shade(outline, box, colours[0], colours[-1], angle)
                return True
            if one.tag == "blipFill":
                self._picture(one, name, box, outline)
                return True
        return False

    def _picture(self, fill: Element | None, name: str, box: Box, outline: Outline) -> None:
        """A picture stretched over its box; a frame if it cannot be read."""
        if fill is None or (blip := fill.find("blip")) is None:
            self.canvas.frame(box)
            return
        target = self.slide.deck.relations(name).get(blip.get("r:embed", ""), "")
        cut = fill.find("srcRect")
        sides = [min(max(share(cut, side), 0), 0.99) for side in ("l", "t", "r", "b")]
        self.canvas.picture(self.slide.deck.content(target), box, outline, sides)

    def _line(self, stated: Element | None, style: Element | None, outline: Outline) -> None:
        """The outline of a shape, as it or its style states it."""
        line = stated.find("ln") if stated is not None else None
        if line is not None and line.find("noFill") is not None:
            return
        theme = self.slide.theme
        referred = style.find("lnRef") if style is not None else None
        own = theme.colour(referred) if whole(referred, "idx") else None
        colour = theme.colour(line.find("solidFill"), own) if line is not None else None
        if drawn := colour or own:
            wide = whole(line, "w", EMU_PER_POINT * 3 // 4) * self.scale
            self.canvas.stroke(outline, drawn, wide)


def _is_title(shape: Element) -> bool:
    mark = placeholder(shape)
    return mark is not None and mark.get("type", "") in ("title", "ctrTitle")


def _box(placed: Element, offset: str = "off", extent: str = "ext") -> Box:
    start, sides = placed.find(offset), placed.find(extent)
    return (
        float(whole(start, "x")),
        float(whole(start, "y")),
        float(abs(whole(sides, "cx"))),
        float(abs(whole(sides, "cy"))),
    )


def _within(group: Element, frame: _Frame) -> _Frame:
    """The frame of a group's shapes, whose places are in units of its own."""
    placed = group.find("grpSpPr/xfrm")
    if placed is None or placed.find("off") is None:
        return frame
    left, top, width, height = frame.box(_box(placed))
    x, y, across, down = _box(placed, "chOff", "chExt")
    horizontal, vertical = width / (across or 1), height / (down or 1)
    return _Frame(horizontal, vertical, left - x * horizontal, top - y * vertical)


def _is_hidden(shape: Element) -> bool:
    named = (one.find("cNvPr") for one in shape if one.tag.startswith("nv"))
    return any(one is not None and one.get("hidden") in ("1", "true") for one in named)
