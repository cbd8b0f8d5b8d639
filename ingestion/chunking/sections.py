"""A chunk -> the section around it, for answers and previews. Pure.

Search finds small chunks; people and models read larger sections. The section is the run of
neighbours under the same heading; if that is too short, it grows to the parent heading, and so on.
If it exceeds the budget, the neighbours nearest to the chunk are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ingestion.domain import BLOCK_SEPARATOR, BlockKind, SectionPlace

SECTION_TOKENS = 800
"""About one and a half printed pages, or four chunks of the default size. A guess."""

ENOUGH = 0.25
"""The share of the budget below which a section grows to its parent heading. A guess."""


_BY_LINES = frozenset({BlockKind.TABLE, BlockKind.CODE})


def repeated(end_before: int, start: int, text: str, original: str = "") -> int:
    """The number of characters at a chunk's start that overlap with the previous chunk.

    Offsets refer to the parsed text: a chunk that was edited by hand, from `original`, overlaps
    only if its beginning is unchanged.
    """
    count = max(0, end_before - start)
    return 0 if count and original and text[:count] != original[:count] else count


def separator(end_before: int, start: int, kind_before: str, kind: str) -> str:
    """The whitespace between two neighbouring chunks: a space between sentences of a paragraph, a
    line break between lines of a table or of code, an empty line between blocks.
    """
    if start - end_before > 1:
        return BLOCK_SEPARATOR
    return "\n" if {kind_before, kind} <= _BY_LINES else " "


def paths(
    heading_path: Sequence[str], sections: Sequence[SectionPlace]
) -> Iterator[tuple[str, ...]]:
    """The heading path of each section of a chunk under `heading_path`, the section's own last."""
    path = list(heading_path)
    for section in sections:
        path[max(0, section.level - 1) :] = [section.heading] if section.level else []
        yield tuple(path)


def common_path(paths: Collection[tuple[str, ...]]) -> tuple[str, ...]:
    """The longest common prefix of the heading paths."""
    low, high = min(paths), max(paths)  # in sort order these two differ earliest
    length = 0
    for left, right in zip(low, high, strict=False):
        if left != right:
            break
        length += 1
    return low[:length]


def moved(sections: Sequence[Sequence[Any]], text: str) -> Iterator[SectionPlace]:
    """The sections with their offsets in the edited `text`, as far as these can be determined."""
    position = 0
    for section in map(SectionPlace._make, sections):
        start = text.find(section.heading, position) if section.start else 0
        position = start if start >= 0 else min(max(position, section.start), len(text))
        yield section._replace(start=position)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The fields of a chunk that a section needs: ordinal, headings, offsets and size."""

    ordinal: int
    path: tuple[str, ...]
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Section:
    """The chunks from `first` to `last`, both included, and their [start, end) in the text.

    `path` are the headings common to all of them. `is_whole`: the section was not cut to the
    budget.
    """

    first: int
    last: int
    start: int
    end: int
    tokens: int
    path: tuple[str, ...]
    is_whole: bool


def section_of(
    chunks: Sequence[Neighbour], ordinal: int, *, budget: int = SECTION_TOKENS
) -> Section:
    """The section around the chunk with this ordinal, among its document's chunks in order.

    It contains at least that chunk, however long. Raises KeyError for an unknown ordinal.
    """
    places = {chunk.ordinal: place for place, chunk in enumerate(chunks)}
    at = places[ordinal]
    path, first, last = _grown(chunks, at, budget)
    low, high = _within(chunks, at, first, last, budget)
    return Section(
        first=chunks[low].ordinal,
        last=chunks[high].ordinal,
        start=chunks[low].start,
        end=max(chunk.end for chunk in chunks[low : high + 1]),
        tokens=sum(chunk.tokens for chunk in chunks[low : high + 1]),
        path=path,
        is_whole=(low, high) == (first, last),
    )


def _grown(chunks: Sequence[Neighbour], at: int, budget: int) -> tuple[tuple[str, ...], int, int]:
    """(path, first, last) of the smallest long enough run around `at`."""
    path = chunks[at].path
    first, last = _run(chunks, at, path)
    while path and sum(chunk.tokens for chunk in chunks[first : last + 1]) < ENOUGH * budget:
        path = path[:-1]
        first, last = _run(chunks, at, path)
    return path, first, last


def _run(chunks: Sequence[Neighbour], at: int, path: tuple[str, ...]) -> tuple[int, int]:
    """The first and last index of the run around `at` under these headings."""

    def is_inside(place: int) -> bool:
        return 0 <= place < len(chunks) and chunks[place].path[: len(path)] == path

    first = last = at
    while is_inside(first - 1):
        first -= 1
    while is_inside(last + 1):
        last += 1
    return first, last


def _within(
    chunks: Sequence[Neighbour], at: int, first: int, last: int, budget: int
) -> tuple[int, int]:
    """The first and last index around `at` within the budget; following chunks are added first."""
    low = high = at
    left = budget - chunks[at].tokens
    grows_up = grows_down = True
    while grows_up or grows_down:
        if grows_down:
            grows_down = high < last and chunks[high + 1].tokens <= left
            if grows_down:
                high += 1
                left -= chunks[high].tokens
        if grows_up:
            grows_up = low > first and chunks[low - 1].tokens <= left
            if grows_up:
                low -= 1
                left -= chunks[low].tokens
    return low, high
