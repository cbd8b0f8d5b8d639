"""Q5-Q6: the one ranking: a batch of queries and their weights -> orders, scores, explanations.

The scores are computed over arrays, for all queries at once. `Ranked.explanation` recomputes one
candidate's score as a tree from the same numbers. The arithmetic and the explanation of a signal,
boost or knob are side by side in one module: fusion, boosts, tiers, feedback.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from search.domain import (
    SIGNALS,
    Candidate,
    Contribution,
    Explanation,
    Floats,
    Integers,
    Profile,
    QueryClass,
    Weights,
)
from search.ranking.batch import Batch
from search.ranking.boosts import WISHED, boosted, with_boosts
from search.ranking.feedback import likeness, with_feedback
from search.ranking.fusion import (
    ALWAYS_FIND,
    VECTOR,
    combination,
    combined,
    found_by_both,
    shown_signals,
)
from search.ranking.tiers import HOLDER_FACTOR, PLAIN, SECOND, holding, tier, with_pins

# Sums of the same parts in another order differ in their last bits: rounding makes them equal.
SCORE_DIGITS = 12


@dataclass(frozen=True, eq=False)
class Ranked:
    """A ranked batch: the columns of each query, best first, and their scores by column.

    `weights` and `classes` are the queries'. `likeness` has the feedback's weight and the cosines
    by column, by index of the queries that have feedback.
    """

    batch: Batch
    profile: Profile
    weights: tuple[Weights, ...]
    classes: tuple[QueryClass, ...]
    order: Integers
    scores: Floats
    tiers: Integers
    likeness: dict[int, tuple[float, Floats]] = field(default_factory=dict)

    def columns(self, place: int) -> Integers:
        """The columns of one query's candidates, best first."""
        return self.order[place, : len(self.batch.prepared[place])]

    def replaced(self, places: Sequence[int], others: Ranked, taken: Sequence[int]) -> Ranked:
        """A copy with the rankings at `places` replaced by those of `others` at `taken`."""
        order, scores, tiers = self.order.copy(), self.scores.copy(), self.tiers.copy()
        weights, alike = list(self.weights), dict(self.likeness)
        width = others.order.shape[1]
        for place, i in zip(places, taken, strict=True):
            order[place, :width], scores[place, :width] = others.order[i], others.scores[i]
            tiers[place, :width], weights[place] = others.tiers[i], others.weights[i]
            alike.pop(place, None)
            alike |= {place: others.likeness[i]} if i in others.likeness else {}
        return replace(
            self, weights=tuple(weights), order=order, scores=scores, tiers=tiers, likeness=alike
        )

    def candidate(self, place: int, column: int) -> Candidate:
        """A column's candidate as an object, with its prepared raw scores."""
        prepared = self.batch.prepared[place]
        row = int(prepared.rows[column])
        return prepared.candidates.candidate(row, prepared.raw[column].tolist())

    def explanation(self, place: int, column: int) -> Explanation:
        """The explanation of a column's rank, from the numbers that ranked it."""
        prepared, candidate = self.batch.prepared[place], self.candidate(place, column)
        parts = self._contributions(place, column, candidate)
        found = {
            part.signal
            for part in parts
            if part.strength > 0 and (part.signal in ALWAYS_FIND or (part.raw or 0) > 0)
        }
        root = combination(parts, found, self.profile)
        boosts = (*self.profile.boosts, WISHED)
        root = with_boosts(root, candidate, self.classes[place], boosts)
        if candidate.identifier is not None and not prepared.leads:
            root = holding(root, candidate.identifier)
        weight, cosines = self.likeness.get(place, (0.0, None))
        if cosines is not None and not math.isnan(cosines[column]):
            root = with_feedback(root, float(cosines[column]), weight)
        return Explanation(parts, tier(int(self.tiers[place, column]), candidate), root)

    def _contributions(
        self, place: int, column: int, candidate: Candidate
    ) -> tuple[Contribution, ...]:
        prepared, weights = self.batch.prepared[place], self.weights[place]
        strengths = dict(zip(SIGNALS, prepared.strengths[column].tolist(), strict=True))
        ran = {signal for i, signal in enumerate(SIGNALS) if prepared.has_run[i]}
        weighted = {signal for signal in SIGNALS if weights.of(signal) > 0}
        return tuple(
            Contribution(signal, candidate.raw.get(signal), strengths[signal], weights.of(signal))
            for signal in shown_signals(ran, weighted)
        )


def rank(
    batch: Batch, weights: Sequence[Weights], classes: Sequence[QueryClass], profile: Profile
) -> Ranked:
    """Each query's candidates, best first: by tier, then score, then keyword score, then chunk id.

    `weights` and `classes` are the queries', the rest is the profile's. With relevance feedback
    it ranks twice, and adds each candidate's similarity to the top of the first ranking.
    """
    shares = np.array([[each.of(signal) for signal in SIGNALS] for each in weights])
    shares = shares.reshape(len(weights), len(SIGNALS))
    scores = combined(batch.strengths, batch.finds, shares, profile)
    scores = boosted(scores, batch.counts, classes, (*profile.boosts, WISHED))
    if batch.holders.any():
        scores = np.where(batch.holders, scores * HOLDER_FACTOR, scores)
    tiers = batch.tiers
    if profile.both_first:
        tiers = np.where((tiers == PLAIN) & ~found_by_both(batch.finds), SECOND, tiers)
    order = _order(batch, scores, tiers)
    if any(each.is_pinned for each in batch.prepared):
        tiers = _pinned(batch, order, tiers)
        order = _order(batch, scores, tiers)
    alike = _alike(batch, order, scores, shares, profile) if profile.feedback else {}
    if alike:
        scores = scores.copy()
        for place, (weight, cosines) in alike.items():
            scores[place, : len(cosines)] += np.where(np.isnan(cosines), 0.0, weight * cosines)
        order = _order(batch, scores, tiers)
    return Ranked(batch, profile, tuple(weights), tuple(classes), order, scores, tiers, alike)


def _order(batch: Batch, scores: Floats, tiers: Integers) -> Integers:
    """The columns by tier, then score, then column."""
    falling = np.where(batch.valid, -np.round(scores, SCORE_DIGITS), np.inf)
    order = np.argsort(falling, axis=1, kind="stable")
    if (tiers[batch.valid] != PLAIN).any():
        by_tier = np.argsort(np.take_along_axis(tiers, order, axis=1), axis=1, kind="stable")
        order = np.take_along_axis(order, by_tier, axis=1)
    return order


def _pinned(batch: Batch, order: Integers, tiers: Integers) -> Integers:
    """The tiers with pinned candidates first."""
    tiers = tiers.copy()
    for place, each in enumerate(batch.prepared):
        if each.is_pinned:
            count = len(each)
            tiers[place, :count] = with_pins(
                tiers[place, :count], each.pins, each.documents, order[place, :count]
            )
    return tiers


def _alike(
    batch: Batch, order: Integers, scores: Floats, shares: Floats, profile: Profile
) -> dict[int, tuple[float, Floats]]:
    """The weight of relevance feedback and each column's mean cosine, by query.

    Queries whose vector weight is 0 are left out.
    """
    found = {}
    for place in np.flatnonzero(shares[:, VECTOR]).tolist():
        each = batch.prepared[place]
        cosines = likeness(each, order[place, : len(each)])
        if cosines is not None:
            best = float(scores[place, : len(each)].max())
            found[place] = (profile.feedback * best, cosines)
    return found
