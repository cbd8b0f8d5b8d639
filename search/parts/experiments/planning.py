"""Plans of experiments: created, edited and deleted until they start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext

from search.errors import ExperimentError, RunConflict
from search.tuning.models import Experiment

if TYPE_CHECKING:
    from common.accounts.models import User

State = Experiment.State
PLAN = ("name", "kind", "a", "b", "share", "indifference", "days", "note")


@transaction.atomic
def plan(fields: Mapping[str, object], *, acting_user: User | None) -> Experiment:
    """Create an experiment that has not started. Raises ExperimentError for invalid fields."""
    experiment = Experiment(added_by=acting_user)
    _write(experiment, fields)
    _log(acting_user, experiment, ADDITION, "Planned.")
    return experiment


@transaction.atomic
def edit(
    experiment: Experiment, fields: Mapping[str, object], *, acting_user: User | None
) -> Experiment:
    """Change fields of a plan; return it. Raises RunConflict once it has started."""
    row = locked(experiment)
    check_draft(row)
    before = {name: str(getattr(row, name)) for name in PLAN}
    _write(row, fields)
    changed = [
        f"{name}: {was} → {getattr(row, name)}"
        for name, was in before.items()
        if was != str(getattr(row, name))
    ]
    if changed:
        # The gate's findings were about the earlier plan.
        row.findings, row.refusals, row.run_a, row.run_b = [], [], None, None
        row.save()
        _log(acting_user, row, CHANGE, "; ".join(changed))
    return row


@transaction.atomic
def delete(experiment: Experiment, *, acting_user: User | None) -> None:
    """Delete a plan. Raises RunConflict once it has started: experiments are kept."""
    row = locked(experiment)
    check_draft(row)
    _log(acting_user, row, DELETION, gettext("Deleted before it started."))
    row.delete()


def locked(experiment: Experiment) -> Experiment:
    """The experiment with its profiles, its row locked."""
    rows = Experiment.objects.select_for_update(of=("self",)).select_related("a", "b")
    return rows.get(pk=experiment.pk)


def check_draft(row: Experiment) -> None:
    """Raises RunConflict once the experiment has started."""
    if row.state != State.DRAFT:
        raise RunConflict(
            gettext("%(experiment)s has started and cannot be changed. Plan another experiment.")
            % {"experiment": row}
        )


def check_published(row: Experiment) -> None:
    """Raises ExperimentError if an arm is a draft."""
    for profile in (row.a, row.b):
        if profile.is_draft:
            raise ExperimentError(
                gettext("%(profile)s is a draft. Experiments compare published profiles only.")
                % {"profile": profile}
            )


def _write(experiment: Experiment, fields: Mapping[str, object]) -> None:
    """Set the fields and save. Raises ExperimentError for invalid values."""
    unknown = sorted(set(fields) - set(PLAN))
    if unknown:
        raise ExperimentError(
            gettext("Unknown fields of an experiment: %(unknown)s.")
            % {"unknown": ", ".join(unknown)}
        )
    for name, value in fields.items():
        setattr(experiment, name, value)
    try:
        experiment.full_clean()
    except ValidationError as error:
        problems = [
            text if name == "__all__" else f"{name}: {text}"
            for name, texts in error.message_dict.items()
            for text in texts
        ]
        raise ExperimentError(" ".join(problems)) from error
    check_published(experiment)
    experiment.save()


def _log(user: User | None, experiment: Experiment, flag: int, message: str) -> None:
    if user is not None:
        LogEntry.objects.log_actions(
            user.pk, [experiment], flag, change_message=message, single_object=True
        )
