"""W3: a sheet and weights -> the rankings of all its queries: `ranking.fusion` over arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from search.domain import Fusion, Profile, QueryClass, Signal, Weights
from search.ranking.boosts import sought
from search.ranking.feedback import COSINE_DIGITS, EXAMPLES
from search.ranking.tiers import HOLDER_FACTOR
from search.tuning.evaluation.arithmetic import exact_sum
from search.tuning.evaluation.pooled import ABSENT, SIGNALS
from search.tuning.evaluation.sheet import PLAIN, SECOND, Booleans, Floats, Integers, Sheet

VECTOR = SIGNALS.index(Signal.VECTOR)
KEYWORD = SIGNALS.index(Signal.KEYWORD)
# Meaning, keywords and title are parts of every score, if only with 0.
_ALWAYS_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Ranked:
    """A sheet's columns, best first, and their scores by column."""

    order: Integers
    scores: Floats


def rank_sheet(
    sheet: Sheet, weights: Sequence[Weights], classes: Sequence[QueryClass], profile: Profile
) -> Ranked:
    """The ranking of each query under its weights, as `ranking.rank` ranks its candidates."""
    shares = np.array([[each.of(signal) for signal in SIGNALS] for each in weights]).reshape(
        len(weights), len(SIGNALS)
    )
    both = sheet.finds[VECTOR] & sheet.finds[KEYWORD]
    scores = _combined(sheet, shares, both, profile)
    scores = _boosted(sheet, scores, classes, profile)
    scores = np.where(sheet.holders, scores * HOLDER_FACTOR, scores)
    tiers = sheet.tiers
    if profile.both_first:
        tiers = np.where((tiers == PLAIN) & ~both, SECOND, tiers)
    order = _order(sheet, scores, tiers)
    if sheet.pinned.any():
        tiers = _pinned(sheet, order, tiers)
        order = _order(sheet, scores, tiers)
    if profile.feedback:
        scores = _fed_back(sheet, scores, order, shares, profile.feedback)
        order = _order(sheet, scores, tiers)
    return Ranked(order, scores)


def _combined(sheet: Sheet, shares: Floats, both: Booleans, profile: Profile) -> Floats:
    used = [i for i in range(len(SIGNALS)) if shares[:, i].any()]
    parts = [shares[:, i, None] * sheet.strengths[i] for i in used]
    if profile.fusion is Fusion.MAX:
        every = [shares[:, i, None] * sheet.strengths[i] for i in range(_ALWAYS_SHOWN)]
        return np.asarray(np.maximum.reduce([*every, *parts]))
    total = exact_sum(parts)
    if profile.fusion is Fusion.COMBMNZ:
        counting = sum(((shares[:, i, None] > 0) & sheet.finds[i]).astype(np.float64) for i in used)
        return total * counting
    if profile.fusion is Fusion.RRF and profile.both_factor != 1:
        return np.where(both, total * profile.both_factor, total)
    return total


def _boosted(
    sheet: Sheet, scores: Floats, classes: Sequence[QueryClass], profile: Profile
) -> Floats:
    """The scores after the profile's boosts, in their order, each for its class of queries."""
    for boost in profile.boosts:
        counts = sheet.counts.get(sought(boost))
        if counts is None:
            continue
        meant = np.array([boost.query_class in (None, each) for each in classes], np.bool_)
        counts = np.where(meant[:, None], counts, 0)
        most = int(counts.max(initial=0))
        if boost.multiply:
            for step in range(1, most + 1):
                scores = np.where(counts >= step, scores * boost.amount, scores)
        elif most:
            terms = [np.where(counts >= step, boost.amount, 0.0) for step in range(1, most + 1)]
            scores = exact_sum([scores, *terms])
    return scores


def _order(sheet: Sheet, scores: Floats, tiers: Integers) -> Integers:
    """The columns by tier, then score; of equals the first column comes first."""
    order = np.argsort(np.where(sheet.valid, -scores, np.inf), axis=1, kind="stable")
    if (tiers[sheet.valid] != PLAIN).any():
        by_tier = np.argsort(np.take_along_axis(tiers, order, axis=1), axis=1, kind="stable")
        order = np.take_along_axis(order, by_tier, axis=1)
    return order


def _pinned(sheet: Sheet, order: Integers, tiers: Integers) -> Integers:
    """The tiers with the best chunk of each pinned document before all others."""
    tiers = tiers.copy()
    for place in np.flatnonzero(sheet.pinned):
        shape = sheet.shapes[place]
        pins = shape.case.pool.rows["pin"][shape.rows]
        seen: set[int] = set()
        for column in order[place, : len(shape.rows)]:
            document = int(sheet.documents[place, column])
            if pins[column] != ABSENT and document not in seen:
                seen.add(document)
                tiers[place, column] = int(pins[column]) - PLAIN
    return tiers


def _fed_back(
    sheet: Sheet, scores: Floats, order: Integers, shares: Floats, feedback: float
) -> Floats:
    """The scores with what likeness to the best of the first ranking is worth."""
    scores = scores.copy()
    best = np.where(sheet.valid, scores, -np.inf).max(axis=1)
    for place, shape in enumerate(sheet.shapes):
        if not shape.by_meaning or not shares[place, VECTOR] or not len(shape.rows):
            continue
        cosines = _likeness(sheet, place, order[place, : len(shape.rows)])
        if cosines is None:
            continue
        weight = feedback * best[place]
        row = scores[place, : len(shape.rows)]
        embedded = shape.embedded
        row[embedded] += weight * cosines[shape.embedding_rows[embedded]]
    return scores


def _likeness(sheet: Sheet, place: int, order: Integers) -> Floats | None:
    """The mean cosine of every embedding of the pool to the first documents' best chunks."""
    shape = sheet.shapes[place]
    embeddings, norms = shape.case.pool.embeddings, shape.case.norms
    examples: dict[int, int] = {}
    for column in order:
        if shape.embedded[column]:
            examples.setdefault(int(sheet.documents[place, column]), int(column))
            if len(examples) == EXAMPLES:
                break
    if embeddings is None or not examples:
        return None
    chosen = shape.embedding_rows[list(examples.values())]
    centre = (embeddings[chosen].astype(np.float64) / norms[chosen, None]).mean(axis=0)
    cosines: Floats = np.round(embeddings.astype(np.float64) @ centre / norms, COSINE_DIGITS)
    return cosines
