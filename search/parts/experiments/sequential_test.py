"""The conclusion of an experiment from visitors' clicks, at any number of interim analyses. Pure.

A fixed-size test that is repeated during data collection eventually reports a difference where
there is none. These tests (e-values) are valid at all interim analyses together: without a
difference, the probability that any analysis ever reports one is below alpha.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

ALPHA = 0.05


class ExperimentVerdict(StrEnum):
    """The verdict of an interim analysis."""

    A = "a"
    B = "b"
    NO_DIFFERENCE = "no_difference"
    UNDECIDED = "undecided"


def e_value(wins: int, losses: int) -> float:
    """Evidence against equal preference: under it, ever exceeding 1/alpha has a chance below alpha.

    Valid at any number of analyses (Ville 1939). The likelihood of the preferences under a uniform
    prior on [0, 1] divided by that under one half: 2^n B(w + 1, l + 1) (Robbins 1970).
    """
    n = wins + losses
    log_beta = math.lgamma(wins + 1) + math.lgamma(losses + 1) - math.lgamma(n + 2)
    exponent = n * math.log(2) + log_beta
    return math.exp(min(exponent, 700.0))


def share_interval(wins: int, losses: int) -> tuple[float, float]:
    """The confidence interval of the share that prefers B: all shares with a small e-value.

    (0, 1) without preferences.
    """
    n = wins + losses
    if not n:
        return 0.0, 1.0
    log_mixture = math.lgamma(wins + 1) + math.lgamma(losses + 1) - math.lgamma(n + 2)
    shares = np.linspace(1e-6, 1 - 1e-6, 20_001)
    log_e = log_mixture - wins * np.log(shares) - losses * np.log1p(-shares)
    allowed = shares[log_e < math.log(1 / ALPHA)]
    return float(allowed[0]), float(allowed[-1])


def of_preferences(wins: int, losses: int, indifference: float) -> ExperimentVerdict:
    """The verdict of preferences; `wins` are B's.

    A share within ½ ± `indifference` counts as no difference.
    """
    if e_value(wins, losses) >= 1 / ALPHA:
        return ExperimentVerdict.B if wins > losses else ExperimentVerdict.A
    low, high = share_interval(wins, losses)
    if low >= 0.5 - indifference and high <= 0.5 + indifference:
        return ExperimentVerdict.NO_DIFFERENCE
    return ExperimentVerdict.UNDECIDED


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The conclusion of an interim analysis.

    `visitors` counts all who took part, `counts` those who prefer A and B.
    """

    verdict: ExperimentVerdict
    visitors: int
    counts: tuple[int, int]
    sentence: str


def of_interleaving(wins: int, losses: int, visitors: int, indifference: float) -> Conclusion:
    """The conclusion of an interleaving: of all `visitors`, `wins` prefer B and `losses` A."""
    units = wins + losses
    verdict = of_preferences(wins, losses, indifference)
    if not units:
        neutral = f"{_visitors(visitors)} took part, none with a preference yet. Undecided."
        return Conclusion(verdict, visitors, (0, 0), neutral if visitors else _NOBODY)
    low, high = share_interval(wins, losses)
    team, part = ("B", wins / units) if wins >= losses else ("A", losses / units)
    edges = (low, high) if team == "B" else (1 - high, 1 - low)
    head = (
        f"{team} is preferred by {_percent(part)} of the {_visitors(units)} with a preference "
        f"(95% interval {_percent(edges[0])} to {_percent(edges[1])})"
    )
    end = _end(verdict, f"larger than {100 * indifference:g} points from a half")
    return Conclusion(verdict, visitors, (losses, wins), f"{head}. {end}")


_NOBODY = "No visitor has taken part yet."


def _end(verdict: ExperimentVerdict, difference: str) -> str:
    match verdict:
        case ExperimentVerdict.A | ExperimentVerdict.B:
            return f"{verdict.value.upper()} is better."
        case ExperimentVerdict.NO_DIFFERENCE:
            return f"There is no difference {difference}."
        case _:
            return "Undecided."


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def _visitors(count: int) -> str:
    return "1 visitor" if count == 1 else f"{count:,} visitors"
