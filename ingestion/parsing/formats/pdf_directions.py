"""Right-to-left text of a PDF, put in reading order by the places of its letters.

A PDF draws glyphs from either side and in pieces. liteparse and PDFium reverse what they take for
right-to-left, but err at ligatures (lam and alef), between pieces, at numbers and at brackets.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from ingestion.parsing.formats.pdf_layout import around, rows_of, text_of
from ingestion.parsing.formats.pdf_letters import Letter, Letters, Line, is_within, lines_of

if TYPE_CHECKING:
    from liteparse import LayoutBlock, LayoutCell

RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_DIGITS = re.compile("[0-9\u0660-\u0669\u06f0-\u06f9]")
_ALEFS = frozenset("اأإآٱ")
_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")
_PAIR = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|«[^«»]*»|\{[^{}]*\}")
# What is read from the left, in the classes of a line's characters: L letter, N digit, S separator
# in a number, E sign behind a number, R letter from the right, O other.
_FROM_LEFT = re.compile(r"(?:N[NS]*)?L(?:[LNSEO]*[LN])?E*|N(?:N|S(?=N))*E*")
_FROM_RIGHT = re.compile(r"R(?:[RNSEO]*R)?")
# Points, and a share of a line's height below which a gap parts no words: guesses.
_POINT, _NARROW = 0.01, 0.06
_REACH = 2  # letters
_ALIKE = 0.95
"""Least share of equal letters before and after; a guess. PDFium knows some fonts less well."""


class _Glyph(NamedTuple):
    left: float
    right: float
    text: str

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


def in_reading_order(blocks: Sequence[LayoutBlock], letters: Letters) -> list[LayoutBlock]:
    """The blocks of a page; those in a right-to-left script with their letters in order.

    liteparse divides lines where the direction changes, and may take the pieces for a table: blocks
    that share a line become one.
    """
    lines = sorted(lines_of(letters), key=lambda line: line.top)
    prose = [_is_prose(block, lines) for block in blocks]
    leaders = list(range(len(blocks)))
    for line in lines:
        met = {
            leaders[at]
            for at, block in enumerate(blocks)
            if prose[at] and block.bbox and line.within(block.bbox)
        }
        leaders = [min(met) if leader in met else leader for leader in leaders]
    groups: dict[int, list[LayoutBlock]] = {}
    for leader, block in zip(leaders, blocks, strict=True):
        groups.setdefault(leader, []).append(block)
    out: list[LayoutBlock] = []
    for leader, group in groups.items():
        if prose[leader]:
            out += _ordered(group, lines)
        else:
            out += [_table(one, lines) if one.kind == "table" else one for one in group]
    return out


def _is_prose(block: LayoutBlock, lines: Sequence[Line]) -> bool:
    """Whether it is right-to-left text; a table is if most of its lines have no wide gap."""
    if not block.bbox or not RIGHT_TO_LEFT.search(text_of(block)):
        return False
    if block.kind != "table":
        return True
    parts = [Line.of(part) for line in lines if (part := line.within(block.bbox))]
    return 2 * sum(part.has_columns() for part in parts) < len(parts)


def _ordered(group: Sequence[LayoutBlock], lines: Sequence[Line]) -> Sequence[LayoutBlock]:
    """Blocks of right-to-left text as one."""
    first = group[0]
    before = " ".join(map(text_of, group))
    boxes = [block.bbox for block in group if block.bbox]
    parts = (
        [one for one in line.letters if any(is_within(one, box) for box in boxes)] for line in lines
    )
    text = " ".join(_text(part, _is_from_right(before)) for part in parts if part)
    if not is_alike(before, text):
        return group
    is_heading = all(block.kind == "heading" for block in group)
    kind = "heading" if is_heading else "paragraph"
    return [
        replace(
            first, kind=kind, text=text, bbox=around(*group), header=None, rows=None, lines=None
        )
    ]


def _table(table: LayoutBlock, lines: Sequence[Line]) -> LayoutBlock:
    """The table; its first column is the one at the right if most of it is read from there."""
    rows = rows_of(table)
    before = text_of(table)
    if not RIGHT_TO_LEFT.search(before):
        return table
    is_from_right = _is_from_right(before)

    read = [[_cell(cell, lines) for cell in row] for row in rows]
    # As a whole: liteparse may put a text into the cell beside.
    if not is_alike(before, " ".join(cell.text for row in read for cell in row)):
        read = rows
    read = [row[::-1] if is_from_right else row for row in read]
    header = read.pop(0) if table.header else None
    return replace(table, header=header, rows=read)


def _cell(cell: LayoutCell, lines: Sequence[Line]) -> LayoutCell:
    if not cell.bbox:
        return cell
    parts = [part for line in lines if (part := line.within(cell.bbox))]
    written = "".join(letter.text for part in parts for letter in part)
    text = " ".join(_text(part, _is_from_right(written)) for part in parts)
    return replace(cell, text=text)


def _is_from_right(text: str) -> bool:
    from_right = len(RIGHT_TO_LEFT.findall(text))
    return 2 * from_right > sum(char.isalpha() for char in text)


def is_alike(before: str, after: str) -> bool:
    """Whether both have about the same letters, in any order."""
    ones, others = (
        Counter(char for char in unicodedata.normalize("NFKC", text) if char.isalnum())
        for text in (before, after)
    )
    return (ones & others).total() >= _ALIKE * max(ones.total(), others.total())


def _text(line: Sequence[Letter], is_from_right: bool) -> str:
    """The letters of a line in the order in which they are read."""
    glyphs = _with_spaces(line)
    classes = "".join(_class(glyph) for glyph in glyphs)
    if is_from_right:
        text = _from_right(glyphs, classes)
    else:
        parts, end = [], 0
        for run in _FROM_RIGHT.finditer(classes):
            parts += [*glyphs[end : run.start()], _from_right(glyphs[slice(*run.span())], run[0])]
            end = run.end()
        text = "".join([*parts, *glyphs[end:]])
    return " ".join(text.split())


def _with_spaces(line: Sequence[Letter]) -> list[str]:
    """The glyphs of a line from left to right, and the spaces between them.

    A space without width is PDFium's, and may be on the wrong side of a letter or two: it belongs
    into the widest gap near it. As many spaces as letters are gaps of letter-spaced words.
    """
    glyphs = _glyphs([letter for letter in line if not _is_guessed(letter)])
    guesses = [letter.middle for letter in line if _is_guessed(letter)]
    height = Line.of(line).bottom - Line.of(line).top
    spaces = _gaps_of(glyphs, guesses, _NARROW * height)
    if spaces and 2 * len(guesses) > len(glyphs):
        usual = median(spaces.values())
        spaces = {at: gap for at, gap in spaces.items() if gap > 2 * usual}
    parts = ((glyph.text, " " if at in spaces else "") for at, glyph in enumerate(glyphs))
    return [part for both in parts for part in both if part]


def _gaps_of(glyphs: Sequence[_Glyph], guesses: Sequence[float], narrow: float) -> dict[int, float]:
    """The gap of each guess and its width: the one where it is, else the widest near it."""
    middles = [glyph.middle for glyph in glyphs]
    pairs = enumerate(pairwise(glyphs))
    gaps = {at: gap for at, (one, two) in pairs if (gap := two.left - one.right) > narrow}
    places = {guess: bisect_left(middles, guess) - 1 for guess in guesses}
    inside = {
        at
        for guess, at in places.items()
        if at in gaps and glyphs[at].right - _POINT <= guess <= glyphs[at + 1].left + _POINT
    }
    spaces = {at: gaps.pop(at) for at in inside}
    for at in places.values():
        near = [one for one in range(at - _REACH, at + _REACH + 1) if one in gaps]
        if at not in inside and near and 0 <= at < len(glyphs) - 1:
            widest = max(near, key=gaps.__getitem__)
            spaces[widest] = gaps.pop(widest)
    return spaces


def _is_guessed(letter: Letter) -> bool:
    return letter.text.isspace() and letter.right - letter.left < _POINT


def _glyphs(line: Sequence[Letter]) -> list[_Glyph]:
    """The glyphs from left to right, each with the marks on it."""
    glyphs: list[_Glyph] = []
    bases = (letter for letter in line if not unicodedata.combining(letter.text))
    for _, group in groupby(bases, key=lambda one: (one.origin, one.text.isspace())):
        letters = list(group)
        left, right = min(one.left for one in letters), max(one.right for one in letters)
        glyphs.append(_Glyph(left, right, _ligature(letters)))
    for mark in (letter for letter in line if unicodedata.combining(letter.text)):
        if glyphs:
            at = min(range(len(glyphs)), key=lambda at: abs(glyphs[at].middle - mark.middle))
            glyphs[at] = glyphs[at]._replace(text=glyphs[at].text + mark.text)
    return sorted(glyphs, key=lambda glyph: glyph.middle)


def _ligature(letters: Sequence[Letter]) -> str:
    """The characters of one glyph as they are read; PDFium reverses them with their line."""
    text = "".join(letter.text for letter in letters)
    if len(text) > 1 and RIGHT_TO_LEFT.search(text):
        text = text[::-1]
        if text[1:] == "ل" and text[0] in _ALEFS:
            # This pair is a ligature in the other order only.
            text = text[::-1]
    return text


def _class(glyph: str) -> str:
    char = glyph[0]
    if _DIGITS.match(char):
        return "N"
    if RIGHT_TO_LEFT.match(char):
        return "R"
    if char.isalpha():
        return "L"
    return "S" if char in ".,:/-−–+" else "E" if char in "%‰°€$£" else "O"


def _from_right(glyphs: Sequence[str], classes: str) -> str:
    """Glyphs from left to right as text that is read from the right."""
    as_drawn, mirrored, end = [""], [""], 0
    for run in _FROM_LEFT.finditer(classes):
        between = "".join(glyphs[end : run.start()][::-1])
        word = "".join(glyphs[slice(*run.span())])
        as_drawn += [between, word]
        mirrored += [between.translate(_MIRRORED), word]
        end = run.end()
    rest = "".join(glyphs[end:][::-1])
    readings = (
        "".join([*mirrored, rest.translate(_MIRRORED)][::-1]),
        "".join([*as_drawn, rest][::-1]),
    )
    # A bracket is drawn as its mirror image, but some programs name the character.
    return max(readings, key=lambda text: len(_PAIR.findall(text)))
