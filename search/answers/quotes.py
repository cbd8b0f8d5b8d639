"""The pieces of a context that answer a question best, and whether the first one answers it."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ingestion.domain import CELL_SEPARATOR
from ingestion.embedding import CachedQueryEmbedder, Vectors
from ingestion.errors import EmbeddingError
from ingestion.identifiers import DEFAULT_PATTERNS, Pattern
from ingestion.lexical.sentences import Kind
from search.answers.answerability import answerability
from search.answers.content_words import words
from search.answers.domain import SURE, Context
from search.answers.question_forms import NUMBER, sides_of
from search.answers.quote_pieces import Quote, is_label, piece_around
from search.answers.quote_scoring import (
    EMBEDDED,
    IDENTIFIER,
    OF_ONE_PASSAGE,
    Offer,
    QuestionWords,
    definition_of,
    offers_of,
    question_weights,
    scores,
)
from search.domain import Query, TermStatistic
from search.presentation.records import RecordLookup

logger = logging.getLogger(__name__)

# A further piece is shown if its sentence's score is at most this much below the best one's. A
# guess: it is folded.
GAP = 3.0
# A sentence so far below the best one by words is not embedded: a tenth of the time that embedding
# takes on manuals, one right piece of 740 (benchmarks/results/answers.md).
HOPELESS = 3.0
# Pieces repeat each other if one has so many of the other's words. A guess.
REPEATS = 0.8


@dataclass(frozen=True, slots=True)
class Extract:
    """The pieces that answer a question, best first, each from a different passage.

    `short` is the value that the question asks for, if the first piece has exactly one such value,
    after the name of what has it. `answerability` is the probability, in [0, 1], that the first
    piece answers the question; 0 without pieces. `is_marked`: its best sentence surely is the
    answer, because it has that value or defines the question's term.
    """

    quotes: tuple[Quote, ...] = ()
    answerability: float = 0.0
    short: str = ""
    is_marked: bool = False


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
    Without an embedder only words are compared.
    """
    question = QuestionWords(question_weights(query.text, terms), definition_of(query.text))
    lookup = RecordLookup.of(query, patterns)
    offers = offers_of(question, context, lookup)
    if not offers:
        return Extract()
    compared = _compared(sorted(offers, key=lambda each: _order(each, each.by_words, lookup)))
    points = scores(compared, _cosines(query.text, compared, embedder)).tolist()
    ranked = sorted(
        zip(compared, points, strict=True), key=lambda pair: _order(pair[0], pair[1], lookup)
    )
    sides = _of_sides(query.text, ranked)
    rest = [pair for pair in ranked if all(pair[0] is not offer for offer, _ in sides)]
    ranked = [*sides, *rest]
    best = ranked[0][0]
    own = [pair for pair in ranked if pair[0].held or not (lookup.is_bare and best.held)]
    quotes = _best(own, most)
    asked = " ".join(sides_of(query.text)[0]) if sides else query.text
    sure = answerability(asked, [ranked[0], *rest], quotes[0], context, confidence, lookup)
    return _with_value(query.text, quotes, best, sure)


def _with_value(question: str, quotes: Sequence[Quote], best: Offer, sure: float) -> Extract:
    """The extract, with the value that the question asks for if it is sure."""
    piece = [best.passage.text[part.start : part.end] for part in quotes[0].parts]
    value = short_answer(question, best.text, piece)
    is_sure = sure >= SURE
    is_found = best.defines or (value != "" and value in best.text)
    short = _named(value, best) if value and is_sure else ""
    return Extract(tuple(quotes), sure, short, is_sure and is_found and not _announces(best))


def _announces(offer: Offer) -> bool:
    """Whether a sentence only announces what answers: it ends in a colon, or heads a table."""
    before = [part.kind for part in offer.parts[max(0, offer.at - 1) : offer.at]]
    is_header = offer.parts[offer.at].kind is Kind.ROW and before != [Kind.ROW]
    return is_header or offer.text.endswith((":", "："))


def _named(value: str, offer: Offer) -> str:
    """A value after the name of what has it: a table's row, or a section with nothing else."""
    if offer.parts[offer.at].kind is Kind.ROW:
        return f"{offer.text.split(CELL_SEPARATOR)[0].strip()}: {value}"
    names = offer.section.heading_path[-1:]
    is_prose = value in offer.text and not is_label(offer.text)
    return f"{names[0]}: {value}" if names and not is_prose else value


def _compared(offers: Sequence[Offer]) -> list[Offer]:
    """The first EMBEDDED sentences, of which at most OF_ONE_PASSAGE are of the same passage.

    None is HOPELESS points below the best one, but the first one of another passage.
    """
    counts: Counter[int] = Counter()
    compared = []
    for offer in offers:
        counts[offer.passage.number] += 1
        if counts[offer.passage.number] <= OF_ONE_PASSAGE:
            compared.append(offer)
    best, *others = compared[:EMBEDDED]
    rival = next((each for each in others if each.passage.number != best.passage.number), best)
    least = best.by_words - HOPELESS
    return [best, *(each for each in others if each is rival or each.by_words >= least)]


def _of_sides(question: str, ranked: Sequence[tuple[Offer, float]]) -> list[tuple[Offer, float]]:
    """Of a comparison the best sentence that names either side, as good as the best one; none if
    one sentence names both.
    """
    firsts: list[Offer] = []
    for words_of_side in sides_of(question):
        side = QuestionWords(dict.fromkeys(words_of_side, 1.0))
        named = (each for each, _ in ranked if side.share(side.lexemes_in(each.in_context)) == 1)
        firsts += [each for each in [next(named, None)] if each is not None]
    is_pair = len(firsts) > 1 and firsts[0] is not firsts[1]
    return [(each, ranked[0][1]) for each in firsts] if is_pair else []


def _order(offer: Offer, score: float, lookup: RecordLookup) -> tuple[float, float]:
    """The sort key of a sentence: an identifier that leads comes before every score."""
    return -offer.held if lookup.leads else 0.0, -score


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


def _best(ranked: Sequence[tuple[Offer, float]], most: int) -> list[Quote]:
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
        places = piece_around(offer.passage, offer.parts, offer.at)
        parts = tuple(offer.parts[place] for place in places)
        own = frozenset(words(" ".join(offer.passage.text[p.start : p.end] for p in parts)))
        if not any(len(own & other) >= REPEATS * min(len(own), len(other)) for other in others):
            best.append(Quote(offer.passage.number, parts, offer.parts[offer.at], score))
            others.append(own)
    return best


# Which questions ask for a value, and how such a value looks, in English.
_DATE = r"(?:\d{1,2} )?[A-Z][a-z]+ (?:\d{1,2}, )?[12]\d{3}\b|\b\d{4}-\d\d-\d\d\b|\b(?:1\d|20)\d\d\b"
_EDITS = "changed|edited|modified|revised|updated"  # a date in the text is not when it was edited
_KINDS = "setting|option|command|signal|function|method|class|exception|argument|parameter"
_VALUES = tuple(
    (re.compile(asks, re.IGNORECASE), re.compile(value))
    for asks, value in (
        (r"\bdefaults?\b", r"(?i:default(?: value)?:)\s*([^\n]{1,60}?)\.?(?=\n|\Z)"),
        (r"\bwh(?:at|ich) versions?\b|\bsince which\b", r"(?<![\w.])\d+(?:\.\d+)+\b"),
        (rf"\bwhen (?:is|was|were|did)\b(?!.*\b(?:{_EDITS})\b)", _DATE),
        (r"\bwh(?:at|ich) (?:year|date|day)\b", _DATE),
        (
            NUMBER.pattern,
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
