"""Raw scores -> normalised in [0, 1] -> one score."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np

from search.domain import (
    OPTIONAL,
    SIGNALS,
    Booleans,
    Combination,
    Contribution,
    Floats,
    Fusion,
    Leaf,
    Node,
    Normaliser,
    Operation,
    Profile,
    Signal,
)

RECIPROCAL_RANK_K = 60  # Cormack, Clarke & Buettcher 2009, as for RRF; ranks from 1


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


RRF_K = 60  # Cormack 2009; ranks from 1

VECTOR, KEYWORD = SIGNALS.index(Signal.VECTOR), SIGNALS.index(Signal.KEYWORD)


# Words that say little about a passage in another language: names and numbers match by chance.
WORDS = tuple(i for i, signal in enumerate(SIGNALS) if signal.traits.reads_words)
FOREIGN_NOTE = "In another language than the question: meaning counts alone."


def meaning_alone(shares: Floats) -> Floats:
    """The weights for candidates in another language: the vector gets the words' shares."""
    moved = shares.copy()
    moved[:, VECTOR] += moved[:, WORDS].sum(axis=1)
    moved[:, WORDS] = 0
    return moved


def combined(
    normalised: Floats, matches: Booleans, shares: Floats, profile: Profile, foreign: Booleans
) -> Floats:
    """The scores before boosts, a row a query.

    `normalised` and `matches` have an array for each signal, `shares` the weights, a row a query.
    `foreign` is true for candidates in another language than the query.
    """
    weights = shares.T[:, :, None]
    if foreign.any():
        weights = np.where(foreign, meaning_alone(shares).T[:, :, None], weights)
    parts = weights * normalised
    if profile.fusion is Fusion.MAX:
        # An optional signal without a weight does not run, and is excluded.
        columns = [i for i, s in enumerate(SIGNALS) if s not in OPTIONAL or shares[:, i].any()]
        return np.asarray(parts[columns].max(axis=0))
    total: Floats = parts.sum(axis=0)
    if profile.fusion is Fusion.COMBMNZ:
        return np.asarray(total * ((weights > 0) & matches).sum(axis=0))
    if profile.fusion is Fusion.RRF and profile.both_factor != 1:
        return np.where(both_match(matches), total * profile.both_factor, total)
    return total


def combination(
    parts: tuple[Contribution, ...], matches: Collection[Signal], profile: Profile
) -> Node:
    """One candidate's score before boosts, as a tree; `matches` are the signals that matched it."""
    if profile.fusion is Fusion.MAX:
        return Combination("largest part", Operation.LARGEST, parts)
    total = Combination("sum of the parts", Operation.SUM, parts)
    if profile.fusion is Fusion.COMBMNZ:
        counting = sum(1 for part in parts if part.weight > 0 and part.signal in matches)
        factor = Leaf("signals that found it", float(counting))
        return Combination("sum times signals", Operation.PRODUCT, (total, factor))
    both = Signal.VECTOR in matches and Signal.KEYWORD in matches
    if profile.fusion is Fusion.RRF and both and profile.both_factor != 1:
        factor = Leaf("found by meaning and by keywords", profile.both_factor)
        return Combination("sum times the factor for both", Operation.PRODUCT, (total, factor))
    return total


def both_match(matches: Booleans) -> Booleans:
    """Whether the vector and the keyword signal both matched each candidate."""
    both: Booleans = matches[VECTOR] & matches[KEYWORD]
    return both


def reciprocal_ranks(scores: Floats, signal: Signal, k: int) -> Floats:
    """1 / (k + rank) for each score; 0 for a score that means no match."""
    values = np.empty(len(scores))
    values[np.argsort(-scores, kind="stable")] = 1 / (k + 1 + np.arange(len(scores)))
    return values if signal.traits.scores_all else np.where(scores > 0, values, 0.0)


def displayed_signals(ran: Collection[Signal], weighted: Collection[Signal]) -> Sequence[Signal]:
    """The signals that a score displays: optional ones only if they ran or have a weight."""
    return [s for s in SIGNALS if s not in OPTIONAL or s in ran or s in weighted]
