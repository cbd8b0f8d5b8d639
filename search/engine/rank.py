"""Q4-Q6: candidates -> the ranking shown, with a fallback ranking where confidence is low (ADR 17).

`rankings` ranks a batch of questions, without the database: the workbench's what-if, the gate's
figures and the optimiser rank the golden queries with it, and `ranking_of` a live search as a batch
of one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from django.utils import timezone
from django.utils.translation import gettext_lazy

from search.domain import (
    Candidate,
    Candidates,
    Explanation,
    Floats,
    Hit,
    Integers,
    Profile,
    Weights,
)
from search.engine.configuration import Configuration
from search.engine.settle import Settled, leaning, leaning_on_meaning
from search.ranking import Batch, Prepared, Ranked, prepare, rank
from search.ranking.confidence import confidence, shifted
from search.ranking.grouping import Group, grouped, leaders

FALLBACK_NOTE = gettext_lazy(
    "Ranked again with equal weights for meaning and keywords: the first ranking "
    "had a lower confidence."
)


@dataclass(frozen=True, slots=True)
class FallbackRanking:
    """The weights and confidence of the first ranking that a fallback ranking replaced."""

    weights_before: Weights
    confidence_before: float


@dataclass(frozen=True, eq=False)
class Rankings:
    """The rankings of a batch of questions under one profile.

    `settled` are the questions with their final weights. `confidence` is NaN where unknown or not
    requested. `fallbacks` are by index in the batch.
    """

    settled: tuple[Settled, ...]
    ranked: Ranked
    confidence: Floats
    fallbacks: dict[int, FallbackRanking] = field(default_factory=dict)


def rankings(
    batch: Batch,
    settled: Sequence[Settled],
    configured: Configuration,
    profile: Profile,
    *,
    group: bool = True,
    confident: bool | None = None,
) -> Rankings:
    """Each question's ranking under the profile, or a more confident fallback ranking.

    For a confidence below the profile's threshold the same candidates are ranked under shifted
    weights, too.

    `confident`: compute the confidences; by default only if the profile has a threshold. Without
    `group` hits are not grouped by document. A third ranking, shifted the other way, was measured:
    choosing among more rankings by confidence gave worse ones (docs/adr/0017-confidence.md).
    """
    leant = tuple(
        leaning(each, held.candidates, configured) if held.by_meaning else each
        for each, held in zip(settled, batch.prepared, strict=True)
    )
    # For a language that the model does not know, the vectors are no evidence of confidence.
    means = [
        held.by_meaning and before is after
        for held, before, after in zip(batch.prepared, settled, leant, strict=True)
    ]
    leant = tuple(
        leaning_on_meaning(each, held.candidates) if by_meaning else each
        for each, held, by_meaning in zip(leant, batch.prepared, means, strict=True)
    )
    ranked = _ranked(batch, leant, profile)
    if confident is None:
        confident = profile.confidence_threshold > 0
    unknown = np.full(len(settled), np.nan)
    sure = _sureness(ranked, configured, means, group) if confident else unknown
    first = Rankings(leant, ranked, sure)
    return _with_fallbacks(first, configured, profile, means, group)


def _ranked(batch: Batch, settled: Sequence[Settled], profile: Profile) -> Ranked:
    weights = [each.weights for each in settled]
    return rank(batch, weights, [each.classification.query_class for each in settled], profile)


def _sureness(
    ranked: Ranked, configured: Configuration, means: Sequence[bool], group: bool
) -> Floats:
    """The confidence of each ranking; NaN where unknown."""
    if configured.calibration is None:
        return np.full(len(means), np.nan)
    found = (
        confidence(
            held,
            shown_columns(held, ranked.columns(place), group=group),
            configured.calibration,
            scorer=ranked.profile.keyword_scorer,
            by_meaning=means[place],
        )
        for place, held in enumerate(ranked.batch.prepared)
    )
    return np.array([np.nan if each is None else each for each in found])


def shown_columns(prepared: Prepared, order: Integers, *, group: bool) -> list[int]:
    """The columns shown as results, in ranking order: one per group, or every one."""
    if group:
        return leaders(prepared, order)
    every: list[int] = order.tolist()
    return every


def _with_fallbacks(
    first: Rankings,
    configured: Configuration,
    profile: Profile,
    means: Sequence[bool],
    group: bool,
) -> Rankings:
    """The rankings, those below the threshold replaced by more confident fallback rankings."""
    others = {
        place: weights
        for place in np.flatnonzero(first.confidence < profile.confidence_threshold).tolist()
        if means[place]
        and "weights" not in first.settled[place].forced
        and (weights := shifted(first.settled[place].weights)) is not None
    }
    if not others:
        return first
    places = list(others)
    part = first.ranked.batch.only(places)
    again = [first.settled[place].weighed(others[place], str(FALLBACK_NOTE)) for place in places]
    second = _ranked(part, again, profile)
    sure = _sureness(second, configured, [means[place] for place in places], group)
    surer = [i for i, place in enumerate(places) if sure[i] > first.confidence[place]]
    if not surer:
        return first
    settled, known, fallbacks = list(first.settled), first.confidence.copy(), {}
    for i in surer:
        place = places[i]
        fallbacks[place] = FallbackRanking(settled[place].weights, float(known[place]))
        settled[place], known[place] = again[i], sure[i]
    chosen = [places[i] for i in surer]
    ranked = first.ranked.replaced(chosen, second, surer)
    return Rankings(tuple(settled), ranked, known, fallbacks)


@dataclass(frozen=True, eq=False)
class Ranking:
    """One question's whole ranking: all hits, the same hits grouped for paging, the confidence.

    `settled` has the weights of the ranking.
    """

    settled: Settled
    candidates: Candidates
    hits: tuple[Hit, ...] = field(default=(), repr=False)
    groups: tuple[Group[Hit], ...] = field(default=(), repr=False)
    confidence: float | None = None
    fallback: FallbackRanking | None = None

    @property
    def documents(self) -> list[int]:
        """The distinct documents, in the order of their best hits."""
        return list(dict.fromkeys(hit.document_id for hit in self.hits))


def ranking_of(
    candidates: Candidates, settled: Settled, configured: Configuration, *, group: bool = True
) -> Ranking:
    """The ranking of a question's candidates, without the database.

    A wide candidate set is first reduced to that of a search under the profile. With `group` each
    document appears once, and near-duplicates are folded.
    """
    prepared = prepare(candidates, settled.profile, settled.signals, timezone.now())
    found = rankings(
        Batch.of([prepared]), [settled], configured, settled.profile, group=group, confident=True
    )
    hits = hits_of(found.ranked)
    order = found.ranked.columns(0)
    by_column = dict(zip(order.tolist(), hits, strict=True))
    if group:
        groups = tuple(_of_hits(each, by_column) for each in grouped(prepared, order))
    else:
        groups = tuple(map(Group, hits))
    sure = float(found.confidence[0])
    return Ranking(
        found.settled[0],
        candidates,
        hits,
        groups,
        None if math.isnan(sure) else sure,
        found.fallbacks.get(0),
    )


def hits_of(ranked: Ranked, place: int = 0) -> tuple[Hit, ...]:
    """One query's hits, best first, with lazy explanations."""
    prepared, order = ranked.batch.prepared[place], ranked.columns(place)
    source = _Source(ranked, place)
    rows = prepared.candidates.rows[prepared.rows[order]]
    columns = (rows["chunk"].tolist(), rows["document"].tolist(), order.tolist())
    return tuple(
        Hit(chunk, document, at, source, column)
        for at, (chunk, document, column) in enumerate(zip(*columns, strict=True), start=1)
    )


def _of_hits(group: Group[int], hits: dict[int, Hit]) -> Group[Hit]:
    folded, copies = map(hits.__getitem__, group.folded), map(hits.__getitem__, group.copies)
    return Group(hits[group.best], tuple(folded), tuple(copies))


@dataclass(slots=True, eq=False)
class _Source:
    """One query of a ranked batch, as the source of its hits; caches their explanations."""

    ranked: Ranked
    place: int
    _candidates: dict[int, Candidate] = field(default_factory=dict)
    _explanations: dict[int, Explanation] = field(default_factory=dict)

    def candidate(self, column: int) -> Candidate:
        if column not in self._candidates:
            self._candidates[column] = self.ranked.candidate(self.place, column)
        return self._candidates[column]

    def explanation(self, column: int) -> Explanation:
        if column not in self._explanations:
            self._explanations[column] = self.ranked.explanation(self.place, column)
        return self._explanations[column]


def is_low(sure: float | None, profile: Profile) -> bool:
    """Whether a confidence is below the profile's threshold; False if unknown."""
    return sure is not None and sure < profile.confidence_threshold
