"""A worker's search for better weights, or the best shipped profile: golden set -> row -> draft.

A search whose worker died starts again; as it is deterministic, the result is the same.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from common.jobs import MAX_ATTEMPTS, Lease, LeaseLost, claim
from ingestion.errors import IngestionError
from search.domain import Profile
from search.errors import PoolError, RunFailed, SearchError
from search.models import SearchProfile
from search.presets.shipped import PRESETS as SHIPPED
from search.tuning.evaluation.golden import Golden, fingerprint, golden_set
from search.tuning.evaluation.measures import CONFIDENCE, Interval
from search.tuning.models import GoldenQuery, Optimisation
from search.tuning.optimiser.optimisations import PRESETS, Options, make_draft
from search.tuning.optimiser.verdict import as_json
from search.tuning.optimiser.weight_search import ENOUGH, Floats, NothingToLearn, optimise
from search.tuning.workbench import pool_building
from search.tuning.workbench.pool_spec import Width
from search.tuning.workbench.pools import Pooled, pooled

State = Optimisation.State
Origin = GoldenQuery.Origin
ShareProgress = Callable[[float], None]
"""The progress callback: gets the share of the work done, in [0, 1]."""

POOLS = 0.3  # share of the progress for building pools, if they must be built
WAIT_SECONDS = 300.0  # for another worker that builds the same pools
LOOK_SECONDS = 1.0  # between two checks of its progress
# The origins to use: the first of these with enough judgements. Synthetic ones come last.
PEOPLE = (Origin.PERSON, Origin.IMPORTED)
USUAL: tuple[tuple[str, ...], ...] = (PEOPLE, (*PEOPLE, Origin.CLICKS), (Origin.SYNTHETIC,))
SYNTHETIC_NOTE = gettext_lazy(
    "This was measured on synthetic queries only, which are easier than people's questions: judge "
    "some real ones before you rely on it."
)
MIXED_NOTE = gettext_lazy(
    "{count} of the {of} queries are synthetic, and easier than people's questions."
)


def carry_out(pk: int) -> str:
    """Run the optimisation and return the state in which it ended. Safe to repeat."""
    lease = claim(Optimisation, pk, state=State.RUNNING, progress=0)
    if lease is None:
        return ""
    with lease:
        _carry_out(lease)
    return str(Optimisation.objects.values_list("state", flat=True).get(pk=pk))


def _carry_out(lease: Lease[Optimisation]) -> None:
    try:
        if lease.keeps_crashing:
            raise RunFailed(
                gettext("It crashed the worker %(max_attempts)s times. Check the worker's log.")
                % {"max_attempts": MAX_ATTEMPTS}
            )
        _finish(lease, _result(lease.row, lease.report))
    except LeaseLost:
        raise
    except (SearchError, IngestionError, NothingToLearn) as error:
        lease.finish(State.FAILED, error=str(error), finished=timezone.now())
    except Exception as error:
        message = gettext("It stopped with an error (%(error)s). Start it again.") % {
            "error": error
        }
        lease.finish(State.FAILED, error=message, finished=timezone.now())
        raise


def chosen(goldens: Sequence[Golden], origins: Sequence[str] | None) -> tuple[Golden, ...]:
    """The measured golden queries of these origins; None: of people, or the next best."""
    measured = [golden for golden in goldens if golden.is_measured]
    for group in (tuple(origins),) if origins else USUAL:
        selection = tuple(golden for golden in measured if golden.origin in group)
        if origins or len(selection) >= ENOUGH:
            return selection
    return tuple(golden for golden in measured if golden.origin != Origin.SYNTHETIC)


def _result(row: Optimisation, progress: ShareProgress) -> dict[str, Any]:
    options = Options.from_json(row.options)
    profile = row.profile.as_profile()
    goldens = chosen(golden_set(), options.origins)
    started = time.monotonic()
    if options.kind == PRESETS:
        result = compare_presets(row.profile, goldens, options.wanted.measure, _pools_of, progress)
    else:
        result = _better_weights(profile, goldens, options, progress)
    origins = Counter(golden.origin for golden in goldens)
    notes = [result["verdict"], *_notes(origins)]
    return {
        **result,
        "verdict": " ".join(notes),
        "fingerprint": fingerprint(profile),
        "origins": dict(origins),
        "synthetic": set(origins) == {Origin.SYNTHETIC},
        "seconds": round(time.monotonic() - started, 1),
    }


def _better_weights(
    profile: Profile, goldens: Sequence[Golden], options: Options, progress: ShareProgress
) -> dict[str, Any]:
    pools = _pools_of(profile, goldens, lambda share: progress(share * POOLS))
    optimised = optimise(
        pools.whatif,
        profile,
        options.wanted,
        progress=lambda done, of: progress(POOLS + (1 - POOLS) * done / of),
    )
    return as_json(profile, optimised)


def _pools_of(profile: Profile, goldens: Sequence[Golden], progress: ShareProgress) -> Pooled:
    """The golden queries in fresh pools; missing ones are built now.

    Raises PoolError, also if another worker does not finish them in time.
    """
    width = Width.of(profile)
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        pool_building.build(width, lambda done, of: progress(done / max(of, 1)))
        pools = pooled(profile, goldens)
        # A library that changes all the time is never wholly fresh, so stale pools are accepted.
        if pools.coverage.pooled == len(goldens):
            return pools
        progress(0.0)
        time.sleep(LOOK_SECONDS)
    raise PoolError(
        gettext(
            "The candidates of the golden queries could not be found in time, because "
            "another worker is still retrieving them. Start again in a few minutes."
        )
    )


def _notes(origins: Counter[str]) -> list[str]:
    """The caveats that the verdict states about the judgements' origins."""
    synthetic, of = origins[Origin.SYNTHETIC], origins.total()
    if not synthetic:
        return []
    return [str(SYNTHETIC_NOTE) if synthetic == of else MIXED_NOTE.format(count=synthetic, of=of)]


def _finish(lease: Lease[Optimisation], result: dict[str, Any]) -> None:
    """Store the result, and make a draft of it if it is reliable."""
    with lease.writing() as row:
        lease.finish(State.DONE, progress=1.0, found=result, finished=timezone.now())
        if result.get("reliable") and result.get("changed") and not result["synthetic"]:
            _draft(row)


def _draft(row: Optimisation) -> None:
    try:
        with transaction.atomic():
            make_draft(row, acting_user=row.user)
    except SearchError as error:
        # The result stands; the page says why there is no draft of it.
        row.error = gettext("No draft was created. %(error)s") % {"error": error}
        row.save(update_fields=["error"])


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
        pool = pools(profile, goldens, _part(progress, done, len(every)))
        values[row.pk] = pool.whatif.under(profile).values[measure]
        progress((done + 1) / len(every))
    before = values.pop(present.pk)
    comparisons = [_told(row, values[row.pk], before, len(rows)) for row, _ in rows]
    comparisons.sort(key=lambda each: (-each["mean"], each["name"], each["version"]))
    return {
        "verdict": _verdict(str(present), comparisons, measure, len(goldens)),
        "reliable": any(each["gain"]["low"] > 0 for each in comparisons),
        "measure": measure,
        "queries": len(goldens),
        "measured": float(before.mean()),
        "presets": comparisons,
    }


def simultaneous(changes: Floats, of: int) -> Interval:
    """The mean of the changes, with an interval that holds for `of` such means together."""
    mean = float(changes.mean())
    error = float(changes.std(ddof=1)) / len(changes) ** 0.5
    reach = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / max(of, 1)) * error
    return Interval(mean, mean - reach, mean + reach)


def _shipped(base: Profile) -> list[tuple[SearchProfile, Profile]]:
    """The installed shipped profiles, without those that rank as `base` does."""
    versions = {(each.profile.name, each.profile.version) for each in SHIPPED}
    rows = SearchProfile.objects.exclude(state=SearchProfile.State.DRAFT)
    rows = rows.filter(name__in={name for name, _ in versions}).prefetch_related("class_weights")
    profiles = [(row, row.as_profile()) for row in rows if (row.name, row.version) in versions]
    return [each for each in profiles if fingerprint(each[1]) != fingerprint(base)]


def _told(row: SearchProfile, values: Floats, before: Floats, of: int) -> dict[str, Any]:
    gain = simultaneous(np.asarray(values - before), of)
    return {
        "profile": row.pk,
        "name": row.name,
        "version": row.version,
        "mean": float(values.mean()),
        "gain": {"mean": gain.mean, "low": gain.low, "high": gain.high},
    }


def _verdict(
    present: str, comparisons: Sequence[dict[str, Any]], measure: str, queries: int
) -> str:
    best = comparisons[0]
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
