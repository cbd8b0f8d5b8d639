"""The pieces of a context that answer a question best, and whether the first one answers it."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ingestion import spaces
from ingestion.embedding import CachedQueryEmbedder, Vectors
from ingestion.embedding.config import IN_PROCESS
from ingestion.errors import EmbeddingError
from ingestion.identifiers import DEFAULT_PATTERNS, Pattern
from ingestion.lexical.sentences import Kind
from ingestion.models import EmbeddingSpace
from search.answers.content_words import STOP, content, words
from search.answers.domain import Context
from search.answers.quote_pieces import Quote, piece_around
from search.answers.quote_scoring import (
    EMBEDDED,
    IDENTIFIER,
    Offer,
    QuestionWords,
    expected_answer,
    offers_of,
    question_weights,
    scores,
)
from search.domain import Query, TermStatistic
from search.presentation.records import NO_LOOKUP, RecordLookup

logger = logging.getLogger(__name__)

# A further piece is shown if its sentence's score is at most this much below the best one's. A
# guess: it is folded.
GAP = 3.0
# Among steps, a sentence is as good as another one whose score is at most this much higher. Chosen
# on forty questions about Celery's manual.
NEAR = 1.3
# Code alone, without a word of the question outside its names, is not called an answer. A guess.
BARE_CODE = 0.5
# The most for a piece without the identifier that was asked for: below SURE. A guess.
NO_RECORD = 0.5
# Pieces repeat each other if one has so many of the other's words. A guess.
REPEATS = 0.8


@dataclass(frozen=True, slots=True)
class Extract:
    """The pieces that answer a question, best first, each from a different passage.

    `short` is the value that the question asks for, if the first piece has exactly one such value.
    `answerability` is the probability, in [0, 1], that the first piece answers the question; 0
    without pieces.
    """

    quotes: tuple[Quote, ...] = ()
    answerability: float = 0.0
    short: str = ""


def extract(
    query: Query,
    context: Context,
    *,
    embedder: CachedQueryEmbedder | None,
    most: int,
    terms: Sequence[TermStatistic] = (),
    confidence: float | None = None,
    patterns: Sequence[Pattern] = DEFAULT_PATTERNS,
) -> Extract:
    """Extract the pieces that answer a query best, with their answerability.

    A query that asks for an identifier is answered by its record: what holds none of its
    identifiers comes last, and is called no answer.

    `terms` and `confidence` are those of the search; without terms all words weigh the same.
    Without an embedder, or if it fails, only words are compared.
    """
    question = QuestionWords(question_weights(query.text, terms), expected_answer(query.text))
    lookup = RecordLookup.of(query, patterns)
    offers = offers_of(question, context, lookup)
    if not offers:
        return Extract()
    compared = sorted(offers, key=lambda offer: _order(offer, offer.by_words, lookup))[:EMBEDDED]
    points = scores(compared, _cosines(query.text, compared, embedder)).tolist()
    ranked = sorted(
        zip(compared, points, strict=True), key=lambda pair: _order(pair[0], pair[1], lookup)
    )
    ranked = _from_the_first(ranked) if question.expected.steps else ranked
    plain = [(offer, score - offer.fit) for offer, score in ranked]
    best = ranked[0][0]
    own = [pair for pair in ranked if pair[0].held or not (lookup.is_bare and best.held)]
    quotes = _best(own, most, steps=question.expected.steps)
    sure = answerability(query.text, plain, context, confidence, lookup)
    if lookup.is_bare and not best.held:
        sure = min(sure, NO_RECORD)
    is_code = all(part.kind is Kind.CODE for part in quotes[0].parts)
    spoken = content(" ".join(each for each in best.text.split() if each.strip(".,:").isalpha()))
    if is_code and not set(spoken).intersection(content(query.text)):
        sure = min(sure, BARE_CODE)
    piece = [best.passage.text[part.start : part.end] for part in quotes[0].parts]
    return Extract(tuple(quotes), sure, short_answer(query.text, best.text, piece))


def _order(offer: Offer, score: float, lookup: RecordLookup) -> tuple[float, float]:
    """The sort key of a sentence: an identifier that leads comes before every score."""
    return -offer.held if lookup.leads else 0.0, -score


def _from_the_first(ranked: Sequence[tuple[Offer, float]]) -> list[tuple[Offer, float]]:
    """The ranking with the earliest of nearly equal sentences of one section moved to the front:
    steps are read in order.
    """
    best, top = ranked[0]
    near = [pair for pair in ranked if pair[0].section == best.section and pair[1] > top - NEAR]
    first = min(near, key=lambda pair: pair[0].at)
    return [(first[0], top), *(pair for pair in ranked if pair is not first)]


def _cosines(
    question: str, offers: Sequence[Offer], embedder: CachedQueryEmbedder | None
) -> Vectors | None:
    if embedder is None:
        return None
    try:
        vector = embedder.embed_query(question)  # cached: the search has just embedded it
        rows: Vectors = embedder.embed_documents([each.in_context for each in offers]) @ vector
    except EmbeddingError as error:
        logger.warning("Sentences are compared by words alone: %s", error)
        return None
    return rows


def _best(ranked: Sequence[tuple[Offer, float]], most: int, *, steps: bool) -> list[Quote]:
    """The first pieces of a ranking, from different passages and with different words, until one
    scores much lower.
    """
    best: list[Quote] = []
    others: list[frozenset[str]] = []
    for offer, score in ranked:
        if len(best) >= most or (best and score < best[0].score - GAP):
            break
        if any(quote.passage == offer.passage.number for quote in best):
            continue
        places = piece_around(offer.passage, offer.parts, offer.at, steps=steps)
        parts = tuple(offer.parts[place] for place in places)
        own = frozenset(words(" ".join(offer.passage.text[p.start : p.end] for p in parts)))
        if not any(len(own & other) >= REPEATS * min(len(own), len(other)) for other in others):
            best.append(Quote(offer.passage.number, parts, offer.parts[offer.at], score))
            others.append(own)
    return best


def sentence_embedder(space: EmbeddingSpace | None) -> CachedQueryEmbedder | None:
    """The space's embedder if it is local, else None.

    A remote one would take longer to embed sentences for each question than the whole answer may,
    and cost money.
    """
    if space is None or space.config.get("kind") not in IN_PROCESS:
        return None
    return spaces.query_embedder(space)


# Which questions ask for a value, and how such a value looks, in English.
_DATE = r"(?:\d{1,2} )?[A-Z][a-z]+ (?:\d{1,2}, )?[12]\d{3}\b|\b\d{4}-\d\d-\d\d\b|\b(?:1\d|20)\d\d\b"
_KINDS = "setting|option|command|signal|function|method|class|exception|argument|parameter"
_VALUES = tuple(
    (re.compile(asks, re.IGNORECASE), re.compile(value))
    for asks, value in (
        (r"\bdefaults?\b", r"(?i:default(?: value)?:)\s*([^\n]{1,60}?)\.?(?=\n|\Z)"),
        (r"\bwh(?:at|ich) versions?\b|\bsince which\b", r"(?<![\w.])\d+(?:\.\d+)+\b"),
        (r"\bwhen (?:is|was|were|did)\b|\bwh(?:at|ich) (?:year|date|day)\b", _DATE),
        (
            r"\bhow (?:many|much|long|often|large|big|far|old|tall|high)\b|\bwhat port\b",
            r"(?<![\w.,-])[$€£]?\d[\d,.]*(?<![,.])(?:%| ?[^\W\d_]+)?",
        ),
        (rf"\bwh(?:at|ich) (?:{_KINDS})\b", IDENTIFIER.pattern),
    )
)


def short_answer(question: str, sentence: str, piece: Sequence[str]) -> str:
    """The value that a question asks for, or an empty text.

    It is the only such value in its sentence that the question lacks, or the piece's in a
    definition ("Default: 5.").
    """
    for asks, value in _VALUES:
        if asks.search(question):
            text = "\n".join(piece) if value.groups else sentence
            values = dict.fromkeys(m[m.re.groups] for m in value.finditer(text))
            new = [each for each in values if each.casefold() not in question.casefold()]
            return new[0] if len(new) == 1 else ""
    return ""


# The weights of a logistic regression for "the first piece answers", fitted on FastAPI's manual
# with near misses, and on half of squad20_dev and xquad_en with foreign questions
# (docs/answers.md).
CONFIDENCE, MARGIN, UNKNOWN, OTHER_NUMBER, CONSTANT = 3.04, 2.06, -2.13, -1.52, -3.08
ABSENT = -2.0  # an identifier of the question is in no passage; chosen on 40 near-misses of Django
WIDEST = 6.0  # margins beyond it say no more; a guess
# The mean of the fit's questions stands for a confidence that is unknown.
USUAL_CONFIDENCE = 0.68

_NUMBER = re.compile(r"\d[\d,.]*\d|\d")


def answerability(
    question: str,
    ranked: Sequence[tuple[Offer, float]],
    context: Context,
    confidence: float | None,
    lookup: RecordLookup = NO_LOOKUP,
) -> float:
    """The probability, in (0, 1), that the piece around the best sentence answers.

    The retrieval's `confidence` and the margin over the best sentence of another passage raise it.
    Words of the question that are nowhere in the context lower it, identifiers most, and so do
    numbers that are missing in the passage.
    """
    best = ranked[0][0]
    everything = " ".join(
        " ".join((passage.title, *passage.heading_path, passage.text)).casefold()
        for passage in context.passages
    )
    known = frozenset(words(everything))
    own = [word for word in words(question) if word not in STOP]
    logit = (
        CONFIDENCE * (USUAL_CONFIDENCE if confidence is None else confidence)
        + MARGIN * _margin(ranked, lookup)
        + UNKNOWN * sum(word not in known for word in own) / max(len(own), 1)
        + OTHER_NUMBER * any(each not in best.passage.text for each in _NUMBER.findall(question))
        + ABSENT * any(name.casefold() not in everything for name in IDENTIFIER.findall(question))
        + CONSTANT
    )
    return 1 / (1 + math.exp(-logit))


def _margin(ranked: Sequence[tuple[Offer, float]], lookup: RecordLookup) -> float:
    """The margin over the best sentence of another passage, as a share of WIDEST.

    Of a bare lookup over what holds the identifier as well; the widest if no other passage does.
    """
    best, score = ranked[0]
    others = [pair for pair in ranked if pair[0].passage.number != best.passage.number]
    rivals = [points for each, points in others if not lookup.is_bare or each.held >= best.held]
    if best.held and not rivals and lookup.is_bare:
        return 1.0
    return min(score - max(rivals, default=score - WIDEST / 2), WIDEST) / WIDEST
