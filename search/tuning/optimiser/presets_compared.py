"""The shipped profiles on the golden set, compared with the present one as starting points.

Each is measured from its own pools. As the best of many looks better than it is, the intervals
hold for all of them together (Bonferroni; Dunn 1961).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from django.utils.translation import gettext

from search.domain import Profile
from search.models import SearchProfile
from search.presets.shipped import PRESETS as SHIPPED
from search.tuning.evaluation.golden import Golden, fingerprint
from search.tuning.evaluation.measures import CONFIDENCE, Interval
from search.tuning.optimiser.weight_search import ENOUGH, Floats, NothingToLearn
from search.tuning.workbench.pool_spec import Width
from search.tuning.workbench.pools import Pooled

Pools = Callable[[Profile, Sequence[Golden], Callable[[float], None]], Pooled]


def compare_presets(
    present: SearchProfile,
    goldens: Sequence[Golden],
    measure: str,
    pools: Pools,
    progress: Callable[[float], None],
) -> dict[str, Any]:
    """Measure every shipped profile: its mean and gain over `present`, best first, and a verdict.

    Raises NothingToLearn if too few queries are judged.
    """
    if len(goldens) < ENOUGH:
        raise NothingToLearn(
            gettext(
                "There are %(count)s judged golden queries, and %(enough)s are needed. Judge "
                "more results, import judgements, or generate synthetic queries to start "
                "with."
            )
            % {"count": len(goldens), "enough": ENOUGH}
        )
    base = present.as_profile()
    rows = _shipped(base)
    # Profiles of one width share their pools, so they are adjacent. The cache holds pools of few
    # widths: the present profile's come last, so that the workbench has them afterwards.
    every = [*sorted(rows, key=lambda each: repr(Width.of(each[1]))), (present, base)]
    values: dict[int, Floats] = {}
    for done, (row, profile) in enumerate(every):
        held = pools(profile, goldens, _part(progress, done, len(every)))
        values[row.pk] = held.whatif.under(profile).values[measure]
        progress((done + 1) / len(every))
    before = values.pop(present.pk)
    told = [_told(row, values[row.pk], before, len(rows)) for row, _ in rows]
    told.sort(key=lambda each: (-each["mean"], each["name"], each["version"]))
    return {
        "verdict": _verdict(str(present), told, measure, len(goldens)),
        "reliable": any(each["gain"]["low"] > 0 for each in told),
        "measure": measure,
        "queries": len(goldens),
        "measured": float(before.mean()),
        "presets": told,
    }


def simultaneous(changes: Floats, of: int) -> Interval:
    """The mean of the changes, with an interval that holds for `of` such means together."""
    mean = float(changes.mean())
    error = float(changes.std(ddof=1)) / len(changes) ** 0.5
    reach = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / max(of, 1)) * error
    return Interval(mean, mean - reach, mean + reach)


def _shipped(base: Profile) -> list[tuple[SearchProfile, Profile]]:
    """The installed shipped profiles, without those that rank as `base` does."""
    wanted = {(each.profile.name, each.profile.version) for each in SHIPPED}
    rows = SearchProfile.objects.exclude(state=SearchProfile.State.DRAFT)
    rows = rows.filter(name__in={name for name, _ in wanted}).prefetch_related("class_weights")
    held = [(row, row.as_profile()) for row in rows if (row.name, row.version) in wanted]
    return [each for each in held if fingerprint(each[1]) != fingerprint(base)]


def _told(row: SearchProfile, values: Floats, before: Floats, of: int) -> dict[str, Any]:
    gain = simultaneous(np.asarray(values - before), of)
    return {
        "profile": row.pk,
        "name": row.name,
        "version": row.version,
        "mean": float(values.mean()),
        "gain": {"mean": gain.mean, "low": gain.low, "high": gain.high},
    }


def _verdict(present: str, told: Sequence[dict[str, Any]], measure: str, queries: int) -> str:
    best = told[0]
    gain, name = best["gain"], f"{best['name']} v{best['version']}"
    span = f"{CONFIDENCE:.0%} interval {gain['low']:+.3f} to {gain['high']:+.3f}"
    if gain["low"] > 0:
        return f"{name} is better than {present}: {gain['mean']:+.3f} {measure}, {span}, on " + (
            f"{queries} queries."
        )
    if gain["mean"] > 0:
        return (
            f"No shipped profile is clearly better than {present}; nearest is {name} "
            f"({gain['mean']:+.3f} {measure}, {span}, on {queries} queries)."
        )
    return f"No shipped profile is better than {present} on {queries} queries."


def _part(progress: Callable[[float], None], done: int, of: int) -> Callable[[float], None]:
    return lambda share: progress((done + share) / of)
