"""The one ranking: a batch of queries and their weights -> orders, scores, groups.

The scores are computed over arrays, for all queries at once. `ScoredBatch.explanation` recomputes a
candidate's score as a tree from the same numbers. The arithmetic and the explanation of a signal,
boost or knob are side by side in one module: fusion, tiers, boosts, rerank, feedback.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from search.domain import (
    SIGNALS,
    Candidate,
    Combination,
    Contribution,
    Explanation,
    Floats,
    Integers,
    Leaf,
    Operation,
    Profile,
    QueryClass,
    Signal,
    Weights,
)
from search.ranking.batch import Batch
from search.ranking.feedback import likeness, with_feedback
from search.ranking.fusion import (
    FOREIGN_NOTE,
    VECTOR,
    both_match,
    combination,
    combined,
    displayed_signals,
    meaning_alone,
)
from search.ranking.rerank import Rerank, rerank_of, with_reranker
from search.ranking.text_boosts import boosted, with_boosts
from search.ranking.tiers import PLAIN, SECOND, tier, with_pins

# Sums of the same parts in another order differ in their last bits: rounding makes them equal.
SCORE_DIGITS = 12
BEHIND = "not current: behind the document in force"
"""The label of what an explanation takes off a score: see `put_behind`."""


@dataclass(frozen=True, eq=False)
class ScoredBatch:
    """A ranked batch: the columns of each query, best first, and their scores by column.

    `weights` and `classes` are the queries'. `likeness` has the feedback's weight and the cosines
    by column, by index of the queries that have feedback; `rerankings` are the
    reranker's, likewise; `lowered` what `put_behind` took off the scores of columns, likewise.
    """

    batch: Batch
    profile: Profile
    weights: tuple[Weights, ...]
    classes: tuple[QueryClass, ...]
    order: Integers
    scores: Floats
    tiers: Integers
    likeness: dict[int, tuple[float, Floats]] = field(default_factory=dict)
    rerankings: dict[int, Rerank] = field(default_factory=dict)
    lowered: dict[int, dict[int, float]] = field(default_factory=dict)
    # The signals by query and by whether a candidate is in another language: a page explains
    # thirty.
    _shares: dict[tuple[int, bool], list[tuple[int, Signal, float]]] = field(
        default_factory=dict, init=False, repr=False
    )

    def columns(self, index: int) -> Integers:
        """The columns of one query's candidates, best first."""
        return self.order[index, : len(self.batch.prepared[index])]

    def candidate(self, index: int, column: int) -> Candidate:
        """A column's candidate as an object, with its prepared raw scores."""
        prepared = self.batch.prepared[index]
        row = int(prepared.rows[column])
        return prepared.candidates.candidate(row, prepared.raw[column].tolist())

    def explanation(self, index: int, column: int, candidate: Candidate) -> Explanation:
        """The explanation of a column's rank, from the numbers that ranked it; its `candidate`."""
        parts = self._contributions(index, column, candidate)
        matching = {
            part.signal
            for part in parts
            if part.normalised > 0 and (part.signal.traits.scores_all or (part.raw or 0) > 0)
        }
        root = combination(parts, matching, self.profile)
        root = with_boosts(root, candidate, self.classes[index], self.profile.boosts)
        weight, cosines = self.likeness.get(index, (0.0, None))
        if cosines is not None and not math.isnan(cosines[column]):
            root = with_feedback(root, float(cosines[column]), weight)
        if (reranking := self.rerankings.get(index)) is not None:
            root = with_reranker(root, reranking, column)
        if (loss := self.lowered.get(index, {}).get(column)) is not None:
            root = Combination(BEHIND, Operation.SUM, (root, Leaf(BEHIND, -loss)))
        note = FOREIGN_NOTE if self.batch.foreign[index, column] else ""
        return Explanation(parts, tier(int(self.tiers[index, column]), candidate), root, note)

    def _contributions(
        self, index: int, column: int, candidate: Candidate
    ) -> tuple[Contribution, ...]:
        normalised = self.batch.prepared[index].normalised[column].tolist()
        signals = self._signals(index, bool(self.batch.foreign[index, column]))
        return tuple(
            Contribution(signal, candidate.raw.get(signal), normalised[i], share)
            for i, signal, share in signals
        )

    def _signals(self, index: int, is_foreign: bool) -> Sequence[tuple[int, Signal, float]]:
        """The signals in the scores of one query, with their places and their shares."""
        if (rows := self._shares.get((index, is_foreign))) is not None:
            return rows
        prepared, weights = self.batch.prepared[index], self.weights[index]
        # No Weights: a sum of shares may exceed 1 in its last bit.
        shares = np.array([[weights.of(signal) for signal in SIGNALS]])
        if is_foreign:
            shares = meaning_alone(shares)
        share = dict(zip(SIGNALS, shares[0].tolist(), strict=True))
        ran = {signal for i, signal in enumerate(SIGNALS) if prepared.has_run[i]}
        weighted = {signal for signal in SIGNALS if share[signal] > 0}
        signals = displayed_signals(ran, weighted)
        rows = [(SIGNALS.index(signal), signal, share[signal]) for signal in signals]
        self._shares[index, is_foreign] = rows
        return rows


def score_batch(
    batch: Batch, weights: Sequence[Weights], classes: Sequence[QueryClass], profile: Profile
) -> ScoredBatch:
    """Each query's candidates, best first: by tier, then score, then keyword score, then chunk id.

    `weights` and `classes` are the queries', the rest is the profile's. With relevance feedback
    it ranks twice, and adds each candidate's similarity to the top of the first ranking.
    """
    shares = np.array([[each.of(signal) for signal in SIGNALS] for each in weights])
    shares = shares.reshape(len(weights), len(SIGNALS))
    scores = combined(batch.normalised, batch.matches, shares, profile, batch.foreign)
    scores = boosted(scores, batch.counts, classes, profile.boosts)
    tiers = batch.tiers
    if profile.both_first:
        tiers = np.where((tiers == PLAIN) & ~both_match(batch.matches), SECOND, tiers)
    order = _order(batch, scores, tiers)
    if any(each.is_pinned for each in batch.prepared):
        tiers = _pinned(batch, order, tiers)
        order = _order(batch, scores, tiers)
    alike = _alike(batch, order, scores, shares, profile) if profile.feedback else {}
    if alike:
        scores = scores.copy()
        for index, (weight, cosines) in alike.items():
            scores[index, : len(cosines)] += np.where(np.isnan(cosines), 0.0, weight * cosines)
        order = _order(batch, scores, tiers)
    return ScoredBatch(batch, profile, tuple(weights), tuple(classes), order, scores, tiers, alike)


def with_rerank(ranked: ScoredBatch, heads: Mapping[int, Sequence[int]]) -> ScoredBatch:
    """The rankings with the reranker's share of the scores, by the profile's `rerank`.

    `heads` are the first columns of each query, in order. A query of which the reranker has read
    nothing keeps its ranking. Equal scores keep their order.
    """
    share = ranked.profile.rerank
    order, scores, rerankings = ranked.order.copy(), ranked.scores.copy(), {}
    for index, head in heads.items():
        columns, prepared = ranked.columns(index), ranked.batch.prepared[index]
        before = scores[index, : len(prepared)]
        reranking = rerank_of(before, prepared.reranked, head, share)
        if reranking is None:
            continue
        after = reranking.applied_to(before)
        order[index, : len(prepared)] = ordered(columns, after, ranked.tiers[index])
        scores[index, : len(prepared)] = after
        rerankings[index] = reranking
    return (
        replace(ranked, order=order, scores=scores, rerankings=rerankings) if rerankings else ranked
    )


def ordered(columns: Integers, scores: Floats, tiers: Integers) -> Integers:
    """One query's columns by tier, then score; equal ones keep their order."""
    by_score = columns[np.argsort(-np.round(scores[columns], SCORE_DIGITS), kind="stable")]
    return by_score[np.argsort(tiers[by_score], kind="stable")]


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
    for index, each in enumerate(batch.prepared):
        if each.is_pinned:
            count = len(each)
            tiers[index, :count] = with_pins(
                tiers[index, :count], each.pins, each.documents, order[index, :count]
            )
    return tiers


def _alike(
    batch: Batch, order: Integers, scores: Floats, shares: Floats, profile: Profile
) -> dict[int, tuple[float, Floats]]:
    """The weight of relevance feedback and each column's mean cosine, by query.

    Only queries with a vector weight have them.
    """
    likenesses = {}
    for index in np.flatnonzero(shares[:, VECTOR]).tolist():
        each = batch.prepared[index]
        cosines = likeness(each, order[index, : len(each)])
        if cosines is not None:
            best = float(scores[index, : len(each)].max())
            likenesses[index] = (profile.feedback * best, cosines)
    return likenesses
