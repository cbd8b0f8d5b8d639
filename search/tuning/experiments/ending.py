"""W: an experiment ends: by hand, by its stop rule, or because another profile became active."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from search.engine import configuration
from search.models import SearchProfile
from search.tuning.experiments import outcomes
from search.tuning.models import Experiment, ProfileChange

if TYPE_CHECKING:
    from common.accounts.models import User

State = Experiment.State
Action = ProfileChange.Action


@transaction.atomic
def finish(experiment: Experiment, *, reason: str, user: User | None) -> Experiment:
    """The experiment, ended after a last look; the next search takes no part. Audited.

    One that does not run is returned as it is.
    """
    held = outcomes.note(experiment)
    if held.state != State.RUNNING:
        return held
    held.state, held.ended, held.end_reason = State.ENDED, timezone.now(), reason
    held.save(update_fields=["state", "ended", "end_reason"])
    told = held.verdict.get("sentence", "")
    audit(held, Action.TRIAL_ENDED, user, reason, [told] if told else [])
    return held


def finish_running(*, reason: str, user: User | None) -> None:
    """Ends the experiment that runs, if one does."""
    for experiment in Experiment.objects.filter(state=State.RUNNING):
        finish(experiment, reason=reason, user=user)


def audit(
    experiment: Experiment,
    action: ProfileChange.Action,
    user: User | None,
    reason: str,
    findings: list[str],
    *,
    run: int | None = None,
) -> None:
    """Writes who did what to the experiment into the audit of its profile B."""
    kind = experiment.get_kind_display()
    ProfileChange.objects.create(
        profile=SearchProfile.objects.get(pk=experiment.b_id),
        action=action,
        user=user,
        reason=reason,
        differences=[
            f"Experiment “{experiment.name}” ({kind}): A {experiment.a}, B {experiment.b}"
        ],
        findings=findings,
        run_id=run,
    )
    configuration.bump()
