"""Q5: pseudo-relevance feedback: what is like the best of a first ranking is likely to be good.

Relevant passages resemble one another (van Rijsbergen's cluster hypothesis, 1979), so the best of
a first ranking say more of what is wanted than the query's few words (Rocchio 1971; with
embeddings, Li et al., ACM TOIS 2023). Each candidate gets a share of its mean cosine to them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from search.domain import Candidate, Combination, Hit, Leaf, Node, Operation

# Three documents were better than two, four, five or ten on six judged collections, and are few
# enough to be right (docs/relevance.md).
EXAMPLES = 3
# Half-precision embeddings hold three.
COSINE_DIGITS = 9


def likeness(first: Sequence[Hit]) -> dict[int, float]:
    """Each candidate's mean cosine to the best chunks of the first EXAMPLES documents.

    By chunk id; only for candidates that have an embedding. Empty where no first chunk has one.
    """
    examples: dict[int, Candidate] = {}
    for hit in first:
        if len(examples) == EXAMPLES:
            break
        if hit.candidate.embedding is not None:
            examples.setdefault(hit.candidate.document_id, hit.candidate)
    embedded = [hit.candidate for hit in first if hit.candidate.embedding is not None]
    if not examples:
        return {}
    centre = _vectors(list(examples.values())).mean(axis=0)
    # How many rows are multiplied at a time decides the last bits: without them equals stay equal.
    cosines = np.round(_vectors(embedded) @ centre, COSINE_DIGITS)
    return {
        candidate.chunk_id: float(cosine)
        for candidate, cosine in zip(embedded, cosines, strict=True)
    }


def with_feedback(score: Node, cosine: float | None, weight: float) -> Node:
    """The score, and `weight` times the candidate's likeness to the best of the first ranking."""
    if cosine is None:
        return score
    parts = (Leaf("weight of feedback", weight), Leaf("mean cosine", cosine))
    extra = Combination("likeness to the first results", Operation.PRODUCT, parts)
    return Combination("score and feedback", Operation.SUM, (score, extra))


def _vectors(candidates: Sequence[Candidate]) -> np.ndarray:
    """Their embeddings as rows of length 1."""
    rows = [np.frombuffer(candidate.embedding or b"", dtype=">f2") for candidate in candidates]
    vectors = np.stack(rows).astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.maximum(lengths, np.finfo(np.float64).tiny)
    return vectors
