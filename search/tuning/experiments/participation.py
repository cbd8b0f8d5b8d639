"""The part that a search takes in the running experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.http import HttpRequest

from search.analytics.visitors import is_recorded, visitor_of
from search.domain import MIXED, Mix, Profile, RunningExperiment, TakesPart, Trial
from search.query.expand import fold_query
from search.tuning.experiments.assignment import A, arm, takes_part, team_draft
from search.tuning.models import Experiment


def participant(request: HttpRequest) -> TakesPart:
    """A function that returns the trial of this request's search, the same for the same visitor.

    It returns None for visitors who are not recorded or are outside the experiment's share. The
    seed of an interleaving is the visitor and the question, so that a reload and the second page
    are consistent.
    """

    def part(running: RunningExperiment, question: str, active: Profile | None) -> Trial | None:
        if not is_recorded(request):
            return None
        visitor = visitor_of(request).key
        if not takes_part(visitor, running.salt, running.share):
            return None
        if not running.interleaves:
            chosen = arm(visitor, running.salt)
            profile = running.a if chosen == A else running.b
            return Trial(running.pk, chosen, (profile,), profile)
        both = (running.a, running.b)
        named = active if active in both else running.a
        seed = f"{running.salt}:{visitor}:{fold_query(question)}"
        return Trial(running.pk, MIXED, both, named, _drafted_by(seed))

    return part


def _drafted_by(seed: str) -> Mix:
    def mix(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, str]]:
        return [(drafted.item, drafted.team) for drafted in team_draft(a, b, seed)]

    return mix


def running_experiment(profiles: Mapping[int, Profile]) -> RunningExperiment | None:
    """The running experiment, whose profiles are among the published `profiles`, by row id."""
    row = Experiment.objects.filter(state=Experiment.State.RUNNING).first()
    if row is None:
        return None
    return RunningExperiment(
        pk=row.pk,
        interleaves=row.kind == Experiment.Kind.INTERLEAVED,
        salt=row.salt,
        share=row.share,
        a=profiles[row.a_id],
        b=profiles[row.b_id],
    )
