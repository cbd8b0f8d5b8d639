"""What a scrape asks: the open jobs, the queues, the servers behind the site, the disks.

Three statements and one round trip to the queues, at most once in CACHED seconds, whoever scrapes.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Max, Min, Q, QuerySet, Value
from django.utils import timezone
from kombu.exceptions import OperationalError
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from common import replicas
from common.database import released
from common.jobs import Job, waiting_in
from common.jobs.leases import due, free
from kbsite.backups import is_configured
from kbsite.serving import health

logger = logging.getLogger(__name__)

CACHED = 5.0
# Tables whose size says how large the library is, and their names in the metric.
TABLES = {
    "ingestion_document": "documents",
    "ingestion_chunk": "passages",
    "ingestion_chunkembedding": "embeddings",
    "analytics_searchevent": "search_events",
}


class SiteGauges(Collector):
    """A collector of `prometheus_client`: the gauges of the whole site, asked and then kept."""

    def __init__(self, seconds: float = CACHED) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._until = float("-inf")
        self._found: list[Metric] = []

    def collect(self) -> Iterable[Metric]:
        """The gauges; those of a server that does not answer are left out."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._found = list(released(lambda: list(_ask())))
                self._until = time.monotonic() + self._seconds
            return self._found

    def describe(self) -> list[Metric]:
        """Nothing: a registry would else ask the servers to learn the names."""
        return []


def _ask() -> Iterator[Metric]:
    up = _gauge("steelyard_server_up", "Whether a server behind the site answers.", "server")
    for server, answers, asked in (
        ("database", health.database_answers, _of_database),
        ("redis", health.redis_answers, _of_queues),
    ):
        is_up = answers()
        up.add_metric([server], float(is_up))
        if is_up:  # one that is not would only be waited for
            yield from _found(asked)
    yield up
    yield from _of_replicas()
    yield from _of_disks()


def _found(asked: Callable[[], Iterable[Metric]]) -> list[Metric]:
    """The gauges; none if the server is too busy for them: it is up all the same."""
    try:
        return list(asked())
    except (DatabaseError, RedisError, OperationalError, OSError) as error:
        logger.warning("Some gauges are left out: %s", error)
        return []


def job_models() -> list[type[Job]]:
    """The models of jobs, by name."""
    found = [model for model in apps.get_models() if issubclass(model, Job)]
    return sorted(found, key=lambda model: str(model._meta.model_name))


def _of_database() -> Iterator[Metric]:
    now = timezone.now()
    open_jobs = _gauge(
        "steelyard_jobs", "Open jobs by kind, queue and state: waiting, running, paused.",
        "kind", "queue", "state",
    )  # fmt: skip
    oldest = _gauge(
        "steelyard_job_oldest_seconds",
        "Age of the oldest message of a waiting job that no worker has taken, by kind and queue.",
        "kind", "queue",
    )  # fmt: skip
    for kind, queue, waiting, running, paused, since in _jobs(now):
        for state, number in (("waiting", waiting), ("running", running), ("paused", paused)):
            open_jobs.add_metric([kind, queue, state], number)
        age = (now - since).total_seconds() if since else 0.0
        oldest.add_metric([kind, queue], max(age, 0.0))
    yield from (open_jobs, oldest)
    rows = _gauge("steelyard_rows", "Rows of large tables, as Postgres estimates them.", "table")
    size = GaugeMetricFamily("steelyard_database_bytes", "Size of the database on its disk.")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, greatest(reltuples, 0), pg_database_size(current_database())"
            " FROM pg_class WHERE oid = ANY(SELECT to_regclass(name) FROM unnest(%s::text[]) name)",
            [list(TABLES)],
        )
        for table, estimate, size_now in cursor.fetchall():
            rows.add_metric([TABLES[table]], estimate)
            size.samples.clear()
            size.add_metric([], size_now)
    yield from (rows, size, _of_backups(now))
    yield from _of_points()


def _of_backups(now: datetime) -> Metric:
    """The age of the last good backup: infinite if there is none, nothing if others make them."""
    from kbsite.backups.models import BackupRun  # when all models are loaded

    found = GaugeMetricFamily("steelyard_backup_age_seconds", "Age of the last good backup.")
    if is_configured():
        good = BackupRun.objects.filter(state=BackupRun.State.DONE)
        last = good.aggregate(last=Max("started"))["last"]
        found.add_metric([], (now - last).total_seconds() if last else float("inf"))
    return found


def _of_points() -> Iterator[Metric]:
    """How far Qdrant is behind Postgres, and what the last comparison found; empty without it."""
    from search.qdrant.models import PointCollection  # when all models are loaded
    from search.qdrant.syncing import lag

    waiting = GaugeMetricFamily("steelyard_points_waiting", "Changes that Qdrant lacks.")
    age = GaugeMetricFamily(
        "steelyard_points_lag_seconds", "Age of the oldest change that Qdrant lacks."
    )
    differing = GaugeMetricFamily(
        "steelyard_points_differing", "Points repaired after the last comparison."
    )
    if settings.QDRANT_URL:
        behind = lag()
        waiting.add_metric([], behind.waiting)
        age.add_metric([], behind.seconds)
        for row in PointCollection.objects.filter(state=PointCollection.State.ACTIVE):
            differing.add_metric([], row.differing)
    yield from (waiting, age, differing)


def _jobs(now: datetime) -> Iterable[tuple[str, str, int, int, int, datetime | None]]:
    """The kind, queue, numbers waiting, running and paused, and oldest message: one statement."""
    asked = [
        _counted(model, queue, lane, now)
        for model in job_models()
        for queue, lane in model.QUEUES.items()
    ]
    return reduce(lambda one, other: one.union(other, all=True), asked)


def _counted(model: type[Job], queue: str, lane: Q, now: datetime) -> QuerySet[Any, Any]:
    waits = free(now) & due(now)
    return (
        model.open_jobs()
        .filter(lane)
        .order_by()
        .annotate(job=Value(str(model._meta.model_name)), queue=Value(queue))
        .values("job", "queue")
        .annotate(
            waiting=Count("pk", filter=waits & Q(enqueued_at__isnull=False)),
            running=Count("pk", filter=~free(now)),
            paused=Count("pk", filter=free(now) & ~due(now)),
            since=Min("enqueued_at", filter=waits),
        )
        .values_list("job", "queue", "waiting", "running", "paused", "since")
    )


def _of_queues() -> Iterator[Metric]:
    found = _gauge("steelyard_queue_messages", "Messages that wait in a queue.", "queue")
    names = [queue.name for queue in settings.CELERY_TASK_QUEUES]
    for queue, messages in waiting_in(names).items():
        found.add_metric([queue], messages)
    yield found


def _of_replicas() -> Iterator[Metric]:
    up = _gauge("steelyard_replica_up", "Whether a read replica answers and follows.", "replica")
    size = _gauge("steelyard_replica_lag_bytes", "Log that a replica has not replayed.", "replica")
    age = _gauge(
        "steelyard_replica_lag_seconds",
        "Age of the newest change that a replica has, if the primary has newer ones.",
        "replica",
    )
    for lag in replicas.lags():
        up.add_metric([lag.name], float(lag.is_known))
        if lag.is_known:
            size.add_metric([lag.name], lag.bytes)
            age.add_metric([lag.name], lag.seconds)
    yield from (up, size, age)


def _of_disks() -> Iterator[Metric]:
    free_bytes = _gauge("steelyard_disk_free_bytes", "Room on the disk of a folder.", "folder")
    size = _gauge("steelyard_disk_bytes", "Size of the disk of a folder.", "folder")
    for folder, path in (("var", settings.VAR_DIR), ("files", settings.MEDIA_ROOT)):
        try:
            found = shutil.disk_usage(_existing(Path(path)))
        except OSError:
            continue
        free_bytes.add_metric([folder], found.free)
        size.add_metric([folder], found.total)
    yield from (free_bytes, size)


def _existing(path: Path) -> Path:
    """The path, or the folder above it that exists: files come with the first upload."""
    return next(each for each in (path, *path.parents) if each.exists())


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, labels=labels)


site_gauges = SiteGauges()
