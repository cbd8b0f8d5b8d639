"""Where Markdown's brackets, links and code spans end in text that is still growing. Pure.

An end is an offset, None if there is none, or UNDECIDED if more text may decide it.
"""

from __future__ import annotations

import re

UNDECIDED = -1
# Longer brackets, destinations and code spans are read as text, so that little text is held back.
BRACKET_MOST, DESTINATION_MOST, CODE_MOST = 400, 2000, 400
# Deeper pairs are text: thousands of opening brackets must not take minutes.
DEPTH_MOST = 16
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
# A destination with an optional title, as CommonMark has it; "(see page 3)" is none.
_DESTINATION = re.compile(
    r"""\(\s*(?:<[^<>\n]*>|[^\s<][^\s]*)?(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)"""
)
_MARKER = re.compile(r"\s*(?:passages?\s*)?\^?\d[\d\s,;^–—-]*", re.IGNORECASE)
_TAG_START = re.compile(r"[A-Za-z/!?]")  # after "<"
# What may stand before a fence or the definition of a link in its line: quotes, lists, indentation.
_CONTAINER = re.compile(r"[\s>*+\-.)\d]*")


def bracket_end(text: str, start: int, *, is_last: bool) -> int | None:
    """The offset after the bracket that closes the one at `start`."""
    return _pair_end(text, start, "[]", BRACKET_MOST, is_last=is_last)


def destination_end(text: str, start: int, *, is_last: bool) -> int | None:
    """The offset after the destination of a link, `(...)`, that begins at `start`."""
    if start == len(text):
        return None if is_last else UNDECIDED
    if text[start] != "(":
        return None
    end = _pair_end(text, start, "()", DESTINATION_MOST, is_last=is_last)
    if end is None or end == UNDECIDED or _DESTINATION.fullmatch(text[start:end]):
        return end
    return None


def code_span_end(text: str, run: int, *, is_last: bool) -> int | None:
    """The offset after the code span that `run` backticks open at the start of `text`."""
    end = min(len(text), CODE_MOST)
    blank = _BLANK_LINE.search(text, 0, end)
    for closing in re.finditer("`+", text[run:end]):
        if blank is not None and run + closing.start() > blank.start():
            return None
        if run + closing.end() == len(text) and not is_last:
            return UNDECIDED
        if closing.end() - closing.start() == run and run + closing.end() < CODE_MOST:
            return run + closing.end()
    return None if blank is not None or is_last or len(text) >= CODE_MOST else UNDECIDED


def _pair_end(text: str, start: int, pair: str, most: int, *, is_last: bool) -> int | None:
    depth, place = 0, start
    end = min(len(text), start + most)
    while place < end:
        char = text[place]
        if char == "\\":
            place += 1
        elif char == pair[0]:
            depth += 1
            if depth > DEPTH_MOST:
                return None
        elif char == pair[1]:
            depth -= 1
            if depth == 0:
                return place + 1
        elif char == "\n" and _BLANK_LINE.match(text, place):
            return None
        place += 1
    return None if is_last or len(text) >= start + most else UNDECIDED


class Written:
    """Text as it is written, with the pairs of characters separated that would make a link.

    `](` and, where it could define a link, `]:` get a space between them, as does the beginning of
    an HTML tag but in code that `has_tags`. Brackets that became a
    marker only because something between them was removed are closed with a parenthesis.
    """

    def __init__(self) -> None:
        self._new: list[str] = []
        self._last = ""
        self._line = ""  # the beginning of the current line, up to its first text
        self._inside: str | None = None  # the text since the last opening bracket
        self._may_define = True

    @property
    def at_line_start(self) -> bool:
        return _CONTAINER.fullmatch(self._line) is not None

    @property
    def is_line_empty(self) -> bool:
        return not self._line

    def add(self, text: str, *, is_code: bool = False, has_tags: bool = False) -> None:
        """Append text."""
        for part in re.split(r"([\[\]\n<])", text):
            if part:
                if self._last == "<" and not has_tags and _TAG_START.match(part):
                    self._append(" ")
                self._add(part, is_code)

    def add_marker(self, marker: str) -> None:
        """Append a citation marker."""
        self._may_define = self.at_line_start
        self._append(marker)

    def flushed(self) -> str:
        """What was added since the last call."""
        text = "".join(self._new)
        self._new.clear()
        return text

    def _add(self, part: str, is_code: bool) -> None:
        if self._last == "]" and part[0] == "(":
            self._append(" ")
        if self._last == "]" and part[0] == ":" and self._may_define:
            self._append(" ")
        if part == "]":
            self._may_define = not is_code or self._opens_line()
            if not is_code and self._inside is not None and _MARKER.fullmatch(self._inside):
                part = ")"
        self._append(part)
        if part == "[":
            self._inside = None if is_code else ""
        elif part == "]" or is_code:
            self._inside = None

    def _opens_line(self) -> bool:
        """Whether the line's first text is a bracket."""
        return self._line.lstrip(" \t>*+-.)0123456789").startswith("[")

    def _append(self, part: str) -> None:
        self._new.append(part)
        self._last = part[-1]
        if part == "\n":
            self._line = ""
        elif self.at_line_start:
            self._line += part
        if self._inside is not None:
            self._inside = (self._inside + part)[-60:] if part != "[" else self._inside
