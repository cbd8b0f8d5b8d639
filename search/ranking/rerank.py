"""The reranker's share of the scores of the first results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from search.domain import Booleans, Combination, Floats, Leaf, Node, Operation

FIRST = 20  # S5-11, S5-38: the results that a reranker reads


@dataclass(frozen=True, slots=True)
class RerankerInput:
    """A passage for a reranker to read: its chunk and its text."""

    chunk: int
    text: str


@dataclass(frozen=True, eq=False)
class Rerank:
    """The reranker's effect on one query's scores, by column.

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


def rerank_of(
    scores: Floats, strengths: Floats, head: Sequence[int], share: float
) -> Rerank | None:
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
    return Rerank(share, share * best, first, read, np.where(read, strengths, neutral))


def with_reranker(score: Node, reranking: Rerank, column: int) -> Node:
    """The score of a column with the reranker's share, as a tree."""
    beside = Leaf("share beside the reranker", 1 - reranking.share)
    own = Combination("score kept", Operation.PRODUCT, (score, beside))
    if not reranking.first[column]:
        return own
    label = "strength by the reranker" if reranking.read[column] else "not read: as its score"
    leaves = (Leaf("weight of the reranker", reranking.weight),)
    strength = Leaf(label, float(reranking.strengths[column]))
    added = Combination("reranker", Operation.PRODUCT, (*leaves, strength))
    return Combination("score and reranker", Operation.SUM, (own, added))
