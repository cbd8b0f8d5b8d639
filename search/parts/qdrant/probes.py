"""The probes of the part “qdrant”: its settings, and how far the engine is behind."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from prometheus_client import Metric

from common.probes import Finding, Scope, gauge, look, ok, register, wrong
from search.parts.qdrant.engines import engine
from search.parts.qdrant.models import PointCollection
from search.parts.qdrant.port import EngineError
from search.parts.qdrant.syncing import lag

# Beat passes changes on to Qdrant every two seconds.
LATE = 300.0


def point_gauges() -> Iterator[Metric]:
    waiting = gauge("points_waiting", "Changes that Qdrant lacks.")
    age = gauge("points_lag_seconds", "Age of the oldest change that Qdrant lacks.")
    differing = gauge("points_differing", "Points repaired after the last comparison.")
    if settings.QDRANT_URL:
        behind = lag()
        waiting.add_metric([], behind.waiting)
        age.add_metric([], behind.seconds)
        for row in PointCollection.objects.filter(state=PointCollection.State.ACTIVE):
            differing.add_metric([], row.differing)
    yield from (waiting, age, differing)


@register("qdrant settings", Scope.SETTINGS)
def address() -> Iterator[Finding]:
    """The backend needs an address."""
    if settings.RETRIEVAL_BACKEND == "qdrant" and not settings.QDRANT_URL:
        text = "RETRIEVAL_BACKEND is qdrant, but QDRANT_URL is not set."
        yield wrong(text, "Set it: see docs/scale.md.", "E061")


@register("qdrant", needs="migrations", gauges=point_gauges)
def points() -> Iterator[Finding]:
    """Whether Qdrant answers, and how far it is behind; nothing without one."""
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
        advice = "Start it, or correct QDRANT_URL. Until then searches find by keywords alone."
        yield wrong(str(error), advice)
        return
    behind = lag()
    text = f"{row.name}: {number} points, {behind.waiting} changes wait"
    if behind.seconds > LATE:
        advice = "Look whether workers and beat run, and into the worker's log."
        yield look(f"{text}, the oldest for {behind.seconds / 60:.0f} minutes", advice)
    else:
        yield ok(text)
