"""The letters of a PDF page as PDFium reads them, with their places; raised and lowered digits."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from ingestion.parsing.formats.raised_text import SUBSCRIPTS, SUPERSCRIPTS

if TYPE_CHECKING:
    from liteparse import AnnotationRect

# A number, and a line break that PDFium may see before it, because it is not on the line.
_NUMBER = re.compile(r"[-−–+]?\d+")
_BREAK = "\r\n"
_LINE = re.compile(r"[^\r\n]+")
PARTED = re.compile("[\x02\ufffe]")
"""PDFium's signs for a hyphen at the end of a line, where it mostly sees no break."""
_ASIAN = re.compile("[\u0e01-\u0e5b\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
# Spaces that PDFium adds after a narrow mark of Thai, and where a program sets a small gap between
# an ideograph or a syllable of Hangul and a number, a Latin letter or a point.
_FALSE_SPACE = re.compile(
    "(?<=[\u0e31\u0e33-\u0e3a\u0e47-\u0e4e]) (?=[\u0e01-\u0e5b])"
    "|(?<=[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]) (?=[0-9A-Za-z.,])"
    "|(?<=[0-9A-Za-z%]) (?=[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3])"
)
_HANGUL = re.compile("[\uac00-\ud7a3]")
# In heights of the letter before. Programs raise by a third and lower by a sixth, at 58% to 83% of
# the size: the limits are guesses between those and an ordinary digit.
_RAISED, _LOWERED, _FURTHEST, _SMALLER = 0.1, -0.06, 0.75, 0.9
_WIDEST_GAP, _WORD_GAP = 0.3, 0.12
# PDFium takes wide gaps between letters for spaces. Those between words are much wider; a guess.
_SPACED_OUT = re.compile(r"(?<!\S)(?:\S{1,2} ){2,}\S{1,2}(?!\S)")
# In heights of a letter, letter-spacing is narrower than a space.
_WORD_GAPS, _WIDEST_SPACING, _IDEOGRAPHS = 2, 0.25, "\u3000"
# Characters to a space in a line with letter-spaced words; a guess.
_FEWEST_SPACES = 5


@dataclass(frozen=True, slots=True)
class Letter:
    """A character and its box in points from the page's upper left corner.

    `origin` is the left end of its base line: several characters of one glyph share it. PDFium
    adds a character that `is_added`, to part words and lines.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    origin: tuple[float, float]
    is_added: bool

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top


class Letters:
    """The characters of a page by index, read one by one, because a call costs a microsecond."""

    def __init__(self, page: Any) -> None:
        import pypdfium2.raw as pdfium

        self._pdfium = pdfium
        # `page` must outlive its text.
        self.page, self._text = page, page.get_textpage()
        left, _, _, self._upper = page.get_cropbox()
        self._left = left
        self._box = pdfium.FS_RECTF()
        self._x, self._y = ctypes.c_double(), ctypes.c_double()

    @property
    def count(self) -> int:
        count: int = self._text.count_chars()
        return count

    @cached_property
    def text(self) -> str:
        """All characters; a position in it is an index."""
        count = self.count
        text: str = self._text.get_text_range() if count else ""
        if len(text) != count:
            codes = (self._pdfium.FPDFText_GetUnicode(self._text, at) for at in range(count))
            text = "".join(chr(code) if code < 0x110000 else "\ufffd" for code in codes)
        return text

    def at(self, index: int, text: str) -> Letter:
        self._pdfium.FPDFText_GetLooseCharBox(self._text, index, self._box)
        self._pdfium.FPDFText_GetCharOrigin(self._text, index, self._x, self._y)
        box = self._box
        return Letter(
            text,
            box.left - self._left,
            self._upper - box.top,
            box.right - self._left,
            self._upper - box.bottom,
            (self._x.value - self._left, self._upper - self._y.value),
            self._pdfium.FPDFText_IsGenerated(self._text, index) == 1,
        )

    def base_line(self, index: int) -> float:
        self._pdfium.FPDFText_GetCharOrigin(self._text, index, self._x, self._y)
        return self._y.value


@dataclass(frozen=True, slots=True)
class Line:
    """Letters that PDFium sees on one line, and its top and bottom."""

    letters: Sequence[Letter]
    top: float
    bottom: float

    @classmethod
    def of(cls, letters: Sequence[Letter]) -> Line:
        return cls(letters, min(one.top for one in letters), max(one.bottom for one in letters))

    @property
    def text(self) -> str:
        """Its letters, those for a hyphen as one."""
        return PARTED.sub("-", "".join(letter.text for letter in self.letters))

    def has_columns(self) -> bool:
        """Whether its letters are more than the height of the line apart somewhere."""
        ink = sorted((one.left, one.right) for one in self.letters if not one.text.isspace())
        ends = accumulate((right for _, right in ink), max)
        gaps = (left - end for (left, _), end in zip(ink[1:], ends, strict=False))
        return max(gaps, default=0.0) > self.bottom - self.top

    def within(self, box: AnnotationRect) -> list[Letter]:
        if self.bottom < box.y or self.top > box.y + box.height:
            return []
        return [letter for letter in self.letters if is_within(letter, box)]


def is_within(letter: Letter, box: AnnotationRect) -> bool:
    middle = (letter.top + letter.bottom) / 2
    is_across = box.x - 1 <= letter.middle <= box.x + box.width + 1
    return bool(is_across and box.y - 1 <= middle <= box.y + box.height + 1)


def lines_of(letters: Letters) -> Iterator[Line]:
    """The lines of a page as PDFium parts them."""
    for line in _LINE.finditer(letters.text):
        yield Line.of([letters.at(line.start() + at, letter) for at, letter in enumerate(line[0])])


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page; `rewritten` are lines with a fault that liteparse has too, and mended."""

    text: str
    rewritten: Sequence[tuple[str, str]] = ()


def page_text(letters: Letters) -> PageText:
    """The text with raised and lowered digits as such characters, letter-spaced words joined."""
    text = letters.text
    out = list(text)
    changed = _mend_asian(letters, text, out) if _ASIAN.search(text) else []
    for number in _NUMBER.finditer(text):
        start, end = number.span()
        before = start - 1
        # PDFium parts what is not on the line by a line break.
        if text[max(before - 1, 0) : start] == _BREAK:
            before -= 2
        if before < 0 or text[before].isspace():
            before = start
        # Most numbers are on their line.
        if letters.base_line(before) != letters.base_line(end - 1):
            _raise(letters, text, out, (before, start, end))
    for line in _LINE.finditer(text):
        # First what costs nothing: a line of words has a space after every fifth letter or so.
        spaces = text.count(" ", *line.span())
        spaced = spaces * _FEWEST_SPACES > len(line[0]) and _SPACED_OUT.search(text, *line.span())
        if spaced and letters.at(text.index(" ", spaced.start()), " ").is_added:
            for index in _false_spaces(letters, text, *line.span()):
                out[index] = ""
    return PageText("".join(out), [(text[slice(*at)], "".join(out[slice(*at)])) for at in changed])


def _mend_asian(letters: Letters, text: str, out: list[str]) -> list[tuple[int, int]]:
    """Remove false spaces; return the places of the changed lines."""
    changed = []
    for line in _LINE.finditer(text):
        start, end = line.span()
        near = [space.start() for space in _FALSE_SPACE.finditer(text, max(start - 1, 0), end)]
        false = [
            at for at in near if letters.at(at, " ").is_added and _is_narrow(letters, text, at)
        ]
        if false and (not _HANGUL.search(line[0]) or _has_spaces(letters, text, start, end)):
            for at in false:
                out[at] = ""
        if "" in out[start:end]:
            changed.append((start, end))
    return changed


def _has_spaces(letters: Letters, text: str, start: int, end: int) -> bool:
    """Whether the program wrote spaces in the line; Hangul parts words by them."""
    spaces = (at for at in range(start, end) if text[at] == " ")
    return any(not letters.at(at, " ").is_added for at in spaces)


def _is_narrow(letters: Letters, text: str, space: int) -> bool:
    """Whether the space is not the gap to another column."""
    before, after = (letters.at(at, text[at]) for at in (space - 1, space + 1))
    return after.left - before.right < max(before.height, after.height)


def _false_spaces(letters: Letters, text: str, start: int, end: int) -> list[int]:
    """The places of spaces that PDFium added between the letters of words in a spaced-out line."""
    ink = [letters.at(at, text[at]) for at in range(start, end) if not text[at].isspace()]
    places = [at for at in range(start, end) if not text[at].isspace()]
    gaps = [
        abs(after.middle - before.middle) - (before.width + after.width) / 2
        for before, after in pairwise(ink)
    ]
    usual = median(gaps)
    # An ideograph is a word to itself, and has room around it.
    widest = 1 if text[start] >= _IDEOGRAPHS else _WIDEST_SPACING
    if not 0 < usual < widest * ink[0].height:
        return []
    narrow = (at + 1 for at, gap in zip(places, gaps, strict=False) if gap <= _WORD_GAPS * usual)
    return [at for at in narrow if text[at] == " " and letters.at(at, " ").is_added]


def _raise(letters: Letters, text: str, out: list[str], places: tuple[int, int, int]) -> None:
    before, start, end = places
    base = previous = letters.at(before, text[before])
    shift = ""
    for index in range(max(start, before + 1), end):
        letter = letters.at(index, text[index])
        shift = _shift(base, previous, letter)
        previous = letter
        if not shift:
            base = letter
            continue
        out[index] = text[index].translate(SUPERSCRIPTS if shift == "raised" else SUBSCRIPTS)
        if index == start and before < start - 1:
            out[before + 1 : start] = [""] * (start - before - 1)
    after = end + len(_BREAK) if text[end : end + len(_BREAK)] == _BREAK else end
    if not shift or after >= len(text):
        return
    following = letters.at(after, text[after])
    if abs(following.origin[1] - base.origin[1]) < base.height * -_LOWERED:
        is_apart = following.left - previous.right > _WORD_GAP * base.height
        out[end:after] = [""] * (after - end)
        out[end - 1] += " " if is_apart and text[after].isalnum() else ""


def _shift(base: Letter, previous: Letter, letter: Letter) -> str:
    """Whether `letter` is raised or lowered beside `previous`, whose line is that of `base`."""
    if not base.height or abs(letter.left - previous.right) > _WIDEST_GAP * base.height:
        return ""
    rise = (base.origin[1] - letter.origin[1]) / base.height
    is_smaller = letter.height <= _SMALLER * base.height
    if _RAISED < rise < _FURTHEST and (is_smaller or rise > 2 * _RAISED):
        return "raised"
    return "lowered" if is_smaller and -_FURTHEST < rise < _LOWERED else ""
