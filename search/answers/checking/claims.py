"""A sentence of an answer as a claim, and the passages that it cites as evidence. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from search.answers.checking.figures import Figure, figures
from search.answers.checking.quantities import mentioned
from search.answers.checking.splitting import MARKER, Span, split
from search.answers.checking.words import (
    Identifier,
    Name,
    alike,
    bare,
    content,
    identifiers,
    names,
    plain,
    quotations,
    stem,
    words,
)
from search.answers.domain import Context, Passage

LONGEST = 4_000  # characters of a sentence that are checked; a longer one is a table or a dump
_MARKED = re.compile(rf"[ \t]*{MARKER.pattern}")
_ITEM = re.compile(r"\A\s*(?:>\s*)*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)?(?:\[[ xX]\][ ])?")
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)")
_FENCE = re.compile(r"\A\s*(?:`{3,}|~{3,})[^\n]*\n(.*?)(?:\n\s*(?:`{3,}|~{3,})\s*)?\Z", re.DOTALL)
_HEADING = re.compile(r"\A\s*#{1,6}(?:\s|\Z)|\A\s*(?:[-*_]\s*){3,}\Z|\A\s*\*\*[^*]+\*\*\Z")
_SEPARATOR = re.compile(r"\A\s*\|?[\s:|-]+\|?\s*\Z")
_NEXT_SEPARATOR = re.compile(r"\s*\n[ \t]*\|[ \t:|-]*-[ \t:|-]*(?:\n|\Z)")
_CLAUSE_END = re.compile(r"[;:()—]|[,.](?=\s)|\s–\s")
_QUESTION = re.compile(r"[?？][\"”’*)]*\Z")
# Sentences about the sources or the answer itself, and courtesies: they claim nothing of the topic.
_COURTESY = (
    r"(?:hello|hi|thanks|thank you|sure|certainly|of course|yes|no|okay|hallo|danke|gerne|ja|nein)"
    r"\b[\s!,.]*"
)
_TELL = (
    r"(?:seem|say|state|mention|contain|answer|tell|give|provide|include|cover|specify|explain|"
    r"describe|address)"
)
_ABOUT_THE_ANSWER = (
    r"(?:i|we)(?:'m| am| are)? (?:sorry|afraid|hope|could not|couldn't|cannot|can't|do not|don't|"
    r"did not|was unable)\b.*",
    r"(?:unfortunately,? )?(?:the|these|your|none of the|neither of the|no)?[\s\w]{0,24}\b"
    r"(?:documents?|passages?|sources?|context|library)\b[^.]{0,40}\b"
    rf"(?:(?:do|does|did)(?: not|n't)|not) {_TELL}\b.*",
    r"the nearest passages are below\.?",
    r"(?:hope|glad) (?:this|that|to)\b.*",
    r"let me know\b.*",
    r"(?:ich|wir) (?:konnte|kann|habe|finde|weiß)\w* .*\bnicht\b.*",
    r"(?:leider )?(?:die|in den|den)[\s\w]{0,24}\b"
    r"(?:dokumente|dokumenten|passagen|quellen|texte)\b[^.]{0,60}\b(?:nicht|keine|nichts)\b.*",
    r"(?:here (?:is|are)|this is) "
    r"(?:what|how|the answer|a summary|an overview|the relevant)\b[^.]*",
    r"(?:in short|in summary|to summarise|to summarize|sources?|see|note|quellen?|siehe)\s*[:.]?",
)
_ABOUT_ITSELF = re.compile(
    rf"\A(?:{_COURTESY})?(?:{'|'.join(_ABOUT_THE_ANSWER)})?[\s.!:]*\Z", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True)
class Claim:
    """A sentence without its markers and Markdown, and the parts that need evidence.

    `shown` is the sentence for readers, `text` that for the check. `code`: the content of a block
    of code. `is_lead_in`: it ends in a colon, and its figures may be in any passage.
    """

    shown: str
    text: str
    is_empty: bool
    is_lead_in: bool
    code: str
    stems: tuple[str, ...]
    figures: tuple[Figure, ...]
    identifiers: tuple[Identifier, ...]
    names: tuple[Name, ...]
    quotations: tuple[str, ...]

    @cached_property
    def plain(self) -> str:
        return self.bare(self.text)

    @cached_property
    def measures(self) -> frozenset[str]:
        """The stems of its figures' words, which are proven on their own: "5 ms" by "0.005 s"."""
        return frozenset(each for figure in self.figures for each in content(figure.text))

    @cached_property
    def clauses(self) -> tuple[tuple[str, frozenset[str]], ...]:
        """The parts between its stops, commas and dashes, each with its stems."""
        return tuple((text, frozenset(content(text))) for text in _CLAUSE_END.split(self.text))

    @staticmethod
    def bare(text: str) -> str:
        """The text for comparing it with a source's sentence."""
        return plain(_ITEM.sub("", text)).strip(" .,;:!?\"'")

    def words_of(self, stems: Iterable[str]) -> list[str]:
        """The first word of the claim with each stem."""
        by_stem = {stem(word): word for word in reversed(list(words(self.text)))}
        return [by_stem.get(each, each) for each in stems]


def claim_of(text: str, span: Span) -> Claim:
    """The claim that the sentence at `span` of an answer makes."""
    written = text[slice(*span)][:LONGEST]
    unmarked = _MARKED.sub("", written)
    shown = " ".join(unmarked.split())
    fence = _FENCE.match(unmarked)
    bare = _LINK.sub(r"\1", _ITEM.sub("", unmarked))
    bare = re.sub(r"\*\*|__(?!\w)|(?<!\w)__", "", bare).replace("\\_", "_").strip()
    quoted = quotations(bare)
    measures = [each for each in figures(bare) if each.unit is not None]
    literals = tuple(
        each
        for each in identifiers(bare)
        if not any(f.start < each.start and each.end <= f.end for f in measures)  # 9 m3
    )
    taken = [(each.start, each.end) for each in literals]
    numbers = tuple(
        each
        for each in figures(bare)
        if each.is_sure and not _inside(each.start, each.end, [*taken, *quoted])
    )
    spans = [*taken, *quoted, *((each.start, each.end) for each in numbers)]
    lead_in = bare.endswith((":", ":*", "："))
    claim = Claim(
        shown=shown,
        text=bare,
        is_empty=False,
        is_lead_in=lead_in,
        code=fence[1] if fence else "",
        stems=tuple(content(bare)),
        figures=numbers,
        identifiers=tuple(each for each in literals if not _inside(each.start, each.end, quoted)),
        names=tuple(names(bare, spans)),
        quotations=tuple(bare[start:end] for start, end in quoted),
    )
    empty = fence is None and _claims_nothing(text, span, unmarked.strip(), claim)
    return replace(claim, is_empty=empty)


def _inside(start: int, end: int, spans: Iterable[Span]) -> bool:
    return any(begin < end and start < stop for begin, stop in spans)


def _claims_nothing(text: str, span: Span, unmarked: str, claim: Claim) -> bool:
    if _HEADING.match(unmarked) or _SEPARATOR.match(unmarked) or not claim.text:
        return True
    if unmarked.startswith("|") and _NEXT_SEPARATOR.match(text, span[1]):
        return True
    if _QUESTION.search(claim.text) or _ABOUT_ITSELF.match(claim.text):
        return True
    hard = claim.figures or claim.identifiers or claim.quotations or claim.names
    return not hard and (claim.is_lead_in or not claim.stems)


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
        bare_words = [bare(word) for word in words(self.text)]
        return frozenset(
            [*bare_words, *(each for word in bare_words for each in re.split("['’]", word))]
        )

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(figures(self.text))

    @cached_property
    def identifiers(self) -> tuple[Identifier, ...]:
        return tuple(identifiers(self.text))

    @cached_property
    def names(self) -> tuple[Name, ...]:
        return tuple(names(self.text))


@dataclass(frozen=True)
class CitedPassage:
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
            stem: frozenset(each for each in self.stems if alike(stem, each))
            for stem in dict.fromkeys(stems)
        }


@lru_cache(maxsize=64)  # an answer's sentences cite the same few passages
def source_of(passage: Passage) -> CitedPassage:
    """The passage as evidence."""
    head = "\n".join((passage.title, *passage.heading_path))
    return CitedPassage(
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
    lines: tuple[tuple[float, CitedPassage, Line], ...]


def cover(
    stems: Sequence[str],
    measures: Collection[str],
    sources: Sequence[CitedPassage],
    weights: Mapping[str, float],
) -> Cover:
    """How far the sources' words cover a claim's; its lines are in the order of their shares.

    Of the claim's stems, `measures` count only where a source has them.
    """
    heaviest = weights.get("", 1.0)
    in_sources = {stem for source in sources for stem in source.stems}
    worth = {
        stem: weights.get(stem, heaviest)
        for stem in dict.fromkeys(stems)
        if stem in in_sources or stem not in measures
    }
    total = sum(worth.values()) or 1.0
    covered: set[str] = set()
    lines: list[tuple[float, CitedPassage, Line]] = []
    for source in sources:
        matching = source.matching(worth)
        covered |= {stem for stem, alikes in matching.items() if alikes}
        for line in source.lines:
            share = sum(worth[stem] for stem, alikes in matching.items() if alikes & line.stems)
            lines.append((share / total, source, line))
    lines.sort(key=lambda each: -each[0])
    missing = sorted((stem for stem in worth if stem not in covered), key=lambda each: -worth[each])
    whole = sum(worth[stem] for stem in covered) / total if worth else 1.0
    return Cover(
        whole, lines[0][0] if lines and worth else 1.0, tuple(missing), worth, tuple(lines)
    )
