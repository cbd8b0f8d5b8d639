"""Searches for better weights: start, carry out, cancel and turn into drafts.

    start -> Optimisation -> a worker: `carry_out` -> verdict -> draft -> gate

A reliable gain on people's judgements becomes a draft; of any other result there are the figures.
Nothing here publishes. A search whose worker died starts again; as it is deterministic, the result
is the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from statistics import stdev
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from common.accounts.models import User
from common.jobs import Lease, enqueue, work_on
from search.domain import Profile, QueryClass, Weights
from search.errors import NotPermitted, RunConflict, RunFailed, SearchError
from search.models import SearchProfile
from search.tuning import activation as activation
from search.tuning import drafts, life_cycle
from search.tuning.candidate_pool_building import fresh_pools
from search.tuning.evaluation.golden_set import fingerprint, golden_set
from search.tuning.evaluation.measures import CONFIDENCE, LEADING
from search.tuning.models import Optimisation
from search.tuning.weight_search import Optimised, optimise

State = Optimisation.State
ShareProgress = Callable[[float], None]
"""The progress callback: gets the share of the work done, in [0, 1]."""

NEEDED = "search.change_searchprofile"
POOLS = 0.3  # share of the progress for building pools, if they must be built
Z = 1.96  # standard errors that a 95% interval reaches to either side


def start(profile: SearchProfile, *, acting_user: User | None) -> Optimisation:
    """Queue a search for better weights than the profile's. A worker carries it out.

    Raises NotPermitted, and RunConflict while another one for the profile runs.
    """
    _check_permitted(acting_user)
    with transaction.atomic():
        locked = SearchProfile.objects.select_for_update().get(pk=profile.pk)
        if Optimisation.objects.filter(profile=locked, state__in=Optimisation.OPEN).exists():
            raise RunConflict(
                gettext(
                    "A search for better weights than those of %(profile)s is already running. "
                    "Wait for it, or cancel it."
                )
                % {"profile": locked}
            )
        activation.check_complete(locked)
        row = Optimisation.objects.create(profile=locked, user=acting_user)
        enqueue(Optimisation, row.pk)
    return row


def cancel(row: Optimisation) -> None:
    """End a queued or running search. Raises RunConflict for one that has ended."""
    life_cycle.cancel(row, gettext("It has already ended. Start a new one instead."), **_now())


# --- carried out by a worker ---------------------------------------------------------------------


def carry_out(pk: int) -> str:
    """Run the optimisation and return its state afterwards. Safe to repeat."""
    with suppress(RunFailed):  # the row has the reason
        work_on(Optimisation, pk, _carry_out, state=State.RUNNING, progress=0)
    return str(Optimisation.objects.values_list("state", flat=True).get(pk=pk))


def _carry_out(lease: Lease[Optimisation]) -> None:
    crashed = gettext("It crashed the worker %(max_attempts)s times. Check the worker's log.")
    with life_cycle.attempt(lease, crashed, ended=_now):
        _finish(lease, _result(lease.row.profile.as_profile(), lease.report))


def _now() -> dict[str, datetime]:
    return {"finished": timezone.now()}


def _result(profile: Profile, progress: ShareProgress) -> dict[str, Any]:
    goldens = [golden for golden in golden_set() if golden.is_measured]
    started = time.monotonic()
    pools = fresh_pools(profile, goldens, lambda share: progress(share * POOLS))
    optimised = optimise(
        pools.whatif, profile, progress=lambda done, of: progress(POOLS + (1 - POOLS) * done / of)
    )
    return {
        **_as_json(profile, optimised),
        "fingerprint": fingerprint(profile),
        "seconds": round(time.monotonic() - started, 1),
    }


def verdict(result: Optimised) -> str:
    """A sentence on how reliable the gain is."""
    gain, on = result.gain, f"on {result.queries} queries"
    span = f"{CONFIDENCE:.0%} interval {gain.low:+.3f} to {gain.high:+.3f}"
    if result.is_reliable:
        return f"{gain.mean:+.3f} {LEADING}, {span}, {on}."
    more = more_queries(result)
    if more is None:
        advice = "no others were reliably better."
    else:
        advice = f"about {more} more judged queries are needed for a conclusion."
    return (
        f"No reliable gain ({gain.mean:+.3f} {LEADING}, {span}, {on}): keep the current weights; "
        f"{advice}"
    )


def more_queries(result: Optimised) -> int | None:
    """The number of further queries that would make the gain significant; None without a gain."""
    if result.is_reliable or result.gain.mean <= 0:
        return None
    spread = stdev(result.differences.values())
    return max(math.ceil((Z * spread / result.gain.mean) ** 2) - result.queries, 1)


def _as_json(profile: Profile, result: Optimised) -> dict[str, Any]:
    before, after = (each.weights[QueryClass.GENERAL] for each in (profile, result.profile))
    stay = result.profile.weights == profile.weights
    differ = len(set(profile.weights.values())) > 1
    return {
        "verdict": verdict(result),
        "reliable": result.is_reliable,
        "changed": result.profile != profile,
        "measure": LEADING,
        "queries": result.queries,
        "measured": result.measured,
        "fitted": result.fitted,
        "gain": asdict(result.gain),
        "better": sum(each > 0 for each in result.differences.values()),
        "worse": sum(each < 0 for each in result.differences.values()),
        "more_queries": more_queries(result),
        "short_lean": {"before": profile.short_lean, "after": result.profile.short_lean},
        "weights": {} if stay else {"before": before.as_dict(), "after": after.as_dict()},
        "by_class": differ and not stay,  # the weights before
    }


def _finish(lease: Lease[Optimisation], result: dict[str, Any]) -> None:
    """Store the result, and make a draft of it if it is reliable."""
    with lease.writing() as row:
        lease.finish(State.DONE, progress=1.0, found=result, **_now())
        if not (result["reliable"] and result["changed"]):
            return
        try:
            with transaction.atomic():
                row.draft = _draft_of(row)
        except SearchError as error:
            # The result stands; the page says why there is no draft of it.
            row.error = gettext("No draft was created. %(error)s") % {"error": error}
        row.save(update_fields=["draft", "error"])


def _draft_of(row: Optimisation) -> SearchProfile:
    """A draft of the result, by whoever started the search. Raises NotPermitted and RunConflict."""
    _check_permitted(row.user)
    base, result = SearchProfile.objects.get(pk=row.profile_id), row.found
    if fingerprint(base.as_profile()) != result.get("fingerprint"):
        raise RunConflict(
            gettext("%(base)s has been edited since. Search for better weights again.")
            % {"base": base}
        )
    reason = f"Better weights (search {row.pk}): {result['verdict']}"
    draft = drafts.draft_from(base, acting_user=row.user, reason=reason)
    fields = {"short_lean": result["short_lean"]["after"]}
    description = f"{base.description}\n\n{reason}".strip()
    after = result["weights"].get("after")
    weights = dict.fromkeys(QueryClass, Weights(**after)) if after else {}
    edit = drafts.edit(
        draft,
        {**fields, "description": description},
        weights,
        acting_user=row.user,
        reason=reason,
    )
    return edit.profile


def _check_permitted(user: User | None) -> None:
    """Raise NotPermitted unless the user may do this. None, the system itself, may."""
    if user is not None and not user.has_perm(NEEDED):
        raise NotPermitted(gettext("You do not have permission to change search profiles."))
