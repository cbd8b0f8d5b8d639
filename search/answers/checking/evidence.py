"""A passage as evidence: its sentences with their words, figures, identifiers and names. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from search.answers.checking import polarity
from search.answers.checking.figures import Figure, figures
from search.answers.checking.names import Identifier, Name, bare, identifiers, names, plain
from search.answers.checking.splitting import split
from search.answers.checking.units import mentioned
from search.answers.checking.words import alike, content, words
from search.answers.domain import Context, Passage


@dataclass(frozen=True)
class Line:
    """A sentence, row or heading at [start, end) of a passage's text, or of its title."""

    start: int
    end: int
    text: str

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(content(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        found = [bare(word) for word in words(self.text)]
        return frozenset([*found, *(each for word in found for each in re.split("['’]", word))])

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(figures(self.text))

    @cached_property
    def identifiers(self) -> tuple[Identifier, ...]:
        return tuple(identifiers(self.text))

    @cached_property
    def names(self) -> tuple[Name, ...]:
        return tuple(names(self.text))

    @cached_property
    def parts(self) -> tuple[polarity.Part, ...]:
        return polarity.parts(self.text)


@dataclass(frozen=True)
class Source:
    """A passage's lines, and `head`: its title and heading path."""

    number: int
    lines: tuple[Line, ...]
    head: Line
    units: frozenset[str]
    plain: str

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset().union(self.head.stems, *(line.stems for line in self.lines))

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset().union(self.head.words, *(line.words for line in self.lines))

    def matching(self, stems: Iterable[str]) -> Mapping[str, frozenset[str]]:
        """For each stem of a claim, the passage's stems that look like forms of it."""
        return {
            stem: frozenset(e for e in self.stems if alike(stem, e) or _denies(stem, e))
            for stem in dict.fromkeys(stems)
        }


def _denies(stem: str, other: str) -> bool:
    """True for unsupported and support: which of them is meant is a matter of polarity."""
    return len(stem) > 5 and stem.startswith("un") and alike(stem[2:], other)


@lru_cache(maxsize=64)  # an answer's sentences cite the same few passages
def source_of(passage: Passage) -> Source:
    """The passage as evidence."""
    head = "\n".join((passage.title, *passage.heading_path))
    return Source(
        passage.number,
        tuple(Line(start, end, passage.text[start:end]) for start, end in split(passage.text)),
        Line(0, 0, head),
        mentioned(passage.text),
        plain(f"{passage.text}\n{head}"),
    )


@lru_cache(maxsize=16)
def rarity(context: Context) -> Mapping[str, float]:
    """The idf of each stem over the sentences of the context; `""`: that of an unknown one."""
    lines = [line for each in context.passages for line in source_of(each).lines]
    counts = Counter(stem for line in lines for stem in line.stems)
    weights = {stem: math.log(1 + len(lines) / count) for stem, count in counts.items()}
    return {**weights, "": math.log(2 + len(lines))}


@dataclass(frozen=True, slots=True)
class Cover:
    """The shares, by weight, of a claim's words that a passage's lines contain.

    `whole`: all its lines and its headings together; `best`: the line that contains the most;
    `missing`: the claim's stems that are nowhere, heaviest first. `worth`: each stem's weight.
    """

    whole: float
    best: float
    missing: tuple[str, ...]
    worth: Mapping[str, float]
    lines: tuple[tuple[float, Source, Line], ...]


def cover(
    stems: Sequence[str],
    measures: Collection[str],
    sources: Sequence[Source],
    weights: Mapping[str, float],
) -> Cover:
    """How far the sources' words cover a claim's; its lines are in the order of their shares.

    Of the claim's stems, `measures` count only where a source has them.
    """
    heaviest = weights.get("", 1.0)
    known = {stem for source in sources for stem in source.stems}
    worth = {
        stem: weights.get(stem, heaviest)
        for stem in dict.fromkeys(stems)
        if stem in known or stem not in measures
    }
    total = sum(worth.values()) or 1.0
    found: set[str] = set()
    lines: list[tuple[float, Source, Line]] = []
    for source in sources:
        matching = source.matching(worth)
        found |= {stem for stem, alikes in matching.items() if alikes}
        for line in source.lines:
            share = sum(worth[stem] for stem, alikes in matching.items() if alikes & line.stems)
            lines.append((share / total, source, line))
    lines.sort(key=lambda each: -each[0])
    missing = sorted((stem for stem in worth if stem not in found), key=lambda each: -worth[each])
    whole = sum(worth[stem] for stem in found) / total if worth else 1.0
    return Cover(
        whole, lines[0][0] if lines and worth else 1.0, tuple(missing), worth, tuple(lines)
    )
