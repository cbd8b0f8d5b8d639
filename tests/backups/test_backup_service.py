"""Scheduled backups: when one is due, which are kept, what a bucket holds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage
from django.core.management import CommandError, call_command
from django.utils import timezone

from kbsite.backups import ELSEWHERE, database, reading, services, writing
from kbsite.backups.errors import BackupError
from kbsite.backups.keys import Key
from kbsite.backups.listing import address, backups, new_name
from kbsite.backups.models import BackupRun
from kbsite.backups.store import Store
from kbsite.operations.probes.parts import backup_is_recent
from tests.backups.conftest import Make, contents, rows
from tests.support.bucket import bucket_server

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a bucket on a server that speaks S3 over HTTP."""
    with bucket_server() as found:
        for name, value in found.variables.items():
            monkeypatch.setenv(name, value)
        yield found.address


def test_a_bucket_holds_backups_as_a_folder_does(
    bucket: str, library: Any, key: Key, tmp_path: Path, empty: dict[str, Any],
    elsewhere: FileSystemStorage, files: Path, settings: Any,
) -> None:  # fmt: skip
    store = Store(bucket)
    first = services.back_up(key, place=bucket)
    lost = next(iter(store.sizes("objects")))
    again = services.back_up(key, place=bucket)
    assert again.added < first.added
    assert backups(store, key) == [first.name, again.name]
    listing = reading.find(store, key)
    reading.verify(store, key, listing)
    reading.restore(store, key, listing, database=empty, storage=elsewhere)
    assert contents(Path(elsewhere.location)) == contents(files)
    tables = rows(database.parameters())
    restored = rows(empty)
    assert {name for name in tables if tables[name] != restored[name]} == {"backups_backuprun"}

    store.delete([lost])
    with pytest.raises(BackupError, match=r"missing or cut off|damaged"):
        reading.verify(store, key, reading.find(store, key, first.name))
    settings.BACKUP_DAYS, settings.BACKUP_WEEKS = 1, 0
    services.tidy(store, key, now=timezone.now() + timedelta(days=3))
    assert backups(store, key) == [again.name]


def test_a_bucket_that_is_not_there_is_said(bucket: str, key: Key, library: Any) -> None:
    with pytest.raises(BackupError, match="Check BACKUP_URL"):
        services.back_up(key, place="s3://nobody/steelyard")
    assert "Check BACKUP_URL" in BackupRun.objects.get().error


def _named(*ages: float) -> list[str]:
    """The names of backups that are so many days old at NOW."""
    return sorted(new_name(NOW - timedelta(days=age)) for age in ages)


def test_days_and_weeks_are_kept_and_always_the_newest(settings: Any) -> None:
    settings.BACKUP_DAYS, settings.BACKUP_WEEKS = 3, 4
    # NOW is a Friday; half a day before it is the same day, in UTC.
    names = _named(0.1, 0.2, 1.2, 1.3, 2.2, 4.2, 9, 10, 40)
    assert services.kept(names, NOW) == set(_named(0.1, 0.2, 1.2, 2.2, 9))
    assert services.kept(_named(400), NOW) == set(_named(400))
    assert services.kept([], NOW) == set()


def test_removing_a_backup_keeps_what_others_need(
    make: Make, store: Store, key: Key, settings: Any, library: Any
) -> None:
    settings.BACKUP_DAYS, settings.BACKUP_WEEKS = 1, 0
    old, new = make().listing, make().listing
    later = timezone.now() + timedelta(days=3)
    assert services.tidy(store, key, now=later) == len(set(old.dump) - set(new.dump))
    reading.verify(store, key, new)
    assert store.sizes("objects").keys() == new.objects(key).keys()


def test_nothing_is_removed_while_a_list_cannot_be_read(
    make: Make, store: Store, key: Key, place: Path
) -> None:
    one, two = make().listing, make().listing
    path = place / address(one.name, key)
    path.write_bytes(path.read_bytes()[:-1])
    (place / "objects/00").mkdir(exist_ok=True)
    store.put("objects/00/00", b"of nobody")
    assert services.tidy(store, key) == 0
    assert "objects/00/00" in store.sizes("objects")
    reading.verify(store, key, two)


@pytest.fixture
def configured(settings: Any, place: Path, key: Key, tmp_path: Path) -> Any:
    settings.BACKUP_URL, settings.BACKUP_KEY_FILE = str(place), str(tmp_path / "key")
    settings.BACKUP_AT = "02:00"
    return settings


def test_one_is_made_a_day_and_a_failure_waits_an_hour(
    configured: Any, library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now().replace(hour=12)
    made = services.back_up_if_due(now=now)
    assert made is not None
    BackupRun.objects.update(started=now)
    assert services.back_up_if_due(now=now + timedelta(hours=13)) is None  # 01:00

    def full(*args: Any, **more: Any) -> None:
        raise BackupError("The disk is full.")

    monkeypatch.setattr(writing, "make", full)
    tomorrow = now + timedelta(hours=14)
    assert services.back_up_if_due(now=tomorrow) is None
    failed = BackupRun.objects.get(state="failed")
    assert failed.error == "The disk is full."
    BackupRun.objects.filter(pk=failed.pk).update(finished=tomorrow)
    monkeypatch.undo()
    assert services.back_up_if_due(now=tomorrow + timedelta(minutes=59)) is None
    assert services.back_up_if_due(now=tomorrow + timedelta(minutes=61)) is not None


def test_the_schedule_is_silent_while_a_backup_runs(
    configured: Any, library: Any, caplog: Any
) -> None:
    with database.alone(database.parameters()):
        assert services.back_up_if_due() is None
    assert "No backup was made" not in caplog.text
    assert not BackupRun.objects.exists()


def test_a_schedule_creates_no_key_of_its_own(
    configured: Any, db: None, caplog: Any, tmp_path: Path
) -> None:
    configured.BACKUP_KEY_FILE = str(tmp_path / "none")
    assert services.back_up_if_due() is None
    assert "There is no key of backups" in caplog.text
    assert not (tmp_path / "none").exists()
    configured.BACKUP_URL = ELSEWHERE
    assert services.back_up_if_due() is None
    with pytest.raises(CommandError, match="Say where to"):
        call_command("backup")


def test_health_tells_recent_from_late(transactional_db: None, settings: Any) -> None:
    settings.BACKUP_URL = "s3://house"
    assert not backup_is_recent()
    run = BackupRun.objects.create(state="done", place="s3://house")
    assert backup_is_recent()
    BackupRun.objects.filter(pk=run.pk).update(started=timezone.now() - timedelta(hours=37))
    assert not backup_is_recent()
