"""Probes of what only some sites have: backups of their own, read replicas."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from common import replicas
from common.probes import Finding, Scope, look, ok, register, wrong
from kbsite.operations import backups

# Seconds from which a replica has something that keeps it. A guess.
BEHIND = 10.0


def backup_gauges() -> Iterator[Metric]:
    gauge = GaugeMetricFamily("steelyard_backup_age_seconds", "Age of the last good backup.")
    if backups.is_configured():
        age = backups.age()
        gauge.add_metric([], float("inf") if age is None else age.total_seconds())
    yield gauge


def backup_is_recent() -> bool | None:
    return backups.is_recent() if backups.is_configured() else None


@register("backup", Scope.DEPLOYMENT, alive=backup_is_recent, vital=False, gauges=backup_gauges)
def backup() -> Iterator[Finding]:
    """There must be backups, and the last must be recent."""
    if not settings.BACKUP_FOLDER:
        advice = (
            "Set BACKUP_FOLDER to the folder of `manage.py backup` (docs/backup.md), or to "
            "“elsewhere” if other programs back up the database and the files."
        )
        yield look("No backups are made.", advice, "W030")
    elif backups.is_configured() and not backups.is_recent():
        text = f"There is no backup of the last {backups.LATE.total_seconds() / 3600:.0f} hours."
        yield look(text, "Run `manage.py backup`, and look at the log of its timer.", "W033")


def replica_gauges() -> Iterator[Metric]:
    up, size, age = (
        GaugeMetricFamily(f"steelyard_replica_{name}", text, labels=["replica"])
        for name, text in (
            ("up", "Whether a read replica answers and follows."),
            ("lag_bytes", "Log that a replica has not replayed."),
            ("lag_seconds", "Age of the newest change that a replica has."),
        )
    )
    for each in replicas.lags():
        up.add_metric([each.name], float(each.is_known))
        if each.is_known:
            size.add_metric([each.name], each.bytes)
            age.add_metric([each.name], each.seconds)
    yield from (up, size, age)


def replicas_behind() -> dict[str, dict[str, float]] | None:
    """The bytes and seconds that each replica is behind; empty for one that does not answer."""
    if not replicas.names():
        return None
    return {
        each.name: {"bytes": each.bytes, "seconds": round(each.seconds, 3)} if each.is_known else {}
        for each in replicas.lags()
    }


@register("replicas", needs="database", alive=replicas_behind, vital=False, gauges=replica_gauges)
def read_replicas() -> Iterator[Finding]:
    """Whether each of DATABASE_REPLICA_URLS answers, and how far behind it is."""
    for each in replicas.lags():
        if not each.answers:
            text, advice = f"{each.name} does not answer", "Start it, or correct its address."
            yield wrong(f"{text}: searches read the primary", advice)
        elif not each.is_known:
            text = f"{each.name} is no standby of this database, and is not read"
            advice = "Correct its address. After a failover, wait for its next restart point."
            yield wrong(text, advice)
        elif each.seconds > BEHIND:
            text = f"{each.name} is {each.seconds:.0f} s and {each.bytes:,.0f} bytes behind"
            advice = "Look at its log: a long query, a paused replay, the network or its disk."
            yield look(text, advice)
        else:
            yield ok(f"{each.name} follows")
