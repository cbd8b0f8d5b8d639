"""Judged queries -> better weights, with their gain on held-out queries. No database access.

For each query class, or for all of them where they have the same weights, SciPy's DIRECT (Jones,
Perttunen & Stuckman 1993) searches all shares of the signals, once for each lean of short
questions. It is deterministic and needs no gradient, which a ranking does
not have; and as it begins with the same weights every time, the folds share most measurements. The
reported gain is always that on held-out queries: k-fold, by query.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from django.utils.translation import gettext

from search.domain import (
    NORMALISED,
    Booleans,
    Floats,
    Integers,
    Profile,
    QueryClass,
    Signal,
    Weights,
)
from search.errors import SearchError
from search.tuning.evaluation.measures import LEADING, Interval, Progress, interval
from search.tuning.evaluation.whatif import WhatIf

Shares = tuple[int, ...]
"""The signals' shares in steps of 1 / STEPS; they sum to STEPS."""
ClassShares = dict[QueryClass, Shares | None]

STEPS = 50  # shares of 2%: rankings nearer than that seldom differ (a guess)
FOLDS = 5  # Hastie, Tibshirani & Friedman 2009, 7.10: five or ten
SEED = 1  # deals the queries to the folds: the same seed, the same result
EVALUATIONS = 100  # of DIRECT, per fit; more led to the same weights on the judged collections
# With fewer queries in a class, the best weights are chance: a guess.
ENOUGH = 10
# The least gain that justifies a complete change of weights: of equals the nearest wins.
PULL = 0.002
# The leans of short questions that are tried besides the present one (ADR 113): none, half of the
# shipped one, all of it.
LEANS = (0.0, 0.4, 0.8)


@dataclass(frozen=True, slots=True)
class ClassResult:
    """The result for one class. `weights` are the present ones if nothing is better.

    `gain` is on held-out queries; None for a class with too few of them.
    """

    query_class: QueryClass
    queries: int
    weights: Weights
    gain: Interval | None = None


@dataclass(frozen=True, slots=True)
class Optimised:
    """The best weights over all queries, and the gain of such weights on held-out queries.

    `profile` is the given one with them. `measured` is LEADING's mean before; `fitted` that of
    `profile` on the queries it was fitted to, which overestimates it. `differences` are the gains
    of the held-out queries, by query key.
    """

    profile: Profile
    queries: int
    measured: float
    fitted: float
    gain: Interval
    by_class: tuple[ClassResult, ...]
    differences: Mapping[str, float] = field(default_factory=dict, repr=False)

    @property
    def is_reliable(self) -> bool:
        """True when the interval of the gain lies above 0."""
        return self.gain.low > 0


class NothingToLearn(SearchError):
    """Too few queries are judged, or no class has weights to optimise; the message says which."""


def optimise(
    cases: WhatIf, profile: Profile, progress: Progress = lambda done, of: None
) -> Optimised:
    """The best weights for the profile, by class, with their lean.

    `progress` gets the number of steps done and their total; an exception from it ends the search.
    Raises NothingToLearn.
    """
    return _Search(cases, profile, progress).run()


class _Search:
    """One search for weights. Every weighting is measured once and cached."""

    def __init__(self, cases: WhatIf, profile: Profile, progress: Progress) -> None:
        self.cases, self.profile = cases, profile
        self.signals = _signals(profile)
        self.places = _places(cases, profile)
        self.learned = _learned(self.places)
        self.leans = list(dict.fromkeys((profile.short_lean, *LEANS)))
        self._measured: dict[tuple[QueryClass, float, Shares | None], Floats] = {}
        self._progress, self._done = progress, 0
        self._work = (FOLDS + 1) * len(self.leans) * len(self.places)

    def run(self) -> Optimised:
        folds = {
            each: _deal(len(places), SEED + number)
            for number, (each, places) in enumerate(self.places.items())
        }
        aside = {each: np.zeros(len(places)) for each, places in self.places.items()}
        for fold in range(FOLDS):
            training = {each: dealt != fold for each, dealt in folds.items()}
            lean, weights = self._fit(training)
            for each, shares in weights.items():
                held_out = ~training[each]
                aside[each][held_out] = self._measure(each, lean, shares)[held_out]
        every = {each: np.ones(len(places), np.bool_) for each, places in self.places.items()}
        return self._outcome(*self._fit(every), aside)

    def _fit(self, training: Mapping[QueryClass, Booleans]) -> tuple[float, ClassShares]:
        """The best lean, and the best weights with it, in training."""
        best: tuple[float, float, ClassShares] | None = None
        for lean in self.leans:
            weights: ClassShares = {}
            total = 0.0
            for each, chosen in training.items():
                weights[each] = self._fit_class(each, lean, chosen)
                gained = self._measure(each, lean, weights[each]) - self._present(each)
                total += float(gained[chosen].sum())
                self._done += 1
                self._progress(self._done, self._work)
            if best is None or total > best[0]:
                best = total, lean, weights
        assert best is not None
        return best[1], best[2]

    def _fit_class(self, query_class: QueryClass, lean: float, chosen: Booleans) -> Shares | None:
        """The best weights for the chosen queries; None if the present ones are as good.

        A class with too few queries keeps its weights; it only counts in the choice of the lean.
        """
        if query_class not in self.learned or not chosen.any():
            return None
        # Imported when it is needed: it takes half a second, of every process.
        from scipy import optimize

        weights = self.profile.weights[query_class]
        total = sum(map(weights.of, self.signals)) or 1.0
        present = _whole([weights.of(signal) / total for signal in self.signals])
        before = self._measure(query_class, lean, None)[chosen]

        def loss(place: Floats) -> float:
            shares = _simplex(place)
            gained = (self._measure(query_class, lean, shares)[chosen] - before).mean()
            distance = sum(abs(a - b) for a, b in zip(shares, present, strict=True)) / (2 * STEPS)
            return float(PULL * distance - gained)

        bounds = [(0.0, 1.0)] * (len(self.signals) - 1)
        optimum = optimize.direct(loss, bounds, maxfun=EVALUATIONS, maxiter=EVALUATIONS)
        return _simplex(optimum.x) if optimum.fun < 0 else None

    def _present(self, query_class: QueryClass) -> Floats:
        """The measure of the class's queries under the profile as it is."""
        return self._measure(query_class, self.profile.short_lean, None)

    def _measure(self, query_class: QueryClass, lean: float, shares: Shares | None) -> Floats:
        """The measure of the class's queries under these weights; None: the present ones."""
        key = (query_class, lean, shares)
        if key not in self._measured:
            by_class = dict(self.profile.weights)
            if shares is not None:
                changed = self.profile.classes_with(query_class)
                by_class |= dict.fromkeys(changed, _weights(shares, self.signals))
            # Without a threshold no confidence is computed, which nobody reads here.
            profile = replace(
                self.profile, weights=by_class, short_lean=lean, confidence_threshold=0.0
            )
            outcome = self.cases.under(profile, self.places[query_class])
            self._measured[key] = outcome.values[LEADING]
        return self._measured[key]

    def _outcome(
        self, lean: float, weights: ClassShares, aside: Mapping[QueryClass, Floats]
    ) -> Optimised:
        present = {each: self._present(each) for each in self.places}
        gains = {each: aside[each] - present[each] for each in self.places}
        # A class without a held-out gain keeps its weights: its training gain is chance.
        weights = {
            each: shares if gains[each].mean() > 0 else None for each, shares in weights.items()
        }
        results = tuple(
            ClassResult(
                each,
                len(self.places[each]),
                self.profile.weights[each] if shares is None else _weights(shares, self.signals),
                interval(gains[each]) if each in self.learned else None,
            )
            for each, shares in weights.items()
        )
        by_class = dict(self.profile.weights)
        for each in results:
            by_class |= dict.fromkeys(self.profile.classes_with(each.query_class), each.weights)
        fitted = [self._measure(each, lean, weights[each]) for each in self.places]
        every = np.concatenate(list(gains.values()))
        keys = [self.cases.cases[i].key for places in self.places.values() for i in places]
        return Optimised(
            profile=replace(self.profile, weights=by_class, short_lean=lean),
            queries=len(keys),
            measured=float(np.concatenate(list(present.values())).mean()),
            fitted=float(np.concatenate(fitted).mean()),
            gain=interval(every),
            by_class=results,
            differences=dict(zip(keys, every.tolist(), strict=True)),
        )


def _signals(profile: Profile) -> tuple[Signal, ...]:
    return tuple(
        signal
        for signal in Signal
        if signal in NORMALISED or any(weights.of(signal) for weights in profile.weights.values())
    )


def _places(cases: WhatIf, profile: Profile) -> dict[QueryClass, tuple[int, ...]]:
    """The indices of each class's queries that have a relevant document.

    All are those of the general class if the classes have the same weights.
    """
    places = defaultdict(list)
    for place, classification in enumerate(cases.classes(profile)):
        # Class weights have no effect on queries that the classifier itself gives weights.
        if classification.weights is None and cases.cases[place].answers:
            general = profile.is_uniform
            places[QueryClass.GENERAL if general else classification.query_class].append(place)
    return {each: tuple(places[each]) for each in QueryClass if each in places}


def _learned(places: Mapping[QueryClass, Sequence[int]]) -> frozenset[QueryClass]:
    """The classes with enough queries to learn weights from. Raises NothingToLearn."""
    counts = {each: len(of) for each, of in places.items()}
    enough = frozenset(each for each, count in counts.items() if count >= ENOUGH)
    if not enough:
        raise NothingToLearn(
            gettext(
                "No query class has %(enough)s judged golden queries (at most %(max)s). "
                "Judge more results, or import judgements."
            )
            % {"enough": ENOUGH, "max": max(counts.values(), default=0)}
        )
    return enough


def _deal(count: int, seed: int) -> Integers:
    """The fold of each of `count` queries, as even as possible."""
    dealt = np.arange(count) % FOLDS
    return np.random.default_rng(seed).permutation(dealt)


def _simplex(place: Floats) -> Shares:
    """A point of the unit cube as shares: each coordinate takes its part of the remainder."""
    shares, remaining = [], 1.0
    for part in place:
        shares.append(remaining * float(part))
        remaining -= shares[-1]
    return _whole([*shares, remaining])


def _whole(shares: Sequence[float]) -> Shares:
    """The shares as whole steps, by the largest remainders, so that they still sum to 1."""
    floors = [math.floor(share * STEPS) for share in shares]
    by_remainder = sorted(range(len(shares)), key=lambda i: floors[i] - shares[i] * STEPS)
    for i in by_remainder[: STEPS - sum(floors)]:
        floors[i] += 1
    return tuple(floors)


def _weights(shares: Shares, signals: Sequence[Signal]) -> Weights:
    by_name = {signal.value: share / STEPS for signal, share in zip(signals, shares, strict=True)}
    # The signals that have a default share get 0 if they are left out.
    return Weights(**({signal.value: 0.0 for signal in NORMALISED} | by_name))
