"""The sentences of a context that answer a question best, and whether they answer it."""

from __future__ import annotations

import hashlib
import logging
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from django.core.cache import cache

from ingestion import spaces
from ingestion.embedding import Vectors, graphs
from ingestion.embedding.config import IN_PROCESS
from ingestion.errors import EmbeddingError
from ingestion.models import EmbeddingSpace
from search.answers.domain import Context
from search.answers.extracting.answer_types import AnswerType, answer_type
from search.answers.extracting.scoring import (
    ComparedQuestion,
    Offer,
    compared_question,
    offers_of,
    promising,
    scores,
)
from search.domain import Query, TermStatistic

logger = logging.getLogger(__name__)

# A further sentence is quoted if its score is at most this much below the best one's. On half of
# squad20_dev 3 finds .903 of the answers with 2.0 sentences, always three .918, 2 .882 with 1.7.
GAP = 3.0
# Sentences repeat each other if one has so many of the other's words. A guess.
REPEATS = 0.8
CACHED_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence at [start, end) of the text of passage `passage`; `score`: higher is better."""

    passage: int
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Extract:
    """The quotes that answer a question, best first, of the type `kind` that it asks for.

    `answerability` is the probability that the context answers it at all; 0 without a sentence.
    `by_meaning`: whether the sentences were also compared by meaning.
    """

    quotes: tuple[Quote, ...] = ()
    answerability: float = 0.0
    kind: AnswerType = AnswerType.OTHER
    by_meaning: bool = False


def extract(
    query: Query,
    context: Context,
    *,
    embedder: Embedder | None,
    most: int,
    terms: Sequence[TermStatistic] = (),
    confidence: float | None = None,
) -> Extract:
    """The quotes and their answerability.

    `terms` and `confidence` are those of the search; without terms, the words' weights come from
    the context. Without an embedder, or if it fails, words alone decide. A query that is one
    identifier asks for whatever is said of it: the retrieval's confidence knows.
    """
    question = compared_question(query.text, context, terms)
    offers = offers_of(question, context)
    if not offers:
        return Extract(kind=answer_type(query.text))
    compared = promising(offers)
    cosines = _cosines(query.text, compared, embedder)
    points = scores(compared, cosines)
    order = np.argsort(-points, kind="stable")
    first = int(order[0])
    is_fitted = cosines is not None and embedder is not None and _is_known(embedder)
    features = evidence(
        question,
        compared[first],
        confidence=confidence,
        cosine=float(cosines[first]) if is_fitted and cosines is not None else None,
    )
    sure = probability(features)
    if query.is_identifier and confidence is not None:
        sure = confidence
    best = _best([(compared[place], float(points[place])) for place in order], most)
    quotes = tuple(Quote(each.passage.number, each.start, each.end, s) for each, s in best)
    return Extract(quotes, sure, question.kind, cosines is not None)


def _is_known(embedder: Embedder) -> bool:
    """Whether the answerability was fitted on cosines of this model."""
    return fingerprint(embedder) == graphs.FINGERPRINT


def _cosines(question: str, offers: Sequence[Offer], embedder: Embedder | None) -> Vectors | None:
    if embedder is None:
        return None
    try:
        vector = embedder.embed_query(question)  # cached: the search has just embedded it
        rows: Vectors = vectors_of([each.in_context for each in offers], embedder) @ vector
    except EmbeddingError as error:
        logger.warning("Sentences are compared by words alone: %s", error)
        return None
    return rows


def _best(ranked: Sequence[tuple[Offer, float]], most: int) -> list[tuple[Offer, float]]:
    """The first of a ranking that do not repeat each other, until one is much weaker."""
    best: list[tuple[Offer, float]] = []
    for offer, score in ranked:
        if len(best) >= most or (best and score < best[0][1] - GAP):
            break
        if not any(_repeats(offer, other) for other, _ in best):
            best.append((offer, score))
    return best


def _repeats(one: Offer, other: Offer) -> bool:
    shared = len(one.words & other.words)
    return shared >= REPEATS * min(len(one.words), len(other.words))


class Embedder(Protocol):
    def embed_query(self, text: str) -> Vectors: ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors: ...


def sentence_embedder(space: EmbeddingSpace | None) -> Embedder | None:
    """The space's embedder, if it may embed sentences for each question: if it is local.

    One over the network would take longer than the whole answer may, and cost money.
    """
    if space is None or space.config.get("kind") not in IN_PROCESS:
        return None
    return spaces.query_embedder(space)


def fingerprint(embedder: Embedder) -> str:
    """That of its model; empty if it has none, as doubles of tests."""
    card = getattr(embedder, "card", None)
    return str(card.fingerprint) if card is not None else ""


def vectors_of(texts: Sequence[str], embedder: Embedder) -> Vectors:
    """A row for each text. Raises EmbeddingError. If the cache fails, all are embedded."""
    model = fingerprint(embedder)
    keys = [_key(model, text) for text in texts]
    cached = _cached(keys) if model else {}
    missing = [place for place, key in enumerate(keys) if key not in cached]
    if missing:
        vectors = embedder.embed_documents([texts[place] for place in missing])
        new = {keys[place]: row.astype("<f2") for place, row in zip(missing, vectors, strict=True)}
        if model:
            _store({key: row.tobytes() for key, row in new.items()})
        cached = {**cached, **new}
    return np.stack([cached[key] for key in keys]).astype(np.float32)


def _key(model: str, text: str) -> str:
    data = f"{model}\n{text}".encode(errors="replace")
    return f"quote:{hashlib.sha256(data).hexdigest()}"


def _cached(keys: Sequence[str]) -> dict[str, Any]:
    try:
        values: Mapping[str, Any] = cache.get_many(keys)
    except Exception:  # each cache raises its own errors; none may fail an answer
        logger.warning("Cannot read the cache of sentences", exc_info=True)
        return {}
    return {key: np.frombuffer(v, "<f2") for key, v in values.items() if isinstance(v, bytes)}


def _store(vectors: dict[str, bytes]) -> None:
    try:
        cache.set_many(vectors, CACHED_SECONDS)
    except Exception:  # as above
        logger.warning("Cannot write the cache of sentences", exc_info=True)


# Fitted on the questions of half of squad20_dev's articles, answerable and not (892 of 1,800), and
# 135 questions about other libraries; reported on the other half in docs/answers.md.
CONFIDENCE, COSINE, SAID_AROUND, NO_TYPE, NEGATED, OTHER_NUMBER, CONSTANT = (
    1.05, 3.78, 1.19, -0.49, -0.66, -1.39, -3.83,
)  # fmt: skip
# The same fit without the cosine, of which another model's would have another scale.
WITHOUT_COSINE = (2.47, 0.0, 1.44, -0.36, -0.63, -1.39, -2.58)
WITH_COSINE = (CONFIDENCE, COSINE, SAID_AROUND, NO_TYPE, NEGATED, OTHER_NUMBER, CONSTANT)
# The mean of the fit's questions stands for a confidence that is unknown.
USUAL_CONFIDENCE = 0.53

_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|without|cannot|except|lack|\w+n['’]t"
    r"|nicht|kein\w*|nie|niemals|ohne|außer|nunca|ninguna?|sin|excepto|jamais|aucune?|sans|sauf)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AnswerabilityFeatures:
    """What speaks for the best sentence; `cosine` is None of a model that the fit does not know."""

    confidence: float | None
    cosine: float | None
    said_around: float
    has_type: bool
    negated: bool
    other_number: bool


def evidence(
    question: ComparedQuestion, best: Offer, *, confidence: float | None, cosine: float | None
) -> AnswerabilityFeatures:
    """What the best sentence says for an answer, and against one.

    `negated`: the question or the sentence has a negation, and the other has none; `other_number`:
    the question has a number that the passage has not. Unanswerable questions are often made so.
    """
    numbers = _NUMBER.findall(question.text)
    return AnswerabilityFeatures(
        confidence=confidence,
        cosine=cosine,
        said_around=best.said_around,
        has_type=best.has_type,
        negated=bool(_NEGATION.search(question.text)) != bool(_NEGATION.search(best.text)),
        other_number=any(number not in best.passage.text for number in numbers),
    )


def probability(features: AnswerabilityFeatures) -> float:
    """The probability, in (0, 1), that the passages answer the question."""
    weights = WITHOUT_COSINE if features.cosine is None else WITH_COSINE
    confidence = USUAL_CONFIDENCE if features.confidence is None else features.confidence
    values = (
        confidence,
        features.cosine or 0.0,
        features.said_around,
        float(not features.has_type),
        float(features.negated),
        float(features.other_number),
        1.0,
    )
    return 1 / (1 + math.exp(-sum(w * value for w, value in zip(weights, values, strict=True))))
