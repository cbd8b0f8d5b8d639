"""Night after night the golden set is measured, and somebody is told when search got worse."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from search.models import SearchProfile
from search.tuning.evaluation import golden_runs
from search.tuning.models import EvaluationRun, GoldenQuery, Night, PublishGate
from search.tuning.quality import alerts

logger = logging.getLogger(__name__)

Verdict, RunState = Night.Verdict, EvaluationRun.State

# A night that was missed by so much is missed: the next is near.
LATE = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Fall:
    """How a measure changed between two runs, over the queries that both measured.

    `queries` are those that fell, the worst first, as text, before, now. `broken` are queries
    whose document that must be first was first and is no longer.
    """

    measure: str
    before: float
    now: float
    queries: tuple[tuple[str, float, float], ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def amount(self) -> float:
        return self.before - self.now


def run_if_due(*, now: datetime | None = None) -> Night | None:
    """The night whose run was started; None where it is not time, or there is nothing to measure.

    Asked again and again, it starts one run a night, also where several ask at once.
    """
    now = timezone.localtime(now)
    due = due_at(now)
    if due is None or not due <= now < due + LATE:
        return None
    active = SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE).first()
    asked = GoldenQuery.objects.filter(enabled=True).exists()
    if active is None or not asked or Night.objects.filter(date=due.date()).exists():
        return None
    try:
        with transaction.atomic():
            run = golden_runs.start(active, acting_user=None)
            return Night.objects.create(date=due.date(), run=run)
    except IntegrityError:
        return None  # another has just started it


def due_at(now: datetime) -> datetime | None:
    """The latest time before `now` at which a nightly run was due; None where they are off."""
    if not settings.NIGHTLY_RUN_AT:
        return None
    due = datetime.combine(now.date(), time.fromisoformat(settings.NIGHTLY_RUN_AT), now.tzinfo)
    return due if due <= now else due - timedelta(days=1)


def judge() -> int:
    """How many nights got their verdict: those whose runs have ended, oldest first."""
    ended = Night.objects.filter(
        verdict=Verdict.WAITING,
        run__state__in=(RunState.DONE, RunState.FAILED, RunState.CANCELLED),
    )
    nights = list(ended.select_related("run__profile").order_by("date"))
    for night in nights:
        with transaction.atomic():
            _judge(night)
    return len(nights)


def _judge(night: Night) -> None:
    if night.run.state != RunState.DONE:
        night.verdict = Verdict.FAILED
        logger.warning("The nightly run of %s failed: %s", night.date, night.run.error)
        night.save(update_fields=["verdict"])
        return
    good = (
        Night.objects.filter(date__lt=night.date, verdict=Verdict.GOOD)
        .order_by("-date")
        .select_related("run")
        .first()
    )
    fall = compare(good.run, night.run, measure=leading_measure()) if good else None
    night.verdict = Verdict.FELL if fall and _is_bad(fall) else Verdict.GOOD
    night.fall = fall.amount if fall else None
    night.save(update_fields=["verdict", "fall"])
    if fall and good and night.verdict == Verdict.FELL and _is_news(fall, good):
        alerts.raise_alert(night.run, subject=_subject(fall), findings=_findings(fall, night, good))


def _is_bad(fall: Fall) -> bool:
    return fall.amount > settings.NIGHTLY_MARGIN or bool(fall.broken)


def _is_news(fall: Fall, good: Night) -> bool:
    """Whether no alert was raised since the last good night, or it is worse by a margin since."""
    told = Night.objects.filter(date__gt=good.date).exclude(run__alert=None).order_by("date").last()
    return told is None or fall.amount > (told.fall or 0.0) + float(settings.NIGHTLY_MARGIN)


def leading_measure() -> str:
    """The measure that the publish gate watches."""
    gate = PublishGate.objects.filter(pk=1).first() or PublishGate()
    return gate.measure


def compare(before: EvaluationRun, now: EvaluationRun, *, measure: str) -> Fall | None:
    """How `measure` changed between two runs; None where they measured no query in common."""
    common = [key for key in now.by_query if key in before.by_query]
    pairs = {
        key: (_value(before.by_query[key], measure), _value(now.by_query[key], measure))
        for key in common
    }
    measured = {
        key: (was, value)
        for key, (was, value) in pairs.items()
        if was is not None and value is not None
    }
    broken = tuple(
        now.by_query[key]["text"]
        for key in common
        if _holds_first(before.by_query[key]) and _breaks_first(now.by_query[key])
    )
    if not measured:
        return Fall(measure, 0.0, 0.0, broken=broken) if broken else None
    fell = [
        (str(now.by_query[key]["text"]), was, value)
        for key, (was, value) in measured.items()
        if value < was
    ]
    return Fall(
        measure,
        before=sum(was for was, _ in measured.values()) / len(measured),
        now=sum(value for _, value in measured.values()) / len(measured),
        queries=tuple(sorted(fell, key=lambda row: (row[2] - row[1], row[0]))),
        broken=broken,
    )


def _value(row: Mapping[str, Any], measure: str) -> float | None:
    value = row.get("measures", {}).get(measure)
    return None if value is None else float(value)


def _holds_first(row: Mapping[str, Any]) -> bool:
    return bool(row.get("must")) and row.get("first") == row.get("must")


def _breaks_first(row: Mapping[str, Any]) -> bool:
    return bool(row.get("must")) and row.get("first") != row.get("must")


def _subject(fall: Fall) -> str:
    if fall.amount > settings.NIGHTLY_MARGIN:
        return f"Search got worse: {fall.measure} fell from {fall.before:.3f} to {fall.now:.3f}"
    broken = len(fall.broken)
    return f"Search got worse: {broken} quer{'y has' if broken == 1 else 'ies have'} lost the first"


def _findings(fall: Fall, night: Night, good: Night) -> dict[str, Any]:
    return {
        "measure": fall.measure,
        "before": fall.before,
        "now": fall.now,
        "fall": fall.amount,
        "night": night.date.isoformat(),
        "compared_with": good.date.isoformat(),
        "profile": str(night.run.profile),
        "run": night.run.pk,
        "queries": [
            {"query": text, "before": was, "now": value} for text, was, value in fall.queries
        ],
        "no_longer_first": list(fall.broken),
    }
