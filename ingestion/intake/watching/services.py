"""Add, pause and scan watched folders; what the last scan reported."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.admin.models import CHANGE
from django.db import transaction

from common.jobs import enqueue
from ingestion.audit import log
from ingestion.errors import IngestionError
from ingestion.models import WatchedFolder

if TYPE_CHECKING:
    from common.accounts.models import User


logger = logging.getLogger(__name__)


class WatchRefused(IngestionError):
    """The folder may not be watched: the message says why, and what to do."""

    code = "watch_refused"


def checked_path(path: str, *, acting_user: User | None) -> str:
    """The folder's path without links, if this user may have it watched. Raises WatchRefused.

    Superusers, and the command (None), may name any folder; others those below WATCH_ROOTS.
    """
    if not Path(path).is_absolute() or "\0" in path:
        raise WatchRefused("Write the whole path, from / on.")
    resolved = Path(path).resolve()
    free = acting_user is None or acting_user.is_superuser
    roots = [root.resolve() for root in settings.WATCH_ROOTS]
    if not free and not any(resolved.is_relative_to(root) for root in roots):
        raise WatchRefused(
            "That folder is not among those that may be watched. Ask a superuser, or have its "
            "parent added to WATCH_ROOTS."
        )
    if not resolved.is_dir():
        raise WatchRefused(f"There is no folder {resolved} on this server.")
    own = [settings.MEDIA_ROOT, settings.VAR_DIR]
    if any(Path(folder).resolve().is_relative_to(resolved) for folder in own) or (
        resolved.is_relative_to(Path(settings.VAR_DIR).resolve())
    ):
        raise WatchRefused("Steelyard keeps its own files there. Name another folder.")
    return str(resolved)


def look_now(folder: WatchedFolder, *, acting_user: User | None) -> None:
    """Has a worker look through the folder as soon as it can."""
    with transaction.atomic():
        _look_again(folder)


def confirm_deletion(folder: WatchedFolder, *, acting_user: User | None) -> int:
    """How many files are gone on purpose: the next look removes those that are still missing.

    It holds for what is missing now, and for nothing that goes missing later.
    """
    with transaction.atomic():
        missing = folder.files.filter(missing_since__isnull=False)
        count = missing.update(deletion_confirmed=True)
        if count:
            log(acting_user, folder, CHANGE, f"Confirmed that {count} file(s) are gone")
            _look_again(folder)
    return count


def _look_again(folder: WatchedFolder) -> None:
    WatchedFolder.objects.filter(pk=folder.pk).update(not_before=None)
    enqueue(WatchedFolder, folder.pk)


# In the order in which they are told.
WORDS = {
    "added": "added",
    "changed": "changed",
    "moved": "moved",
    "deleted": "deleted",
    "duplicate": "with the bytes of another",
    "waiting": "waiting",
    "refused": "refused",
    "unreadable": "unreadable",
    "missing": "missing",
    "unchanged": "unchanged",
}


def counts_line(folder: WatchedFolder) -> str:
    """What the last look found, such as “2 added, 40 unchanged”; "" for nothing."""
    counts = folder.last_counts
    return ", ".join(f"{counts[name]:,} {word}" for name, word in WORDS.items() if counts.get(name))


def line_of(folder: WatchedFolder) -> str:
    """Path, state, what is wrong, and what the last look found."""
    said = [folder.get_state_display(), folder.message, counts_line(folder)]
    return f"{folder.pk:>4}  {folder.path}: " + "; ".join(part for part in said if part)
