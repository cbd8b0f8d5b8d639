"""The pieces of a context that answer a question best, and whether the first one answers it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ingestion.embedding import CachedQueryEmbedder, Vectors
from ingestion.errors import EmbeddingError
from ingestion.identifiers import DEFAULT_PATTERNS, Pattern
from ingestion.lexical.sentences import Kind
from search.answers.answerability import answerability, gives_number
from search.answers.domain import SURE, Context
from search.answers.question_forms import sides_of
from search.answers.quote_pieces import Quote, piece_around
from search.answers.quote_scoring import (
    EMBEDDED,
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


@dataclass(frozen=True, slots=True)
class Extract:
    """The pieces that answer a question, best first, each from a different passage.

    `answerability` is the probability, in [0, 1], that the first piece answers the question; 0
    without pieces. `is_marked`: its best sentence surely is the answer, because it defines the
    question's term, or has the number that is asked for.
    """

    quotes: tuple[Quote, ...] = ()
    answerability: float = 0.0
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
    offers.sort(key=lambda each: _order(each, each.by_words, lookup))
    sides = _of_sides(query.text, offers)
    compared = _compared([*sides, *(each for each in offers if each not in sides)])
    points = scores(compared, _cosines(query.text, compared, embedder)).tolist()
    ranked = sorted(
        zip(compared, points, strict=True), key=lambda pair: _order(pair[0], pair[1], lookup)
    )
    shown = sorted(ranked, key=lambda pair: pair[0] not in sides)
    best = shown[0][0]
    own = [pair for pair in shown if pair[0].held or not (lookup.is_bare and best.held)]
    quotes = _best(own, most, sides)
    sure = answerability(query.text, ranked, quotes[0], context, confidence, lookup)
    is_found = best.defines or gives_number(query.text, best.text)
    return Extract(tuple(quotes), sure, sure >= SURE and is_found and not _announces(best))


def _announces(offer: Offer) -> bool:
    """Whether a sentence only announces what answers: it ends in a colon, or heads a table."""
    before, own = offer.parts[max(0, offer.at - 1)], offer.parts[offer.at]
    is_header = own.kind is Kind.ROW and (before is own or before.block != own.block)
    return is_header or offer.text.endswith((":", "："))


def _compared(offers: Sequence[Offer]) -> list[Offer]:
    """The first EMBEDDED sentences, of which at most OF_ONE_PASSAGE are of the same passage."""
    counts: Counter[int] = Counter()
    compared = []
    for offer in offers:
        counts[offer.passage.number] += 1
        if counts[offer.passage.number] <= OF_ONE_PASSAGE:
            compared.append(offer)
    return compared[:EMBEDDED]


def _of_sides(question: str, offers: Sequence[Offer]) -> list[Offer]:
    """Of a comparison the best sentence about each side; none if one sentence is about both."""
    firsts: list[Offer] = []
    for words_of_side in sides_of(question):
        side = QuestionWords(dict.fromkeys(words_of_side, 1.0))
        about = [each for each in offers if side.share(side.lexemes_in(each.in_context)) == 1]
        # Best below a heading that says it: 12 is also a number of seats.
        about.sort(key=lambda each: side.share(side.lexemes_in("".join(each.path[-1:]))) < 1)
        firsts += about[:1]
    return firsts if len(set(firsts)) > 1 else []


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


def _best(ranked: Sequence[tuple[Offer, float]], most: int, sides: Sequence[Offer]) -> list[Quote]:
    """The first pieces of a ranking until one scores much lower: from different passages, but for
    the sides of a comparison, which may be sections of one.
    """
    best: list[Quote] = []
    for offer, score in ranked:
        fewest = len(sides) or 1
        if len(best) >= most or (len(best) >= fewest and score < best[0].score - GAP):
            break
        own = [quote for quote in best if quote.passage == offer.passage.number]
        section = offer.parts[offer.at].section
        if any(offer not in sides or quote.marked.section == section for quote in own):
            continue
        places = piece_around(offer.passage, offer.parts, offer.at)
        parts = tuple(offer.parts[place] for place in places)
        best.append(Quote(offer.passage.number, parts, offer.parts[offer.at], score))
    return best
