"""Anytime-valid inference: confidence sequences and e-values. Pure.

A fixed-size test that is repeated during data collection eventually reports a difference where
there is none. These tests are valid at all interim analyses together: without a difference, the
probability that any analysis ever reports one is below alpha.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

ALPHA = 0.05
# The sequence is tightest near this many units; elsewhere it is slightly wider, and still valid.
TIGHTEST_AT = 500
# Below this many units the normal approximation is poor (a rule of thumb).
AT_LEAST = 50


class Verdict(StrEnum):
    """The verdict of an interim analysis."""

    A = "a"
    B = "b"
    NO_DIFFERENCE = "no_difference"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Difference:
    """B minus A, in the units of the outcome, with an interval valid at every analysis.

    `units` are the visitors. Without enough of them `low` and `high` are infinite.
    """

    mean: float
    low: float
    high: float
    units: int

    @property
    def is_clear(self) -> bool:
        return self.low > 0 or self.high < 0


def difference_of_means(a: Sequence[float], b: Sequence[float], alpha: float = ALPHA) -> Difference:
    """The mean outcome of arm B minus that of A, one outcome per visitor; arms by a fair coin.

    The asymptotic confidence sequence of Waudby-Smith et al. 2021 (Annals of Statistics 2024,
    theorem 2.2) over the inverse-probability outcomes 2y for B and -2y for A, centred on their
    overall mean, which keeps their mean and removes most of their spread.
    """
    count = len(a) + len(b)
    if not a or not b:
        return Difference(0.0, -math.inf, math.inf, count)
    centre = float(np.mean([*a, *b]))
    outcomes = np.array([*(-2 * (y - centre) for y in a), *(2 * (y - centre) for y in b)])
    mean, spread = float(outcomes.mean()), float(outcomes.std())
    if min(len(a), len(b)) < AT_LEAST:
        return Difference(mean, -math.inf, math.inf, count)
    width = spread * half_width(count, alpha)
    return Difference(mean, mean - width, mean + width, count)


def half_width(count: int, alpha: float = ALPHA) -> float:
    """Half the width of the confidence sequence after `count` units of spread 1."""
    # The square of their rho: the width is least near TIGHTEST_AT (their equation 56, restated).
    rho2 = (2 * math.log(1 / alpha) + math.log(1 + 2 * math.log(1 / alpha))) / TIGHTEST_AT
    grown = count * rho2 + 1
    return math.sqrt(2 * grown / (count**2 * rho2) * math.log(math.sqrt(grown) / alpha))


def e_value(wins: int, losses: int) -> float:
    """Evidence against equal preference: under it, ever exceeding 1/alpha has a chance below alpha.

    Valid at any number of analyses (Ville 1939). The likelihood of the preferences under a uniform
    prior on [0, 1] divided by that under one half: 2^n B(w + 1, l + 1) (Robbins 1970).
    """
    n = wins + losses
    log_beta = math.lgamma(wins + 1) + math.lgamma(losses + 1) - math.lgamma(n + 2)
    exponent = n * math.log(2) + log_beta
    return math.exp(min(exponent, 700.0))


def share_interval(wins: int, losses: int, alpha: float = ALPHA) -> tuple[float, float]:
    """The confidence interval of the share that prefers B: all shares with a small e-value.

    (0, 1) without preferences.
    """
    n = wins + losses
    if not n:
        return 0.0, 1.0
    log_mixture = math.lgamma(wins + 1) + math.lgamma(losses + 1) - math.lgamma(n + 2)
    shares = np.linspace(1e-6, 1 - 1e-6, 20_001)
    log_e = log_mixture - wins * np.log(shares) - losses * np.log1p(-shares)
    allowed = shares[log_e < math.log(1 / alpha)]
    return float(allowed[0]), float(allowed[-1])


def of_difference(found: Difference, indifference: float) -> Verdict:
    """The verdict of an A/B test; differences within ±`indifference` count as none."""
    if found.low > 0:
        return Verdict.B
    if found.high < 0:
        return Verdict.A
    if -indifference <= found.low and found.high <= indifference:
        return Verdict.NO_DIFFERENCE
    return Verdict.UNDECIDED


def of_preferences(wins: int, losses: int, indifference: float, alpha: float = ALPHA) -> Verdict:
    """The verdict of an interleaving; `wins` are B's. Within ½ ± `indifference` is no gain."""
    if e_value(wins, losses) >= 1 / alpha:
        return Verdict.B if wins > losses else Verdict.A
    low, high = share_interval(wins, losses, alpha)
    if low >= 0.5 - indifference and high <= 0.5 + indifference:
        return Verdict.NO_DIFFERENCE
    return Verdict.UNDECIDED
