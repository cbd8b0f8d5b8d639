"""A model's text -> tokens and citations, as the text comes. Pure.

Markers become `[1]`, each followed by its citation; numbers of passages that do not exist are
dropped. Links are reduced to their text and images removed, so that no answer can make a reader's
program contact a server: a result never contains `](`, nor the definition of a link, nor an HTML
tag but in a block of code of which every program knows the ends. Before it, `Thoughts` removes
what some models write ahead of their answer: `<think>...</think>`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from search.answers.domain import Citation, Cited, Token
from search.answers.generating.markdown import (
    UNDECIDED,
    Written,
    bracket_end,
    code_span_end,
    destination_end,
)

# "1", "1, 2", "1-3", "^1", "Passage 1"
_NUMBER = r"(?:passages?\s*)?\^?\d{1,9}"
_LIST = re.compile(rf"\s*{_NUMBER}(?:\s*[-–—,;]\s*{_NUMBER})*\s*", re.IGNORECASE)
# "【1】" and "【1†source】", as some models were trained to write.
_WIDE = re.compile(rf"【({_LIST.pattern})(?:†[^】\n]*)?】", re.IGNORECASE)
_WIDE_MOST = 60
# A range of more passages than a context has is no citation.
_RANGE_MOST = 50
_PLAIN = re.compile(r"[^\s\[!`~\\【]+")
_SPACES = re.compile(r"[ \t]+")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_FENCE_LINE_MOST = 200
_CLOSING = re.compile(r" {0,3}[`~]")  # further indented, it closes for some programs only
_THOUGHT, _THOUGHT_END = "<think>", "</think>"


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
        self._written = Written()
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
        """Take one unit of the pending text; False if it needs more to be decided."""
        pending = self._pending
        if (plain := _PLAIN.match(pending)) is not None:
            return self._take(plain.end())
        match pending[0]:
            case "[":
                return self._bracket(is_last)
            case "!":
                return self._image(is_last)
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
        """A marker, the text of a link, or a bracket that stays."""
        pending = self._pending
        end = bracket_end(pending, 0, is_last=is_last)
        if end == UNDECIDED:
            return False
        if end is None:
            return self._take(1)
        content = pending[1 : end - 1]
        after = destination_end(pending, end, is_last=is_last)
        if after == UNDECIDED:
            return False
        if _LIST.fullmatch(content):
            self._cite(content)
            self._pending = pending[after or end :]
            return True
        if after is None:
            return self._take(1)
        self._pending = content + pending[after:]  # the text of the link is read in its place
        return True

    def _image(self, is_last: bool) -> bool:
        pending = self._pending
        if len(pending) == 1 and not is_last:
            return False
        if pending[1:2] != "[":
            return self._take(1)
        end = bracket_end(pending, 1, is_last=is_last)
        after = destination_end(pending, end, is_last=is_last) if end and end > 0 else None
        if UNDECIDED in (end, after):
            return False
        if end is None or after is None or _LIST.fullmatch(pending[2 : end - 1]):
            return self._take(1)  # "Stop![1]" is an exclamation
        self._pending = pending[after:]
        return True

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
        """A code block, a code span, or characters that begin neither."""
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
        end = code_span_end(pending, run, is_last=is_last)
        if end == UNDECIDED:
            return False
        if end and "\n" in pending[:end]:
            self._is_sure = False  # its lines may be blocks
        return self._take(end, is_code=True) if end else self._take(run)

    def _code(self, is_last: bool) -> bool:
        """A line of a code block, or as much of one as cannot close it."""
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
    """The numbers of a list such as "1, 3-5". Of a range without a known one, only its ends."""
    for part in re.split(r"[,;]", listed):
        ends = [int(digits) for digits in re.findall(r"\d+", part)]
        inner = range(ends[0], ends[-1] + 1)
        is_range = len(ends) == 2 and 0 < len(inner) <= _RANGE_MOST
        yield from inner if is_range and known.intersection(inner) else ends


class Thoughts:
    """Reads a reply in pieces of any size, without the thoughts before the answer.

    `hidden` counts the characters that were removed.
    Servers with a parser for a model's reasoning send it apart from the content; others leave it
    at the beginning of the content. Anywhere else the tag is text.
    """

    def __init__(self) -> None:
        self.hidden = 0
        self._pending = ""
        self._is_open: bool | None = None  # None: not yet decided
        self._is_over = False

    def feed(self, piece: str) -> str:
        """The text of the answer that `piece` completes."""
        if self._is_over:
            return piece
        self._pending += piece
        if self._is_open is None:
            begun = self._pending.lstrip()
            if len(begun) < len(_THOUGHT) and _THOUGHT.startswith(begun):
                return ""
            self._is_open = begun.startswith(_THOUGHT)
            if not self._is_open:
                return self._end(self._pending)
        if self._is_open:
            end = self._pending.find(_THOUGHT_END)
            if end < 0:
                # What may be the beginning of the closing tag waits.
                keep = len(_THOUGHT_END) - 1
                self.hidden += max(0, len(self._pending) - keep)
                self._pending = self._pending[-keep:]
                return ""
            self.hidden += end
            self._pending, self._is_open = self._pending[end + len(_THOUGHT_END) :], False
        rest = self._pending.lstrip()
        self._pending = ""
        return self._end(rest) if rest else ""

    def close(self) -> str:
        """The rest, at the end of the reply; thoughts that never ended are none."""
        rest = "" if self._is_open or self._is_open is False else self._pending
        self.hidden += len(self._pending) - len(rest)
        self._pending = ""
        return rest

    def _end(self, text: str) -> str:
        self._pending, self._is_over = "", True
        return text
