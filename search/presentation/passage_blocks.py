"""A passage's text as parts: headings, prose, lists, code and tables; and its named sections."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from types import MappingProxyType
from typing import Any

from django.utils.safestring import SafeString

from ingestion.chunking.sections import paths
from ingestion.domain import CELL_SEPARATOR, BlockKind, SectionPlace
from ingestion.lexical.compounds import name_parts
from search.presentation.records import NO_LOOKUP, RecordLookup
from search.presentation.snippets import MARK_END, MARK_START, MARKED, MARKS, highlight, unmarked

# The first character, the kind and the level of each block of a passage, as a chunk stores them.
Layout = Sequence[tuple[int, str, int]]
Places = Mapping[int, SectionPlace]
Words = frozenset[str]

_BREAKS = re.compile(r"\n{2,}")
_NUMBERED = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]+)[.)] ")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a passage's text: `html` is escaped.

    `kind` is heading, text, code, table, item or numbered (an item that begins with its number).
    `level` is a heading's depth from 1, or an item's from 0; `outline` is a heading's depth among
    those that are shown, without gaps. `rows` holds a table's cells in place of `html`. `anchor` is
    that of the section that it begins.
    """

    kind: str
    html: SafeString | str = ""
    level: int = 0
    rows: tuple[tuple[SafeString, ...], ...] = ()
    plain: str = ""
    anchor: str = ""
    outline: int = 0

    def below(self, above: list[int]) -> Part:
        """The part; a heading with its `outline`, entered in `above`, the levels so far."""
        if self.kind != "heading":
            return self
        above[:] = [*(level for level in above if level < self.level), self.level]
        return replace(self, outline=len(above))

    def repeats(self, title: str) -> bool:
        """Whether it is a heading equal to the document's title."""
        return self.kind == "heading" and self.plain.casefold() == _squeezed(title).casefold()


def parts_in(row: dict[str, Any], overlap: int) -> Iterator[Part]:
    """The parts of a chunk's row without the first `overlap` characters of its text.

    They are the parsed blocks, or a guess for chunks without a layout and after a hand edit, whose
    blocks are unknown.
    """
    layout = () if row["original"] else row["layout"]
    places = {place[0]: SectionPlace(*place) for place in row["sections"]}
    return parts_of(row["marked"], row["heading_path"], row["kind"], layout, overlap, places)


def parts_of(
    marked: str,
    path: Sequence[str],
    kind: str,
    layout: Layout = (),
    overlap: int = 0,
    places: Places = MappingProxyType({}),
) -> Iterator[Part]:
    """The parts of a marked text with these headings and this predominant kind of block.

    Guessed without a `layout`. The first `overlap` characters are left out. `places` are the
    sections by their offsets; of several at one offset, the innermost.
    """
    if layout:
        return _known_parts(marked, path, layout, overlap, places)
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
    marked: str,
    path: Sequence[str],
    sections: Sequence[Sequence[Any]],
    stems: Sequence[str] = (),
    lookup: RecordLookup = NO_LOOKUP,
    title: str = "",
) -> NamedSection | None:
    """The section of a passage with most of the question's `stems`, those in its name twice.

    If sections hold an identifier of the `lookup`, only the best of them, and only other stems.
    Those of the document's `title`, which all sections share, count only if there are no others.
    Stems count where they are marked, and in names if nothing is; without `stems`, the marked words
    count. If no section has any, it is that of the passage's headings `path`; None without a name.
    A section without a text of its own ends with its subsections.
    """
    places = _sections(path, sections)
    section = next(iter(places), None)
    if section is not None and section.start:  # a letterhead above the first heading
        places = (NamedSection("", "", tuple(path), 0, section.start), *places)
    if len(places) > 1:
        texts = (unmarked(within(each, marked)[0]) for each in places)
        held = lookup.holders([(title, *each.path) for each in places], texts)
        best = max(held)
        asked = [stem for stem in stems if not (best and lookup.says(stem.lstrip("-")))]
        scores = _by_name(places, marked, asked, title) if asked or not stems else [0] * len(places)
        holders = [place for place, strength in enumerate(held) if strength == best]
        first = max(holders, key=scores.__getitem__)
        named = next((each for each in places if each.path == tuple(path)), None)
        section = places[first] if best or scores[first] else named
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
    """The section's part of a passage's marked text and of its layout; everything without a
    section.
    """
    if section is None or (section.start, section.end) == (0, sys.maxsize):
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


def _by_name(
    sections: Sequence[NamedSection], marked: str, stems: Sequence[str], title: str
) -> list[int]:
    """The scores of the sections by the stems that are not of the title, if there are any."""
    own = [stem for stem in stems if not _occurs(stem, name_parts(title, whole=True))]
    scores = [*_scores(sections, marked, own)] if own else []
    return scores if any(scores) else [*_scores(sections, marked, stems)]


def _scores(sections: Sequence[NamedSection], marked: str, stems: Sequence[str]) -> Iterator[int]:
    """The number of stems in each section's text and in its name; see `matched_section`."""
    if MARK_START not in marked:
        yield from (
            _count(name_parts(each.heading, whole=True), stems) * bool(stems) for each in sections
        )
        return
    cuts = [(each.start, min(each.end, each.start + len(each.heading))) for each in sections]
    pieces = [
        marked_words(piece, whole=True) for piece in _divided(marked, [*chain.from_iterable(cuts)])
    ]
    for name, text in zip(pieces[::2], pieces[1::2], strict=True):
        yield _count(name | text, stems) + _count(name, stems)


def marked_words(marked: str, *, whole: bool = False) -> Words:
    """The marked words, names of code as their parts; with `whole` the names, too."""
    texts = MARKED.findall(marked)
    return frozenset(part for text in texts for part in name_parts(text, whole=whole))


def _count(words: Collection[str], stems: Sequence[str]) -> int:
    """The number of stems that occur in the words; without stems, the number of words."""
    return sum(_occurs(stem, words) for stem in stems) if stems else len(words)


def _occurs(stem: str, words: Collection[str]) -> bool:
    """Whether the words have a stem; of one with a number (75.1722, -0042) all parts, unchanged."""
    if any(map(str.isdigit, stem)):
        return all(part in words for part in name_parts(stem))
    # A stem may end in another letter than its word: happi, happy.
    head = stem[: max(3, len(stem) - 1)]
    return any(word.startswith(head) for word in words)


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
    marked: str, path: Sequence[str], layout: Layout, overlap: int, places: Places
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
        if plain := _squeezed(unmarked(text)):
            place = places.get(start)
            # A passage that joins sections has headings that are not below its own.
            part = _known_part(text, plain, kind, level, {plain: place.level} if place else names)
            # One that goes on from the passage before has its anchor there.
            yield replace(part, anchor=place.anchor) if place and start else part


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
        kind = "numbered" if _NUMBERED.match(plain) else "item"
        return Part(kind, highlight(text.strip()), level)
    return Part("text", highlight(text.strip()))


def _divided(marked: str, starts: Sequence[int]) -> list[str]:
    """Marked text cut before these offsets, which do not count the marks."""
    marks = [
        (match.start() - count, match.group() == MARK_END)
        for count, match in enumerate(MARKS.finditer(marked))
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
