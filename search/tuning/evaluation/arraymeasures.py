"""Rankings on a sheet -> the measures of `measures`, for all queries at once."""

from __future__ import annotations

import numpy as np
from ir_measures import RR, P, R, Success, nDCG

from search.domain import Floats, Integers
from search.tuning.evaluation.sheet import DISCOUNTS, Sheet

NDCG, RECALL, RANK, PRECISION, FIRST = map(str, (nDCG @ 10, R @ 10, RR @ 10, P @ 5, Success @ 1))
NAMES = (NDCG, RANK, RECALL, PRECISION, FIRST)
# The ranks at which the precision and recall curves are sampled.
DEPTHS = (1, 2, 3, 5, 10, 20, 50)
_CUT = len(DISCOUNTS)


def measure(sheet: Sheet, order: Integers) -> dict[str, Floats]:
    """Each of NAMES for every query of the sheet; columns in `order` are candidates, best first."""
    ranks, gains = _documents(sheet, order)
    within = np.where(ranks <= _CUT, gains, 0)
    relevant = gains > 0
    answers, ideal = sheet.answers
    at = np.clip(ranks, 1, _CUT) - 1
    gained = (within * DISCOUNTS[at]).sum(axis=1)
    first = np.where(relevant & (ranks <= _CUT), ranks, np.inf).min(axis=1, initial=np.inf)
    return {
        NDCG: _share(gained, ideal),
        RANK: 1 / first,
        RECALL: _share((within > 0).sum(axis=1), answers),
        PRECISION: (relevant & (ranks <= 5)).sum(axis=1) / 5,
        FIRST: (first == 1).astype(np.float64),
    }


def curves(sheet: Sheet, order: Integers) -> dict[int, tuple[float, float]]:
    """The mean precision and recall at each of DEPTHS; empty without queries."""
    if not sheet.cases:
        return {}
    ranks, gains = _documents(sheet, order)
    answers, _ = sheet.answers
    found = {depth: ((gains > 0) & (ranks <= depth)).sum(axis=1) for depth in DEPTHS}
    return {
        depth: (float((hits / depth).mean()), float(_share(hits, answers).mean()))
        for depth, hits in found.items()
    }


def _documents(sheet: Sheet, order: Integers) -> tuple[Integers, Integers]:
    """For each position of the ranking, the rank and the grade of the document first seen there.

    A document counts at the position of its best candidate; elsewhere the rank is past the end.
    """
    queries, width = order.shape
    documents = np.take_along_axis(sheet.batch.documents, order, axis=1)
    valid = np.take_along_axis(sheet.batch.valid, order, axis=1)
    most = int(documents.max(initial=0)) + 1
    # The last column holds the invalid candidates.
    first = np.full((queries, most + 1), width, np.int64)
    named = np.where(valid, documents, most) + np.arange(queries)[:, None] * (most + 1)
    np.minimum.at(first.reshape(-1), named.reshape(-1), np.tile(np.arange(width), queries))
    leads = valid & (np.take_along_axis(first, documents, axis=1) == np.arange(width))
    ranks = np.where(leads, np.cumsum(leads, axis=1), np.iinfo(np.int64).max)
    gains = np.where(leads, np.take_along_axis(sheet.gains, order, axis=1), 0)
    return ranks, gains


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)
