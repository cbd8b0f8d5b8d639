"""The headings of plain text, where the text itself shows a pattern. Pure.

Two patterns count, and the first that a text has: headings underlined in their own length, as in
Info files; and numbers in sequence, each with its title on a line between blank ones. A line of
capitals is no heading: contracts and people who shout write them as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

LONGEST = 80  # characters of a heading. A guess: one line of a terminal
FEWEST = 3  # numbered headings. A guess
DEEPEST = 6

_LINE = re.compile(r"([^\n\f]*)(?:[\n\f]|\Z)")
_RULE = re.compile(r"([=*~^#\"'+.:_-])\1{2,}")
_COLUMNS = re.compile(r"(?<![\d.])(?<=\S)(?: {2,}|\t)|[|│]")
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,3}){0,4})[.):]?\s+[^\W\d_a-z].*[^\s.,;:]")


class TextHeading(NamedTuple):
    """A heading of level 1 to 6, which with its underline stands at [start, end) of a text."""

    start: int
    end: int
    text: str
    level: int


class _Line(NamedTuple):
    """A line at [start, end), `text` without the spaces around it."""

    start: int
    end: int
    text: str
    indent: int


_BLANK = _Line(0, 0, "", 0)


def headings(text: str) -> Sequence[TextHeading]:
    """The headings of a text, in order; none where it shows no pattern."""
    lines = [_BLANK, *map(_line, _LINE.finditer(text)), _BLANK]
    for pattern in (_underlined, _numbered):
        if titles := list(pattern(lines)):
            return titles
    return ()


def _line(match: re.Match[str]) -> _Line:
    margin = match[1][:LONGEST].expandtabs()
    indent = len(margin) - len(margin.lstrip())
    return _Line(match.start(), match.end(1), match[1].strip(), indent)


def _is_title(text: str) -> bool:
    return len(text) <= LONGEST and any(map(str.isalpha, text)) and not _COLUMNS.search(text)


def _heading(line: _Line, level: int, end: int = 0) -> TextHeading:
    return TextHeading(line.start, end or line.end, line.text, min(level, DEEPEST))


def _underlined(lines: Sequence[_Line]) -> Iterator[TextHeading]:
    """Titles above a rule of their length; a sign for rules has the level at which it comes."""
    levels: dict[str, int] = {}
    for above, title, rule in zip(lines, lines[1:], lines[2:], strict=False):
        is_under = title.indent == rule.indent and abs(len(title.text) - len(rule.text)) <= 1
        if is_under and not above.text and _RULE.fullmatch(rule.text) and _is_title(title.text):
            yield _heading(title, levels.setdefault(rule.text[0], len(levels) + 1), rule.end)


def _numbered(lines: Sequence[_Line]) -> Iterator[TextHeading]:
    """Titles between blank lines whose numbers are in sequence, most of them with text below."""
    number: tuple[int, ...] = (0,)
    titles: list[tuple[int, int]] = []  # the place of each line, its level
    for at, (above, line, below) in enumerate(zip(lines, lines[1:], lines[2:], strict=False), 1):
        is_apart = not (above.text or below.text) and _is_title(line.text)
        match = _NUMBERED.fullmatch(line.text) if is_apart else None
        if match and _follows(own := tuple(map(int, match[1].split("."))), number):
            titles.append((at, len(own)))
            number = own
    ends = [*(at for at, _ in titles[1:]), len(lines)]
    spans = zip(titles, ends, strict=False)
    bare = sum(not any(line.text for line in lines[at + 1 : end]) for (at, _), end in spans)
    if len(titles) >= FEWEST and 2 * bare <= len(titles):
        yield from (_heading(lines[at], level) for at, level in titles)


def _follows(number: tuple[int, ...], last: tuple[int, ...]) -> bool:
    """Whether a number is the next one after `last`: its first child, or the next at its level or
    at one above it.
    """
    if number == (*last, 1):
        return True
    depth = len(number)
    return depth <= len(last) and number == (*last[: depth - 1], last[depth - 1] + 1)
