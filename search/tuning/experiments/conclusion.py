"""The conclusion from visitors' clicks, as figures and as a sentence. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from search.tuning.experiments.sequential import (
    AT_LEAST,
    Verdict,
    difference_of_means,
    half_width,
    of_difference,
    of_preferences,
    share_interval,
)

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

    verdict: Verdict
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
    found = difference_of_means(a, b)
    verdict = of_difference(found, indifference)
    known = math.isfinite(found.low)
    rates = (sum(a) / len(a) if a else 0.0, sum(b) / len(b) if b else 0.0)
    needed = None
    if verdict is Verdict.UNDECIDED and known:
        spread = (found.high - found.low) / 2 / half_width(found.units)
        needed = _more(found.mean, spread, found.units, indifference, 1.0)
    head = (
        f"{_percent(rates[1])} of B's visitors opened a result, {_percent(rates[0])} of A's: "
        f"{100 * found.mean:+.1f} points"
    )
    if known:
        head += f" (95% interval {100 * found.low:+.1f} to {100 * found.high:+.1f})"
    elif verdict is Verdict.UNDECIDED:
        lacking = max(0, AT_LEAST - min(len(a), len(b)))
        needed = 2 * lacking
    end = _end(verdict, needed, f"larger than ±{100 * indifference:g} points")
    return Conclusion(
        verdict,
        found.mean,
        found.low if known else None,
        found.high if known else None,
        found.units,
        found.units,
        f"{head}. {end}" if found.units else _NOBODY,
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
    if verdict is Verdict.UNDECIDED:
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


def _end(verdict: Verdict, needed: int | None, difference: str) -> str:
    match verdict:
        case Verdict.A | Verdict.B:
            return f"{verdict.value.upper()} is better."
        case Verdict.NO_DIFFERENCE:
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
