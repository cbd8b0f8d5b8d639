"""The verdict on each sentence of an answer, from the passages that it cites; an answer's worth.

A sentence is checked against the passages that its markers name. One without a marker is checked
against the next marker of its block (the lines up to a blank one), or else the last one before it:
many models cite once, at a paragraph's end. Of a block without any marker each sentence is checked
against all passages, and cites the one that bears it out.

The rules of confidence are those of mind's ADR (S4-16 to S4-18, F4-08): a slightly changed
quotation costs confidence and never removes all of it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean

from ingestion.lexical.languages import detect_language, primary_code
from search.answers.checking.evidence import CitedPassage, Claim, Line, claim_of, lacking, source_of
from search.answers.checking.figure_parsing import figures
from search.answers.checking.figures import same
from search.answers.checking.names import quoted_in
from search.answers.checking.splitting import MARKER, Span, block_of, cited_numbers
from search.answers.content_words import content
from search.answers.domain import Citation, Context, Passage, Sentence, Verdict

# The share, by weight, of a sentence's words that its cited passages must contain; chosen on
# mutated copies of sentences (benchmarks/results/answers.md).
MIN_COVER = 0.5
PASSAGE_CREDIT, QUOTE_CREDIT = 0.7, 0.3  # S4-16
FLOOR = 0.6  # S4-17: unsupported sentences cost at most 40%
HALF = 0.5  # an answer of which half is not supported is no surer than a coin
LEAST_BORNE_OUT, TOO_FEW = 1 / 3, 2  # of an answer's claims: below it quotes say more (issue 27)
LINES = 0.5  # F4-08: the share of a quotation's lines that must be found
# The pieces of each kind that are checked of a claim, each against all figures of its sources: a
# sentence of more is a table or a dump. A guess.
MOST_PIECES = 40
NO_CITATION = "It cites no passage."
NO_CODE = "This code is not in a cited passage."
TOO_MANY = f"It has more than {MOST_PIECES} figures, names or quotations: too many to check."
FEW_WORDS = "The cited passages have too few of its words."


def check(text: str, span: Span, context: Context, question: str = "") -> Sentence:
    """The sentence at `span` of an answer's text, with its citations and its verdict.

    UNCHECKED if it claims nothing: a heading, a question, a greeting, a refusal, a lead-in. One
    that cites nothing gets the passage that bears it out, if there is one. Figures of the question
    need no evidence.
    """
    start, end = span
    claim = claim_of(text, span)
    asked = figures(question) if claim.figures else []
    own = (each for each in claim.figures if not any(same(each, other) for other in asked))
    claim = replace(claim, figures=tuple(own))
    passages = [passage for n in markers_of(text, span) if (passage := context.passage(n))]
    if not (passages or claim.is_empty or claim.is_lead_in):
        passages = _bearing_out(claim, context)
    if claim.is_empty:
        return Sentence(start, end, claim.display_text, tuple(Citation(p.number) for p in passages))
    if not passages and not claim.is_lead_in:
        return Sentence(start, end, claim.display_text, (), Verdict.UNVERIFIED, (NO_CITATION,), 0.0)
    sources = [source_of(each) for each in passages or context.passages]
    covered = cover(claim, sources, rarity(context))
    verdict, reasons = verdict_on(claim, sources, covered)
    if FEW_WORDS in reasons and _is_translated(claim, question, passages):
        verdict, reasons = _OK
    citations = tuple(_citation(each, covered, claim) for each in passages)
    credit = fmean(_credit(claim, each) for each in passages) if passages else 1.0
    return Sentence(start, end, claim.display_text, citations, verdict, reasons, credit)


def markers_of(text: str, span: Span) -> tuple[int, ...]:
    """The numbers that a sentence's markers name: its own, or else those that it inherits."""
    return cited_numbers(text[slice(*span)]) or _inherited(text, span)


def _bearing_out(claim: Claim, context: Context) -> list[Passage]:
    """The passage that supports a claim and has most of its words; none if no passage does."""
    best: tuple[float, list[Passage]] = MIN_COVER, []
    for passage in context.passages:
        sources = [source_of(passage)]
        covered = cover(claim, sources, rarity(context))
        is_better = covered.whole > best[0] or (not best[1] and covered.whole == best[0])
        if is_better and verdict_on(claim, sources, covered) == _OK:
            best = covered.whole, [passage]
    return best[1]


def _is_translated(claim: Claim, question: str, passages: Sequence[Passage]) -> bool:
    """Whether a claim is in another language than its passages: their words are not the same."""
    language = detect_language(claim.text) or detect_language(question)
    known = {primary_code(each.language) or detect_language(each.text) for each in passages}
    return bool(language and known - {""}) and language not in known


@lru_cache(maxsize=16)
def rarity(context: Context) -> Mapping[str, float]:
    """The idf of each stem over the sentences of the context; the key `""` has that of unknown
    stems.
    """
    lines = [line for each in context.passages for line in source_of(each).lines]
    counts = Counter(stem for line in lines for stem in line.stems)
    weights = {stem: math.log(1 + len(lines) / count) for stem, count in counts.items()}
    return {**weights, "": math.log(2 + len(lines))}


@dataclass(frozen=True, slots=True)
class Cover:
    """The shares, by weight, of a claim's stems that its passages contain.

    `whole` is the share for all lines and headings together, `missing` the number of stems in none
    of them. `lines` has each line with its passage and its own share, the highest share first.
    """

    whole: float
    missing: int
    lines: tuple[tuple[float, CitedPassage, Line], ...]


def cover(claim: Claim, sources: Sequence[CitedPassage], weights: Mapping[str, float]) -> Cover:
    """The `Cover` of a claim's stems by its sources.

    Stems of figures count only if a source has them: figures are checked on their own.
    """
    in_sources = frozenset().union(*(source.stems for source in sources))
    stems = [each for each in claim.stems if each in in_sources or each not in claim.measures]
    worth = {stem: weights.get(stem, weights.get("", 1.0)) for stem in stems}
    total = sum(worth.values()) or 1.0
    covered: set[str] = set()
    lines: list[tuple[float, CitedPassage, Line]] = []
    for source in sources:
        forms = source.forms_of(worth)
        covered |= {stem for stem, own in forms.items() if own}
        for line in source.lines:
            share = sum(worth[stem] for stem, own in forms.items() if own & line.stems)
            lines.append((share / total, source, line))
    lines.sort(key=lambda each: -each[0])
    whole = sum(worth[stem] for stem in covered) / total if worth else 1.0
    return Cover(whole, len(worth) - len(covered), tuple(lines))


def verdict_on(
    claim: Claim, sources: Sequence[CitedPassage], covered: Cover
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict of the sources on a claim, and the reasons against it as readers read them."""
    if claim.code:
        texts = ("\n".join(line.text for line in source.lines) for source in sources)
        is_quoted = any(contains_snippet(claim.code, text) for text in texts)
        return _OK if is_quoted else (Verdict.UNVERIFIED, (NO_CODE,))
    if any(claim.plain == Claim.bare(line.text) for source in sources for line in source.lines):
        return _OK
    kinds = (claim.quotations, claim.figures, claim.identifiers, claim.names)
    if max(map(len, kinds)) > MOST_PIECES:
        return Verdict.UNVERIFIED, (TOO_MANY,)
    if reasons := tuple(dict.fromkeys(lacking(claim, sources))):
        return Verdict.UNSUPPORTED, reasons
    few = covered.whole < MIN_COVER and covered.missing > 1
    return (Verdict.UNVERIFIED, (FEW_WORDS,)) if few or not covered.whole else _OK


_OK: tuple[Verdict, tuple[str, ...]] = (Verdict.SUPPORTED, ())


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
    return PASSAGE_CREDIT + QUOTE_CREDIT if snippet else PASSAGE_CREDIT


def field_factor(rate: float) -> float:
    """The factor for the share `rate`, in [0, 1], of claims that are borne out: .6 to 1."""
    return min(1.0, max(FLOOR, rate * (1 - FLOOR) + FLOOR))


def contains_snippet(snippet: str, text: str) -> bool:
    """True if at least half of the lines of `snippet` are in the text, apart from white space and
    case, or if the snippet is empty (F4-08).
    """
    lines = [line for each in snippet.splitlines() if (line := _plain(each))]
    plain = _plain(text)
    return not lines or sum(line in plain for line in lines) / len(lines) >= LINES


def product_confidence(retrieval: float | None, sentences: Sequence[Sentence]) -> float | None:
    """The confidence of the retrieval times the mean credit of the citations times the factor for
    the supported share, at most HALF if no more than that share is supported.

    None without a confidence of the retrieval. Sentences that claim nothing do not count.
    """
    if retrieval is None:
        return None
    checked = [each for each in sentences if each.verdict is not Verdict.UNCHECKED]
    if not checked:
        return retrieval
    supported = fmean(each.verdict is Verdict.SUPPORTED for each in checked)
    confidence = retrieval * fmean(each.credit for each in checked) * field_factor(supported)
    return confidence if supported > HALF else min(confidence, HALF)


def is_baseless(question: str, text: str, sentences: Sequence[Sentence], context: Context) -> bool:
    """Whether too little of an answer is supported by its sources for it to be displayed.

    True if it cites nothing, if its claims are supported by less than LEAST_BORNE_OUT on average,
    or if the fully supported claims are less than that share of the claims beyond TOO_FEW.
    """
    claims = [each for each in sentences if each.verdict is not Verdict.UNCHECKED]
    if not any(each.citations for each in claims):
        return True
    shares = [
        _borne_out(each, question, text, context)
        if FEW_WORDS in each.reasons
        else float(each.verdict is Verdict.SUPPORTED)
        for each in claims
    ]
    whole = sum(share >= 1 for share in shares)
    return fmean(shares) < LEAST_BORNE_OUT or whole < LEAST_BORNE_OUT * (len(claims) - TOO_FEW)


def _borne_out(sentence: Sentence, question: str, text: str, context: Context) -> float:
    """The support, in [0, 1], of a sentence whose passages have too few of its words.

    It is the share of its words that they have; 1 if it has a figure or name. Words of the question
    do not count: a wrong answer repeats them, too.
    """
    cited = [p for each in sentence.citations if (p := context.passage(each.passage))]
    claim = claim_of(text, (sentence.start, sentence.end))
    if any(fact not in question for fact in claim.facts):
        return 1.0
    question_stems = set(content(question))
    own = tuple(each for each in claim.stems if each not in question_stems)
    covered = cover(replace(claim, stems=own), [source_of(p) for p in cited], rarity(context))
    return min(1.0, covered.whole / MIN_COVER) if own else 0.0


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
