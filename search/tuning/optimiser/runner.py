"""A worker's search for better weights: golden set -> pools -> `optimise` -> row -> draft.

A search whose worker died starts again; as it is deterministic, the result is the same.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from common.jobs import MAX_ATTEMPTS, Lease, LeaseLost, claim
from ingestion.errors import IngestionError
from search.domain import Profile
from search.errors import PoolError, RunFailed, SearchError
from search.tuning.evaluation.golden import Golden, fingerprint, golden_set
from search.tuning.evaluation.measures import Interval
from search.tuning.models import GoldenQuery, Optimisation
from search.tuning.optimiser import presets_compared
from search.tuning.optimiser.optimisations import PRESETS, Options, make_draft
from search.tuning.optimiser.verdict import Optimised
from search.tuning.optimiser.weight_search import ENOUGH, NothingToLearn, optimise
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
        told = gettext("It stopped with an error (%(error)s). Start it again.") % {"error": error}
        lease.finish(State.FAILED, error=told, finished=timezone.now())
        raise


def chosen(goldens: Sequence[Golden], origins: Sequence[str] | None) -> tuple[Golden, ...]:
    """The measured golden queries of these origins; None: of people, or the next best."""
    measured = [golden for golden in goldens if golden.is_measured]
    for wanted in (tuple(origins),) if origins else USUAL:
        held = tuple(golden for golden in measured if golden.origin in wanted)
        if origins or len(held) >= ENOUGH:
            return held
    return tuple(golden for golden in measured if golden.origin != Origin.SYNTHETIC)


def _result(row: Optimisation, progress: ShareProgress) -> dict[str, Any]:
    options = Options.from_json(row.options)
    profile = row.profile.as_profile()
    goldens = chosen(golden_set(), options.origins)
    started = time.monotonic()
    if options.kind == PRESETS:
        found = presets_compared.compare_presets(
            row.profile, goldens, options.wanted.measure, _pools_of, progress
        )
    else:
        found = _better_weights(profile, goldens, options, progress)
    origins = Counter(golden.origin for golden in goldens)
    notes = [found["verdict"], *_notes(origins)]
    return {
        **found,
        "verdict": " ".join(notes),
        "fingerprint": fingerprint(profile),
        "origins": dict(origins),
        "synthetic": set(origins) == {Origin.SYNTHETIC},
        "seconds": round(time.monotonic() - started, 1),
    }


def _better_weights(
    profile: Profile, goldens: Sequence[Golden], options: Options, progress: ShareProgress
) -> dict[str, Any]:
    held = _pools_of(profile, goldens, lambda share: progress(share * POOLS))
    found = optimise(
        held.whatif,
        profile,
        options.wanted,
        progress=lambda done, of: progress(POOLS + (1 - POOLS) * done / of),
    )
    return as_json(profile, found)


def as_json(profile: Profile, found: Optimised) -> dict[str, Any]:
    """The result, as `Optimisation.found` holds it."""
    changed = found.profile.normalisers.items() - profile.normalisers.items()
    classes = [
        {
            "class": each.query_class.value,
            "queries": each.queries,
            "before": profile.weights[each.query_class].as_dict(),
            "after": each.weights.as_dict(),
            "gain": interval_json(each.gain) if each.gain else None,
        }
        for each in found.by_class
    ]
    return {
        "verdict": found.verdict,
        "reliable": found.is_reliable,
        "changed": bool(changed)
        or found.profile.short_lean != profile.short_lean
        or any(each["before"] != each["after"] for each in classes),
        "measure": found.measure,
        "queries": found.queries,
        "measured": found.measured,
        "fitted": found.fitted,
        "gain": interval_json(found.gain),
        "better": sum(each > 0 for each in found.differences.values()),
        "worse": sum(each < 0 for each in found.differences.values()),
        "more_queries": None if found.is_reliable else found.more_queries,
        "normalisers": {signal.value: normaliser.value for signal, normaliser in sorted(changed)},
        "short_lean": {"before": profile.short_lean, "after": found.profile.short_lean},
        "classes": classes,
    }


def interval_json(interval: Interval) -> dict[str, float]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high}


def _pools_of(profile: Profile, goldens: Sequence[Golden], progress: ShareProgress) -> Pooled:
    """The golden queries in fresh pools; missing ones are built now.

    Raises PoolError, also if another worker does not finish them in time.
    """
    width = Width.of(profile)
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        pool_building.build(width, lambda done, of: progress(done / max(of, 1)))
        held = pooled(profile, goldens)
        # A library that changes all the time is never wholly fresh, so stale pools are accepted.
        if held.coverage.pooled == len(goldens):
            return held
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


def _finish(lease: Lease[Optimisation], found: dict[str, Any]) -> None:
    """Store the result, and make a draft of it if it is reliable."""
    with lease.writing() as row:
        lease.finish(State.DONE, progress=1.0, found=found, finished=timezone.now())
        if found.get("reliable") and found.get("changed") and not found["synthetic"]:
            _draft(row)


def _draft(row: Optimisation) -> None:
    try:
        with transaction.atomic():
            make_draft(row, acting_user=row.user)
    except SearchError as error:
        # The result stands; the page says why there is no draft of it.
        row.error = gettext("No draft was created. %(error)s") % {"error": error}
        row.save(update_fields=["error"])
