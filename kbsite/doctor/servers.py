"""The database with its extensions, migrations and indexes; Redis, workers and beat."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain

import redis
from celery import current_app
from django.conf import settings
from django.core.checks import ERROR, run_checks
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from kombu.exceptions import OperationalError
from prometheus_client import CollectorRegistry

from common import replicas
from common.observing import processes
from ingestion.models import EmbeddingSpace
from ingestion.spaces.index import IndexState, indexes_of
from kbsite.doctor.findings import Finding
from kbsite.serving import health
from search.qdrant.engines import engine
from search.qdrant.models import PointCollection
from search.qdrant.port import EngineError
from search.qdrant.syncing import lag

# Differences between two clocks: tokens, leases and signatures allow for seconds, not minutes.
DIFFERENCE, TOO_DIFFERENT = timedelta(seconds=2), timedelta(seconds=30)
# Seconds from which a replica has something that keeps it. A guess.
BEHIND = 10.0
# For the answers of all workers.
PATIENCE = 2.0
# Beat passes changes on to Qdrant every two seconds.
LATE = timedelta(minutes=5)


def database() -> Iterator[Finding]:
    """Whether it answers, its version, and what `check --database` finds."""
    if not health.database_answers():
        advice = "Start it, or correct DATABASE_URL."
        if settings.EMBEDDED_POSTGRES:
            advice = "Run: manage.py services start"
        yield Finding.wrong("database", "does not answer", advice)
        return
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        yield Finding.ok("database", f"Postgres {cursor.fetchone()[0]}")
    if is_migrated():
        for each in run_checks(tags=["database"], databases=["default"]):
            make = Finding.wrong if each.level >= ERROR else Finding.look
            yield make("database settings", each.msg, each.hint or "See docs/operations.md.")


def read_replicas() -> Iterator[Finding]:
    """Whether each of DATABASE_REPLICA_URLS answers, and how far behind it is."""
    for each in replicas.lags():
        if not each.answers:
            text, advice = f"{each.name} does not answer", "Start it, or correct its address."
            yield Finding.wrong("replicas", f"{text}: searches read the primary", advice)
        elif not each.is_known:
            text = f"{each.name} is no standby of this database, and is not read"
            advice = "Correct its address. After a failover, wait for its next restart point."
            yield Finding.wrong("replicas", text, advice)
        elif each.seconds > BEHIND:
            text = f"{each.name} is {each.seconds:.0f} s and {each.bytes:,.0f} bytes behind"
            advice = "Look at its log: a long query, a paused replay, the network or its disk."
            yield Finding.look("replicas", text, advice)
        else:
            yield Finding.ok("replicas", f"{each.name} follows")


def extensions() -> Iterator[Finding]:
    """The extensions in use, against the newest that the server has."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, installed_version, default_version FROM pg_available_extensions"
            " WHERE installed_version IS NOT NULL ORDER BY name"
        )
        rows = cursor.fetchall()
    for name, installed, newest in rows:
        if installed != newest:
            advice = f"As the database's owner: ALTER EXTENSION {name} UPDATE"
            text = f"{name} {installed} is used, {newest} is installed"
            yield Finding.look("extensions", text, advice)
    if "vector" not in {name for name, *_ in rows}:
        yield Finding.wrong("extensions", "vector is missing", "Run: manage.py migrate")
    else:
        yield Finding.ok("extensions", ", ".join(f"{name} {used}" for name, used, _ in rows))


def is_migrated() -> bool:
    """Whether the database has the tables of this version."""
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def migrations() -> Iterator[Finding]:
    if is_migrated():
        yield Finding.ok("migrations", "all applied")
    else:
        yield Finding.wrong("migrations", "some are not applied", "Run: manage.py migrate")


def indexes() -> Iterator[Finding]:
    """Indexes that a failed build left, and that of the active embedding space."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
            " LEFT JOIN pg_stat_progress_create_index p ON p.index_relid = c.oid"
            " WHERE NOT i.indisvalid AND p.index_relid IS NULL AND pg_table_is_visible(c.oid)"
        )
        invalid = [name for (name,) in cursor.fetchall()]
    for name in invalid:
        text = f"{name} is incomplete after a failed build and is not used"
        yield Finding.wrong("indexes", text, f"Run in psql: REINDEX INDEX CONCURRENTLY {name}")
    active = EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).first()
    if not settings.VECTOR_INDEX:
        active = None  # Qdrant has it
    if active is not None and indexes_of([active])[active.pk].state is IndexState.NONE:
        text = f"the vectors of {active} have no index: searches by meaning read all of them"
        advice = f"Run: manage.py embedding_space index {active.pk}"
        yield Finding.wrong("indexes", text, advice)
    elif not invalid:
        yield Finding.ok("indexes", "all valid")


def clocks() -> Iterator[Finding]:
    """The difference between this machine's clock and the database's."""
    before = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        theirs = cursor.fetchone()[0]
    # In the middle of the question, so that a slow connection does not count.
    ours = before + (timezone.now() - before) / 2
    apart = abs(theirs - ours)
    text = f"{apart.total_seconds():.1f} s between this machine and the database"
    advice = "Let both machines keep their time by NTP (timedatectl set-ntp true)."
    if apart > TOO_DIFFERENT:
        yield Finding.wrong("clocks", text, advice)
    elif apart > DIFFERENCE:
        yield Finding.look("clocks", text, advice)
    else:
        yield Finding.ok("clocks", text)


def redis_server() -> Iterator[Finding]:
    """Whether it answers, its version, and that it does not drop what is in it."""
    advice = "Start it, or correct REDIS_URL."
    if settings.EMBEDDED_REDIS:
        advice = "Run: manage.py services start"
    if not health.redis_answers():
        yield Finding.wrong("redis", "does not answer", advice)
        return
    location = str(settings.CACHES["default"]["LOCATION"])
    with redis.Redis.from_url(location, socket_timeout=PATIENCE) as client:
        about = dict(client.info())
        policy = str(about.get("maxmemory_policy", "noeviction"))
    name = "Valkey" if "valkey_version" in about else "Redis"
    release = about.get("valkey_version") or about.get("redis_version")
    if policy != "noeviction" and about.get("maxmemory"):
        text = f"{name} {release} drops messages when its memory is full ({policy})"
        yield Finding.look("redis eviction", text, "Set maxmemory-policy noeviction.")
    yield Finding.ok("redis", f"{name} {release}")


def points() -> Iterator[Finding]:
    """Whether Qdrant answers, and how far it is behind; nothing without one."""
    if not settings.QDRANT_URL:
        return
    row = PointCollection.objects.filter(state=PointCollection.State.ACTIVE).first()
    if row is None:
        advice = "Run: manage.py qdrant rebuild, and then: manage.py qdrant switch"
        yield Finding.look("qdrant", "no collection is in use", advice)
        return
    try:
        held = engine().count(row.name)
    except EngineError as error:
        advice = "Start it, or correct QDRANT_URL. Until then searches find by keywords alone."
        yield Finding.wrong("qdrant", str(error), advice)
        return
    behind = lag()
    text = f"{row.name}: {held} points, {behind.waiting} changes wait"
    if behind.seconds > LATE.total_seconds():
        oldest = behind.seconds / 60
        advice = "Look whether workers and beat run, and into the worker's log."
        yield Finding.look("qdrant", f"{text}, the oldest for {oldest:.0f} minutes", advice)
    else:
        yield Finding.ok("qdrant", text)


def workers() -> Iterator[Finding]:
    """The workers that answer, and the queues that none of them takes from."""
    try:
        with current_app.connection_for_write() as broker:
            inspect = current_app.control.inspect(timeout=PATIENCE, connection=broker)
            answers = inspect.active_queues() or {}
    except (OperationalError, OSError) as error:
        text = f"the broker cannot be reached: {type(error).__name__}"
        yield Finding.wrong("workers", text, "Start Redis.")
        return
    taken = {queue["name"] for queue in chain.from_iterable(answers.values())}
    missing = [each.name for each in settings.CELERY_TASK_QUEUES if each.name not in taken]
    if not answers:
        advice = "Start them: docs/operations.md, “In production”. Until then, uploads wait."
        yield Finding.wrong("workers", "none answers", advice)
    elif missing:
        text = f"nobody takes from {', '.join(missing)}"
        yield Finding.wrong("workers", text, "Start a worker without --queues.")
    else:
        yield Finding.ok("workers", f"{len(answers)} answer: {', '.join(sorted(answers))}")


def beat() -> Iterator[Finding]:
    """How many beats run on this machine; another machine's are not seen from here."""
    with processes.settled():
        found = _processes("beat", processes.registry())
    if found > 1:
        text = f"{found:.0f} run: everything periodic happens as often"
        yield Finding.wrong("beat", text, "Stop all but one.")
    elif found < 1:
        advice = "Start it, unless it runs on another machine."
        yield Finding.look("beat", "none runs on this machine", advice)
    else:
        yield Finding.ok("beat", "one runs")


def _processes(program: str, registry: CollectorRegistry) -> float:
    return registry.get_sample_value("steelyard_processes", {"program": program}) or 0.0
