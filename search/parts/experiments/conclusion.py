"""The conclusion from visitors' clicks: anytime-valid tests, figures and a sentence. Pure.

A fixed-size test that is repeated during data collection eventually reports a difference where
there is none. These tests (confidence sequences and e-values) are valid at all interim analyses
together: without a difference, the probability that any analysis ever reports one is below alpha.
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


class ExperimentVerdict(StrEnum):
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


def of_difference(difference: Difference, indifference: float) -> ExperimentVerdict:
    """The verdict of an A/B test; differences within ±`indifference` count as none."""
    if difference.low > 0:
        return ExperimentVerdict.B
    if difference.high < 0:
        return ExperimentVerdict.A
    if -indifference <= difference.low and difference.high <= indifference:
        return ExperimentVerdict.NO_DIFFERENCE
    return ExperimentVerdict.UNDECIDED


def of_preferences(
    wins: int, losses: int, indifference: float, alpha: float = ALPHA
) -> ExperimentVerdict:
    """The verdict of an interleaving; `wins` are B's.

    A share within ½ ± `indifference` counts as no difference.
    """
    if e_value(wins, losses) >= 1 / alpha:
        return ExperimentVerdict.B if wins > losses else ExperimentVerdict.A
    low, high = share_interval(wins, losses, alpha)
    if low >= 0.5 - indifference and high <= 0.5 + indifference:
        return ExperimentVerdict.NO_DIFFERENCE
    return ExperimentVerdict.UNDECIDED


# Estimates of more units than this are not reported.
MANY = 10_000_000


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The conclusion of an interim analysis.

    `low` to `high` is an interval valid at every analysis; both None without enough data. `value`
    is B's share of visitors who opened a result minus A's, in [-1, 1], or the share of visitors
    with a preference who prefer B, in [0, 1]. `units` counts these visitors, `visitors` all
    who took part. `needed` estimates the visitors still needed; None if decided or unknown.
    """

    verdict: ExperimentVerdict
    value: float
    low: float | None
    high: float | None
    units: int
    visitors: int
    sentence: str
    needed: int | None = None
    rates: tuple[float, float] | None = None
    counts: tuple[int, int] = (0, 0)


def of_split(a: Sequence[float], b: Sequence[float], indifference: float) -> Conclusion:
    """The conclusion of an A/B test; `a` and `b` have 1 per visitor who opened a result, else 0."""
    difference = difference_of_means(a, b)
    verdict = of_difference(difference, indifference)
    is_finite = math.isfinite(difference.low)
    rates = (sum(a) / len(a) if a else 0.0, sum(b) / len(b) if b else 0.0)
    needed = None
    if verdict is ExperimentVerdict.UNDECIDED and is_finite:
        spread = (difference.high - difference.low) / 2 / half_width(difference.units)
        needed = _more(difference.mean, spread, difference.units, indifference, 1.0)
    head = (
        f"{_percent(rates[1])} of B's visitors opened a result, {_percent(rates[0])} of A's: "
        f"{100 * difference.mean:+.1f} points"
    )
    if is_finite:
        head += f" (95% interval {100 * difference.low:+.1f} to {100 * difference.high:+.1f})"
    elif verdict is ExperimentVerdict.UNDECIDED:
        lacking = max(0, AT_LEAST - min(len(a), len(b)))
        needed = 2 * lacking
    end = _end(verdict, needed, f"larger than ±{100 * indifference:g} points")
    return Conclusion(
        verdict,
        difference.mean,
        difference.low if is_finite else None,
        difference.high if is_finite else None,
        difference.units,
        difference.units,
        f"{head}. {end}" if difference.units else _NOBODY,
        needed,
        rates,
        (len(a), len(b)),
    )


def of_interleaving(wins: int, losses: int, visitors: int, indifference: float) -> Conclusion:
    """The conclusion of an interleaving: of all `visitors`, `wins` prefer B and `losses` A."""
    units = wins + losses
    verdict = of_preferences(wins, losses, indifference)
    low, high = share_interval(wins, losses)
    share = wins / units if units else 0.5
    if not units:
        neutral = f"{_visitors(visitors)} took part, none with a preference yet. Undecided."
        return Conclusion(verdict, share, None, None, 0, visitors, neutral if visitors else _NOBODY)
    needed = None
    if verdict is ExperimentVerdict.UNDECIDED:
        spread = math.sqrt(share * (1 - share)) or 0.5
        needed = _more(share - 0.5, spread, units, indifference, visitors / units)
    team, part = ("B", share) if wins >= losses else ("A", 1 - share)
    edges = (low, high) if team == "B" else (1 - high, 1 - low)
    head = (
        f"{team} is preferred by {_percent(part)} of the {_visitors(units)} with a preference "
        f"(95% interval {_percent(edges[0])} to {_percent(edges[1])})"
    )
    end = _end(verdict, needed, f"larger than {100 * indifference:g} points from a half")
    return Conclusion(
        verdict, share, low, high, units, visitors, f"{head}. {end}", needed, None, (losses, wins)
    )


_NOBODY = "No visitor has taken part yet."


def _end(verdict: ExperimentVerdict, needed: int | None, difference: str) -> str:
    match verdict:
        case ExperimentVerdict.A | ExperimentVerdict.B:
            return f"{verdict.value.upper()} is better."
        case ExperimentVerdict.NO_DIFFERENCE:
            return f"There is no difference {difference}."
        case _ if needed is None:
            return "Undecided."
        case _:
            return f"Undecided: about {_rounded(needed):,} more visitors are needed."


def _more(
    effect: float, spread: float, units: int, indifference: float, visitors_a_unit: float
) -> int | None:
    """An estimate of the visitors still needed, assuming that the effect stays the same."""
    width = max(abs(effect), indifference - abs(effect))
    total = units
    while total < MANY and spread * half_width(max(total, 1)) > width:
        total = max(total + 1, math.ceil(total * 1.05))
    if total >= MANY:
        return None
    return math.ceil(max(1, total - units) * visitors_a_unit)


def _rounded(count: int) -> int:
    """The count rounded up to two significant digits: it is an estimate."""
    step: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // step) * step


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def _visitors(count: int) -> str:
    return "1 visitor" if count == 1 else f"{count:,} visitors"
