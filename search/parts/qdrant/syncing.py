"""The outbox: what changed is recorded, read from Postgres again and written to the engine; probes.

A row names a version, not what happened to it: its points become those that Postgres has now. So
rows may be taken in any order, twice, and long after other changes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Min, Q
from django.utils import timezone
from prometheus_client import Metric

from common.database import hold_name
from common.probes import Finding, Occasion, gauge, look, ok, register, wrong
from common.retries import pause
from search.parts.qdrant import engines, points
from search.parts.qdrant.engines import engine
from search.parts.qdrant.models import PointChange, PointCollection
from search.parts.qdrant.points import EngineError

logger = logging.getLogger(__name__)

# Rows of one transaction. A guess: many uploads are one page of points each.
AT_ONCE = 20
# A version that the engine refuses is tried again at least so often.
LONGEST_PAUSE = timedelta(minutes=1)


def lag() -> tuple[int, float]:
    """The number of rows that wait for the engine, and the age of the oldest in seconds."""
    totals = PointChange.objects.aggregate(waiting=Count("pk"), since=Min("created"))
    since = totals["since"]
    return totals["waiting"], (timezone.now() - since).total_seconds() if since else 0.0


def sync() -> int:
    """Write waiting changes to the engine until none waits or it fails; return the number of rows.

    Several workers may do this at once: they take different rows.
    """
    done = 0
    while not engines.breaker.is_open:
        try:
            count = _take()
        except _Failed as failed:
            _postpone(failed)
            continue
        if not count:
            break
        done += count
    return done


class _Failed(Exception):
    """The engine failed at these rows."""

    def __init__(self, rows: Sequence[int], error: EngineError) -> None:
        super().__init__(str(error))
        self.rows = rows


def _take() -> int:
    """Write the changes of some rows in one transaction; return their number. Raises _Failed."""
    with transaction.atomic():
        due = Q(not_before=None) | Q(not_before__lte=timezone.now())
        rows = PointChange.objects.filter(due).select_for_update(skip_locked=True)
        batch = list(rows.order_by("pk")[:AT_ONCE])
        pks = [row.pk for row in batch]
        # One that failed goes alone, so that it holds up no other.
        if any(row.attempts for row in batch):
            batch = [min(batch, key=lambda row: (row.attempts, row.pk))]
            pks = [batch[0].pk]
        try:
            for version in sorted({row.version for row in batch}):
                _write(version)
        except EngineError as error:
            raise _Failed(pks, error) from error
        PointChange.objects.filter(pk__in=pks).delete()
    return len(pks)


def _write(version: int) -> None:
    """Write the version's present chunks to all collections. Raises EngineError."""
    # Another worker may be writing an older state of it; in sorted order, so without a deadlock.
    hold_name(f"points of version {version}")
    for collection in PointCollection.objects.filter(state__in=PointCollection.WRITTEN):
        written: list[int] = []
        for page in points.of_version(version, collection.spaces):
            engine().upsert(collection.name, page)
            written += [point.id for point in page]
        engine().keep_only(collection.name, version, written)


def _postpone(failed: _Failed) -> None:
    """Postpone the rows, and pause requests to the engine."""
    engines.breaker.trip()
    logger.warning("Points could not be written, %d rows wait: %s", len(failed.rows), failed)
    attempts = PointChange.objects.filter(pk__in=failed.rows).order_by("-attempts")
    most = attempts.values_list("attempts", flat=True).first() or 0
    attempts.update(
        attempts=F("attempts") + 1,
        not_before=timezone.now() + pause(most, longest=LONGEST_PAUSE),
        error=str(failed)[:500],
    )


def record_change(*, versions: Iterable[int], **_signal: Any) -> None:
    """Record the versions whose searchable chunks changed; does nothing without an engine."""
    if settings.QDRANT_URL:
        PointChange.objects.bulk_create([PointChange(version=each) for each in versions])


# Beat passes changes on to Qdrant every two seconds.
LATE = 300.0


def point_gauges() -> Iterator[Metric]:
    waiting = gauge("points_waiting", "Changes that Qdrant lacks.")
    age = gauge("points_lag_seconds", "Age of the oldest change that Qdrant lacks.")
    differing = gauge("points_differing", "Points repaired after the last comparison.")
    if settings.QDRANT_URL:
        changes, seconds = lag()
        waiting.add_metric([], changes)
        age.add_metric([], seconds)
        for row in PointCollection.objects.filter(state=PointCollection.State.ACTIVE):
            differing.add_metric([], row.differing)
    yield from (waiting, age, differing)


@register("qdrant settings", Occasion.SETTINGS)
def address() -> Iterator[Finding]:
    """The backend needs an address."""
    if settings.RETRIEVAL_BACKEND == "qdrant" and not settings.QDRANT_URL:
        text = "RETRIEVAL_BACKEND is qdrant, but QDRANT_URL is not set."
        yield wrong(text, "Set it: see docs/scale.md.", "E061")


@register("qdrant", needs="migrations", gauges=point_gauges)
def points_probe() -> Iterator[Finding]:
    """Findings on whether Qdrant answers, and on waiting changes; none without an engine."""
    if not settings.QDRANT_URL:
        return
    row = PointCollection.objects.filter(state=PointCollection.State.ACTIVE).first()
    if row is None:
        advice = "Run: manage.py qdrant rebuild, and then: manage.py qdrant switch"
        yield look("no collection is in use", advice)
        return
    try:
        number = engine().count(row.name)
    except EngineError as error:
        advice = (
            "Start it, or correct QDRANT_URL; if it lost its data, run: manage.py qdrant rebuild, "
            "and then: manage.py qdrant switch. Until then searches find by keywords alone."
        )
        yield wrong(str(error), advice)
        return
    changes, seconds = lag()
    text = f"{row.name}: {number} points, {changes} changes wait"
    if seconds > LATE:
        advice = "Look whether workers and beat run, and into the worker's log."
        yield look(f"{text}, the oldest for {seconds / 60:.0f} minutes", advice)
    else:
        yield ok(text)
