"""Scheduled quality runs: measure the golden set once a day, and say when it gets worse.

An alert goes to the log and to webhooks; the page of the run names the queries.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from ingestion.webhooks.sending import record_fall
from search.models import SearchProfile
from search.presentation.labels import measure_label
from search.tuning.evaluation import golden_runs
from search.tuning.models import EvaluationRun, GoldenQuery, PublishGate, QualityRun

logger = logging.getLogger(__name__)

Status, RunState = QualityRun.Status, EvaluationRun.State

# A run that is later than this is skipped: the next one is near.
LATE = timedelta(hours=6)


def run_if_due(*, now: datetime | None = None) -> QualityRun | None:
    """Start the quality run that is due; return None if none is due, or nothing can be measured.

    Starts at most one run a day, also with concurrent calls.
    """
    now = timezone.localtime(now)
    due = due_at(now)
    if due is None or not due <= now < due + LATE:
        return None
    active = SearchProfile.active()
    has_queries = GoldenQuery.objects.filter(enabled=True).exists()
    if active is None or not has_queries or QualityRun.objects.filter(date=due.date()).exists():
        return None
    try:
        with transaction.atomic():
            run = golden_runs.start(active, acting_user=None)
            return QualityRun.objects.create(date=due.date(), run=run)
    except IntegrityError:
        return None  # another process has just started it


def due_at(now: datetime) -> datetime | None:
    """The latest time up to `now` at which a run was due; None if quality runs are off."""
    if not settings.NIGHTLY_RUN_AT:
        return None
    due = datetime.combine(now.date(), time.fromisoformat(settings.NIGHTLY_RUN_AT), now.tzinfo)
    return due if due <= now else due - timedelta(days=1)


def judge() -> int:
    """Compare the finished quality runs with earlier ones, oldest first; return their number."""
    finished = QualityRun.objects.filter(
        status=Status.WAITING, run__state__in=(RunState.DONE, RunState.FAILED, RunState.CANCELLED)
    )
    runs = list(finished.select_related("run__profile").order_by("date"))
    for run in runs:
        with transaction.atomic():
            _judge(run)
    return len(runs)


def _judge(quality: QualityRun) -> None:
    run = quality.run
    if run.state != RunState.DONE:
        quality.status = Status.FAILED
        logger.warning("The quality run of %s failed: %s", quality.date, run.error)
        quality.save(update_fields=["status"])
        return
    earlier = QualityRun.objects.filter(date__lt=quality.date)
    good = earlier.filter(status=Status.GOOD).select_related("run").order_by("-date").first()
    quality.status = Status.GOOD
    if good is not None:
        measure = leading_measure()
        before, now, broken = compare(good.run, run, measure=measure)
        _keep_earlier(good.run, run)
        quality.fall = before - now
        since = earlier.filter(date__gt=good.date, status=Status.FELL)
        worst = since.aggregate(worst=Max("fall"))["worst"]
        if quality.fall > settings.NIGHTLY_MARGIN or broken:
            quality.status = Status.FELL
            # Once, and again if it falls by another margin.
            if worst is None or quality.fall > worst + settings.NIGHTLY_MARGIN:
                _raise_alert(quality, good, measure, before, now, broken)
    quality.save(update_fields=["status", "fall"])


def leading_measure() -> str:
    """The measure that the publish gate compares."""
    gate = PublishGate.objects.filter(pk=1).first() or PublishGate()
    return gate.measure


def compare(before: EvaluationRun, now: EvaluationRun, *, measure: str) -> tuple[float, float, int]:
    """Both means of the measure, over the queries that both runs measured; 0 without any.

    And the number of those whose must-be-first document was first and no longer is.
    """
    both = [key for key in now.by_query if key in before.by_query]
    rows = [(before.by_query[key], now.by_query[key]) for key in both]
    pairs = [
        (old["measures"][measure], row["measures"][measure])
        for old, row in rows
        if measure in old["measures"] and measure in row["measures"]
    ]
    broken = sum(
        _holds_first(old) and bool(row.get("must")) and not _holds_first(row) for old, row in rows
    )
    count = max(1, len(pairs))
    return sum(was for was, _ in pairs) / count, sum(value for _, value in pairs) / count, broken


def _keep_earlier(before: EvaluationRun, now: EvaluationRun) -> None:
    """Write the earlier figures of each query into the later run: its page shows both."""
    for key, row in now.by_query.items():
        if old := before.by_query.get(key):
            row |= {"was": old["measures"], "was_first": old.get("first", "")}
    now.save(update_fields=["by_query"])


def _holds_first(row: Mapping[str, Any]) -> bool:
    return bool(row.get("must")) and row.get("first") == row["must"]


def _raise_alert(
    quality: QualityRun, good: QualityRun, measure: str, before: float, now: float, broken: int
) -> None:
    """Log that the run is worse than the last good one, and announce it to webhooks."""
    logger.error(
        "Search got worse: %s was %.3f and is %.3f; must-be-first documents no longer first: %d. "
        "The page of measurement %d names the queries.",
        measure_label(measure), before, now, broken, quality.run_id,
    )  # fmt: skip
    # Without the queries: not everybody may read the questions of others.
    data = {
        "measure": measure,
        "before": before,
        "now": now,
        "fall": before - now,
        "date": quality.date.isoformat(),
        "compared_with": good.date.isoformat(),
        "profile": str(quality.run.profile),
        "run": quality.run_id,
    }
    record_fall(data, permission="tuning.view_evaluationrun")
