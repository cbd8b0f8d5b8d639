"""The excerpt of a passage that a result shows: prose, and code or a table that has more words.

A snippet (`snippets`) is one run of text, as the API returns it. In an excerpt code keeps its lines
and a table its header, where they hold words of the query that the prose does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from textwrap import dedent

from django.utils.safestring import SafeString, mark_safe

from search.presentation.passage_blocks import Layout, Part, Words, marked_words, parts_of
from search.presentation.snippets import MARK_END, MARK_START, highlight, snippet, unmarked

# Guesses, bounded by the page: ten results in 2,400 pixels, a line of 100 characters.
PROSE_CHARS = 240
LEAD_CHARS = 110  # of the prose above code or a table
CODE_LINES = 4
LINE_CHARS = 110
TABLE_ROWS = 2  # below the header
TABLE_COLUMNS = 4
CELL_CHARS = 60

_BREAK = "\n\n"
_PROSE = frozenset({"text", "item", "numbered"})


@dataclass(frozen=True, slots=True)
class _Cut:
    """A part cut to what an excerpt shows, with the words marked in it."""

    part: Part
    words: Words


def excerpt(marked: str, path: Sequence[str], kind: str, layout: Layout = ()) -> tuple[Part, ...]:
    """The parts of a passage to show: prose, then at most one piece of code or of a table.

    `marked` has its matches between MARK_START and MARK_END, `path` are its headings, `kind` its
    predominant kind of block, `layout` its blocks; without it they are guessed. The headings are
    left out: they stand above.
    """
    parts = [part for part in parts_of(marked, path, kind, layout) if part.kind != "heading"]
    prose = _BREAK.join(_marked_text(part.html) for part in parts if part.kind in _PROSE)
    if not parts:
        return (Part("text", snippet(marked, PROSE_CHARS)),)
    lead = snippet(prose, PROSE_CHARS)
    cuts = [cut for part in parts if (cut := _cut(part)) is not None]
    best = max(cuts, key=lambda cut: len(cut.words), default=None)
    if best is None or (prose and not best.words - marked_words(_marked_text(lead))):
        return (Part("text", lead),)
    if not prose:
        return (best.part,)
    return Part("text", snippet(prose, LEAD_CHARS)), best.part


def with_class(parts: Iterable[Part], mark: str) -> tuple[Part, ...]:
    """The parts with `mark` in place of each opening <mark>."""

    def changed(html: SafeString | str) -> SafeString:
        return mark_safe(html.replace("<mark>", mark))  # noqa: S308  # escaped before

    return tuple(
        replace(
            part,
            html=changed(part.html),
            rows=tuple(tuple(changed(cell) for cell in row) for row in part.rows),
        )
        for part in parts
    )


def _cut(part: Part) -> _Cut | None:
    if part.kind == "code":
        return _code(_marked_text(part.html))
    return _table(part) if part.kind == "table" else None


def _code(marked: str) -> _Cut:
    """The CODE_LINES lines with the most distinct words, the first of equals."""
    lines = [line for line in _balanced(marked.strip("\n").split("\n")) if line.strip()]
    starts = range(max(1, len(lines) - CODE_LINES + 1))
    first = max(starts, key=lambda start: len(_words_of(lines[start : start + CODE_LINES])))
    window = lines[first : first + CODE_LINES]
    cut = dedent("\n".join(map(_cut_line, window)))
    return _Cut(Part("code", highlight(cut)), _words_of(window))


def _cut_line(line: str) -> str:
    """A line of code, cut unless its marks lie further on."""
    if len(unmarked(line)) <= LINE_CHARS:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return indent + _marked_text(snippet(line, LINE_CHARS))


def _table(part: Part) -> _Cut:
    """The header, and the TABLE_ROWS rows with the most distinct words in their order."""
    header, *rows = [[_marked_text(cell) for cell in row] for row in part.rows]
    order = sorted(range(len(rows)), key=lambda place: -len(_words_of(rows[place])))
    rows_out = [header, *(rows[place] for place in sorted(order[:TABLE_ROWS]))]
    width = range(len(header))
    telling = sorted(width, key=lambda column: not _words_of(row[column] for row in rows_out))
    columns = sorted(telling[:TABLE_COLUMNS])
    cells = tuple(tuple(snippet(row[column], CELL_CHARS) for column in columns) for row in rows_out)
    return _Cut(Part("table", rows=cells), _words_of(cell for row in rows_out for cell in row))


def _balanced(lines: Iterable[str]) -> Iterator[str]:
    """The lines, a mark that spans several of them closed and opened again at each end."""
    is_open = False
    for line in lines:
        opened = MARK_START + line if is_open else line
        is_open = opened.count(MARK_START) > opened.count(MARK_END)
        yield opened + MARK_END if is_open else opened


def _marked_text(html: SafeString | str) -> str:
    """The marked text that `highlight` or `snippet` made this HTML of."""
    text = html.replace("<mark>", MARK_START).replace("</mark>", MARK_END)
    missing = text.count(MARK_START) - text.count(MARK_END)
    text = MARK_START * -missing + text + MARK_END * missing
    return unescape(text)


def _words_of(texts: Iterable[str]) -> Words:
    return frozenset[str]().union(*map(marked_words, texts))
