"""A passage's text as parts: headings, prose, lists, code and tables; and the excerpt of a result.

A snippet (`snippets`) is one run of text, as the API returns it. In an excerpt code keeps its lines
and a table its header, where they hold words of the query that the prose does not.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import unescape
from itertools import chain, pairwise
from textwrap import dedent
from types import MappingProxyType
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from ingestion.chunking.sections import paths
from ingestion.domain import CELL_SEPARATOR, BlockKind, SectionPlace
from ingestion.lexical.languages import name_parts
from search.presentation.snippets import MARK_END, MARK_START, highlight, snippet

# Of each block of a passage: its first character, its kind and its level, as a chunk stores them.
Layout = Sequence[tuple[int, str, int]]

_MARKS = re.compile(f"[{MARK_START}{MARK_END}]")
_BREAKS = re.compile(r"\n{2,}")
_NUMBERED = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]+)[.)] ")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a passage's text: `html` is escaped.

    `kind` is heading, text, code, table, item or numbered (an item that begins with its number).
    `level` is a heading's depth from 1, or an item's from 0. `rows` holds a table's cells in place
    of `html`. `anchor` is that of the section that it begins.
    """

    kind: str
    html: SafeString | str = ""
    level: int = 0
    rows: tuple[tuple[SafeString, ...], ...] = ()
    plain: str = ""
    anchor: str = ""

    def repeats(self, title: str) -> bool:
        """Whether it is a heading equal to the document's title."""
        return self.kind == "heading" and self.plain.casefold() == _squeezed(title).casefold()


def parts_in(row: dict[str, Any], overlap: int) -> Iterator[Part]:
    """The parts of a chunk's row without the first `overlap` characters of its text.

    As they were parsed; guessed for chunks without a layout, and after a hand edit, which has other
    blocks than the parsed text.
    """
    layout = () if row["original"] else row["layout"]
    anchors = {place[0]: place[3] for place in row["sections"]}
    return parts_of(row["marked"], row["heading_path"], row["kind"], layout, overlap, anchors)


def parts_of(
    marked: str,
    path: Sequence[str],
    kind: str,
    layout: Layout = (),
    overlap: int = 0,
    anchors: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[Part]:
    """The parts of a marked text with these headings and this predominant kind of block.

    Guessed without a `layout`. The first `overlap` characters are left out. `anchors` are those of
    the sections by their offsets.
    """
    if layout:
        return _known_parts(marked, path, layout, overlap, anchors)
    return text_parts(without(marked, overlap), path, kind)


@dataclass(frozen=True, slots=True)
class NamedSection:
    """A section of a passage: its heading, anchor and path, which ends with its heading.

    `start` and `end` are the offsets of its own text, without its subsections.
    """

    heading: str
    anchor: str
    path: tuple[str, ...]
    start: int = 0
    end: int = sys.maxsize

    @property
    def begins(self) -> bool:
        """Whether it begins within the passage, so that its anchor is there."""
        return self.start > 0


def matched_section(
    marked: str, path: Sequence[str], sections: Sequence[Sequence[Any]], stems: Sequence[str] = ()
) -> NamedSection | None:
    """The section of a passage that holds most of the question's `stems`, those in its name twice.

    They count where they are marked, and in names if nothing is; without `stems`, the marked words
    count. If no section has any, it is that of the passage's headings `path`; None without a name.
    One without a text of its own ends with its subsections.
    """
    places = _sections(path, sections)
    scores = [*_scores(places, marked, stems)]
    best = max(scores, default=0)
    if best or len(places) == 1:
        section: NamedSection | None = places[scores.index(best)]
    else:
        section = next((each for each in places if each.path == tuple(path)), None)
    if section is None or not section.heading:
        return NamedSection(path[-1], "", tuple(path)) if path else None
    if _squeezed(unmarked(within(section, marked)[0])) != _squeezed(section.heading):
        return section
    depth = len(section.path)
    others = (each for each in places if each.path[:depth] != section.path)
    end = next((each.start for each in others if each.start > section.start), sys.maxsize)
    return replace(section, end=end)


def named_sections(
    path: Sequence[str], sections: Sequence[Sequence[Any]]
) -> tuple[NamedSection, ...]:
    """The sections of a passage that have a name, in order."""
    return tuple(each for each in _sections(path, sections) if each.heading)


def within(section: NamedSection | None, marked: str, layout: Layout = ()) -> tuple[str, Layout]:
    """The section's part of a passage's marked text and of its layout; all of them without one."""
    if section is None:
        return marked, layout
    start, end = section.start, section.end
    blocks = [(at - start, kind, level) for at, kind, level in layout if start <= at < end]
    return _divided(marked, [start, end])[0], blocks


def _sections(path: Sequence[str], sections: Sequence[Sequence[Any]]) -> tuple[NamedSection, ...]:
    """All sections of a passage in order; the heading of one without a name is empty."""
    places = [SectionPlace(*place) for place in sections]
    ends = [*(place.start for place in places), sys.maxsize][1:]
    return tuple(
        NamedSection(each[-1] if each else "", place.anchor, each, place.start, end)
        for place, end, each in zip(places, ends, paths(path, places), strict=True)
    )


def _scores(sections: Sequence[NamedSection], marked: str, stems: Sequence[str]) -> Iterator[int]:
    """The number of stems in each section's text and in its name; see `matched_section`."""
    if MARK_START not in marked:
        yield from (
            _count(name_parts(each.heading, whole=True), stems) * bool(stems) for each in sections
        )
        return
    cuts = [(each.start, min(each.end, each.start + len(each.heading))) for each in sections]
    pieces = [_words(piece, whole=True) for piece in _divided(marked, [*chain.from_iterable(cuts)])]
    for name, text in zip(pieces[::2], pieces[1::2], strict=True):
        yield _count(name | text, stems) + _count(name, stems)


def _count(words: Collection[str], stems: Sequence[str]) -> int:
    """The number of the stems that the words have; without stems, that of the words."""
    # A stem may end in another letter than its word: happi, happy.
    heads = [stem[: max(3, len(stem) - 1)] for stem in stems]
    if not stems:
        return len(words)
    return sum(any(word.startswith(head) for word in words) for head in heads)


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


def _known_parts(
    marked: str, path: Sequence[str], layout: Layout, overlap: int, anchors: Mapping[int, str]
) -> Iterator[Part]:
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
        if plain:
            part = _known_part(text, plain, kind, level, names)
            # One that goes on from the passage before has its anchor there.
            yield replace(part, anchor=anchors[start]) if anchors.get(start) and start else part


def _known_part(text: str, plain: str, kind: str, level: int, names: Mapping[str, int]) -> Part:
    """A block of a passage, whose headings `names` have these levels."""
    if kind == BlockKind.HEADING:
        depth = names.get(plain) or len(names) + 1
        return Part("heading", highlight(text.strip()), depth, plain=plain)
    if kind == BlockKind.CODE:
        return Part("code", highlight(text.rstrip()))
    if kind == BlockKind.TABLE and (rows := _cells(text)):
        return Part("table", rows=rows)
    if kind == BlockKind.LIST_ITEM:
        has_number = bool(_NUMBERED.match(plain))
        return Part("numbered" if has_number else "item", highlight(text.strip()), level)
    return Part("text", highlight(text.strip()))


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
    """The text of a passage without a known layout by paragraphs, of its predominant kind."""
    names = {_squeezed(name): level for level, name in enumerate(path, start=1)}
    for text in _BREAKS.split(marked.strip("\n")):
        plain = _squeezed(unmarked(text))
        if level := names.get(plain, 0):
            yield Part("heading", highlight(text.strip()), level, plain=plain)
        elif kind == BlockKind.CODE:
            yield Part("code", highlight(text))
        elif rows := _cells(text):
            yield Part("table", rows=rows)
        elif text.strip():
            yield Part("text", highlight(text.strip("\n")))


def _cells(text: str) -> tuple[tuple[SafeString, ...], ...]:
    """A table's cells; empty for other text: every row must have as many cells as the first."""
    rows = [line.split(CELL_SEPARATOR) for line in text.strip("\n").split("\n")]
    width = len(rows[0])
    if len(rows) < 2 or width < 2 or any(len(row) != width for row in rows):
        return ()
    return tuple(tuple(highlight(cell.strip()) for cell in row) for row in rows)


def _squeezed(text: str) -> str:
    return " ".join(text.split())


# Guesses, bounded by the page: ten results in 2,400 pixels, a line of 100 characters.
PROSE_CHARS = 240
LEAD_CHARS = 110  # of the prose above code or a table
CODE_LINES = 4
LINE_CHARS = 110
TABLE_ROWS = 2  # below the header
TABLE_COLUMNS = 4
CELL_CHARS = 60

_MARKED = re.compile(f"{MARK_START}([^{MARK_END}]*){MARK_END}")
_BREAK = "\n\n"
_PROSE = frozenset({"text", "item", "numbered"})
Words = frozenset[str]


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
    if best is None or (prose and not best.words - _words(_marked_text(lead))):
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
    plain = _MARKED.sub(r"\1", line)
    if len(plain) <= LINE_CHARS:
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


def _words(marked: str, *, whole: bool = False) -> Words:
    texts = _MARKED.findall(marked)
    return frozenset(part for text in texts for part in name_parts(text, whole=whole))


def _words_of(texts: Iterable[str]) -> Words:
    return frozenset[str]().union(*map(_words, texts))
