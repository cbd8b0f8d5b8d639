"""A step after the ranking: superseded documents are put behind those that replace them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from search.domain import Floats, Integers
from search.ranking.scored_batch import ScoredBatch, ordered
from search.ranking.tiers import TITLED

STEP = 1e-6  # between the scores of two documents that `put_behind` orders


def put_behind(ranked: ScoredBatch, behind: Sequence[Mapping[int, Sequence[int]]]) -> ScoredBatch:
    """The rankings with each document after the best passages of the documents that must precede
    it.

    `behind` has these documents by document, for each query; all of them are candidates. A passage
    that comes before gets a score below theirs, and their tier. Pinned passages stay, and so do
    those with an identifier of the query that the preceding document lacks: the question names it.
    """
    if not any(behind):
        return ranked
    scores, tiers, order = ranked.scores.copy(), ranked.tiers.copy(), ranked.order.copy()
    lowered: dict[int, dict[int, float]] = {}
    for index, pairs in enumerate(behind):
        if not pairs:
            continue
        columns, each = ranked.columns(index), ranked.batch.prepared[index]
        documents = each.candidates.rows["document"][each.rows]
        before = scores[index].copy()
        # Until nothing moves: a document may be behind one that is itself moved.
        for _ in pairs:
            unmoved = columns
            for pair in pairs.items():
                if _lower(documents, columns, scores[index], tiers[index], *pair):
                    columns = ordered(columns, scores[index], tiers[index])
            if columns is unmoved:
                break
        order[index, : len(each)] = columns
        loss = before - scores[index]
        lowered[index] = {at: float(loss[at]) for at in np.flatnonzero(loss).tolist()}
    return replace(ranked, order=order, scores=scores, tiers=tiers, lowered=lowered)


def _lower(
    documents: Integers,
    columns: Integers,
    scores: Floats,
    tiers: Integers,
    document: int,
    others: Sequence[int],
) -> bool:
    """Move a document's passages behind the best of the other documents; return whether any did."""
    ordered = documents[columns]
    index = max(int(np.argmax(ordered == other)) for other in others)
    limit, ahead = columns[index], columns[:index][ordered[:index] == document]
    ahead = ahead[(tiers[ahead] >= 0) & ((tiers[ahead] >= TITLED) | (tiers[limit] < TITLED))]
    if not len(ahead):
        return False
    steps = STEP * (1 + scores[ahead].max() - scores[ahead])
    scores[ahead] = np.minimum(scores[ahead], scores[limit] - steps)
    tiers[ahead] = tiers[limit]
    return True
