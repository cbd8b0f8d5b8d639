"""Q6: the reranker's part of a score: a share of the best score, for the first results alone.

A cross-encoder reads question and passage together (Nogueira & Cho 2019), too slowly for more than
the first results. Its share replaces an equal share of every score, so that a passage which it has
not read never passes one that it has: the first results change places among themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from search.domain import Booleans, Combination, Floats, Leaf, Node, Operation

FIRST = 20  # S5-11, S5-38: the results that a reranker reads


class Scale(StrEnum):
    """The scale of a reranker's scores. AUTO: probabilities if all of an answer lie in [0, 1]."""

    AUTO = "auto"
    PROBABILITY = "probability"
    LOGIT = "logit"


def strengths_of(scores: Sequence[float], scale: Scale = Scale.AUTO) -> list[float]:
    """The scores of one answer as strengths in [0, 1], in their order; logits by the logistic.

    Probabilities outside [0, 1] are cut.
    """
    raw = np.asarray(scores, np.float64)
    within = bool(((raw >= 0) & (raw <= 1)).all())
    if scale is Scale.LOGIT or (scale is Scale.AUTO and not within):
        # Beyond this exp overflows, and the strength is 0 or 1 in double precision.
        raw = 1 / (1 + np.exp(-np.clip(raw, -700, 700)))
    strengths: list[float] = np.clip(raw, 0.0, 1.0).tolist()
    return strengths


@dataclass(frozen=True, eq=False)
class Reranking:
    """What a reranker makes of one query's scores, by column.

    A score keeps `1 - share` of itself, and one of the `first` gets `weight` times its strength;
    `weight` is the share of the best of their scores. A first one that the reranker has not read
    (`read` is false) has its own score as a strength, which leaves it unchanged.
    """

    share: float
    weight: float
    first: Booleans
    read: Booleans
    strengths: Floats

    def applied_to(self, scores: Floats) -> Floats:
        """The scores with the reranker's share, by column."""
        added = np.where(self.first, self.weight * self.strengths, 0.0)
        return np.asarray((1 - self.share) * scores + added)


def reranking_of(
    scores: Floats, strengths: Floats, head: Sequence[int], share: float
) -> Reranking | None:
    """The reranking of one query; None if none of its first columns (`head`) has a strength.

    `scores` and `strengths` are by column; a strength is NaN for a passage that was not read.
    """
    first = np.zeros(len(scores), np.bool_)
    first[np.asarray(head, np.int64)] = True
    read = first & ~np.isnan(strengths)
    if share <= 0 or not read.any():
        return None
    best = max(float(scores[first].max()), 0.0)
    neutral = np.clip(scores / best, 0.0, 1.0) if best else np.zeros(len(scores))
    return Reranking(share, share * best, first, read, np.where(read, strengths, neutral))


def with_reranker(score: Node, reranking: Reranking, column: int) -> Node:
    """The score of a column with the reranker's share, as a tree."""
    beside = Leaf("share beside the reranker", 1 - reranking.share)
    kept = Combination("score kept", Operation.PRODUCT, (score, beside))
    if not reranking.first[column]:
        return kept
    label = "strength by the reranker" if reranking.read[column] else "not read: as its score"
    leaves = (Leaf("weight of the reranker", reranking.weight),)
    strength = Leaf(label, float(reranking.strengths[column]))
    added = Combination("reranker", Operation.PRODUCT, (*leaves, strength))
    return Combination("score and reranker", Operation.SUM, (kept, added))
