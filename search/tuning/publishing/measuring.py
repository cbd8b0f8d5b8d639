"""The way of a publication and of an experiment: their profiles are measured, then decided.

begin -> the runs are measured, here or by a worker -> `settle` decides under lock
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from django.utils.translation import gettext

from common.jobs import Job, Lease, enqueue, revoke, work_on
from search.errors import NotPermitted
from search.tuning.evaluation import golden_runs
from search.tuning.models import Experiment, Publication

if TYPE_CHECKING:
    from common.accounts.models import User

PUBLISH, OVERRIDE = "search.publish_searchprofile", "search.override_gate"
# Retry delay while another process measures the same run (a guess).
RUN_BUSY = timedelta(seconds=5)

Measured = TypeVar("Measured", Publication, Experiment)


def permissions(*, override: bool) -> tuple[str, ...]:
    """The permissions that publishing or trying out a profile needs; more against the gate."""
    return (PUBLISH, OVERRIDE) if override else (PUBLISH,)


def check_permitted(user: User | None, refusal: str, *, override: bool = False) -> None:
    """Raise NotPermitted with `refusal` unless the user may do this. None, the system, may."""
    if user is None or user.has_perms(permissions(override=override)):
        return
    text = gettext("You do not have permission to override the gate.") if override else refusal
    raise NotPermitted(text)


def still_permitted(user: User | None, *, override: bool) -> bool:
    """Whether the person who requested it may still do it when it has been measured."""
    return user is not None and user.is_active and user.has_perms(permissions(override=override))


def in_background(row: Job, *, queries: int, background: bool) -> bool:
    """Enqueue the measurement of `row` if a worker shall do it; whether one shall."""
    if queries and background:
        enqueue(type(row), row.pk)
        return True
    return False


def carry_out(model: type[Measured], pk: int, settle: Callable[[int], Any]) -> None:
    """Measure the runs of the row that have no figures yet, and settle it. Safe to repeat."""

    def attempt(lease: Lease[Any]) -> None:
        if all(map(golden_runs.brought_to_an_end, lease.row.runs)):
            settle(lease.row.pk)
        else:
            lease.postpone(RUN_BUSY, attempts=0)

    work_on(model, pk, attempt)


def stop(row: Publication | Experiment, **fields: Any) -> None:
    """Cancel the open runs of the locked row, and write its `fields`."""
    for run in row.runs:
        if run.is_open:
            golden_runs.cancel(run)
    revoke(type(row)._default_manager.filter(pk=row.pk), **fields)
    row.refresh_from_db()
