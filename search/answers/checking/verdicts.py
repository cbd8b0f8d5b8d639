"""The verdict on a sentence of an answer, and the confidence in all of them. Pure.

A sentence is checked against the passages that its markers name. One without a marker is checked
against the next marker of its block (the lines up to a blank one), or else the last one before it:
many models cite once, at a paragraph's end. A block without any marker cites nothing.

The rules of confidence are those of mind's ADR (S4-16 to S4-18, F4-08): a slightly changed
quotation costs confidence and never removes all of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean

from search.answers.checking.claims import (
    CitedPassage,
    Claim,
    Cover,
    claim_of,
    cover,
    rarity,
    source_of,
)
from search.answers.checking.proving import unproven
from search.answers.checking.splitting import MARKER, Span, block_of, cited_numbers
from search.answers.checking.words import quoted_in
from search.answers.domain import Citation, Context, Passage, Sentence, Verdict

# The share, by weight, of a sentence's words that its cited passages must contain; chosen on the
# labelled sentences of tests/support/claims (docs/answers.md).
MIN_COVER = 0.5
EXISTS, FOUND = 0.7, 0.3  # S4-16
FLOOR = 0.6  # S4-17: unsupported sentences cost at most 40%
LINES = 0.5  # F4-08: the share of a quotation's lines that must be found
NO_CITATION = "It cites no passage."
NOT_VERIFIED = "Not verified."


def check(text: str, span: Span, context: Context) -> Sentence:
    """The sentence at `span` of an answer's text, with its citations and its verdict.

    UNCHECKED if it claims nothing: a heading, a question, a greeting, a refusal, a lead-in.
    """
    start, end = span
    claim = claim_of(text, span)
    numbers = cited_numbers(text[start:end]) or _inherited(text, span)
    passages = [passage for number in numbers if (passage := context.passage(number))]
    if claim.is_empty:
        return Sentence(start, end, claim.shown, tuple(Citation(each.number) for each in passages))
    if not passages and not claim.is_lead_in:
        reasons: tuple[str, ...] = (NO_CITATION,)
        return Sentence(start, end, claim.shown, (), Verdict.UNSUPPORTED, reasons, 0.0)
    sources = [source_of(each) for each in passages or context.passages]
    covered = cover(claim.stems, claim.measures, sources, rarity(context))
    verdict, reasons = verdict_on(claim, sources, covered)
    citations = tuple(_citation(each, covered, claim) for each in passages)
    credit = fmean(_credit(claim, each) for each in passages) if passages else 1.0
    return Sentence(start, end, claim.shown, citations, verdict, reasons, credit)


def verdict_on(
    claim: Claim, sources: Sequence[CitedPassage], covered: Cover
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict of the sources on a claim, and why they do not support it, for readers."""
    if claim.code:
        is_quoted = any(snippet_found(claim.code, text) for text in _texts(sources))
        return (
            _OK if is_quoted else (Verdict.UNSUPPORTED, ("This code is not in a cited passage.",))
        )
    if any(claim.plain == Claim.bare(line.text) for source in sources for line in source.lines):
        return _OK
    if reasons := tuple(dict.fromkeys(unproven(claim, sources, covered))):
        return Verdict.UNSUPPORTED, reasons
    few = covered.whole < MIN_COVER and len(covered.missing) > 1
    return (Verdict.UNVERIFIED, (NOT_VERIFIED,)) if few or not covered.whole else _OK


_OK: tuple[Verdict, tuple[str, ...]] = (Verdict.SUPPORTED, ())


def _texts(sources: Sequence[CitedPassage]) -> list[str]:
    return ["\n".join(line.text for line in source.lines) for source in sources]


def _inherited(text: str, span: Span) -> tuple[int, ...]:
    """The numbers of the block's next markers, or else of its last ones before the sentence."""
    start, end = block_of(text, span)
    if after := _RUN.search(text, span[1], end):
        return cited_numbers(after.group())
    before = list(_RUN.finditer(text, start, span[0]))
    return cited_numbers(before[-1].group()) if before else ()


_RUN = re.compile(rf"(?:{MARKER.pattern}[ \t]*)+")


def _citation(passage: Passage, covered: Cover, claim: Claim) -> Citation:
    """A citation of the passage's nearest sentence, or of all of it if none is near."""
    for share, source, line in covered.lines:
        if source.number == passage.number and share >= MIN_COVER and not claim.code:
            return Citation(passage.number, line.start, line.end)
    return Citation(passage.number)


def _credit(claim: Claim, passage: Passage) -> float:
    """S4-16: .7 for a passage that exists, .3 for the quoted words, if any, in it."""
    source = source_of(passage)
    verbatim = sum(quoted_in(words, source.plain) for words in claim.quotations)
    return source_credit(True, not claim.quotations or verbatim * 2 >= len(claim.quotations))


def source_credit(exists: bool, snippet: bool) -> float:
    """The worth of a citation: .7 if its passage exists, .3 more if the quoted words are in it."""
    if not exists:
        return 0.0
    return EXISTS + FOUND if snippet else EXISTS


def field_factor(rate: float) -> float:
    """The factor for the share `rate`, in [0, 1], of claims that are borne out: .6 to 1."""
    return min(1.0, max(FLOOR, rate * (1 - FLOOR) + FLOOR))


def snippet_found(snippet: str, text: str) -> bool:
    """True if at least half of the lines of `snippet` are in the text, apart from white space and
    case; an empty snippet is (F4-08).
    """
    lines = [line for each in snippet.splitlines() if (line := _plain(each))]
    plain = _plain(text)
    return not lines or sum(line in plain for line in lines) / len(lines) >= LINES


def product_confidence(retrieval: float | None, sentences: Sequence[Sentence]) -> float | None:
    """The confidence of the retrieval times the mean credit of the citations times the factor for
    the supported share; None without a confidence of the retrieval. Sentences that claim nothing
    do not count.
    """
    if retrieval is None:
        return None
    checked = [each for each in sentences if each.verdict is not Verdict.UNCHECKED]
    if not checked:
        return retrieval
    supported = fmean(each.verdict is Verdict.SUPPORTED for each in checked)
    return retrieval * fmean(each.credit for each in checked) * field_factor(supported)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
