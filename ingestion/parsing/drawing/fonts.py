"""The fonts of slides: what the system has, in place of those that a deck names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .deck import Colour

_FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts")
# Substitutes by the beginning of a font file's name, the ones of the same widths as Microsoft's
# first; the last are those with Chinese, Japanese and Korean.
_FONTS = {
    "sans": ("Carlito", "LiberationSans", "Arimo", "NotoSans", "DejaVuSans", "OpenSans"),
    "serif": ("LiberationSerif", "Tinos", "NotoSerif", "DejaVuSerif"),
    "mono": ("LiberationMono", "Cousine", "NotoSansMono", "DejaVuSansMono"),
    "other": ("NotoSansCJK", "NotoSerifCJK", "DroidSansFallback", "wqy-", "NotoSans", "DejaVuSans"),
}


@dataclass(frozen=True)
class Style:
    """How a run of letters looks; `size` in pixels, of a text's base in points.

    `is_stated`: the colour is the shape's, not that of any text.
    """

    size: float
    colour: Colour
    family: str = "sans"
    is_bold: bool = False
    is_slanted: bool = False
    is_stated: bool = False


def width_of(text: str, style: Style) -> float:
    return sum(float(font.getlength(piece)) for piece, font in pieces_of(text, style))


def pieces_of(text: str, style: Style) -> Iterator[tuple[str, Any]]:
    """A text in pieces, each with a font that has its letters."""
    size = min(max(round(style.size), 4), 800)
    key = (style.family, style.is_bold, style.is_slanted, size)
    if text.isascii():
        yield text, _font(*key)
        return
    piece, used = "", None
    for letter in text:
        font = _font(*key) if letter.isascii() else _font_with(letter, *key)
        if font is not used and piece:
            yield piece, used
            piece = ""
        piece, used = piece + letter, font
    if piece:
        yield piece, used


@lru_cache(maxsize=4_096)
def _font_with(letter: str, family: str, is_bold: bool, is_slanted: bool, size: int) -> Any:
    """A font that draws the letter; the family's own if none does."""
    own = _font(family, is_bold, is_slanted, size)
    others = (_opened(path, size) for path in _paths("other", is_bold, is_slanted=False))
    return next((font for font in (own, *others) if font and _has(font, letter)), own)


def _has(font: Any, letter: str) -> bool:
    """Whether a font has a letter: without one, it draws the same as for one that no font has."""
    drawn, none = font.getmask(letter), font.getmask("\U0010fffe")
    return drawn.getbbox() is not None and bytes(drawn) != bytes(none)


@lru_cache(maxsize=256)
def _font(family: str, is_bold: bool, is_slanted: bool, size: int) -> Any:
    from PIL import ImageFont

    opened = (_opened(path, size) for path in _paths(family, is_bold, is_slanted))
    if font := next(filter(None, opened), None):
        return font
    return ImageFont.load_default(size)  # comes with Pillow: Latin letters


@lru_cache(maxsize=256)
def _opened(path: Path, size: int) -> Any:
    from PIL import ImageFont

    try:
        return ImageFont.truetype(path, size)
    except OSError:
        return None  # damaged, or not to be read from here


@lru_cache(maxsize=32)
def _paths(family: str, is_bold: bool, is_slanted: bool) -> tuple[Path, ...]:
    """The font files of a family in this style, the preferred first."""
    held = _installed()
    found = []
    for beginning in _FONTS[family]:
        weight = "Bold" if is_bold else ""
        slanted = [f"-{weight}Italic", f"-{weight}Oblique"] if is_slanted else []
        names = [f"{beginning}{style}" for style in (*slanted, f"-{weight}", "-Regular", "")]
        match = next((held[name.casefold()] for name in names if name.casefold() in held), None)
        if match is None and beginning.endswith("-"):
            match = next((path for name, path in held.items() if name.startswith(beginning)), None)
        found += [match] if match else []
    return tuple(found)


@lru_cache(maxsize=1)
def _installed() -> dict[str, Path]:
    """The font files of the system by name, in lower case and without the ending."""
    found: dict[str, Path] = {}
    for folder in _FONT_FOLDERS:
        for ending in ("ttf", "otf", "ttc"):
            for path in sorted(Path(folder).rglob(f"*.{ending}")):
                found.setdefault(path.stem.casefold(), path)
    return found
