"""System checks of backups: `manage.py check --deploy` says if none is made, or the last is old."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from datetime import time
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as CheckWarning
from django.db import DatabaseError

Apps = Sequence[AppConfig] | None


@register()
def check_backup_time(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """BACKUP_AT must be a time of day."""
    try:
        time.fromisoformat(settings.BACKUP_AT or "00:00")
    except ValueError:
        hint = "Write it as 02:00, in TIME_ZONE; leave it empty for backups by command only."
        text = f"BACKUP_AT is {settings.BACKUP_AT!r}, which is no time."
        return [Error(text, hint=hint, id="steelyard.E030")]
    return []


@register(deploy=True)
def check_backups(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """There must be backups, with a key that nobody else reads, and the last must be recent."""
    from kbsite.backups import is_configured

    if not settings.BACKUP_URL:
        return [
            CheckWarning(
                "No backups are made.",
                hint="Set BACKUP_URL to a folder on another disk or to s3://BUCKET/PREFIX "
                "(docs/backup.md), or to “elsewhere” if other programs back up the database and "
                "the files.",
                id="steelyard.W030",
            )
        ]
    if not is_configured():
        return []
    return [*_key_problems(Path(settings.BACKUP_KEY_FILE)), *_age_problems()]


def _key_problems(path: Path) -> list[CheckMessage]:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return [
            CheckWarning(
                f"The key of the backups is not in {path}, so none can be made.",
                hint="Run `manage.py backup` once: it creates the key. Keep a copy elsewhere.",
                id="steelyard.W031",
            )
        ]
    if not mode & (stat.S_IROTH | stat.S_IWOTH):
        return []
    text = f"The key of the backups, {path}, can be read by every user of this machine."
    return [CheckWarning(text, hint=f"chmod 600 {path}", id="steelyard.W032")]


def _age_problems() -> list[CheckMessage]:
    from kbsite.backups import services

    try:
        last = services.last_backup()
    except DatabaseError:
        return []  # before migrate, or another check says that the server is down
    if last is not None and not last.is_late:
        return []
    text = (
        "No backup has been made yet."
        if last is None
        else f"The last good backup was made {last.age / 3600:.0f} hours ago."
    )
    hint = "Run `manage.py backup`; the admin's page Backups has the errors of scheduled ones."
    return [CheckWarning(text, hint=hint, id="steelyard.W033")]
