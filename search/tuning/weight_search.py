"""Judged queries -> better weights, with their gain on held-out queries. No database access.

SciPy's DIRECT (Jones, Perttunen & Stuckman 1993) searches all shares of the signals, once for each
lean of short questions. It is deterministic and needs no gradient, which a ranking does not have;
and as it begins with the same weights every time, the folds share most measurements. The reported
gain is always that on held-out queries: k-fold, by query.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from django.utils.translation import gettext

from search.domain import (
    NORMALISED,
    Booleans,
    Floats,
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

STEPS = 50  # shares of 2%: rankings nearer than that seldom differ (a guess)
FOLDS = 5  # Hastie, Tibshirani & Friedman 2009, 7.10: five or ten
SEED = 1  # deals the queries to the folds: the same seed, the same result
EVALUATIONS = 100  # of DIRECT, per fit; more led to the same weights on the judged collections
# With fewer queries the best weights are chance: a guess.
ENOUGH = 10
# The least gain that justifies a complete change of weights: of equals the nearest wins.
PULL = 0.002
# The leans of short questions that are tried besides the present one (ADR 113): none, half of the
# shipped one, all of it.
LEANS = (0.0, 0.4, 0.8)


@dataclass(frozen=True, slots=True)
class Optimised:
    """The best weights of all questions, and the gain of such weights on held-out queries.

    `profile` is the given one with them, or with its own if nothing is better. `measured` is
    LEADING's mean before; `fitted` that of `profile` on the queries it was fitted to, which
    overestimates it. `differences` are the gains of the held-out queries, by query key.
    """

    profile: Profile
    queries: int
    measured: float
    fitted: float
    gain: Interval
    differences: Mapping[str, float] = field(default_factory=dict, repr=False)

    @property
    def is_reliable(self) -> bool:
        """True when the interval of the gain lies above 0."""
        return self.gain.low > 0


class NothingToLearn(SearchError):
    """Too few queries are judged."""


def optimise(
    cases: WhatIf, profile: Profile, progress: Progress = lambda done, of: None
) -> Optimised:
    """The best weights for the profile, the same for all classes of questions, with their lean.

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
        self.leans = list(dict.fromkeys((profile.short_lean, *LEANS)))
        self._measured: dict[tuple[float, Shares | None], Floats] = {}
        self._progress, self._done = progress, 0

    def run(self) -> Optimised:
        folds = np.arange(len(self.places)) % FOLDS
        dealt = np.random.default_rng(SEED).permutation(folds)
        aside = np.zeros(len(self.places))
        for fold in range(FOLDS):
            held_out = dealt == fold
            aside[held_out] = self._measure(*self._fit(~held_out))[held_out]
        lean, shares = self._fit(np.ones(len(self.places), np.bool_))
        present = self._measure(self.profile.short_lean, None)
        gains = aside - present
        if gains.mean() <= 0:  # a gain in training alone is chance
            shares = None
        keys = [self.cases.cases[place].key for place in self.places]
        return Optimised(
            profile=self._weighed(lean, shares),
            queries=len(keys),
            measured=float(present.mean()),
            fitted=float(self._measure(lean, shares).mean()),
            gain=interval(gains),
            differences=dict(zip(keys, gains.tolist(), strict=True)),
        )

    def _fit(self, chosen: Booleans) -> tuple[float, Shares | None]:
        """The best lean for the chosen queries, and the best weights with it."""
        best: tuple[float, float, Shares | None] | None = None
        for lean in self.leans:
            shares = self._fit_weights(lean, chosen)
            total = float(self._measure(lean, shares)[chosen].sum())
            self._done += 1
            self._progress(self._done, (FOLDS + 1) * len(self.leans))
            if best is None or total > best[0]:
                best = total, lean, shares
        assert best is not None
        return best[1], best[2]

    def _fit_weights(self, lean: float, chosen: Booleans) -> Shares | None:
        """The best weights for the chosen queries; None if the present ones are as good."""
        # Imported when it is needed: it takes half a second, of every process.
        from scipy import optimize

        weights = self.profile.weights[QueryClass.GENERAL]
        total = sum(map(weights.of, self.signals)) or 1.0
        present = _whole([weights.of(signal) / total for signal in self.signals])
        before = self._measure(lean, None)[chosen]

        def loss(place: Floats) -> float:
            shares = _simplex(place)
            gained = (self._measure(lean, shares)[chosen] - before).mean()
            distance = sum(abs(a - b) for a, b in zip(shares, present, strict=True)) / (2 * STEPS)
            return float(PULL * distance - gained)

        bounds = [(0.0, 1.0)] * (len(self.signals) - 1)
        optimum = optimize.direct(loss, bounds, maxfun=EVALUATIONS, maxiter=EVALUATIONS)
        return _simplex(optimum.x) if optimum.fun < 0 else None

    def _measure(self, lean: float, shares: Shares | None) -> Floats:
        """The measure of the queries under these weights; None: the present ones."""
        key = (lean, shares)
        if key not in self._measured:
            # Without a threshold no confidence is computed, which nobody reads here.
            profile = replace(self._weighed(lean, shares), confidence_threshold=0.0)
            self._measured[key] = self.cases.under(profile, self.places).values[LEADING]
        return self._measured[key]

    def _weighed(self, lean: float, shares: Shares | None) -> Profile:
        profile = replace(self.profile, short_lean=lean)
        if shares is None:
            return profile
        weights = _weights(shares, self.signals)
        return replace(profile, weights=dict.fromkeys(profile.weights, weights))


def _signals(profile: Profile) -> tuple[Signal, ...]:
    return tuple(
        signal
        for signal in Signal
        if signal in NORMALISED or any(weights.of(signal) for weights in profile.weights.values())
    )


def _places(cases: WhatIf, profile: Profile) -> tuple[int, ...]:
    """The indices of the queries that have a relevant document. Raises NothingToLearn."""
    places = tuple(
        place
        for place, classification in enumerate(cases.classes(profile))
        # The profile's weights have no effect on queries that the classifier itself gives weights.
        if classification.weights is None and cases.cases[place].answers
    )
    if len(places) < ENOUGH:
        text = gettext(
            "%(enough)s golden queries with an answer are needed; there are %(count)s. Judge more "
            "results, or import judgements."
        )
        raise NothingToLearn(text % {"enough": ENOUGH, "count": len(places)})
    return places


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
