"""Q6: the calibrated probability that the first page answers the query (ADR 17).

A logistic model (Platt 1999; fitted by `manage.py calibrate`) reads the raw scores of the first
ten hits. It never reads the fused score, whose scale differs between profiles, so that a
confidence means the same under all of them. A calibration belongs to one embedding space: models
differ in the similarity of unrelated texts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

import numpy as np

from search.domain import ABSENT, Floats, KeywordScorer
from search.ranking.batch import Prepared
from search.ranking.fusion import KEYWORD, VECTOR

FIRST_PAGE = 10
# The most that BM25 gives for one term is (k1 + 1) * its weight, with the k1 of
# `ingestion.lexical.terms`.
BM25_BOUND = 2.2
# No judged question is an identifier, quoted or pinned. That one such answer in twenty is wrong is
# a guess.
DOUBT = 0.05


class Ran(StrEnum):
    """The signals available as evidence for a confidence."""

    BOTH = "both"
    VECTOR = "vector"
    KEYWORD = "keyword"


# Few, so that they generalise to other collections: of 20 tried on six judged collections, more
# gained nothing on a held-out one (docs/adr/0017-confidence.md).
FEATURES: Mapping[Ran, tuple[str, ...]] = {
    Ran.BOTH: ("cosine", "keyword", "keyword_lead", "agreement", "terms"),
    Ran.VECTOR: ("cosine", "cosine_lead"),
    Ran.KEYWORD: ("keyword", "keyword_lead", "terms"),
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """Features of the raw scores of a ranking's first ten hits.

    `cosine` is the first hit's; `keyword` is its BM25 as a share of the query's maximum,
    (k1 + 1) * sum of its words' weights, in which a word of no searched text weighs as much as a
    term of none of their chunks would. A lead is the margin of the best document of the ten over
    the next, on the same scales. `agreement` is 1 if the best chunks by meaning and by keywords are
    in one document, else 0; `terms` is ln(1 + the query's terms in the library's vocabulary),
    since long questions are never fully covered.
    """

    ran: Ran
    cosine: float = 0.0
    cosine_lead: float = 0.0
    keyword: float = 0.0
    keyword_lead: float = 0.0
    agreement: float = 0.0
    terms: float = 0.0

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        columns: Sequence[int],
        scorer: KeywordScorer = KeywordScorer.BM25,
        *,
        by_meaning: bool = True,
        by_words: bool = True,
    ) -> Self | None:
        """The evidence of a whole ranking, a column per rank; None if no signal can be read.

        Without `by_meaning` the vectors are ignored, for a language that the model does not know;
        without `by_words` the keywords, for a first hit in another language than the query.
        """
        page = columns[:FIRST_PAGE]
        vector = by_meaning and bool(page) and not math.isnan(prepared.raw[page[0], VECTOR])
        # The other scorers have other scales, or no fixed one.
        keyword = bool(page) and scorer is KeywordScorer.BM25 and by_words
        if not (vector or keyword):
            return None
        candidates = prepared.candidates
        terms = candidates.terms
        ran = Ran.BOTH if vector and keyword else Ran.VECTOR if vector else Ran.KEYWORD
        chunks = sum(each.chunks for each in candidates.readings)
        unheld = len(candidates.unknown) * _rarest(chunks)
        most = BM25_BOUND * (math.fsum(term.weight for term in terms) + unheld) or 1.0
        raw = prepared.raw[columns][:, (VECTOR, KEYWORD)]
        raw = np.where(np.isnan(raw), 0.0, raw)
        best = {_best(prepared, columns, scores) for scores in raw.T}
        documents = prepared.documents[page].tolist()
        cosines, keywords = raw[:FIRST_PAGE].T.tolist()
        return cls(
            ran=ran,
            cosine=cosines[0],
            cosine_lead=_lead(documents, cosines),
            keyword=keywords[0] / most,
            keyword_lead=_lead(documents, keywords) / most,
            agreement=float(len(best) == 1 and None not in best),
            terms=math.log1p(len(terms)),
        )


@dataclass(frozen=True, slots=True)
class Logistic:
    """p = 1 / (1 + exp(-(intercept + sum of slope * feature)))."""

    intercept: float
    slopes: Mapping[str, float]

    def probability(self, evidence: Evidence) -> float:
        odds = self.intercept + math.fsum(
            slope * getattr(evidence, feature) for feature, slope in self.slopes.items()
        )
        # Beyond this exp overflows, and p is 0 or 1 in double precision.
        return 1 / (1 + math.exp(-min(max(odds, -700.0), 700.0)))


@dataclass(frozen=True, slots=True)
class CalibrationModels:
    """The fitted models of one embedding space, one for each combination of signals that ran."""

    models: Mapping[Ran, Logistic]

    def at_base_rate(self, share: float) -> Self:
        """The calibration where `share` of the questions have an answer, in (0, 1); fitted: half.

        By Bayes' rule the odds are those of the fit times share / (1 - share) (Saerens, Latinne &
        Decaestecker 2002).
        """
        shift = math.log(share / (1 - share))
        return type(self)(
            {
                ran: replace(model, intercept=model.intercept + shift)
                for ran, model in self.models.items()
            }
        )

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """The calibration that `as_json` serialised. Raises ValueError for anything else."""
        try:
            models = {
                ran: Logistic(
                    float(value[ran]["intercept"]),
                    {feature: float(value[ran]["slopes"][feature]) for feature in features},
                )
                for ran, features in FEATURES.items()
            }
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"These are not the coefficients of a calibration: {error!r}."
            ) from error
        numbers = [n for m in models.values() for n in (m.intercept, *m.slopes.values())]
        if not all(map(math.isfinite, numbers)):
            raise ValueError("A calibration's coefficients must be finite numbers.")
        return cls(models)

    def as_json(self) -> dict[str, Any]:
        return {
            ran.value: {"intercept": model.intercept, "slopes": dict(model.slopes)}
            for ran, model in self.models.items()
        }


def confidence(
    prepared: Prepared,
    columns: Sequence[int],
    calibration: CalibrationModels | None,
    *,
    scorer: KeywordScorer = KeywordScorer.BM25,
    by_meaning: bool = True,
    by_words: bool = True,
) -> float | None:
    """The probability, in [0, 1], that one of the first ten of `columns` answers the query.

    `columns` is the whole ranking as shown, one per rank. None if the space has no calibration,
    or none of its signals ran; 0 if there are no results. A query that is one identifier
    is answered only by chunks that contain it, one of exact words by those that are found, since
    all contain them, one with a pinned document by that document.
    """
    if calibration is None:
        return None
    if not columns:
        return 0.0
    first, query = prepared.candidates.rows[prepared.rows[columns[0]]], prepared.candidates.query
    if first["pin"] != ABSENT or query.is_quoted:
        return 1 - DOUBT
    # A name that also occurs in prose (VectorStore) may be discussed without a match.
    has_identifier = first["form"] != ABSENT
    if query.is_identifier and (has_identifier or query.needs_no_embedding):
        strength = float(first["strength"]) if has_identifier else 0.0
        return DOUBT + (1 - 2 * DOUBT) * strength
    evidence = Evidence.of(prepared, columns, scorer, by_meaning=by_meaning, by_words=by_words)
    if evidence is None:
        return None
    return calibration.models[evidence.ran].probability(evidence)


def shipped(fingerprint: str) -> CalibrationModels | None:
    """The calibration that ships for the model with this fingerprint, or None."""
    for model, calibration in SHIPPED.items():
        if fingerprint.startswith(model):
            return calibration
    return None


def _best(prepared: Prepared, columns: Sequence[int], scores: Floats) -> int | None:
    """The document of the highest-scoring chunk, with ties broken by the lowest chunk id."""
    highest = scores.max()
    if highest <= 0:
        return None
    equals = [columns[i] for i in np.flatnonzero(scores == highest).tolist()]
    # The candidates' rows are in order of chunk id.
    return int(prepared.documents[min(equals, key=lambda column: prepared.rows[column])])


def _rarest(chunks: int) -> float:
    """The idf of a term that none of so many chunks contains."""
    return math.log(1 + (chunks + 0.5) / 0.5)


def _lead(documents: Sequence[int], scores: Sequence[float]) -> float:
    """The best document's score minus the next one's; its own if there is no other."""
    best: dict[int, float] = {}
    for document, score in zip(documents, scores, strict=True):
        best[document] = max(best.get(document, 0.0), score)
    first, second = sorted([*best.values(), 0.0, 0.0], reverse=True)[:2]
    return first - second


# By the prefix of a model's fingerprint, which ends with a hash of its weights. Fitted in November
# 2026 to the half of squad20_dev, cranfield, med, wikiqa_test, dbpedia_entity_50,
# checkthat2020_claims and scifact (200 answerable questions each) that seed 0 keeps; for results on
# the other half see docs/relevance.md, "Confidence".
SHIPPED: Mapping[str, CalibrationModels] = {
    "all-MiniLM-L6-v2-int8-dynamic-8199be6f699a-": CalibrationModels(
        {
            Ran.BOTH: Logistic(
                -5.2952,
                {
                    "cosine": 6.3713,
                    "keyword": 0.6815,
                    "keyword_lead": 4.5142,
                    "agreement": 0.5709,
                    "terms": 0.5220,
                },
            ),
            Ran.VECTOR: Logistic(-4.0469, {"cosine": 6.8047, "cosine_lead": 5.0862}),
            Ran.KEYWORD: Logistic(
                -5.1519, {"keyword": 6.2856, "keyword_lead": 4.5660, "terms": 1.3499}
            ),
        }
    ),
}
