"""Probes of the services other than the database: models, Redis, queues, workers and jobs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import reduce
from itertools import chain
from typing import Any

import redis
from celery import current_app
from django.apps import apps
from django.conf import settings
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, Value
from django.utils import timezone
from kombu.exceptions import OperationalError
from prometheus_client import Metric

from common import heartbeat
from common.jobs import INTERACTIVE, Job, due, free
from common.probes import Finding, gauge, look, ok, register, wrong
from ingestion import spaces
from ingestion.errors import EmbeddingError
from ingestion.models import ChunkEmbedding, Document
from ingestion.spaces import metered_embedder
from kbsite.operations import endpoints
from search.answers.generating import server as answering
from search.errors import ModelUnavailable

SENTENCE = "Is this model able to embed?"


@register("embedder", needs="migrations", alive=metered_embedder.answers, vital=False)
def embedder() -> Iterator[Finding]:
    """Whether the active space's model embeds a sentence."""
    space = spaces.active_space()
    try:
        model = spaces.embedder(space)
        started = time.perf_counter()
        size = len(model.embed_query(SENTENCE, timeout=settings.QUERY_EMBEDDING_TIMEOUT))
        spent = (time.perf_counter() - started) * 1000
    except EmbeddingError as error:
        advice = "See the variables of the embedder in .env.example, and “Embedding spaces”."
        yield wrong(str(error), advice)
    else:
        yield ok(f"{model.card.name}: {size} dimensions, {spent:.0f} ms")


@register("documents", needs="migrations")
def documents() -> Iterator[Finding]:
    """Whether every searchable document has vectors in the active space."""
    vectors = ChunkEmbedding.objects.filter(
        chunk__version=OuterRef("current"), space=spaces.active_space()
    )
    hollow = Document.objects.undeleted().filter(current__isnull=False).exclude(Exists(vectors))
    if count := hollow.count():
        first = ", ".join(map(str, hollow.order_by("pk").values_list("pk", flat=True)[:5]))
        text = f"{count:,} are ready but have no embedding in the active space; their ids: {first}"
        yield wrong(text, "Select them in the admin under Documents, and reprocess them.")
    else:
        incomplete = Document.objects.undeleted().incomplete().count()
        yield ok(f"all that are ready are embedded; of {incomplete:,} something is not searchable")


@register("language model", needs="migrations")
def language_model() -> Iterator[Finding]:
    """Whether the language model answers, where one is set up."""
    server = answering.configured()
    if server is None:
        return
    try:
        yield ok(f"{answering.model_name(server)} is named")
    except ModelUnavailable as error:
        yield wrong(str(error), "Check ANSWER_BASE_URL, ANSWER_API_KEY and ANSWER_MODEL.")


# Seconds to wait for the answers of all workers.
PATIENCE = 2.0
# Seconds that the oldest message may wait, as in deploy/monitoring/alerts.yaml: guesses.
OLD_INTERACTIVE, OLD = 120, 3000


@register(
    "redis",
    alive=endpoints.redis_answers,
    start="Run: manage.py services start"
    if settings.EMBEDDED_REDIS
    else "Start it, or correct REDIS_URL.",
)
def redis_server() -> Iterator[Finding]:
    """Redis: its version, and whether its eviction policy keeps all keys."""
    location = str(settings.CACHES["default"]["LOCATION"])
    with redis.Redis.from_url(location, socket_timeout=PATIENCE) as client:
        about = dict(client.info())
    policy = str(about.get("maxmemory_policy", "noeviction"))
    name = "Valkey" if "valkey_version" in about else "Redis"
    release = about.get("valkey_version") or about.get("redis_version")
    if policy != "noeviction" and about.get("maxmemory"):
        text = f"{name} {release} deletes queued messages when its memory is full ({policy})"
        yield look(text, "Set maxmemory-policy noeviction.")
    yield ok(f"{name} {release}")


@register("workers", needs="redis", alive=heartbeat.answers, vital=False)
def workers() -> Iterator[Finding]:
    """The number of answering workers, and the queues that no worker serves."""
    try:
        with current_app.connection_for_write() as broker:
            inspect = current_app.control.inspect(timeout=PATIENCE, connection=broker)
            answers = inspect.active_queues() or {}
    except (OperationalError, OSError) as error:
        yield wrong(f"the broker cannot be reached: {type(error).__name__}", "Start Redis.")
        return
    served = {queue["name"] for queue in chain.from_iterable(answers.values())}
    missing = [each.name for each in settings.CELERY_TASK_QUEUES if each.name not in served]
    if not answers:
        advice = "Start them: docs/install.md. Until then, uploads wait."
        yield wrong("none answers", advice)
    elif missing:
        yield wrong(f"no worker serves {', '.join(missing)}", "Start a worker without --queues.")
    else:
        yield ok(f"{len(answers)} answer: {', '.join(sorted(answers))}")


def job_gauges() -> Iterator[Metric]:
    now = timezone.now()
    open_jobs = gauge(
        "jobs",
        "Open jobs by kind, queue and state: waiting, running, paused.",
        "kind",
        "queue",
        "state",
    )
    oldest = gauge(
        "job_oldest_seconds",
        "Age of the oldest message of a waiting job that no worker has taken, by kind and queue.",
        "kind",
        "queue",
    )
    for kind, queue, waiting, running, paused, since in _jobs(now):
        for state, number in (("waiting", waiting), ("running", running), ("paused", paused)):
            open_jobs.add_metric([kind, queue, state], number)
        oldest.add_metric([kind, queue], _age(since, now))
    yield from (open_jobs, oldest)


@register("jobs", needs="migrations", gauges=job_gauges)
def jobs() -> Iterator[Finding]:
    """Whether a job waits for longer than the workers should need to begin it."""
    now = timezone.now()
    rows = list(_jobs(now))
    late = False
    for kind, queue, _waiting, _running, _paused, since in rows:
        age = _age(since, now)
        if age > (OLD_INTERACTIVE if queue == INTERACTIVE else OLD):
            late = True
            text = f"{kind} of the queue {queue} waits for {age / 60:.0f} minutes"
            yield look(text, "Do the workers run, and are there enough?")
    if not late:
        yield ok(f"{sum(row[2] for row in rows)} wait, {sum(row[3] for row in rows)} run")


def _age(since: datetime | None, now: datetime) -> float:
    return max((now - since).total_seconds(), 0.0) if since else 0.0


def job_models() -> list[type[Job]]:
    """The models of jobs, by name."""
    models = [model for model in apps.get_models() if issubclass(model, Job)]
    return sorted(models, key=lambda model: str(model._meta.model_name))


def _jobs(now: datetime) -> Iterable[tuple[str, str, int, int, int, datetime | None]]:
    """The kind, queue, numbers waiting, running and paused, and oldest message: one statement."""
    counts = [
        _counted(model, queue, lane, now)
        for model in job_models()
        for queue, lane in model.QUEUES.items()
    ]
    return reduce(lambda one, other: one.union(other, all=True), counts)


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
