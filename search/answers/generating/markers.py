"""A model's text -> tokens and citations, as the text comes. Pure.

Markers become `[1]`, each followed by its citation; numbers of passages that do not exist are
dropped. No answer can make a reader's program contact a server: a result never contains `](`, which
links and images need, nor the definition of a link, nor an HTML tag but in a block of code of which
every program knows the ends.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from search.answers.domain import Citation, Cited, Token

# "1", "1, 2", "1-3", "^1", "Passage 1"
_NUMBER = r"(?:passages?\s*)?\^?\d{1,9}"
_LIST = re.compile(rf"\s*{_NUMBER}(?:\s*[-–—,;]\s*{_NUMBER})*\s*", re.IGNORECASE)
# "【1】" and "【1†source】", as some models were trained to write.
_WIDE = re.compile(rf"【({_LIST.pattern})(?:†[^】\n]*)?】", re.IGNORECASE)
_WIDE_MOST = 60
# A range of more passages than a context has is no citation.
_RANGE_MOST = 50
_BRACKETED = re.compile(rf"\[({_LIST.pattern})\]", re.IGNORECASE)
_OPEN = re.compile(r"\[[\s\d^,;–—passage-]{0,60}", re.IGNORECASE)  # what may become one
_PLAIN = re.compile(r"[^\s\[`~\\【]+")
_SPACES = re.compile(r"[ \t]+")
_FENCE_LINE_MOST = 200
_CLOSING = re.compile(r" {0,3}[`~]")  # further indented, it closes for some programs only
_UNDECIDED = -1  # where more text may decide
# A longer code span is read as text, so that little text is held back.
_CODE_MOST = 400
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_MARKED = re.compile(r"\s*(?:passages?\s*)?\^?\d[\d\s,;^–—-]*", re.IGNORECASE)
_TAG_START = re.compile(r"[A-Za-z/!?]")  # after "<"
# What may stand before a fence or the definition of a link in its line: quotes, lists, indentation.
_CONTAINER = re.compile(r"[\s>*+\-.)\d]*")


def _code_span_end(text: str, run: int, *, is_last: bool) -> int | None:
    """The offset after the code span that `run` backticks open at the start of `text`."""
    end = min(len(text), _CODE_MOST)
    blank = _BLANK_LINE.search(text, 0, end)
    for closing in re.finditer("`+", text[run:end]):
        if blank is not None and run + closing.start() > blank.start():
            return None
        if run + closing.end() == len(text) and not is_last:
            return _UNDECIDED
        if closing.end() - closing.start() == run and run + closing.end() < _CODE_MOST:
            return run + closing.end()
    return None if blank is not None or is_last or len(text) >= _CODE_MOST else _UNDECIDED


class _Written:
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
        """The text added since the last call."""
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
            if not is_code and self._inside is not None and _MARKED.fullmatch(self._inside):
                part = ")"
        self._append(part)
        if part == "[":
            self._inside = None if is_code else ""
        elif part == "]" or is_code:
            self._inside = None

    def _opens_line(self) -> bool:
        """Whether the line begins with a bracket."""
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


class MarkerParser:
    """Reads a model's text in pieces of any size: the joined result does not depend on them.

    `known` are the numbers of the passages. `dropped` counts references to others.
    """

    def __init__(self, known: Collection[int]) -> None:
        self.dropped = 0
        self._known = frozenset(known)
        self._pending = ""  # read, but not yet decided
        self._spaces = ""  # before a bracket: they disappear with a dropped marker
        self._fence = ""  # the fence of the open code block
        self._in_line = False  # a line of the code block whose beginning was written
        self._is_sure = True  # no program reads another block of code than this parser
        self._written = _Written()
        self._events: list[Token | Cited] = []

    def feed(self, piece: str) -> list[Token | Cited]:
        """The tokens and citations that `piece` completes."""
        self._pending += piece.replace("\r", "")  # alone it ends a line for some programs
        return self._read(is_last=False)

    def close(self) -> list[Token | Cited]:
        """The rest, at the end of the text."""
        return self._read(is_last=True)

    def _read(self, *, is_last: bool) -> list[Token | Cited]:
        while self._pending:
            has_advanced = self._code(is_last) if self._fence else self._prose(is_last)
            if not has_advanced:
                break
        if is_last:
            self._write("")
        self._flush()
        events, self._events = self._events, []
        return events

    def _prose(self, is_last: bool) -> bool:
        """Take one unit of the pending text; False if more text is needed to decide."""
        pending = self._pending
        if (plain := _PLAIN.match(pending)) is not None:
            return self._take(plain.end())
        match pending[0]:
            case "[":
                return self._bracket(is_last)
            case "`" | "~":
                return self._backticks(is_last)
            case "【":
                return self._wide(is_last)
            case "\\":
                if len(pending) == 1 and not is_last:
                    return False
                return self._take(1 if pending[1:2].isspace() else 2)
            case " " | "\t":
                return self._space(is_last)
            case _:
                return self._take(1)

    def _space(self, is_last: bool) -> bool:
        spaces = _SPACES.match(self._pending)
        assert spaces is not None
        if spaces.end() == len(self._pending) and not is_last:
            return False
        if self._pending[spaces.end() : spaces.end() + 1] not in ("[", "【"):
            return self._take(spaces.end())
        self._spaces += spaces.group()
        self._pending = self._pending[spaces.end() :]
        return True

    def _bracket(self, is_last: bool) -> bool:
        """Write a citation marker, or a bracket that is none."""
        if match := _BRACKETED.match(self._pending):
            self._cite(match[1])
            self._pending = self._pending[match.end() :]
            return True
        if not is_last and _OPEN.fullmatch(self._pending):
            return False
        return self._take(1)

    def _wide(self, is_last: bool) -> bool:
        pending = self._pending
        if "】" not in pending[:_WIDE_MOST] and len(pending) < _WIDE_MOST and not is_last:
            return False
        match = _WIDE.match(pending[:_WIDE_MOST])
        if match is None:
            return self._take(1)
        self._cite(match.group(1))
        self._pending = pending[match.end() :]
        return True

    def _backticks(self, is_last: bool) -> bool:
        """Begin a code block or a code span, or write backticks that begin neither."""
        pending = self._pending
        run = len(pending) - len(pending.lstrip(pending[0]))
        if run == len(pending) and not is_last:
            return False
        if run >= 3 and self._written.at_line_start:
            line, newline, _ = pending.partition("\n")
            if not newline and len(line) < _FENCE_LINE_MOST and not is_last:
                return False
            if pending[0] == "~" or "`" not in line[run:_FENCE_LINE_MOST]:
                is_whole = bool(newline) and len(line) < _FENCE_LINE_MOST
                self._is_sure &= is_whole and self._written.is_line_empty
                self._fence = pending[:run]
                return self._take(len(line) + len(newline), is_code=True)
        if pending[0] == "~":
            return self._take(run)
        end = _code_span_end(pending, run, is_last=is_last)
        if end == _UNDECIDED:
            return False
        if end and "\n" in pending[:end]:
            self._is_sure = False  # its lines may be blocks
        return self._take(end, is_code=True) if end else self._take(run)

    def _code(self, is_last: bool) -> bool:
        """Write a line of a code block, or the part of a line that cannot close it."""
        line, newline, _ = self._pending.partition("\n")
        if not self._in_line:
            mark = re.match(rf"[ \t>]*({re.escape(self._fence[0])}*)[ \t\r]*$", line)
            closes = mark is not None and len(mark.group(1)) >= len(self._fence)
            if mark is not None and not newline and not is_last and len(line) < _FENCE_LINE_MOST:
                return False  # it may become the fence that closes
            if closes:
                self._fence = ""
                self._is_sure &= _CLOSING.match(line) is not None
        self._in_line = not newline
        if not self._fence:
            self._in_line = False
        return self._take(len(line) + len(newline), is_code=True, has_tags=self._is_sure)

    def _take(self, count: int, *, is_code: bool = False, has_tags: bool = False) -> bool:
        text, self._pending = self._pending[:count], self._pending[count:]
        self._write(text, is_code=is_code, has_tags=has_tags)
        return True

    def _write(self, text: str, *, is_code: bool = False, has_tags: bool = False) -> None:
        spaces, self._spaces = self._spaces, ""
        self._written.add(spaces)
        self._written.add(text, is_code=is_code, has_tags=has_tags)

    def _cite(self, listed: str) -> None:
        numbers = list(dict.fromkeys(_numbers(listed, self._known)))
        known = [number for number in numbers if number in self._known]
        self.dropped += len(numbers) - len(known)
        if not known:
            self._spaces = ""
        for number in known:
            self._write("")
            self._written.add_marker(f"[{number}]")
            self._flush()
            self._events.append(Cited(Citation(number)))

    def _flush(self) -> None:
        text = self._written.flushed()
        if text:
            self._events.append(Token(text))


def _numbers(listed: str, known: frozenset[int]) -> Iterator[int]:
    """The numbers of a list such as "1, 3-5"; only the ends of a range without a known number."""
    for part in re.split(r"[,;]", listed):
        ends = [int(digits) for digits in re.findall(r"\d+", part)]
        inner = range(ends[0], ends[-1] + 1)
        is_range = len(ends) == 2 and 0 < len(inner) <= _RANGE_MOST
        yield from inner if is_range and known.intersection(inner) else ends
