"""Q4: raw scores -> strengths.

Each normaliser takes one signal's raw scores over the union of all signals' candidates and
returns strengths in the same order: in [0, 1], except `none`, which returns scores unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from search.domain import Floats, Normaliser, Signal

RECIPROCAL_RANK_K = 60  # Cormack, Clarke & Buettcher 2009, as for RRF; ranks from 1

# The default normaliser of each signal.
USUAL = {
    Signal.VECTOR: Normaliser.NONE,
    Signal.KEYWORD: Normaliser.MAX,
    Signal.TITLE: Normaliser.NONE,
    Signal.RECENCY: Normaliser.NONE,
    Signal.SYNONYM: Normaliser.MAX,
}


def none(scores: Floats) -> Floats:
    """The raw scores unchanged, whatever their range: some seed systems add them unscaled."""
    return scores


def maximum(scores: Floats) -> Floats:
    """score / largest score; 0 for scores of 0 or less. The best candidate always gets 1."""
    largest = scores.max(initial=0.0)
    return np.maximum(scores, 0.0) / largest if largest > 0 else np.zeros_like(scores)


def minmax(scores: Floats) -> Floats:
    """(score - smallest) / (largest - smallest); all 1 where all are equal and positive."""
    if not len(scores):
        return scores
    low, high = scores.min(), scores.max()
    if high == low:
        return np.full_like(scores, 1.0 if high > 0 else 0.0)
    return np.asarray((scores - low) / (high - low))


def zscore(scores: Floats) -> Floats:
    """The normal distribution function of each score's z: .5 at the mean, .84 one deviation up.

    z itself is not in [0, 1]; its distribution function preserves the order, and the distances
    near the mean.
    """
    deviation = scores.std() if len(scores) and scores.min() < scores.max() else 0.0
    if not deviation:
        return np.full_like(scores, 0.5)
    z = (scores - scores.mean()) / deviation / math.sqrt(2)
    return np.array([0.5 * (1 + math.erf(each)) for each in z.tolist()])


def reciprocal_rank(scores: Floats) -> Floats:
    """(k + 1) / (k + rank), so that rank 1 gets 1; equal scores share a rank; 0 for no match."""
    above = len(scores) - np.searchsorted(np.sort(scores), scores, side="right")
    k = RECIPROCAL_RANK_K
    return np.where(scores > 0, (k + 1) / (k + 1 + above), 0.0)


def cosine(scores: Floats) -> Floats:
    """(cosine + 1) / 2: a fixed scale, the same for every query."""
    return np.clip((scores + 1) / 2, 0.0, 1.0)


NORMALISERS: dict[Normaliser, Callable[[Floats], Floats]] = {
    Normaliser.NONE: none,
    Normaliser.MAX: maximum,
    Normaliser.MINMAX: minmax,
    Normaliser.ZSCORE: zscore,
    Normaliser.RECIPROCAL_RANK: reciprocal_rank,
    Normaliser.COSINE: cosine,
}
