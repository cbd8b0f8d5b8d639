"""Relevance feedback: the likeness of each candidate to the first results."""

from __future__ import annotations

import numpy as np

from search.domain import Combination, Floats, Integers, Leaf, Node, Operation
from search.ranking.batch import Prepared

# Three documents were better than two, four, five or ten on six judged collections, and are few
# enough to be mostly relevant (docs/relevance.md).
EXAMPLES = 3
# Half-precision embeddings have three. The last bits depend on how many rows are multiplied at a
# time: rounding keeps ties equal.
COSINE_DIGITS = 9


def likeness(prepared: Prepared, order: Integers) -> Floats | None:
    """Each column's mean cosine to the best chunks of the first EXAMPLES documents of the order, on
    the common scale.

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
    cosines = np.round(prepared.cosine_scale(vectors @ centre / lengths), COSINE_DIGITS)
    return np.where(has_embedding, cosines[at], np.nan)


def with_feedback(score: Node, cosine: float, weight: float) -> Node:
    """The score plus `weight` times the candidate's similarity to the top of the first ranking."""
    parts = (Leaf("weight of feedback", weight), Leaf("mean cosine", cosine))
    extra = Combination("similarity to the first results", Operation.PRODUCT, parts)
    return Combination("score and feedback", Operation.SUM, (score, extra))
