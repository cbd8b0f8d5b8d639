"""The probability that the first page answers the query (ADR 17).

A logistic model (Platt 1999; fitted by `benchmarks.confidence`) reads the raw scores of the first
ten hits. It never reads the fused score, whose scale differs between profiles, so that a
confidence means the same under all of them; and a cosine only as its deviation from what questions
about anything else find, so that it means the same in every embedding space.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np

from search.domain import ABSENT, Floats, KeywordScorer
from search.ranking.batch import Prepared
from search.ranking.fusion import KEYWORD, VECTOR

FIRST_PAGE = 10
# The most that BM25 gives for one term is (k1 + 1) * its weight, with the k1 of
# `ingestion.lexical.bm25_weights`.
BM25_BOUND = 2.2
# No judged question is an identifier, quoted or pinned. That one such answer in twenty is wrong is
# a guess.
DOUBT = 0.05
# The confidence if a heading names the question's identifier, with other words. A guess, too.
NAMED = 0.5
# The quartiles of a normal distribution are so many standard deviations apart.
QUARTILES = 1.349
# In a library of one passage all cosines may be equal.
LEAST_SCALE = 0.002
HEADING = 1  # the last place of an identifier that is a title or a heading


class Ran(StrEnum):
    """The signals available as evidence for a confidence."""

    BOTH = "both"
    VECTOR = "vector"
    KEYWORD = "keyword"


@dataclass(frozen=True, slots=True)
class Background:
    """The best cosine of questions that have nothing to do with the library, by embedding space:
    the median of several, and their standard deviation, above 0.
    """

    level: float
    scale: float

    @classmethod
    def of(cls, cosines: Sequence[float] | Floats) -> Self:
        """The background from the best cosines of unrelated questions, a few of which may have
        answers.
        """
        low, middle, high = np.quantile(cosines, (0.25, 0.5, 0.75)).tolist()
        return cls(middle, max((high - low) / QUARTILES, LEAST_SCALE))


# Few, so that they generalise to other collections and models: more gained nothing on those held
# out (docs/adr/0017-confidence.md).
FEATURES: Mapping[Ran, tuple[str, ...]] = {
    Ran.BOTH: ("deviation", "keyword"),
    Ran.VECTOR: ("deviation",),
    Ran.KEYWORD: ("keyword", "keyword_lead", "terms"),
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """Features of the raw scores of a ranking's first ten hits.

    `deviation` is the first hit's cosine, less the background's level, by its scale; `keyword` is
    the hit's BM25 as a share of the query's maximum, (k1 + 1) * sum of its words' weights, in which
    a word of no searched text weighs as much as a term of none of their chunks would;
    `keyword_lead` is the margin of the best document of the ten over the next, on the same scale.
    `terms` is ln(1 + the query's terms in the library's vocabulary), since long questions are never
    fully covered.
    """

    ran: Ran
    deviation: float = 0.0
    keyword: float = 0.0
    keyword_lead: float = 0.0
    terms: float = 0.0

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        columns: Sequence[int],
        background: Background | None,
        scorer: KeywordScorer = KeywordScorer.BM25,
        *,
        by_words: bool = True,
    ) -> Self | None:
        """The evidence of a whole ranking, a column per rank; None if no signal can be read.

        Without a background the vectors are ignored: it is not measured yet, or the model does not
        know the query's language. Without `by_words` the keywords are, for a first hit in another
        language than the query.
        """
        page = columns[:FIRST_PAGE]
        if not page:
            return None
        cosine = float(prepared.raw[page[0], VECTOR])
        vector = background is not None and not math.isnan(cosine)
        # The other scorers have other scales, or no fixed one.
        keyword = scorer is KeywordScorer.BM25 and by_words
        if not (vector or keyword):
            return None
        candidates = prepared.candidates
        chunks = sum(each.chunks for each in candidates.readings)
        missing = len(candidates.unknown) * _rarest(chunks)
        weights = math.fsum(term.weight for term in candidates.terms)
        shares = np.nan_to_num(prepared.raw[page, KEYWORD]) / (
            BM25_BOUND * (weights + missing) or 1.0
        )
        deviation = (cosine - background.level) / background.scale if background and vector else 0.0
        return cls(
            ran=Ran.BOTH if vector and keyword else Ran.VECTOR if vector else Ran.KEYWORD,
            deviation=deviation,
            keyword=float(shares[0]),
            keyword_lead=_margin(prepared.documents[page].tolist(), shares.tolist()),
            terms=math.log1p(candidates.words),
        )


@dataclass(frozen=True, slots=True)
class Logistic:
    """p = 1 / (1 + exp(-(intercept + sum of slope * feature)))."""

    intercept: float
    slopes: Mapping[str, float]

    def probability(self, evidence: Evidence, base_rate: float = 0.5) -> float:
        """The probability if `base_rate` of the questions, in (0, 1), have an answer; fitted: half.

        By Bayes' rule the odds are those of the fit times share / (1 - share) (Saerens, Latinne &
        Decaestecker 2002).
        """
        odds = self.intercept + math.log(base_rate / (1 - base_rate))
        odds += math.fsum(
            slope * getattr(evidence, feature) for feature, slope in self.slopes.items()
        )
        # Beyond this exp overflows, and p is 0 or 1 in double precision.
        return 1 / (1 + math.exp(-min(max(odds, -700.0), 700.0)))


# Fitted in November 2026 to parts of seven judged collections under three models and one of them
# at another scale (`benchmarks.confidence`); for results on models, questions and collections not
# seen see docs/relevance.md, "Confidence". Keywords alone: to 200 questions of each of the seven.
MODELS: Mapping[Ran, Logistic] = {
    Ran.BOTH: Logistic(-3.456, {"deviation": 0.520, "keyword": 6.432}),
    Ran.VECTOR: Logistic(-2.253, {"deviation": 0.678}),
    Ran.KEYWORD: Logistic(-5.1519, {"keyword": 6.2856, "keyword_lead": 4.5660, "terms": 1.3499}),
}


def confidence(
    prepared: Prepared,
    columns: Sequence[int],
    background: Background | None,
    *,
    scorer: KeywordScorer = KeywordScorer.BM25,
    by_words: bool = True,
    base_rate: float = 0.5,
) -> float | None:
    """The probability, in [0, 1], that one of the first ten of `columns` answers the query.

    `columns` is the whole ranking as shown, one per rank; the other parameters are those of
    `Evidence.of` and `Logistic.probability`. None if no signal can be read; 0 if there are no
    results. A query that is one identifier is answered only by chunks that contain it, one of exact
    words by those that are found, since all contain them, one with a pinned document by that
    document. A passage whose title or heading names an identifier of the query is at least as
    likely to answer as not. One number is judged by its words alone.
    """
    if not columns:
        return 0.0
    rows = prepared.candidates.rows[prepared.rows[columns[:FIRST_PAGE]]]
    first, query = rows[0], prepared.candidates.query
    if first["pin"] != ABSENT or query.is_quoted:
        return 1 - DOUBT
    # A name that also occurs in prose (VectorStore) may be discussed without a match.
    has_identifier = first["form"] != ABSENT
    if query.is_identifier and (has_identifier or query.needs_no_embedding):
        strength = float(first["strength"]) if has_identifier else 0.0
        return DOUBT + (1 - 2 * DOUBT) * strength
    if query.is_identifier and query.text[:1].isdecimal():
        background = None  # no model knows what a number means
    evidence = Evidence.of(prepared, columns, background, scorer, by_words=by_words)
    if evidence is None:
        return None
    sure = MODELS[evidence.ran].probability(evidence, base_rate)
    names = (rows["form"] != ABSENT) & (rows["held_at"] <= HEADING) & (rows["strength"] == 1)
    return max(sure, NAMED) if names.any() else sure


def _rarest(chunks: int) -> float:
    """The idf of a term that none of so many chunks contains."""
    return math.log(1 + (chunks + 0.5) / 0.5)


def _margin(documents: Sequence[int], scores: Sequence[float]) -> float:
    """The best document's score minus the next one's; its own if there is no other."""
    best: dict[int, float] = {}
    for document, score in zip(documents, scores, strict=True):
        best[document] = max(best.get(document, 0.0), score)
    first, second = sorted([*best.values(), 0.0, 0.0], reverse=True)[:2]
    return first - second
