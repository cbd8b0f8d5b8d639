"""The life cycle of an experiment, of which one runs at a time: a plan until it starts.

start -> interim analyses -> a verdict, the maximum duration, a person or a new active profile
      ends it
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from common.accounts.models import User
from search.errors import ExperimentError, RunConflict
from search.models import SearchProfile
from search.parts.experiments import outcomes
from search.parts.experiments.models import Experiment
from search.parts.experiments.outcomes import Action, State, audit, finish
from search.tuning import activation, gate_runs
from search.tuning.life_cycle import locked

DECIDED = gettext_lazy("A verdict was reached.")
TOO_LONG = gettext_lazy("The maximum duration was reached.")


@transaction.atomic
def start(experiment: Experiment, *, acting_user: User | None) -> Experiment:
    """Start the experiment; return it. `acting_user` None is the system itself.

    Raises NotPermitted, ExperimentError, RunConflict.
    """
    _check_permitted(acting_user)
    # No other start or publication happens meanwhile.
    SearchProfile.objects.select_for_update().filter(state=SearchProfile.State.ACTIVE).first()
    row = locked(experiment)
    _check_startable(row)
    row.state, row.started, row.verdict = State.RUNNING, timezone.now(), {}
    row.save()
    audit(row, Action.TRIED, acting_user, "", [])
    return row


@transaction.atomic
def end(experiment: Experiment, *, acting_user: User | None, reason: str) -> Experiment:
    """End the experiment by hand. Raises NotPermitted, ExperimentError without a reason."""
    _check_permitted(acting_user)
    if not reason.strip():
        raise ExperimentError(
            gettext("Give a reason for ending the experiment: it is stored in the audit.")
        )
    row = locked(experiment)
    if row.state != State.RUNNING:
        raise RunConflict(gettext("The experiment is not running."))
    return finish(row, reason=reason.strip(), user=acting_user)


def analyse(experiment: Experiment) -> Experiment:
    """Update the experiment's verdict; end the experiment if its stop rule applies."""
    row = outcomes.refresh(experiment)
    if row.state != State.RUNNING or row.started is None:
        return row
    if outcomes.is_decided(row):
        return finish(row, reason=str(DECIDED), user=None)
    if timezone.now() >= row.started + timedelta(days=row.days):
        return finish(row, reason=str(TOO_LONG), user=None)
    return row


def analyse_running() -> int:
    """Update the verdicts of the running experiments; return how many."""
    running = list(Experiment.objects.filter(state=State.RUNNING))
    for experiment in running:
        analyse(experiment)
    return len(running)


def _check_startable(row: Experiment) -> None:
    if row.state != State.DRAFT:
        text = gettext("%(experiment)s has started and cannot be changed. Plan another experiment.")
        raise RunConflict(text % {"experiment": row})
    for profile in (row.a, row.b):
        if not activation.was_active(profile):  # it has not passed the gate
            text = gettext(
                "%(profile)s was never the active profile. Publish it first, then roll back."
            )
            raise ExperimentError(text % {"profile": profile})
    if other := Experiment.objects.filter(state=State.RUNNING).first():
        text = gettext("Only one experiment can run at a time. End “%(experiment)s” first.")
        raise RunConflict(text % {"experiment": other})
    if not settings.SEARCH_EVENTS:
        raise ExperimentError(
            gettext("Searches are not recorded (SEARCH_EVENTS), so nobody would take part.")
        )
    limit = min(settings.SEARCH_EVENTS_ANONYMISE_DAYS, settings.SEARCH_EVENTS_DAYS)
    if row.days > limit:
        raise ExperimentError(
            gettext(
                "Visitors are forgotten after %(limit)s days (SEARCH_EVENTS_ANONYMISE_DAYS), "
                "so that no experiment can run longer. Choose %(limit)s days or fewer."
            )
            % {"limit": limit}
        )


def _check_permitted(user: User | None) -> None:
    """Raise NotPermitted unless the user may do this. None, the system itself, may."""
    refusal = gettext("You do not have permission to start or end experiments.")
    gate_runs.check_permitted(user, refusal)
