"""A sentence of an answer as a claim, its passages as evidence, and the missing evidence. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice

from ingestion.domain import CELL_SEPARATOR
from search.answers.checking.figure_parsing import figures
from search.answers.checking.figures import Figure, same, units_in
from search.answers.checking.names import (
    LINK,
    Identifier,
    Name,
    abbreviates,
    bare,
    identifiers,
    names,
    plain,
    quotations,
    quoted_in,
    same_name,
)
from search.answers.checking.splitting import MARKER, Span, split
from search.answers.content_words import POINTING, alike, content, words
from search.answers.domain import Passage

# A pronoun among so many first words of a sentence stands for the subject of the one before.
POINTER_WORDS = 4
LONGEST = 4_000  # characters of a sentence that are checked; a longer one is a table or a dump
_MARKED = re.compile(rf"[ \t]*{MARKER.pattern}")
_ITEM = re.compile(r"\A\s*(?:>\s*)*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)?(?:\[[ xX]\][ ])?")
_FENCE = re.compile(r"\A\s*(?:`{3,}|~{3,})[^\n]*\n(.*?)(?:\n\s*(?:`{3,}|~{3,})\s*)?\Z", re.DOTALL)
_HEADING = re.compile(r"\A\s*#{1,6}(?:\s|\Z)|\A\s*(?:[-*_]\s*){3,}\Z|\A\s*\*\*[^*]+\*\*\Z")
_SEPARATOR = re.compile(r"\A\s*\|?[\s:|-]+\|?\s*\Z")
_NEXT_SEPARATOR = re.compile(r"\s*\n[ \t]*\|[ \t:|-]*-[ \t:|-]*(?:\n|\Z)")
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
    rf"(?:(?:do|does|did)(?: not|n't)|not) {_TELL}\b(?:(?!\bbut\b).)*",
    r"the nearest passages are below\.?",
    r"(?:hope|glad) (?:this|that|to)\b.*",
    r"let me know\b.*",
    r"(?:ich|wir) (?:konnte|kann|habe|finde|weiß)\w* .*\bnicht\b.*",
    r"(?:leider )?(?:die|in den|den)[\s\w]{0,24}\b"
    r"(?:dokumente|dokumenten|passagen|quellen|texte)\b[^.]{0,60}\b(?:nicht|keine|nichts)\b"
    r"(?:(?!\baber\b).)*",
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

    `display_text` is the sentence that readers see, `text` the one that is checked. `code` is the
    content of a block of code. `is_lead_in`: the sentence ends in a colon, and its figures may be
    in any passage.
    """

    display_text: str
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

    @property
    def facts(self) -> tuple[str, ...]:
        """The claim's figures, identifiers, names and quotations, as texts."""
        pieces: list[Figure | Identifier | Name] = [*self.figures, *self.identifiers, *self.names]
        return (*(each.text for each in pieces), *self.quotations)

    @cached_property
    def measures(self) -> frozenset[str]:
        """The stems of its figures' words, which are proven on their own: "5 ms" by "0.005 s"."""
        return frozenset(each for figure in self.figures for each in content(figure.text))

    @staticmethod
    def bare(text: str) -> str:
        """The text for comparing it with a source's sentence."""
        return plain(_ITEM.sub("", text)).strip(" .,;:!?\"'")


def claim_of(text: str, span: Span) -> Claim:
    """The claim that the sentence at `span` of an answer makes."""
    written = text[slice(*span)][:LONGEST]
    unmarked = _MARKED.sub("", written)
    fence = _FENCE.match(unmarked)
    own = LINK.sub(r"\1", _ITEM.sub("", unmarked))
    own = re.sub(r"\*\*|__(?!\w)|(?<!\w)__", "", own).replace("\\_", "_").strip()
    quoted = quotations(own)
    all_figures = figures(own)
    measures = [(each.start, each.end) for each in all_figures if each.unit is not None]
    literals = [
        each
        for each in identifiers(own)
        if not any(start <= each.start and each.end <= end for start, end in measures)  # 9 m²
    ]
    literal_spans = [(each.start, each.end) for each in literals]
    numbers = tuple(
        each
        for each in all_figures
        if each.is_sure and not _inside(each.start, each.end, [*literal_spans, *quoted])
    )
    spans = [*literal_spans, *quoted, *((each.start, each.end) for each in numbers)]
    claim = Claim(
        display_text=" ".join(unmarked.split()),
        text=own,
        is_empty=False,
        is_lead_in=own.endswith((":", ":*", "：")),
        code=fence[1] if fence else "",
        stems=tuple(content(own)),
        figures=numbers,
        identifiers=tuple(each for each in literals if not _inside(each.start, each.end, quoted)),
        names=tuple(names(own, spans)),
        quotations=tuple(own[start:end] for start, end in quoted),
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

    @property
    def is_row(self) -> bool:
        return CELL_SEPARATOR in self.text

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
    def names(self) -> tuple[Name, ...]:
        return tuple(names(self.text))

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(figures(self.text))

    @cached_property
    def forms(self) -> frozenset[str]:
        """The canonical forms of its identifiers."""
        return frozenset().union(*(each.forms for each in identifiers(self.text)))


@dataclass(frozen=True)
class CitedPassage:
    """A passage as evidence: the lines of its text, and of its title and headings."""

    number: int
    lines: tuple[Line, ...]
    head: Line
    plain: str

    @property
    def all_lines(self) -> tuple[Line, ...]:
        return self.head, *self.lines

    @cached_property
    def units(self) -> frozenset[str]:
        return frozenset().union(*(units_in(line.text) for line in self.lines))

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(each for line in self.all_lines for each in line.figures)

    @cached_property
    def forms(self) -> frozenset[str]:
        """The canonical forms of the identifiers in the passage."""
        return frozenset().union(*(line.forms for line in self.all_lines))

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset().union(*(line.stems for line in self.all_lines))

    def forms_of(self, stems: Iterable[str]) -> Mapping[str, frozenset[str]]:
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
        tuple(_lines(passage.text)),
        Line(0, 0, head),
        plain(f"{passage.text}\n{head}"),
    )


def _lines(text: str) -> Iterator[Line]:
    """The sentences of a text, and the rows of its tables."""
    for start, end in split(text):
        ends = [end]
        if CELL_SEPARATOR in text[start:end]:
            ends = [*(at for at in range(start, end) if text[at] == "\n"), end]
        for stop in ends:
            yield Line(start, stop, text[start:stop])
            start = stop + 1


def lacking(claim: Claim, sources: Sequence[CitedPassage]) -> Iterator[str]:
    """Sentences on each quotation, figure, identifier and name of the claim that no source
    contains.
    """
    for quotation in claim.quotations:
        if not any(quoted_in(quotation, source.plain) for source in sources):
            yield f"The quoted words “{quotation}” are not in a cited passage."
    for figure in claim.figures:
        if not any(_has_figure(source, figure) for source in sources):
            yield f"No cited passage says “{figure.text}”."
        elif _is_of_another(claim, figure, sources):
            yield f"The cited passages say “{figure.text}” of something else."
    for each in claim.identifiers:
        if not any(each.canonical in s.forms or quoted_in(each.text, s.plain) for s in sources):
            yield f"No cited passage says “{each.text}”."
    for name in claim.names:
        if not _is_named(name, sources):
            yield f"No cited passage names “{name.text}”."
        elif _is_of_another(claim, name, sources):
            yield f"The cited passages name “{name.text}” for something else."


def _is_of_another(claim: Claim, fact: Figure | Name, sources: Sequence[CitedPassage]) -> bool:
    """Whether the sources say a figure or name only of something else than the claim does.

    So it is if each sentence or row that has it says less of the claim than another one, which has
    everything of the claim that it has, more, and a different fact of the kind in its place.
    """
    lines = [line for source in sources for line in source.lines]
    said = [_said(claim, fact, line) for line in lines]
    for place, line in enumerate(lines[1:], start=1):
        if POINTING.intersection(islice(words(line.text), POINTER_WORDS)):
            said[place] |= said[place - 1]
    places = [place for place, line in enumerate(lines) if _holds(line, fact)]
    rivals = [own for own, line in zip(said, lines, strict=True) if _has_rival(claim, fact, line)]
    return bool(places) and all(any(said[at] < rival for rival in rivals) for at in places)


def _said(claim: Claim, fact: Figure | Name, line: Line) -> frozenset[str]:
    """What a line says of a claim besides one of its facts: stems, identifiers and figures."""
    own = frozenset(content(fact.text)) | claim.measures
    stems = {
        stem
        for stem in claim.stems
        if stem not in own and any(alike(stem, each) for each in line.stems)
    }
    codes = {each.canonical for each in claim.identifiers if each.canonical in line.forms}
    others = (each for each in claim.figures if each is not fact)
    return frozenset(stems | codes | {each.text for each in others if _holds(line, each)})


def _holds(line: Line, fact: Figure | Name) -> bool:
    if isinstance(fact, Name):
        return all(_is_in(part, line.words) for part in fact.parts)
    return any(_equals(fact, each, line) for each in line.figures)


def _has_rival(claim: Claim, fact: Figure | Name, line: Line) -> bool:
    """Whether a line has, in place of a fact, another one of its kind that the claim lacks."""
    if _holds(line, fact):
        return False
    if isinstance(fact, Name):
        own = claim.plain.split()
        return any(not _is_in(each.parts[0], own) for each in line.names)
    rivals = (each for each in line.figures if each.kind == fact.kind or line.is_row)
    return any(not any(_equals(own, each, line) for own in claim.figures) for each in rivals)


def _equals(figure: Figure, cited: Figure, line: Line) -> bool:
    """Whether a line's figure is the same; in a table's cell a number has its unit elsewhere."""
    return same(figure, cited) or (line.is_row and bool(figure.values & cited.values))


def _has_figure(source: CitedPassage, figure: Figure) -> bool:
    if any(same(figure, other, source.units) for other in source.figures):
        return True
    # A whole date of which the passage has day and month, and elsewhere the year.
    return any(
        any(str(year) in each.text for each in source.figures)
        and any((None, month, day) in each.dates for each in source.figures)
        for year, month, day in figure.dates
        if year and day
    )


def _is_named(name: Name, sources: Sequence[CitedPassage]) -> bool:
    """True if a line of a source, with its headings, has all parts of the name, or its initials.

    False for a name of two words if each word belongs to a different name there.
    """
    known = [each for source in sources for line in source.all_lines for each in line.names]
    if any(abbreviates(name, each) or abbreviates(each, name) for each in known):
        return True
    if name.text.isupper() and any(name.parts[0] in source.plain for source in sources):
        return True  # MIME in "mimetype"
    lines = [line.words | source.head.words for source in sources for line in source.all_lines]
    if not any(all(_is_in(part, each) for part in name.parts) for each in lines):
        return False
    if len(name.parts) != 2:
        return True
    longer = [each.parts for each in known if len(each.parts) > 1]
    shared = [sum(_is_in(part, each) for part in name.parts) for each in longer]
    return 2 in shared or 1 not in shared


def _is_in(part: str, words_: Iterable[str]) -> bool:
    return any(same_name(part, word) for word in words_)
