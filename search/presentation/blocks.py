"""A passage's text as parts: headings, prose, lists, code and tables, the matched words marked."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.utils.safestring import SafeString

from ingestion.domain import BLOCK_SEPARATOR, CELL_SEPARATOR, BlockKind
from search.presentation.snippets import MARK_END, MARK_START, highlight

MAX_HEADING_CHARS = 80

# Of each block of a passage: its first character, its kind and its level, as a chunk stores them.
Layout = Sequence[tuple[int, str, int]]

_MARKS = re.compile(f"[{MARK_START}{MARK_END}]")
_BREAKS = re.compile(r"\n{2,}")
# Indented continuation lines: prose from a parser has none.
_INDENTED = re.compile(r"\S[^\n]*\n(?: {2,}|\t)[ \t]*\S")
_NUMBERED = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]+)[.)] ")
_ENDS = (".", "!", "?", ":", ";", ",", "…", "”", '"', ")")
_SENTENCES = re.compile(r"[A-Z]\w*,? [^{}=;]*\w[.:?!]")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a passage's text: `html` is escaped.

    `kind` is heading, text, code, table, item or numbered (an item that begins with its number).
    `level` is a heading's depth from 1, or an item's from 0. `rows` holds a table's cells in place
    of `html`.
    """

    kind: str
    html: SafeString | str = ""
    level: int = 0
    rows: tuple[tuple[SafeString, ...], ...] = ()
    plain: str = ""

    def repeats(self, title: str) -> bool:
        """Whether it is a heading equal to the document's title."""
        return self.kind == "heading" and self.plain.casefold() == _squeezed(title).casefold()


def parts_in(row: dict[str, Any], overlap: int) -> Iterator[Part]:
    """The parts of a chunk's row without the first `overlap` characters of its text.

    As they were parsed; guessed for chunks without a layout, and after a hand edit, which has other
    blocks than the parsed text.
    """
    layout = () if row["original"] else row["layout"]
    return parts_of(row["marked"], row["heading_path"], row["kind"], layout, overlap)


def parts_of(
    marked: str, path: Sequence[str], kind: str, layout: Layout = (), overlap: int = 0
) -> Iterator[Part]:
    """The parts of a marked text with these headings and this predominant kind of block.

    Guessed without a `layout`. The first `overlap` characters are left out.
    """
    if layout:
        return _known_parts(marked, path, layout, overlap)
    return text_parts(without(marked, overlap), path, kind)


def unmarked(text: str) -> str:
    """The text without the marks around matched words."""
    return _MARKS.sub("", text)


def without(marked: str, count: int) -> str:
    """Marked text without its first `count` characters; a mark across the cut is reopened."""
    if not count:
        return marked
    seen, is_open = 0, False
    for position, character in enumerate(marked):
        if character in (MARK_START, MARK_END):
            is_open = character == MARK_START
            continue
        if seen == count:
            return (MARK_START if is_open else "") + marked[position:].lstrip()
        seen += 1
    return ""


def _known_parts(marked: str, path: Sequence[str], layout: Layout, overlap: int) -> Iterator[Part]:
    """The passage's blocks as they were parsed, without the first `overlap` characters."""
    names = {_squeezed(name): level for level, name in enumerate(path, start=1)}
    starts = [place[0] for place in layout]
    pieces = _divided(marked, starts)
    ends = [*starts[1:], sys.maxsize]
    for (start, kind, level), end, piece in zip(layout, ends, pieces, strict=True):
        if end <= overlap:
            continue
        text = without(piece, max(0, overlap - start)).strip("\n")
        plain = _squeezed(unmarked(text))
        if not plain:
            continue
        if kind == BlockKind.HEADING:
            depth = names.get(plain) or len(names) + 1
            yield Part("heading", highlight(text.strip()), depth, plain=plain)
        elif kind == BlockKind.CODE:
            yield Part("code", highlight(text.rstrip()))
        elif kind == BlockKind.TABLE and (rows := _cells(text)):
            yield Part("table", rows=rows)
        elif kind == BlockKind.LIST_ITEM:
            has_number = bool(_NUMBERED.match(plain))
            yield Part("numbered" if has_number else "item", highlight(text.strip()), level)
        else:
            yield Part("text", highlight(text.strip()))


def _divided(marked: str, starts: Sequence[int]) -> list[str]:
    """Marked text cut before these offsets, which do not count the marks."""
    marks = [
        (match.start() - count, match.group() == MARK_END)
        for count, match in enumerate(_MARKS.finditer(marked))
    ]
    cuts, before = [], 0
    for start in starts:
        # A mark that closes at the cut belongs to the piece before it, one that opens to the next.
        while before < len(marks) and (marks[before][0] < start or marks[before] == (start, True)):
            before += 1
        cuts.append(min(start + before, len(marked)))
    return [marked[start:end] for start, end in pairwise([*cuts, len(marked)])]


def text_parts(marked: str, path: Sequence[str], kind: str) -> Iterator[Part]:
    """The text of a passage without a known layout by paragraphs, their kinds guessed."""
    names = {_squeezed(name): level for level, name in enumerate(path, start=1)}
    texts = _BREAKS.split(marked.strip("\n"))
    plains = [_squeezed(unmarked(text)) for text in texts]
    code: list[str] = []
    for position, (text, plain) in enumerate(zip(texts, plains, strict=True)):
        level = names.get(plain, 0)
        if not level and kind != BlockKind.CODE and _heads(plains, position):
            level = len(path) + 1
        if not level and _is_code(text, plain, kind):
            code.append(text)
            continue
        if code:
            yield Part("code", highlight(BLOCK_SEPARATOR.join(code)))
            code = []
        if level:
            yield Part("heading", highlight(text.strip()), level, plain=plain)
        elif rows := _cells(text):
            yield Part("table", rows=rows)
        elif text.strip():
            yield Part("text", highlight(text.strip("\n")))
    if code:
        yield Part("code", highlight(BLOCK_SEPARATOR.join(code)))


def _is_code(text: str, plain: str, kind: str) -> bool:
    """Whether a paragraph is code: a guess, since a chunk has only its predominant kind."""
    if kind == BlockKind.CODE:
        return not _SENTENCES.fullmatch(plain)
    return kind != BlockKind.TABLE and bool(_INDENTED.search(text))


def _heads(plains: Sequence[str], position: int) -> bool:
    """Whether a paragraph looks like the heading of a section that was too small for a chunk.

    The path of such a chunk has only its sections' common headings. A guess: a short line
    without end punctuation, between sentences.
    """
    before, following = plains[:position][-1:], plains[position + 1 : position + 2]
    return (
        bool(following)
        and len(plains[position]) <= MAX_HEADING_CHARS
        and not _ends(plains[position])
        and _ends(following[0])
        and all(map(_ends, before))
    )


def _ends(plain: str) -> bool:
    return plain.endswith(_ENDS)


def _cells(text: str) -> tuple[tuple[SafeString, ...], ...]:
    """A table's cells; empty for other text: every row must have as many cells as the first."""
    rows = [line.split(CELL_SEPARATOR) for line in text.strip("\n").split("\n")]
    width = len(rows[0])
    if len(rows) < 2 or width < 2 or any(len(row) != width for row in rows):
        return ()
    return tuple(tuple(highlight(cell.strip()) for cell in row) for row in rows)


def _squeezed(text: str) -> str:
    return " ".join(text.split())
