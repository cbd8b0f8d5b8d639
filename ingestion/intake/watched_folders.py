"""Watched folders: which may be watched, scans at once, confirmed deletions, the last counts."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.accounts.models import User
from common.jobs import enqueue
from ingestion.errors import IngestionError
from ingestion.intake.mirroring import confirm
from ingestion.models import WatchedFolder


class WatchRefused(IngestionError):
    """The folder must not be watched; the message says why, and what to do."""

    code = "watch_refused"


def checked_path(path: str, *, acting_user: User | None) -> str:
    """The resolved path of the folder, if the user may watch it. Raises WatchRefused.

    Superusers, and commands (None), may watch any folder; others those below WATCH_ROOTS.
    """
    if not Path(path).is_absolute() or "\0" in path:
        raise WatchRefused(gettext("Enter an absolute path."))
    resolved = Path(path).resolve()
    free = acting_user is None or acting_user.is_superuser
    roots = [root.resolve() for root in settings.WATCH_ROOTS]
    if not free and not any(resolved.is_relative_to(root) for root in roots):
        raise WatchRefused(
            gettext("The folder is not below WATCH_ROOTS. Ask a superuser, or have it added there.")
        )
    if not resolved.is_dir():
        raise WatchRefused(
            gettext("There is no folder %(path)s on this server.") % {"path": resolved}
        )
    own = [settings.MEDIA_ROOT, settings.VAR_DIR]
    if any(Path(folder).resolve().is_relative_to(resolved) for folder in own) or (
        resolved.is_relative_to(Path(settings.VAR_DIR).resolve())
    ):
        raise WatchRefused(gettext("Steelyard's own files are there. Watch another folder."))
    return str(resolved)


def look_now(folder: WatchedFolder) -> None:
    """Queue a scan of the folder."""
    with transaction.atomic():
        _queue_scan(folder)


def confirm_deletion(folder: WatchedFolder, *, acting_user: User | None) -> int:
    """Confirm the deletion of the missing files, for the next scan; return their number.

    Files that go missing later are not confirmed.
    """
    with transaction.atomic():
        count = confirm(folder, folder.files.all(), acting_user=acting_user)
        if count:
            _queue_scan(folder)
    return count


def _queue_scan(folder: WatchedFolder) -> None:
    WatchedFolder.objects.filter(pk=folder.pk).update(not_before=None)
    enqueue(WatchedFolder, folder.pk)


# In order of display.
WORDS = {
    "added": _("added"), "changed": _("changed"), "moved": _("moved"), "deleted": _("deleted"),
    "duplicate": _("duplicate"), "waiting": _("waiting"), "refused": _("refused"),
    "unreadable": _("unreadable"), "missing": _("missing"), "unchanged": _("unchanged"),
}  # fmt: skip


def counts_line(folder: WatchedFolder) -> str:
    """A summary of the last scan, such as “2 added, 40 unchanged”; may be empty."""
    counts = folder.last_counts
    return ", ".join(f"{counts[name]:,} {word}" for name, word in WORDS.items() if counts.get(name))
