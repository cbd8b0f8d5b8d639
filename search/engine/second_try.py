"""Q4-Q6 in one: candidates -> the ranking that is shown, tried again where it is unsure (S4-32)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingestion.lexical import signatures
from search.domain import Candidate, Hit, Profile, Query, TermStatistic, Weights
from search.ranking import RankingOptions, rank
from search.ranking.confidence import Calibration, confidence, shifted
from search.ranking.grouping import Group, grouped


@dataclass(frozen=True, slots=True)
class SecondTry:
    """What stood before a second ranking under other weights took its place."""

    weights_before: Weights
    confidence_before: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """All hits, the same as what a page is cut from, under which weights, and how sure it is."""

    weights: Weights
    hits: tuple[Hit, ...]
    groups: tuple[Group, ...]
    confidence: float | None = None
    second_try: SecondTry | None = None


def ranked(
    candidates: Sequence[Candidate],
    weights: Weights,
    options: RankingOptions,
    *,
    group: bool = True,
) -> Ranking:
    """The whole ranking; with `group` each document has one place, and so have near-duplicates."""
    hits = rank(candidates, weights, options)
    if group:
        groups = grouped(hits, max_distance=signatures.MAX_DISTANCE)
    else:
        groups = tuple(map(Group, hits))
    return Ranking(weights, hits, groups)


def surest(
    query: Query,
    candidates: Sequence[Candidate],
    terms: Sequence[TermStatistic],
    weights: Weights,
    profile: Profile,
    options: RankingOptions,
    calibration: Calibration | None,
    *,
    group: bool,
    by_meaning: bool = True,
    may_shift: bool = True,
) -> Ranking:
    """The ranking under `weights`; below the profile's threshold, under shifted ones if surer.

    Without `by_meaning` the vectors say nothing of how sure it is. The second ranking is of the
    same candidates. A third, the other way, was measured too: to choose among more rankings by
    confidence made them worse (docs/adr/0017-confidence.md).
    """

    def under(chosen: Weights) -> Ranking:
        ranking = ranked(candidates, chosen, options, group=group)
        leading = [each.best for each in ranking.groups]
        sure = confidence(
            leading,
            query,
            terms,
            calibration,
            scorer=profile.keyword_scorer,
            by_meaning=by_meaning,
        )
        return replace(ranking, confidence=sure)

    first = under(weights)
    again = shifted(weights) if may_shift else None
    if again is None or first.confidence is None or not is_low(first.confidence, profile):
        return first
    second = under(again)
    if second.confidence is None or second.confidence <= first.confidence:
        return first
    return replace(second, second_try=SecondTry(weights, first.confidence))


def is_low(sure: float | None, profile: Profile) -> bool:
    """Whether a confidence is below the profile's threshold; one not known is not."""
    return sure is not None and sure < profile.confidence_threshold
