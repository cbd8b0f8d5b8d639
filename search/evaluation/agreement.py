"""W3: how far judges agree. Pure.

Krippendorff's alpha with the interval metric (Krippendorff 2011, "Computing Krippendorff's
alpha-reliability"): 1 is agreement in all, 0 what chance would give. It takes any number of
judges, and documents that not all of them judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations


def alpha(units: Sequence[Sequence[int]]) -> float | None:
    """The agreement over the grades that several judges gave to each document.

    None where no document has two judges, or all grades are the same, so that there is nothing to
    agree about.
    """
    paired = [unit for unit in units if len(unit) > 1]
    every = [grade for unit in paired for grade in unit]
    if not every:
        return None
    observed = sum(2 * _squares(unit) / (len(unit) - 1) for unit in paired) / len(every)
    expected = 2 * _squares(every) / (len(every) * (len(every) - 1))
    return 1 - observed / expected if expected else None


def spread(grades: Sequence[int]) -> int:
    """How far the grades of one document lie apart: 0 to 3."""
    return max(grades) - min(grades) if grades else 0


def _squares(grades: Sequence[int]) -> float:
    """The squared differences of all pairs, summed: by moments, since there may be many."""
    if len(grades) < 50:
        return float(sum((one - other) ** 2 for one, other in combinations(grades, 2)))
    return float(len(grades) * sum(grade * grade for grade in grades) - sum(grades) ** 2)
