"""Q4: raw scores -> strengths.

Each normaliser takes one signal's raw scores over the union of all signals' candidates and
returns strengths in the same order: in [0, 1], except `none`, which leaves scores as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean, pstdev

from search.domain import Normaliser

Strengths = list[float]
RECIPROCAL_RANK_K = 60  # Cormack, Clarke & Buettcher 2009, as for RRF; ranks from 1


def none(scores: Sequence[float]) -> Strengths:
    """The raw scores themselves, whatever their range: some seed systems add them unscaled."""
    return list(scores)


def maximum(scores: Sequence[float]) -> Strengths:
    """score / largest score; 0 for scores of 0 or less. The best candidate always gets 1."""
    largest = max(scores, default=0.0)
    if largest <= 0:
        return [0.0] * len(scores)
    return [max(score, 0.0) / largest for score in scores]


def minmax(scores: Sequence[float]) -> Strengths:
    """(score - smallest) / (largest - smallest); all 1 where all are equal and positive."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    if high == low:
        return [1.0 if high > 0 else 0.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]


def zscore(scores: Sequence[float]) -> Strengths:
    """The normal distribution's share below each score's z: .5 at the mean, .84 one deviation up.

    z alone leaves [0, 1]; its distribution function keeps the order and the distances near
    the mean.
    """
    deviation = pstdev(scores) if scores else 0.0
    if not deviation:
        return [0.5] * len(scores)
    mean = fmean(scores)
    return [0.5 * (1 + math.erf((score - mean) / deviation / math.sqrt(2))) for score in scores]


def reciprocal_rank(scores: Sequence[float]) -> Strengths:
    """(k + 1) / (k + rank), so that rank 1 gets 1; equal scores share a rank; 0 for none found."""
    ranks: dict[float, int] = {}
    for position, score in enumerate(sorted(scores, reverse=True), start=1):
        ranks.setdefault(score, position)
    k = RECIPROCAL_RANK_K
    return [(k + 1) / (k + ranks[score]) if score > 0 else 0.0 for score in scores]


def cosine(scores: Sequence[float]) -> Strengths:
    """(cosine + 1) / 2: a fixed scale, the same for every query."""
    return [min(max((score + 1) / 2, 0.0), 1.0) for score in scores]


NORMALISERS: dict[Normaliser, Callable[[Sequence[float]], Strengths]] = {
    Normaliser.NONE: none,
    Normaliser.MAX: maximum,
    Normaliser.MINMAX: minmax,
    Normaliser.ZSCORE: zscore,
    Normaliser.RECIPROCAL_RANK: reciprocal_rank,
    Normaliser.COSINE: cosine,
}
