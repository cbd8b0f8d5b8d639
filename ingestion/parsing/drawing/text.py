"""The text of a shape on a slide: its paragraphs as lines of words with places, and their fonts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ingestion.parsing.marks import is_apart

from .deck import Theme, share, whole
from .fonts import Style, width_of

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

EMU_PER_POINT = 12_700
_SERIFS = re.compile(
    r"times|georgia|cambria|garamond|serif(?<!sans.serif)|book|palatino", re.IGNORECASE
)
_MONOSPACED = re.compile(r"courier|consol|mono|menlo", re.IGNORECASE)
# Wingdings and Symbol have pictures in the places of letters.
_BULLETS = {"§": "▪", "Ø": "➢", "ü": "✓", "q": "❑", "v": "❖", "à": "→", "n": "■", "l": "●"}
_APART = re.compile(r"([\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])")
_TOKENS = re.compile(r"\n|[^\S\n]+|\S+")
# Of 5,000 words a slide shows none that can be read. A guess.
MOST_TOKENS = 5_000
_LINE = 1.2
"""PowerPoint's line height: of the letters' size."""
# How far text that is too long is made smaller: these fonts are wider than those it was made with.
_SMALLEST = 0.55


@dataclass
class Token:
    """A word, where its line begins and its top left corner within the shape's box."""

    text: str
    style: Style
    width: float
    left: float = 0
    top: float = 0


@dataclass
class _Paragraph:
    tokens: list[Token]
    bullet: Token | None
    align: str
    indent: float
    hanging: float
    before: float
    spacing: float
    size: float


def laid_out(
    body: Element, styles: Sequence[Element], theme: Theme, space: tuple[float, float],
    *, base: Style, is_wrapped: bool, scale: float,
) -> tuple[list[Token], float]:  # fmt: skip
    """The words of a text in a box of `space` pixels, and the height they take.

    `scale` is pixels a point; text that is too high is made smaller.
    """
    fit = body.find("bodyPr/normAutofit")
    factor = max(share(fit, "fontScale", 1), 0.1)
    while True:
        sized = scale * factor
        paragraphs = list(_paragraphs(body, styles, theme, sized, base))
        words, height = _flow(paragraphs, space[0] if is_wrapped else float("inf"), space[0])
        if height <= space[1] * 1.03 or factor <= _SMALLEST:
            return words, height
        factor *= 0.93


def _paragraphs(
    body: Element, styles: Sequence[Element], theme: Theme, scale: float, base: Style
) -> Iterator[_Paragraph]:
    numbers: dict[int, int] = {}
    left = MOST_TOKENS
    own = [one] if (one := body.find("lstStyle")) is not None else []
    # A shape's own colour of text stands before those that layout and master state for any text.
    coloured = own if base.is_stated else [*own, *styles]
    for paragraph in body.iterfind("p"):
        stated = paragraph.find("pPr")
        level = min(max(whole(stated, "lvl"), 0), 8)
        named = f"lvl{level + 1}pPr"
        held = [
            one for one in [stated, *(s.find(named) for s in (*own, *styles))] if one is not None
        ]
        plain = [one for each in held if (one := each.find("defRPr")) is not None]
        inks = [one for s in coloured if (one := s.find(f"{named}/defRPr")) is not None]
        tokens: list[Token] = []
        for run in paragraph:
            if run.tag == "br":
                tokens.append(Token("\n", base, 0))
            elif run.tag in ("r", "fld"):
                looks = [one] if (one := run.find("rPr")) is not None else []
                style = _style(looks, plain, inks, theme, scale, base)
                text = "".join(one.text or "" for one in run.iterfind("t")).replace("\v", "\n")
                tokens += list(_tokens(text, style, left - len(tokens)))
        left = max(left - len(tokens), 0)
        first = tokens[0].style if tokens else _style([], plain, inks, theme, scale, base)
        numbers = {at: count for at, count in numbers.items() if at <= level}
        yield _Paragraph(
            tokens,
            _bullet(held, first, theme, numbers, level) if tokens else None,
            _stated(held, "algn") or "l",
            int(_stated(held, "marL") or 0) / EMU_PER_POINT * scale,
            int(_stated(held, "indent") or 0) / EMU_PER_POINT * scale,
            _gap(held, "spcBef", first.size, scale),
            _gap(held, "lnSpc", first.size * _LINE, scale, usual=1) / (first.size * _LINE),
            first.size,
        )


def _stated(held: Sequence[Element], name: str) -> str:
    found = next((one.get(name, "") for one in held if one.get(name)), "")
    return found if name == "algn" or re.fullmatch(r"-?\d{1,9}", found) else ""


def _gap(held: Sequence[Element], name: str, of: float, scale: float, usual: float = 0) -> float:
    """A distance stated in percent of `of`, or in points."""
    for one in held:
        stated = one.find(name)
        if stated is not None and len(stated):
            if stated[0].tag == "spcPct":
                return min(max(share(stated[0], "val", usual), 0), 5) * of
            return min(max(whole(stated[0], "val"), 0), 50_000) / 100 * scale
    return usual * of


def _style(
    run: Sequence[Element],
    inherited: Sequence[Element],
    inks: Sequence[Element],
    theme: Theme,
    scale: float,
    base: Style,
) -> Style:
    """The style by what is stated, the innermost first; the colour by the run and `inks`."""
    looks = [*run, *inherited]

    def said(name: str) -> str:
        return next((one.get(name, "") for one in looks if one.get(name)), "")

    size = said("sz")
    points = min(max(int(size), 100), 40_000) / 100 if size.isdecimal() else base.size
    stated = (theme.colour(one.find("solidFill")) for one in (*run, *inks))
    colour = next(filter(None, stated), base.colour)
    if run and run[0].find("hlinkClick") is not None:
        colour = theme.named("hlink")
    latin = next((f for one in looks if (f := one.find("latin")) is not None), None)
    face = latin.get("typeface", "") if latin is not None else ""
    face = theme.fonts.get(face, face)
    family = (
        "mono" if _MONOSPACED.search(face) else "serif" if _SERIFS.search(face) else base.family
    )
    bold, slanted = said("b"), said("i")
    return Style(
        points * scale, colour, family,
        bold in ("1", "true") if bold else base.is_bold,
        slanted in ("1", "true") if slanted else base.is_slanted,
    )  # fmt: skip


def _bullet(
    held: Sequence[Element], style: Style, theme: Theme, numbers: dict[int, int], level: int
) -> Token | None:
    for one in held:
        if one.find("buNone") is not None:
            return None
        counted, letter = one.find("buAutoNum"), one.find("buChar")
        if counted is not None:
            numbers[level] = numbers.get(level, whole(counted, "startAt", 1) - 1) + 1
            text = f"{numbers[level]}."
        elif letter is not None:
            face = next(
                (f.get("typeface", "") for h in held if (f := h.find("buFont")) is not None), ""
            )
            text = letter.get("char", "•")
            text = (
                _BULLETS.get(text, "•")
                if re.search("wingdings|symbol", face, re.IGNORECASE)
                else text[:3]
            )
        else:
            continue
        colour = next((c for h in held if (c := theme.colour(h.find("buClr")))), style.colour)
        shown = replace(style, colour=colour)
        return Token(text, shown, width_of(text, shown))
    return None


def _tokens(text: str, style: Style, most: int) -> Iterator[Token]:
    """Words, the spaces between them, and each character of scripts without spaces."""
    for match in _TOKENS.finditer(text):
        pieces = _APART.split(match[0]) if any(map(is_apart, match[0])) else [match[0]]
        for piece in filter(None, pieces):
            most -= 1
            if most < 0:
                return
            shown = " " if piece.isspace() and piece != "\n" else piece[:400]
            yield Token(shown, style, 0 if piece == "\n" else width_of(shown, style))


def _flow(
    paragraphs: Sequence[_Paragraph], wrapped_at: float, width: float
) -> tuple[list[Token], float]:
    """Place the words of all paragraphs in lines."""
    placed: list[Token] = []
    top = 0.0
    for number, paragraph in enumerate(paragraphs):
        top += paragraph.before if number else 0
        for at, line in enumerate(_lines(paragraph, wrapped_at)):
            begins = paragraph.indent + (0 if at or paragraph.bullet else paragraph.hanging)
            size = max((token.style.size for token in line), default=paragraph.size)
            filled = sum(token.width for token in line)
            spare = max(width - begins - filled, 0)
            left = begins + {"ctr": spare / 2, "r": spare}.get(paragraph.align, 0)
            height = size * _LINE * paragraph.spacing
            if not at and paragraph.bullet:
                mark = paragraph.bullet
                mark.left = max(left + min(paragraph.hanging, -mark.width), 0)
                mark.top = top + (size - mark.style.size) * 0.8
                placed.append(mark)
            for token in line:
                token.left, token.top = left, top + (size - token.style.size) * 0.8
                left += token.width
                placed.append(token)
            top += height
    return placed, top


def _lines(paragraph: _Paragraph, width: float) -> Iterator[list[Token]]:
    """The lines of a paragraph; an empty one has one empty line."""
    line: list[Token] = []
    filled = paragraph.indent
    for token in _broken(paragraph.tokens, width - filled):
        if token.text == "\n":
            yield _trimmed(line)
            line, filled = [], paragraph.indent
            continue
        if line and token.text != " " and filled + token.width > width:
            yield _trimmed(line)
            line, filled = [], paragraph.indent
        if line or token.text != " ":
            line.append(token)
            filled += token.width
    yield _trimmed(line)


def _broken(tokens: Sequence[Token], width: float) -> Iterator[Token]:
    """The tokens; a word that is wider than a line in pieces of at most its width."""
    for token in tokens:
        if token.width <= max(width, token.style.size):
            yield token
            continue
        most = max(int(len(token.text) * width / token.width), 1)
        for at in range(0, len(token.text), most):
            piece = token.text[at : at + most]
            yield Token(piece, token.style, width_of(piece, token.style))


def _trimmed(line: list[Token]) -> list[Token]:
    while line and line[-1].text == " ":
        line.pop()
    return line
