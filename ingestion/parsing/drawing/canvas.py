"""The picture of a slide: fills, lines, pictures and words, in pixels."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from PIL import Image, ImageChops, ImageDraw

from ingestion.parsing.marks import SCALE, Word, words_in

from .deck import Box, Colour
from .fonts import pieces_of
from .shapes import Outline, Point, edges_of
from .text import Token

_LARGEST = 3
"""Slides: a picture wider or higher than so many of them is left out."""
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")
# In place of what cannot be drawn.
_FRAME: Colour = (190, 194, 200, 255)
_EMPTY: Colour = (246, 247, 249, 255)
_UNREADABLE = (OSError, SyntaxError, ValueError, EOFError, KeyError, TypeError, OverflowError)


class Canvas:
    """A white sheet. `words` are those written so far, with their places."""

    def __init__(self, width: int, height: int, most_pixels: int) -> None:
        self.image: Image.Image = Image.new("RGB", (width, height), "white")
        self.words: list[Word] = []
        self._most_pixels = most_pixels
        self._turned: tuple[float, float, float] | None = None

    @contextmanager
    def turned(self, degrees: float, box: Box) -> Iterator[None]:
        """Draw on a sheet that is then turned clockwise about the middle of `box`."""
        middle = (box[0] + box[2] / 2, box[1] + box[3] / 2)
        below, self.image = self.image, Image.new("RGBA", self.image.size)
        self._turned = (*middle, math.radians(degrees))
        try:
            yield
            sheet = self.image.rotate(-degrees, Image.Resampling.BICUBIC, center=middle)
        finally:
            self.image, self._turned = below, None
        self.image.paste(sheet, (0, 0), sheet)

    def paint(self, outline: Outline, colour: Colour) -> None:
        """Fill a shape with a colour."""
        if colour[3] == 255:
            _trace(ImageDraw.Draw(self.image), outline, colour)
        else:
            sheet = Image.new("RGB", self.image.size, colour[:3])
            self.image.paste(sheet, (0, 0), self._mask(outline, colour[3]))

    def shade(self, outline: Outline, box: Box, first: Colour, last: Colour, angle: float) -> None:
        """Fill a shape from one colour to another: down, or across if `angle` says so."""
        if (visible := self._visible(box)) is None:
            return
        left, top, right, bottom = visible
        ramp = Image.linear_gradient("L")
        if not 45 <= angle % 180 < 135:
            ramp = ramp.rotate(90)
        ramp = ramp.resize((right - left, bottom - top))
        end, start = (Image.new("RGB", ramp.size, colour[:3]) for colour in (last, first))
        mask = self._mask(outline).crop(visible)
        self.image.paste(Image.composite(end, start, ramp), (left, top), mask)

    def stroke(self, outline: Outline, colour: Colour, wide: float) -> None:
        """Draw the edge of a shape."""
        pen = ImageDraw.Draw(self.image)
        for points in edges_of(outline):
            pen.line(points, colour, min(max(round(wide), 1), 200), joint="curve")

    def frame(self, box: Box) -> None:
        """Draw an empty frame in place of what cannot be drawn."""
        self.paint([box], _EMPTY)
        self.stroke([box], _FRAME, 2)

    def picture(
        self, content: bytes, box: Box, outline: Outline, cut: Sequence[float] = (0, 0, 0, 0)
    ) -> None:
        """Stretch a picture over `box`, without the shares `cut` off its sides."""
        too_large = max(box[2] / self.image.width, box[3] / self.image.height) > _LARGEST
        if too_large or self._visible(box) is None:
            return
        try:
            with Image.open(io.BytesIO(content), formats=_FORMATS) as read:
                if read.width * read.height > self._most_pixels:
                    raise ValueError
                read.draft("RGB", (round(box[2]), round(box[3])))
                picture = read.convert("RGBA")
        except _UNREADABLE:
            self.frame(box)
            return
        left, top = picture.width * cut[0], picture.height * cut[1]
        right = max(picture.width * (1 - cut[2]), left + 1)
        bottom = max(picture.height * (1 - cut[3]), top + 1)
        kept = (left, top, min(right, picture.width), min(bottom, picture.height))
        wanted = (max(round(box[2]), 1), max(round(box[3]), 1))
        sheet = Image.new("RGBA", self.image.size)
        sheet.paste(
            picture.resize(wanted, Image.Resampling.BILINEAR, kept), (round(box[0]), round(box[1]))
        )
        mask = ImageChops.multiply(sheet.getchannel("A"), self._mask(outline))
        self.image.paste(sheet, (0, 0), mask)

    def write(self, tokens: Sequence[Token], left: float, top: float) -> None:
        """Write words at their places from this corner on, and note where they stand."""
        pen = ImageDraw.Draw(self.image)
        for token in tokens:
            if token.text.isspace():
                continue
            at, line = left + token.left, top + token.top
            for piece, font in pieces_of(token.text, token.style):
                base = (at, line + token.style.size * 0.95)
                pen.text(base, piece, token.style.colour, font, anchor="ls")
                at += font.getlength(piece)
            self._note(token, left + token.left, line)

    def _note(self, token: Token, left: float, top: float) -> None:
        right, bottom = left + token.width, top + token.style.size * 1.2
        corners: list[Point] = [(left, top), (right, top), (right, bottom), (left, bottom)]
        if self._turned:
            x, y, angle = self._turned
            cos, sin = math.cos(angle), math.sin(angle)
            corners = [
                (x + (a - x) * cos - (b - y) * sin, y + (a - x) * sin + (b - y) * cos)
                for a, b in corners
            ]
        across, down = zip(*corners, strict=True)
        sides = ((min(across), 0), (min(down), 1), (max(across), 0), (max(down), 1))
        places = [
            round(min(max(value / self.image.size[axis], 0), 1) * SCALE) for value, axis in sides
        ]
        self.words += [[word, *places] for word in words_in(token.text)]

    def _visible(self, box: Box) -> tuple[int, int, int, int] | None:
        left, top = max(round(box[0]), 0), max(round(box[1]), 0)
        right = min(round(box[0] + box[2]), self.image.width)
        bottom = min(round(box[1] + box[3]), self.image.height)
        return (left, top, right, bottom) if right > left and bottom > top else None

    def _mask(self, outline: Outline, opacity: int = 255) -> Image.Image:
        mask = Image.new("L", self.image.size)
        _trace(ImageDraw.Draw(mask), outline, opacity)
        return mask


def _trace(pen: Any, outline: Outline, ink: Any) -> None:
    for one in outline:
        if isinstance(one, list):
            if len(one) > 2:
                pen.polygon(one, ink)
        else:
            left, top, width, height = one
            pen.rectangle((left, top, left + max(width, 1) - 1, top + max(height, 1) - 1), ink)
