"""A sentence of an answer as a claim: what of it can be checked. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from search.answers.checking import polarity
from search.answers.checking.figures import Figure, figures
from search.answers.checking.names import (
    Identifier,
    Name,
    identifiers,
    names,
    plain,
    quotations,
)
from search.answers.checking.splitting import MARKER, Span
from search.answers.checking.words import content, stem, words

LONGEST = 4_000  # characters of a sentence that are checked; a longer one is a table or a dump
_MARKED = re.compile(rf"[ \t]*{MARKER.pattern}")
_ITEM = re.compile(r"\A\s*(?:>\s*)*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)?(?:\[[ xX]\][ ])?")
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)")
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
    def parts(self) -> tuple[polarity.Part, ...]:
        return polarity.parts(self.text)

    @staticmethod
    def bare(text: str) -> str:
        """The text for comparing it with a source's sentence."""
        return plain(_ITEM.sub("", text)).strip(" .,;:!?\"'")

    def words_of(self, stems: Iterable[str]) -> list[str]:
        """The first word of the claim with each stem."""
        found = {stem(word): word for word in reversed(list(words(self.text)))}
        return [found.get(each, each) for each in stems]


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
    found = tuple(
        each
        for each in identifiers(bare)
        if not any(f.start < each.start and each.end <= f.end for f in measures)  # 9 m3
    )
    taken = [(each.start, each.end) for each in found]
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
        identifiers=tuple(each for each in found if not _inside(each.start, each.end, quoted)),
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
