"""Probes of what only some sites have: backups of their own."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from common.probes import Finding, Scope, look, register
from kbsite.operations import backups


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
