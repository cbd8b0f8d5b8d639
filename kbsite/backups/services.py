"""Backups of this site by its settings: make one, know which was the last, keep some."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage
from django.db.models import Max
from django.utils import timezone

from kbsite.backups import database as db
from kbsite.backups import is_configured, writing
from kbsite.backups.errors import BackupDamaged, BackupError, BackupRunning
from kbsite.backups.keys import Key
from kbsite.backups.listing import Listing, address, backups, time_of
from kbsite.backups.models import BackupRun
from kbsite.backups.store import Store

logger = logging.getLogger(__name__)

State = BackupRun.State
PAUSE_AFTER_FAILURE = timedelta(hours=1)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LastBackup:
    """The last good backup. `age` is in seconds since the moment that it holds."""

    name: str
    at: datetime
    age: float
    files: int
    size: int
    is_late: bool


def last_backup() -> LastBackup | None:
    """The last good backup by this site's own record, or None; one query, no look at the store."""
    row = BackupRun.objects.filter(state=State.DONE).order_by("-started").first()
    if row is None:
        return None
    age = timezone.now() - row.started
    late = age > timedelta(hours=settings.BACKUP_LATE_HOURS)
    return LastBackup(row.name, row.started, age.total_seconds(), row.files, row.size, late)


def back_up(key: Key, *, place: str = "", say: Say = logger.info) -> BackupRun:
    """Make a backup and remove those that are kept no longer; return its row.

    Raises BackupError, which the row keeps too, and while another one is running.
    """
    database = db.parameters()
    with db.alone(database):
        # The lock is ours: whatever was running is not.
        interrupted = "It was interrupted: its process was ended, or its machine."
        BackupRun.objects.filter(state=State.RUNNING).update(
            state=State.FAILED, error=interrupted, finished=timezone.now()
        )
        row = BackupRun.objects.create(place=place or settings.BACKUP_URL)
        try:
            store = Store(row.place)
            made = writing.make(
                store,
                key,
                database=database,
                storage=default_storage,
                scratch=Path(settings.VAR_DIR) / "backup",
                say=say,
            )
            _note(row, made)
            tidy(store, key, say=say)
        except Exception as error:
            if row.state == State.RUNNING:
                row.state, row.error, row.finished = State.FAILED, str(error), timezone.now()
                row.save()
            raise
    return row


def _note(row: BackupRun, made: writing.Made) -> None:
    listing = made.listing
    row.state, row.finished, row.name = State.DONE, timezone.now(), listing.name
    row.files, row.added = len(listing.files), made.stored
    row.missing = len(listing.missing) + len(listing.damaged)
    row.size = sum(piece.stored for piece in (*listing.dump, *listing.files.values()))
    row.save()


def tidy(store: Store, key: Key, *, now: datetime | None = None, say: Say = logger.info) -> int:
    """Remove the backups that are kept no longer, and objects that none needs; return how many.

    The caller holds the lock of backups. Raises BackupError.
    """
    names = backups(store, key)
    keep = kept(names, now or timezone.now())
    store.delete(address(name, key) for name in names if name not in keep)
    needed: set[str] = set()
    for name in keep:
        try:
            needed |= Listing.read(name, store, key).objects(key).keys()
        except BackupDamaged as error:
            say(f"{error} No object is removed, since nobody knows which ones it needs.")
            return 0
    unneeded = store.sizes("objects").keys() - needed
    store.delete(sorted(unneeded))
    return len(unneeded)


def kept(names: Iterable[str], now: datetime) -> set[str]:
    """Those of the backups that are kept.

    All of the last 24 hours, the newest of each of BACKUP_DAYS days and of BACKUP_WEEKS weeks (in
    UTC), and always the newest of all.
    """
    keep: set[str] = set()
    periods: set[object] = set()
    for name in sorted(names, reverse=True):
        at = time_of(name)
        age = now - at
        day, week = at.date(), at.isocalendar()[:2]
        is_of_day = age <= timedelta(days=settings.BACKUP_DAYS) and day not in periods
        is_of_week = age <= timedelta(weeks=settings.BACKUP_WEEKS) and week not in periods
        if not keep or age <= timedelta(days=1) or is_of_day or is_of_week:
            keep.add(name)
            periods |= {day, week}
    return keep


def back_up_if_due(*, now: datetime | None = None) -> BackupRun | None:
    """Make the backup that is due; None if none is, one is running, or it failed.

    The log says why it failed, and its row unless there was no key.
    """
    if not is_configured() or not settings.BACKUP_AT:
        return None
    now = timezone.localtime(now)
    due = datetime.combine(now.date(), time.fromisoformat(settings.BACKUP_AT), now.tzinfo)
    due = due if due <= now else due - timedelta(days=1)
    last = BackupRun.objects.filter(state=State.DONE).aggregate(at=Max("started"))["at"]
    failed = BackupRun.objects.filter(state=State.FAILED).aggregate(at=Max("finished"))["at"]
    if last is not None and last >= due:
        return None
    if failed is not None and failed > now - PAUSE_AFTER_FAILURE:
        return None
    try:
        # Never a new key here: nobody would be told to keep it elsewhere.
        return back_up(Key.read(Path(settings.BACKUP_KEY_FILE)))
    except BackupRunning:
        return None  # it takes longer than beat's next tick, or somebody ran the command
    except BackupError as error:
        logger.error("No backup was made: %s", error)
        return None
