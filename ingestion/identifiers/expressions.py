"""Regular expressions of administrators, run by RE2 in time linear in the text.

Python's own engine tries combinations: one expression of a dozen characters can hold a process for
hours on one line of text, and no check of an expression tells all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

# RE2's own limit on an expression's program and on the states that it keeps. A guess, half of its
# default: `\w{1,500}` fits.
_MAX_MEMORY = 4 * 1024 * 1024
_LETTERS, _SPACES = r"\p{L}\p{N}_", r"\s\x0b\x1c-\x1f\x{85}\p{Z}"
# Python's classes know all scripts; RE2's know ASCII alone.
_OUTSIDE = {
    "w": f"[{_LETTERS}]", "W": f"[^{_LETTERS}]", "d": r"\p{Nd}", "D": r"\P{Nd}",
    "s": f"[{_SPACES}]", "S": f"[^{_SPACES}]", "Z": r"\z",
}  # fmt: skip
_INSIDE = {"w": _LETTERS, "d": r"\p{Nd}", "D": r"\P{Nd}", "s": _SPACES}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)


class UnsafeExpression(ValueError):
    """RE2 does not support the expression; the message is for the person who entered it."""


@lru_cache(maxsize=512)
def expression(pattern: str, *, ignores_case: bool = False) -> Any:
    """The expression, with `search` and `fullmatch` as of Python's. Raises UnsafeExpression."""
    options = re2.Options()
    options.max_mem = _MAX_MEMORY
    options.case_sensitive = not ignores_case
    options.log_errors = False
    try:
        return re2.compile(_translated(pattern), options)
    except re2.error as error:
        raise UnsafeExpression(_sentence(pattern, error)) from error


def matches(pattern: str, text: str, *, ignores_case: bool = False) -> bool:
    """Whether the expression matches in the text; False if RE2 does not support it.

    Those were entered before RE2 was used; `manage.py check --database default` names them.
    """
    try:
        return expression(pattern, ignores_case=ignores_case).search(text) is not None
    except UnsafeExpression:
        return False


def _translated(pattern: str) -> str:
    """The expression in RE2's syntax, with classes that include the letters of all scripts."""
    written: list[str] = []
    place, is_inside = 0, False
    while place < len(pattern):
        if match := _ESCAPE.match(pattern, place):
            code, name = match[1] or match[2], match[3]
            if name == "b" and not is_inside:
                _refuse_boundary_beside_other_scripts(pattern, place)
            escapes = _INSIDE if is_inside else _OUTSIDE
            written.append(rf"\x{{{code}}}" if code else escapes.get(name, match[0]))
            place = match.end()
            continue
        sign = pattern[place]
        if sign == "[" and not is_inside:
            # A bracket that closes right after the opening one is a literal.
            opening = re.compile(r"\[\^?\]?").match(pattern, place)
            assert opening is not None
            written.append(opening[0].replace("]", r"\]"))
            place, is_inside = opening.end(), True
            continue
        is_inside = is_inside and sign != "]"
        written.append(r"\[" if sign == "[" else sign)
        place += 1
    return "".join(written)


def _refuse_boundary_beside_other_scripts(pattern: str, place: int) -> None:
    beside = pattern[max(place - 1, 0) : place] + pattern[place + 2 : place + 3]
    if any(sign.isalpha() and not sign.isascii() for sign in beside):
        raise UnsafeExpression(
            "\\b knows ASCII letters only, and never matches beside "
            f"“{next(sign for sign in beside if not sign.isascii())}”. Leave it out there, or "
            "write (?:^|\\W) in its place."
        )


def _sentence(pattern: str, error: Exception) -> str:
    if re.search(r"\(\?(?:<?[=!])", pattern):
        return (
            "Looking ahead or behind, as in (?=...) and (?<!...), is not possible: expressions run "
            "in RE2, whose time never explodes. Write what surrounds the match, or leave it out."
        )
    if re.search(r"\\[1-9]|\(\?P=|\(\?\(", pattern):
        return "Back-references are not possible in RE2; remove them."
    if re.search(r"[+*?}]\+|\(\?>", pattern):
        return (
            "Possessive repeats, as in \\w++, and atomic groups do not exist in RE2, which needs "
            "none: leave the second + out."
        )
    detail = error.args[0] if error.args else error
    reason = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    return f"RE2, which runs the expression, does not accept it: {reason}. Write it more simply."


@dataclass(frozen=True, slots=True)
class BoundedMatch:
    """A match of an identifier within its text."""

    first: int
    last: int
    text: str

    def start(self) -> int:
        return self.first

    def end(self) -> int:
        return self.last

    def group(self) -> str:
        return self.text


class Bounded:
    """An expression whose matches are delimited by characters that do not belong to a word.

    RE2 has no look-around: the delimiters are matched too, and left out of the result.
    """

    def __init__(self, pattern: str, word: str) -> None:
        end = rf"(?:\z|[^{word}])"
        self._whole = expression(pattern)
        self._first = _bounded(rf"(?:\A|[^{word}])", pattern, end)
        self._later = _bounded(rf"[^{word}]", pattern, end)

    def finditer(
        self, text: str, start: int = 0, stop: int | None = None
    ) -> Iterator[BoundedMatch]:
        """The matches in text[start:stop], in order and without overlaps; none of them empty."""
        end = len(text) if stop is None else stop
        while start < end:
            before = max(start - 1, 0)
            match = (self._later if start else self._first).search(text[before:end])
            if match is None:
                return
            first, last = match.start(1), match.end(1)
            if last > first:
                yield BoundedMatch(
                    before + first, before + last, text[before + first : before + last]
                )
            start = max(before + last, start + 1)

    def fullmatch(self, text: str) -> bool:
        """Whether the expression matches the whole text."""
        return self._whole.fullmatch(text) is not None


def _bounded(before: str, pattern: str, after: str) -> Any:
    return expression(f"{before}({pattern}){after}")
