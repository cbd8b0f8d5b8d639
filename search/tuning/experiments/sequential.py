"""Significance that may be looked at every day: confidence sequences and e-values. Pure.

A fixed-size test that is looked at again and again finds a difference in the end where there is
none. What stands here holds at every look at once: with no difference, the chance that it ever
says there is one stays below alpha.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

ALPHA = 0.05
# The sequence is tightest about this many units; elsewhere it is a little wider, never wrong.
TIGHTEST_AT = 500
# Below so many units the normal approximation says little (a rule of thumb).
AT_LEAST = 50


class Verdict(StrEnum):
    """What an experiment has told so far."""

    A = "a"
    B = "b"
    NO_DIFFERENCE = "no_difference"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Difference:
    """B less A, in the units of the outcome, with an interval that holds at every look.

    `units` are visitors or searches. Without enough of them `low` and `high` are infinite.
    """

    mean: float
    low: float
    high: float
    units: int

    @property
    def is_clear(self) -> bool:
        return self.low > 0 or self.high < 0


def difference_of_means(a: Sequence[float], b: Sequence[float], alpha: float = ALPHA) -> Difference:
    """How much higher the outcomes of arm B are, one of each visitor; arms come by a fair coin.

    The asymptotic confidence sequence of Waudby-Smith et al. 2021 (Annals of Statistics 2024,
    theorem 2.2) over the inverse-probability outcomes 2y for B and -2y for A, centred on the mean
    of all, which takes nothing from their mean and most of their spread.
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
    """Half the width of the confidence sequence after so many units of spread 1."""
    # The square of their rho: the width is least near TIGHTEST_AT (their equation 56, restated).
    rho2 = (2 * math.log(1 / alpha) + math.log(1 + 2 * math.log(1 / alpha))) / TIGHTEST_AT
    grown = count * rho2 + 1
    return math.sqrt(2 * grown / (count**2 * rho2) * math.log(math.sqrt(grown) / alpha))


def e_value(wins: int, losses: int) -> float:
    """Evidence against "each is preferred as often": it exceeds 1/alpha with a chance below alpha.

    However often it is looked at (Ville 1939). The likelihood of the preferences under a chance
    unknown and uniform over [0, 1], over that under a half: 2^n B(w + 1, l + 1) (Robbins 1970).
    """
    n = wins + losses
    log_beta = math.lgamma(wins + 1) + math.lgamma(losses + 1) - math.lgamma(n + 2)
    exponent = n * math.log(2) + log_beta
    return math.exp(min(exponent, 700.0))


def share_interval(wins: int, losses: int, alpha: float = ALPHA) -> tuple[float, float]:
    """The shares of preferences for B that every look so far allows: those whose e-value is small.

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
    """The verdict of an interleaving; `wins` are B's. Shares of ½ ± `indifference` are no gain."""
    if e_value(wins, losses) >= 1 / alpha:
        return Verdict.B if wins > losses else Verdict.A
    low, high = share_interval(wins, losses, alpha)
    if low >= 0.5 - indifference and high <= 0.5 + indifference:
        return Verdict.NO_DIFFERENCE
    return Verdict.UNDECIDED
