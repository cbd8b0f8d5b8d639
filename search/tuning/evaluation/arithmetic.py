"""W3: the sums of a ranking over arrays, to the last bit as Python's exact ones make them.

Equal scores have an order of their own, so a sum that is off by one bit is another ranking.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def exact_sum(terms: Sequence[Floats]) -> Floats:
    """The sum of the arrays, rounded once, as `math.fsum` rounds.

    Error-free transformations (Ogita, Rump & Oishi 2005, SumK with K = 3) keep what each addition
    loses and add it at the end.
    """
    parts = list(terms)
    if not parts:
        return np.zeros(())
    for _ in range(2 if len(parts) > 2 else 0):
        for i in range(1, len(parts)):
            parts[i], parts[i - 1] = _two_sum(parts[i], parts[i - 1])
    lost = parts[0]
    for part in parts[1:-1]:
        lost = lost + part
    return lost + parts[-1] if len(parts) > 1 else parts[0]


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded sum, and what rounding lost (Knuth, volume 2)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)
