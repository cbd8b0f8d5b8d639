"""W: what an experiment has told by now, read from what its visitors did.

A unit is a visitor, never a search: the searches of one person are not independent. Clicks and
thumbs up count; whose result was clicked was settled when it was shown.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q
from django.db.models.aggregates import Max
from django.db.models.fields import IntegerField
from django.db.models.functions import Cast
from django.utils import timezone

from search.analytics.models import Interaction, SearchEvent
from search.tuning.experiments.arms import A, B, preference
from search.tuning.experiments.conclusion import Told, of_interleaving, of_split
from search.tuning.experiments.sequential import Verdict
from search.tuning.models import Experiment

State = Experiment.State
FOUND = (Interaction.Kind.CLICK, Interaction.Kind.UP)
# The history has a point an hour at most, and so many: then every second one goes.
POINT_EVERY = timedelta(hours=1)
MAX_POINTS = 300


def told(experiment: Experiment) -> Told:
    """What its visitors say by now."""
    if experiment.kind == Experiment.Kind.SPLIT:
        a, b = _outcomes(experiment)
        return of_split(a, b, experiment.indifference)
    wins, losses, visitors = _preferences(experiment)
    return of_interleaving(wins, losses, visitors, experiment.indifference)


@transaction.atomic
def note(experiment: Experiment, *, now: datetime | None = None) -> Experiment:
    """The experiment with what it tells by now. Looking twice at the same changes nothing.

    One that does not run keeps what it told last: those who searched are being forgotten.
    """
    held = Experiment.objects.select_for_update(of=("self",)).get(pk=experiment.pk)
    if held.state != State.RUNNING:
        return held
    now = now or timezone.now()
    seen = as_json(told(held))
    before = {key: value for key, value in held.verdict.items() if key != "at"}
    if seen == before:
        return held
    held.verdict = {**seen, "at": now.isoformat()}
    held.history = _with_point(held.history, held.verdict, now)
    held.save(update_fields=["verdict", "history"])
    return held


def as_json(seen: Told) -> dict[str, Any]:
    """A look as it is kept and shown."""
    return {
        "verdict": seen.verdict.value,
        "sentence": seen.sentence,
        "value": round(seen.value, 6),
        "low": None if seen.low is None else round(seen.low, 6),
        "high": None if seen.high is None else round(seen.high, 6),
        "units": seen.units,
        "visitors": seen.visitors,
        "needed": seen.needed,
        "rates": list(seen.rates) if seen.rates else None,
        "counts": list(seen.counts),
    }


def is_decided(experiment: Experiment) -> bool:
    """Whether the last look told something."""
    undecided = Verdict.UNDECIDED.value
    return bool(experiment.verdict.get("verdict", undecided) != undecided)


def _outcomes(experiment: Experiment) -> tuple[list[float], list[float]]:
    """Of each arm's visitors, 1 for one who opened a result, else 0."""
    opened = Interaction.objects.filter(event=OuterRef("pk"), kind__in=FOUND)
    rows = (
        _events(experiment)
        .filter(arm__in=(A, B))
        .annotate(opened=Cast(Exists(opened), IntegerField()))
        .order_by()
        .values_list("visitor", "arm")
        .annotate(found=Max("opened"))
    )
    outcomes: dict[str, list[float]] = {A: [], B: []}
    for _, arm, found in rows:
        outcomes[arm].append(float(found))
    return outcomes[A], outcomes[B]


def _preferences(experiment: Experiment) -> tuple[int, int, int]:
    """How many visitors prefer B and A by most of their searches, and how many took part."""
    events = _events(experiment)
    rows = (
        Interaction.objects.filter(event__in=events, kind__in=FOUND, team__in=(A, B))
        .order_by()
        .values_list("event__visitor", "event", "team")
        .annotate(documents=Count("document", distinct=True))
    )
    clicked: dict[tuple[str, int], list[str]] = defaultdict(list)
    for visitor, event, team, documents in rows:
        clicked[visitor, event] += [team] * documents
    leaning: dict[str, int] = defaultdict(int)
    for (visitor, _), teams in clicked.items():
        leaning[visitor] += {B: 1, A: -1}.get(preference(teams), 0)
    wins = sum(each > 0 for each in leaning.values())
    losses = sum(each < 0 for each in leaning.values())
    visitors = events.aggregate(count=Count("visitor", distinct=True))["count"]
    return wins, losses, visitors


def _events(experiment: Experiment) -> Any:
    """Its searches, of visitors that can still be told apart."""
    return SearchEvent.objects.filter(~Q(visitor=""), experiment=experiment.pk)


def _with_point(
    history: list[dict[str, Any]], verdict: dict[str, Any], now: datetime
) -> list[dict[str, Any]]:
    point = {key: verdict[key] for key in ("at", "value", "low", "high", "visitors")}
    kept = list(history)
    if len(kept) > 1 and now - datetime.fromisoformat(kept[-2]["at"]) < POINT_EVERY:
        kept.pop()
    kept.append(point)
    return kept if len(kept) <= MAX_POINTS else [*kept[:-1:2], kept[-1]]
