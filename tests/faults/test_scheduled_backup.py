"""The scheduled backup: beat asks for it, a worker makes it, and people and monitors see it."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery.beat import PersistentScheduler
from django.urls import reverse
from prometheus_client.parser import text_string_to_metric_families

from common.accounts.models import User
from kbsite.backups import reading
from kbsite.backups.keys import Key
from kbsite.backups.models import BackupRun
from kbsite.backups.store import Store
from kbsite.celery import app
from kbsite.operations.monitoring import endpoint, gauges
from tests.faults.harness import ROOT, environment, wait_for, worker
from tests.support.admin_client import signed_in
from tests.support.factories import make_collection, upload

DUE = "back-up"


@pytest.fixture
def variables(tmp_path: Path, settings: Any) -> dict[str, str]:
    """A place and a key, for this process and those that it starts."""
    Key.create(tmp_path / "key")
    found = {"BACKUP_URL": str(tmp_path / "backups"), "BACKUP_KEY_FILE": str(tmp_path / "key")}
    for name, value in found.items():
        setattr(settings, name, value)
    return found


@pytest.fixture
def schedule(tmp_path: Path) -> Path:
    """What a beat leaves that ran an hour ago; only the backup has become due since."""
    path = tmp_path / "schedule"
    scheduler = PersistentScheduler(app=app, schedule_filename=str(path))
    scheduler.schedule[DUE].last_run_at -= timedelta(hours=1)
    scheduler.close()
    return path


def _age() -> float:
    """The age of the last good backup in seconds, as a monitor reads it."""
    for family in text_string_to_metric_families(endpoint.exposition().decode()):
        if family.name == "steelyard_backup_age_seconds":
            return float(family.samples[0].value)
    raise AssertionError


@pytest.mark.django_db(transaction=True)
def test_beat_and_a_worker_make_the_backup_that_is_due(
    variables: dict[str, str],
    schedule: Path,
    empty_queues: None,
    clean_cache: None,
    administrator: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gauges, "site_gauges", gauges.SiteGauges(seconds=0))
    upload(make_collection(), b"# Rope\n\nA rope.", file_name="rope.md")
    client, page = signed_in(administrator), reverse("admin:index")
    assert _age() == float("inf")
    assert "No backup has been made yet" in client.get(page).text

    command = [sys.executable, "-m", "celery", "-A", "kbsite", "-q", "beat", "-s", str(schedule)]
    beat = subprocess.Popen(command, cwd=ROOT, env=environment(**variables))
    try:
        with worker(1, **variables):
            wait_for(BackupRun.objects.exclude(state="running").exists)
    finally:
        beat.kill()
        beat.wait()

    (run,) = BackupRun.objects.all()
    assert (run.state, run.files) == ("done", 1), run.error
    assert 0 <= _age() < 3600
    assert "the database and 1 original" in client.get(page).text
    key, store = Key.read(Path(variables["BACKUP_KEY_FILE"])), Store(variables["BACKUP_URL"])
    listing = reading.find(store, key)
    assert listing.name == run.name
    reading.verify(store, key, listing)
