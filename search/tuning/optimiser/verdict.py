"""The result of an optimisation, also as JSON, and the verdict on it. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from search.domain import Profile, QueryClass, Weights
from search.tuning.evaluation.measures import CONFIDENCE, LEADING, Interval

Z = 1.96  # standard errors that a 95% interval reaches to either side


@dataclass(frozen=True, slots=True)
class ClassFound:
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
    by_class: tuple[ClassFound, ...]
    differences: Mapping[str, float] = field(default_factory=dict, repr=False)

    @property
    def is_reliable(self) -> bool:
        """True when the interval of the gain lies above 0."""
        return self.gain.low > 0

    @property
    def verdict(self) -> str:
        """The verdict, in a sentence."""
        on = f"on {self.queries} queries"
        span = f"{CONFIDENCE:.0%} interval {self.gain.low:+.3f} to {self.gain.high:+.3f}"
        if self.is_reliable:
            return f"{self.gain.mean:+.3f} {LEADING}, {span}, {on}."
        sentence = f"No reliable gain ({self.gain.mean:+.3f} {LEADING}, {span}, {on})"
        if self.more_queries is None:
            return f"{sentence}: keep the current weights; no others were reliably better."
        return (
            f"{sentence}: keep the current weights; about {self.more_queries} more judged queries "
            "are needed for a conclusion."
        )

    @property
    def more_queries(self) -> int | None:
        """How many more queries would make a gain of this size significant; None without a gain."""
        if self.gain.mean <= 0:
            return None
        spread = float(np.std(list(self.differences.values()), ddof=1))
        return max(math.ceil((Z * spread / self.gain.mean) ** 2) - self.queries, 1)


def as_json(profile: Profile, result: Optimised) -> dict[str, Any]:
    """The result, as `Optimisation.found` holds it."""
    changed = result.profile.normalisers.items() - profile.normalisers.items()
    classes = [
        {
            "class": each.query_class.value,
            "queries": each.queries,
            "before": profile.weights[each.query_class].as_dict(),
            "after": each.weights.as_dict(),
            "gain": interval_json(each.gain) if each.gain else None,
        }
        for each in result.by_class
    ]
    return {
        "verdict": result.verdict,
        "reliable": result.is_reliable,
        "changed": bool(changed)
        or result.profile.short_lean != profile.short_lean
        or any(each["before"] != each["after"] for each in classes),
        "measure": LEADING,
        "queries": result.queries,
        "measured": result.measured,
        "fitted": result.fitted,
        "gain": interval_json(result.gain),
        "better": sum(each > 0 for each in result.differences.values()),
        "worse": sum(each < 0 for each in result.differences.values()),
        "more_queries": None if result.is_reliable else result.more_queries,
        "normalisers": {signal.value: normaliser.value for signal, normaliser in sorted(changed)},
        "short_lean": {"before": profile.short_lean, "after": result.profile.short_lean},
        "classes": classes,
    }


def interval_json(interval: Interval) -> dict[str, float]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high}
