"""Q3: a question -> what was found for it: all that a ranking is made of, whatever the weights.

A search finds what its profile looks for. A *wide* find looks further, and keeps what brought
each candidate; `as_found_by` tells from it what a search under any one profile would have found.
So the workbench ranks again without searching again (docs/adr/0025-pools-and-what-if.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from django.utils import timezone

from search.domain import Boost, Candidate, Profile, Query, Signal, TermStatistic
from search.query.language import Reading
from search.ranking.boosts import sought
from search.retrieval.identifier import MAX_HOLDERS
from search.retrieval.statement import HOLDERS, PINNED, Places

# A wide find brings recency by this half-life in days, from which any other's follows exactly.
WIDE_HALF_LIFE = 36_500


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for a query. Nothing in it depends on how it will be ranked.

    `by_meaning`: the vector signal ran. `degraded` names the signals that could not. `places` are
    the candidates' in a wide find, in their order; empty otherwise. `at` is when it was found.
    `hidden` are the documents that administrators hide from the query.
    """

    query: Query
    candidates: tuple[Candidate, ...] = field(default=(), repr=False)
    terms: tuple[TermStatistic, ...] = ()
    unknown: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()
    by_meaning: bool = False
    degraded: tuple[Signal, ...] = ()
    places: tuple[Places, ...] = field(default=(), repr=False)
    at: datetime | None = None
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    hidden: frozenset[int] = frozenset()

    @property
    def is_wide(self) -> bool:
        return bool(self.places)


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a search looks: so many candidates a signal, and the signals that run."""

    depth: int
    signals: frozenset[Signal]

    def brings(self, places: Places) -> bool:
        """Whether what brought a candidate to a wide find brings it to this search too."""
        return any(place <= self.limit(finder) for finder, place in places.items())

    def limit(self, finder: str) -> float:
        """The last place of a finder that this search still takes."""
        if finder == HOLDERS:
            return max(self.depth, MAX_HOLDERS)
        if finder == PINNED:
            return math.inf
        return self.depth if Signal(finder) in self.signals else 0


def as_found_by(found: Found, profile: Profile, signals: frozenset[Signal]) -> Found:
    """What a search under the profile finds in which these signals run.

    What is not a wide find is that already.
    """
    if not found.is_wide:
        return found
    bounds = Reach(profile.depth, signals)
    by_meaning = found.by_meaning and Signal.VECTOR in signals
    fade = recency_of(found, profile)
    kept = tuple(
        _narrowed(candidate, profile.boosts, bounds, by_meaning, fade)
        for candidate, places in zip(found.candidates, found.places, strict=True)
        if bounds.brings(places)
    )
    return replace(found, candidates=kept, by_meaning=by_meaning, places=())


@dataclass(frozen=True, slots=True)
class Fade:
    """How the recency of a wide find becomes a profile's, as of now."""

    days_since: float
    half_life: float

    def of(self, wide: float) -> float:
        """The recency by the profile's half-life of what a wide find calls so recent."""
        days = -math.log2(wide) * WIDE_HALF_LIFE + self.days_since
        return float(0.5 ** (days / self.half_life))


def recency_of(found: Found, profile: Profile) -> Fade:
    """How this find's recency becomes the profile's."""
    since = timezone.now() - found.at if found.at else timedelta(0)
    return Fade(since / timedelta(days=1), profile.recency_half_life)


def by_what_they_seek(boosts: Sequence[Boost]) -> tuple[Boost, ...]:
    """The boosts under names for what they look for, each once: what a wide find counts."""
    named = {sought(boost): boost for boost in boosts}
    return tuple(replace(boost, name=name, query_class=None) for name, boost in named.items())


def _narrowed(
    candidate: Candidate, boosts: Sequence[Boost], bounds: Reach, by_meaning: bool, fade: Fade
) -> Candidate:
    raw = {signal: score for signal, score in candidate.raw.items() if signal in bounds.signals}
    if Signal.RECENCY in raw:
        raw[Signal.RECENCY] = fade.of(raw[Signal.RECENCY])
    counts = {boost.name: candidate.boosts.get(sought(boost), 0) for boost in boosts}
    return replace(
        candidate,
        raw=raw,
        boosts={name: count for name, count in counts.items() if count},
        embedding=candidate.embedding if by_meaning else None,
    )
