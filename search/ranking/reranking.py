"""The second pass over a ranking, by its first results: relevance feedback, the reranker.

Candidates similar to the top of a first ranking score higher: relevant passages resemble one
another (van Rijsbergen's cluster hypothesis, 1979), so the top of a first ranking describes the
information need better than the query's few words (Rocchio 1971; with embeddings, Li et al., ACM
TOIS 2023). A share of its mean cosine to them is added to each score.

A cross-encoder reads question and passage together (Nogueira & Cho 2019), too slowly for more than
the first results. Its share replaces an equal share of every score, so that a passage which it has
not read never passes one that it has: the first results change places among themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from search.domain import Booleans, Combination, Floats, Integers, Leaf, Node, Operation
from search.ranking.batch import Prepared

FIRST = 20  # S5-11, S5-38: the results that a reranker reads


@dataclass(frozen=True, slots=True)
class RerankerInput:
    """A passage for a reranker to read: its chunk and its text."""

    chunk: int
    text: str


@dataclass(frozen=True, eq=False)
class Reranking:
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
    own = Combination("score kept", Operation.PRODUCT, (score, beside))
    if not reranking.first[column]:
        return own
    label = "strength by the reranker" if reranking.read[column] else "not read: as its score"
    leaves = (Leaf("weight of the reranker", reranking.weight),)
    strength = Leaf(label, float(reranking.strengths[column]))
    added = Combination("reranker", Operation.PRODUCT, (*leaves, strength))
    return Combination("score and reranker", Operation.SUM, (own, added))


# Three documents were better than two, four, five or ten on six judged collections, and are few
# enough to be mostly relevant (docs/relevance.md).
EXAMPLES = 3
# Half-precision embeddings have three. The last bits depend on how many rows are multiplied at a
# time: rounding keeps ties equal.
COSINE_DIGITS = 9


def likeness(prepared: Prepared, order: Integers) -> Floats | None:
    """Each column's mean cosine to the best chunks of the first EXAMPLES documents of the order.

    NaN for a column without an embedding; None where no column has one.
    """
    has_embedding, candidates = prepared.embedded, prepared.candidates
    embedded = order[has_embedding[order]]
    if candidates.embeddings is None or not len(embedded):
        return None
    examples: dict[int, int] = {}
    for column in embedded.tolist():
        examples.setdefault(int(prepared.documents[column]), column)
        if len(examples) == EXAMPLES:
            break
    vectors, lengths = candidates.measured()
    at = candidates.embedding_rows[prepared.rows]
    rows = at[list(examples.values())]
    centre = (vectors[rows] / lengths[rows, None]).mean(axis=0)
    cosines = np.round(vectors @ centre / lengths, COSINE_DIGITS)
    return np.where(has_embedding, cosines[at], np.nan)


def with_feedback(score: Node, cosine: float, weight: float) -> Node:
    """The score plus `weight` times the candidate's similarity to the top of the first ranking."""
    parts = (Leaf("weight of feedback", weight), Leaf("mean cosine", cosine))
    extra = Combination("similarity to the first results", Operation.PRODUCT, parts)
    return Combination("score and feedback", Operation.SUM, (score, extra))
