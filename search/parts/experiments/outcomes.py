"""Interim analyses of an experiment from its visitors' behaviour, and its end.

The unit is a visitor, not a search: one person's searches are not independent. Clicks and thumbs
up count; the team of a clicked result was recorded when it was shown.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from common.accounts.models import User
from search.analytics.models import Interaction, SearchEvent
from search.engine import configuration
from search.models import SearchProfile
from search.parts.experiments.interleaving import A, B, preference
from search.parts.experiments.models import Experiment
from search.parts.experiments.sequential_test import Conclusion, ExperimentVerdict, of_interleaving
from search.tuning import drafts
from search.tuning.life_cycle import locked
from search.tuning.models import ProfileChange

State = Experiment.State
Action = ProfileChange.Action
SUCCESSES = (Interaction.Kind.CLICK, Interaction.Kind.UP)


def conclude(experiment: Experiment) -> Conclusion:
    """The conclusion from the visitors so far."""
    wins, losses, visitors = _preferences(experiment)
    return of_interleaving(wins, losses, visitors, experiment.indifference)


@transaction.atomic
def refresh(experiment: Experiment) -> Experiment:
    """Save the current conclusion of a running experiment; return the experiment.

    One that is not running keeps its last conclusion: its visitors are being anonymised.
    """
    row = locked(experiment)
    if row.state != State.RUNNING:
        return row
    conclusion = conclude(row)
    current = {**asdict(conclusion), "counts": list(conclusion.counts)}  # as JSON gives it back
    before = {key: value for key, value in row.verdict.items() if key != "at"}
    if current == before:
        return row
    row.verdict = {**current, "at": timezone.now().isoformat()}
    row.save(update_fields=["verdict"])
    return row


def is_decided(experiment: Experiment) -> bool:
    """True if the last analysis reached a verdict."""
    undecided = ExperimentVerdict.UNDECIDED.value
    return bool(experiment.verdict.get("verdict", undecided) != undecided)


def _preferences(experiment: Experiment) -> tuple[int, int, int]:
    """The numbers of visitors who prefer B and A in most of their searches, and of all visitors."""
    events = _events(experiment)
    rows = (
        Interaction.objects.filter(event__in=events, kind__in=SUCCESSES, team__in=(A, B))
        .order_by()
        .values_list("event__visitor", "event", "team")
        .annotate(documents=Count("document", distinct=True))
    )
    clicked: dict[tuple[str, int], list[str]] = defaultdict(list)
    for visitor, event, team, documents in rows:
        clicked[visitor, event] += [team] * documents
    leaning: dict[str, int] = defaultdict(int)
    for (visitor, _event), teams in clicked.items():
        leaning[visitor] += {B: 1, A: -1}.get(preference(teams), 0)
    wins = sum(each > 0 for each in leaning.values())
    losses = sum(each < 0 for each in leaning.values())
    visitors = events.aggregate(count=Count("visitor", distinct=True))["count"]
    return wins, losses, visitors


def _events(experiment: Experiment) -> Any:
    """The experiment's searches by visitors who have not been anonymised."""
    return SearchEvent.objects.filter(~Q(visitor=""), experiment=experiment.pk)


# --- the end, and the audit ----------------------------------------------------------------


@transaction.atomic
def finish(experiment: Experiment, *, reason: str, user: User | None) -> Experiment:
    """End a running experiment after a last analysis, with an audit entry; return it.

    One that is not running is returned unchanged.
    """
    row = refresh(experiment)
    if row.state != State.RUNNING:
        return row
    row.state, row.ended, row.end_reason = State.ENDED, timezone.now(), reason
    row.save(update_fields=["state", "ended", "end_reason"])
    sentence = row.verdict.get("sentence", "")
    audit(row, Action.TRIAL_ENDED, user, reason, [sentence] if sentence else [])
    return row


def finish_running(profile: SearchProfile, user: User | None, **_signal: Any) -> None:
    """End the running experiment, if there is one: `profile` became active (`activated`).

    Its visitors must get that profile, too.
    """
    for experiment in Experiment.objects.filter(state=State.RUNNING):
        finish(experiment, reason=f"{profile} became active.", user=user)


def audit(
    experiment: Experiment,
    action: ProfileChange.Action,
    user: User | None,
    reason: str,
    findings: list[str],
) -> None:
    """Add an entry about the experiment to the audit of its profile B."""
    line = f"Experiment “{experiment.name}”: A {experiment.a}, B {experiment.b}"
    drafts.audit(experiment.b, action, user, reason, [line], findings=findings)
    configuration.bump()
