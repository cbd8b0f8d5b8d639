"""The life cycle of an experiment, of which one runs at a time: a plan until it starts.

start -> the gate measures each arm against the active profile -> it runs, or a refusal
      -> interim analyses -> a verdict, the maximum duration, a person or a new active profile
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
from search.tuning import gate_runs
from search.tuning.evaluation import golden_runs
from search.tuning.life_cycle import locked
from search.tuning.models import EvaluationRun

DECIDED = gettext_lazy("A verdict was reached.")
TOO_LONG = gettext_lazy("The maximum duration was reached.")


def start(experiment: Experiment, *, acting_user: User | None) -> Experiment:
    """Start the experiment; return it running, refused (a draft with `refusals`) or in measurement.

    Each arm that is not active itself goes through the gate, as for publishing. With more golden
    queries than the gate's setting a worker measures. `acting_user` None is the system itself.
    Raises NotPermitted, ExperimentError, RunConflict.
    """
    _check_permitted(acting_user)
    with transaction.atomic():
        active = _lock_active()
        row = locked(experiment)
        _check_startable(row)
        measurement = gate_runs.preview()
        arms = [each for each in (row.a, row.b) if active is None or each.pk != active.pk]
        measured = arms if measurement.queries else []
        row.state, row.asked_by = State.CHECKING, acting_user
        row.findings, row.refusals = [], []
        row.attempts, row.not_before = 0, None
        row.enqueued_at = timezone.now()  # at first the sweep skips it
        runs = {each.pk: golden_runs.create(each, acting_user=acting_user) for each in measured}
        row.run_a, row.run_b = runs.get(row.a_id), runs.get(row.b_id)
        row.save()
        if gate_runs.in_background(row, measurement):
            return row
    return carry_out(row.pk)


def carry_out(pk: int) -> Experiment:
    """Measure the experiment's arms if necessary, decide it, and return it. Safe to repeat."""
    return gate_runs.carry_out(Experiment, pk, _settle)


def cancel(experiment: Experiment, *, acting_user: User | None) -> Experiment:
    """Cancel the measurement and return to draft. Raises RunConflict in any other state."""
    _check_permitted(acting_user)
    refusal = gettext("The experiment is not being measured.")
    return gate_runs.cancel(experiment, refusal, state=State.DRAFT)


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


@transaction.atomic
def _settle(experiment: Experiment) -> Experiment:
    """Start or refuse the experiment by the figures of its arms' runs, under lock."""
    active = _lock_active()
    row = locked(experiment)
    if row.state != State.CHECKING:
        return row
    if problem := _changed(row, active):
        return _refuse(row, [problem], [problem])
    findings, refusals = _judged(row.runs)
    row.findings, row.refusals = findings, refusals
    if refusals:
        return _refuse(row, findings, refusals)
    if problem := _busy(row):
        return _refuse(row, findings, [problem])
    row.state, row.started = State.RUNNING, timezone.now()
    row.verdict = {}
    row.save()
    run = row.run_b or row.run_a
    audit(row, Action.TRIED, row.asked_by, "", findings, run=run)
    return row


def _judged(runs: list[EvaluationRun]) -> tuple[list[str], list[str]]:
    """The gate's findings on each arm, and the refusals among them."""
    if not runs:
        return [gate_runs.unmeasured()], []
    findings, refusals = [], []
    for run in runs:
        if run.state == EvaluationRun.State.DONE:
            verdict = gate_runs.verdict(run)
            findings += [f"{run.profile}: {finding.text}" for finding in verdict.findings]
            refusals += [f"{run.profile}: {finding.text}" for finding in verdict.refusals]
            continue
        text = gettext("%(profile)s: it could not be measured: %(error)s")
        findings.append(text % {"profile": run.profile, "error": run.error})
        refusals.append(findings[-1])
    return findings, refusals


def _refuse(row: Experiment, findings: list[str], refusals: list[str]) -> Experiment:
    row.state, row.findings, row.refusals = State.DRAFT, findings, refusals
    row.save()
    run = row.run_b or row.run_a
    audit(row, Action.NOT_TRIED, row.asked_by, "", findings, run=run)
    return row


def _changed(row: Experiment, active: SearchProfile | None) -> str:
    """The reason why the measurements are no longer valid; empty if they are."""
    if any(run.baseline_id != (active.pk if active else None) for run in row.runs):
        return gettext("%(active)s has become active since. Start it again to compare with it.") % {
            "active": active
        }
    user = row.asked_by
    if user is not None and not gate_runs.still_permitted(user, override=False):
        return gettext("The person who requested it may no longer start experiments.")
    return ""


def _check_startable(row: Experiment) -> None:
    if row.state != State.DRAFT:
        text = gettext("%(experiment)s has started and cannot be changed. Plan another experiment.")
        raise RunConflict(text % {"experiment": row})
    for profile in (row.a, row.b):
        if profile.is_draft:
            text = gettext("%(profile)s is a draft. Experiments compare published profiles only.")
            raise ExperimentError(text % {"profile": profile})
    if problem := _busy(row):
        raise RunConflict(problem)
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


def _busy(row: Experiment) -> str:
    """The reason why another experiment prevents the start of this one; empty if none does."""
    busy = Experiment.objects.filter(state__in=(State.RUNNING, State.CHECKING))
    other = busy.exclude(pk=row.pk).first()
    if other is None:
        return ""
    return gettext(
        "Only one experiment can run at a time. End “%(experiment)s” (%(state)s) first."
    ) % {"experiment": other, "state": other.get_state_display()}


def _lock_active() -> SearchProfile | None:
    """Lock and return the active profile, so that no other start or publication can intervene."""
    rows = SearchProfile.objects.select_for_update()
    return rows.filter(state=SearchProfile.State.ACTIVE).first()
