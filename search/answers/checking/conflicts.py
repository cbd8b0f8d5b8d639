"""Passages that give different figures for the same thing: editions, or a contradiction. Pure.

Nothing here says which of them is right: readers and models get both, with their dates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from ingestion.domain import CELL_SEPARATOR
from ingestion.edition_titles import edition_title
from ingestion.lexical.sentences import Kind, sentences
from search.answers.checking.figure_parsing import figures
from search.answers.checking.figures import Figure, same
from search.answers.content_words import STOP, content, words
from search.answers.domain import Answered, Conflict, Passage, Statement

FIRST = 3  # passages, by rank, that are compared
# The share of their words that two lines about the same thing have in common (Jaccard), and the
# fewest of them: less between editions of one title (benchmarks/notes/answers.md).
ALIKE, FEWEST = 0.75, 3
ALIKE_EDITIONS, FEWEST_EDITIONS = 0.4, 1
MOST_LINES = 60  # of a passage, with figures: more is a table of data. A guess

# Before a figure that is a part of a name: #4711, part 2, and within a sentence Tutorial 4.
_PART_OF_NAME = re.compile(
    r"[#\w./-]\Z|(?<=\s)[A-Z]\w*\s\Z|(?i:\b(?:part|chapter|section|step|page|figure|table|version"
    r"|no\.|number|article|paragraph|kapitel|teil|seite|schritt|abschnitt)\s)\Z"
)
_YEARS = range(1900, 2101)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with figures, at [start, end), under the heading of that stem; `words` are stems, and
    the first cell of a row.
    """

    start: int
    end: int
    heading: tuple[str, ...]
    words: frozenset[str]
    figures: tuple[Figure, ...]

    def likeness(self, other: _Line) -> float:
        either = self.words | other.words
        return len(self.words & other.words) / len(either) if either else 0.0


def conflicts(passages: Iterable[Passage]) -> tuple[Conflict, ...]:
    """The conflicts between sections of equal headings in the first of the passages, by rank."""
    first = sorted(passages, key=lambda passage: passage.rank)[:FIRST]
    return tuple(
        conflict
        for one, other in combinations(first, 2)
        if one.document != other.document and _headings(one) & _headings(other)
        for conflict in _between(one, other)
    )


def cited_conflicts(answer: Answered) -> list[Conflict]:
    """The conflicts of which the answer cites a line, but only those whose line says most words of
    the question: of two price lists the row that is asked for.
    """
    asked = set(words(answer.searched_for)) - STOP
    cited = [each for sentence in answer.sentences for each in sentence.citations]

    def is_cited(side: Statement) -> bool:
        return any(
            each.passage == side.passage.number
            and (not each.end or (each.start < side.end and side.start < each.end))
            for each in cited
        )

    def said(conflict: Conflict) -> int:
        own = conflict.newer
        return len(asked.intersection(words(own.passage.text[own.start : own.end])))

    found = [each for each in answer.context.conflicts if any(map(is_cited, each.sides))]
    most = max(map(said, found), default=0)
    return [each for each in found if said(each) == most]


def differ(one: str, other: str) -> bool:
    """Whether two texts of nearly the same words differ in a figure."""
    if re.findall(r"\d+", one) == re.findall(r"\d+", other):
        return False
    lines, others = (tuple(_lines(text, "", ((0, ("",)),))) for text in (one, other))
    return any(_pairs(lines, others, is_edition=True))


def _between(one: Passage, other: Passage) -> Iterator[Conflict]:
    titles = edition_title(one.title), edition_title(other.title)
    is_edition = titles[0].stem == titles[1].stem != ()
    newer = titles[0].is_newer(titles[1])
    if one.date and other.date and one.date.value != other.date.value:
        newer = one.date.value > other.date.value
    for (line, figure), (like, its) in _pairs(_of(one), _of(other), is_edition=is_edition):
        sides = (
            Statement(one, line.start, line.end, figure.text),
            Statement(other, like.start, like.end, its.text),
        )
        yield Conflict(*(sides[::-1] if newer is False else sides))


_Found = tuple[_Line, Figure]


def _pairs(
    lines: Sequence[_Line], others: Sequence[_Line], *, is_edition: bool
) -> Iterator[tuple[_Found, _Found]]:
    """The lines that are most alike under one heading, with the first figures that differ."""
    alike, fewest = (ALIKE_EDITIONS, FEWEST_EDITIONS) if is_edition else (ALIKE, FEWEST)
    for line in lines:
        like = _most_alike(line, others)
        if like is None or _most_alike(like, lines) is not line:
            continue
        if line.likeness(like) < alike or len(line.words & like.words) < fewest:
            continue
        if found := _difference(line.figures, like.figures):
            yield (line, found[0]), (like, found[1])


def _most_alike(line: _Line, lines: Sequence[_Line]) -> _Line | None:
    near = (each for each in lines if each.heading == line.heading)
    return max(near, key=line.likeness, default=None)


def _difference(one: Sequence[Figure], other: Sequence[Figure]) -> tuple[Figure, Figure] | None:
    """The first figures that differ; None if the figures are not of the same kinds, in order."""
    if list(map(_kind, one)) != list(map(_kind, other)):
        return None
    pairs = zip(one, other, strict=True)
    return next(((a, b) for a, b in pairs if not (same(a, b) or same(b, a))), None)


def _kind(figure: Figure) -> str:
    return figure.unit.dimension if figure.unit else figure.kind


def _headings(passage: Passage) -> set[tuple[str, ...]]:
    """The stems of its title and headings, to read figures only where two passages share one."""
    paths = (passage.heading_path, *(path for _, path in passage.sections))
    names = (passage.title, *(path[-1] for path in paths if path))
    return {edition_title(name).stem for name in names}


def _of(passage: Passage) -> tuple[_Line, ...]:
    sections = passage.sections or ((0, passage.heading_path),)
    return tuple(_lines(passage.text, passage.title, sections, passage.language))


def _lines(
    text: str, title: str, sections: Sequence[tuple[int, tuple[str, ...]]], language: str = ""
) -> Iterator[_Line]:
    """The lines of a text that have figures: sentences, items and rows."""
    count = 0
    for span in sentences(text, language=language):
        line = text[span.start : span.end]
        numbers = tuple(_telling(line)) if span.kind not in (Kind.HEADING, Kind.CODE) else ()
        if not numbers or count >= MOST_LINES:
            continue
        count += 1
        above = [path for start, path in sections if start <= span.start and path]
        heading = edition_title(above[-1][-1] if above else title).stem
        words = line
        for each in reversed(numbers):
            words = f"{words[: each.start]} {words[each.end :]}"
        name, *cells = line.split(CELL_SEPARATOR)
        said = frozenset([*content(words), *([name] if cells else [])])
        yield _Line(span.start, span.end, heading, said, numbers)


def _telling(line: str) -> Iterator[Figure]:
    """The figures of a line that tell what a rule is: no names, versions, years or full dates.

    A bare 38.50 is a version in prose, and a price in a cell of its own.
    """
    for each in figures(line):
        if _PART_OF_NAME.search(line[: each.start]) or not each.is_sure:
            continue
        if each.dates and all(year for year, _, _ in each.dates):
            continue
        is_bare = bool(each.values) and each.unit is None
        is_version = bool(each.decimals) and not line[: each.start].endswith(CELL_SEPARATOR)
        if is_bare and (is_version or any(value in _YEARS for value in each.values)):
            continue
        yield each
