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
from search.ranking.text_boosts import WISHED, boosted, with_boosts
from search.ranking.tiers import IDENTIFIER_FACTOR, PLAIN, SECOND, tier, with_identifier, with_pins

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

    def columns(self, place: int) -> Integers:
        """The columns of one query's candidates, best first."""
        return self.order[place, : len(self.batch.prepared[place])]

    def candidate(self, place: int, column: int) -> Candidate:
        """A column's candidate as an object, with its prepared raw scores."""
        prepared = self.batch.prepared[place]
        row = int(prepared.rows[column])
        return prepared.candidates.candidate(row, prepared.raw[column].tolist())

    def explanation(self, place: int, column: int) -> Explanation:
        """The explanation of a column's rank, from the numbers that ranked it."""
        prepared, candidate = self.batch.prepared[place], self.candidate(place, column)
        parts = self._contributions(place, column, candidate)
        matching = {
            part.signal
            for part in parts
            if part.normalised > 0 and (part.signal.traits.scores_all or (part.raw or 0) > 0)
        }
        root = combination(parts, matching, self.profile)
        boosts = (*self.profile.boosts, WISHED)
        root = with_boosts(root, candidate, self.classes[place], boosts)
        if candidate.identifier is not None and not prepared.leads:
            root = with_identifier(root, candidate.identifier)
        weight, cosines = self.likeness.get(place, (0.0, None))
        if cosines is not None and not math.isnan(cosines[column]):
            root = with_feedback(root, float(cosines[column]), weight)
        if (reranking := self.rerankings.get(place)) is not None:
            root = with_reranker(root, reranking, column)
        if (loss := self.lowered.get(place, {}).get(column)) is not None:
            root = Combination(BEHIND, Operation.SUM, (root, Leaf(BEHIND, -loss)))
        note = FOREIGN_NOTE if self.batch.foreign[place, column] else ""
        return Explanation(parts, tier(int(self.tiers[place, column]), candidate), root, note)

    def _contributions(
        self, place: int, column: int, candidate: Candidate
    ) -> tuple[Contribution, ...]:
        normalised = self.batch.prepared[place].normalised[column].tolist()
        signals = self._signals(place, bool(self.batch.foreign[place, column]))
        return tuple(
            Contribution(signal, candidate.raw.get(signal), normalised[i], share)
            for i, signal, share in signals
        )

    def _signals(self, place: int, is_foreign: bool) -> Sequence[tuple[int, Signal, float]]:
        """The signals in the scores of one query, with their places and their shares."""
        if (rows := self._shares.get((place, is_foreign))) is not None:
            return rows
        prepared, weights = self.batch.prepared[place], self.weights[place]
        # No Weights: a sum of shares may exceed 1 in its last bit.
        shares = np.array([[weights.of(signal) for signal in SIGNALS]])
        if is_foreign:
            shares = meaning_alone(shares)
        share = dict(zip(SIGNALS, shares[0].tolist(), strict=True))
        ran = {signal for i, signal in enumerate(SIGNALS) if prepared.has_run[i]}
        weighted = {signal for signal in SIGNALS if share[signal] > 0}
        signals = displayed_signals(ran, weighted)
        rows = [(SIGNALS.index(signal), signal, share[signal]) for signal in signals]
        self._shares[place, is_foreign] = rows
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
    scores = boosted(scores, batch.counts, classes, (*profile.boosts, WISHED))
    if batch.identified.any():
        scores = np.where(batch.identified, scores * IDENTIFIER_FACTOR, scores)
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
        for place, (weight, cosines) in alike.items():
            scores[place, : len(cosines)] += np.where(np.isnan(cosines), 0.0, weight * cosines)
        order = _order(batch, scores, tiers)
    return ScoredBatch(batch, profile, tuple(weights), tuple(classes), order, scores, tiers, alike)


def with_rerank(ranked: ScoredBatch, heads: Mapping[int, Sequence[int]]) -> ScoredBatch:
    """The rankings with the reranker's share of the scores, by the profile's `rerank`.

    `heads` are the first columns of each query, in order. A query of which the reranker has read
    nothing keeps its ranking. Equal scores keep their order.
    """
    share = ranked.profile.rerank
    order, scores, rerankings = ranked.order.copy(), ranked.scores.copy(), {}
    for place, head in heads.items():
        columns, prepared = ranked.columns(place), ranked.batch.prepared[place]
        before = scores[place, : len(prepared)]
        reranking = rerank_of(before, prepared.reranked, head, share)
        if reranking is None:
            continue
        after = reranking.applied_to(before)
        order[place, : len(prepared)] = ordered(columns, after, ranked.tiers[place])
        scores[place, : len(prepared)] = after
        rerankings[place] = reranking
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

    Only queries with a vector weight have them.
    """
    likenesses = {}
    for place in np.flatnonzero(shares[:, VECTOR]).tolist():
        each = batch.prepared[place]
        cosines = likeness(each, order[place, : len(each)])
        if cosines is not None:
            best = float(scores[place, : len(each)].max())
            likenesses[place] = (profile.feedback * best, cosines)
    return likenesses
