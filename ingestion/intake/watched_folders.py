"""Watched folders: their settings, and the differences since the last scan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.accounts.models import User
from common.jobs import enqueue
from ingestion.errors import IngestionError
from ingestion.intake.folder_listing import Entry, is_included, path_text, walk
from ingestion.intake.mirroring import confirm
from ingestion.models import WatchedFolder


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The files of a folder by displayed path, and the unreadable paths with the reasons.

    Files at or below a path in `unreadable` have an unknown state: they do not count as missing.
    """

    seen: dict[str, Entry] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)


class FolderTrouble(Exception):
    """The folder itself cannot be scanned; has the folder's new state and a message."""

    def __init__(self, state: WatchedFolder.State, message: str) -> None:
        super().__init__(message)
        self.state = state


def list_folder(folder: WatchedFolder) -> FolderListing:
    """The files of the folder that match its patterns. Raises FolderTrouble."""
    root = Path(folder.path)
    listing = FolderListing()
    try:
        if root.resolve() != root:
            raise FolderTrouble(
                WatchedFolder.State.ERROR,
                gettext("The path has become a link. Enter the path of its target."),
            )
        for file in walk(root, recursive=folder.recursive):
            path = path_text(file.path)
            if not is_included(path, folder.include, folder.exclude):
                continue
            if isinstance(file, Entry):
                listing.seen[path] = file
            else:
                listing.unreadable[path] = file.reason
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FolderTrouble(
            WatchedFolder.State.MISSING,
            gettext(
                "The folder is missing. Its documents are unchanged. Mount the disk, or enter the "
                "new path of the folder."
            ),
        ) from error
    except OSError as error:
        raise FolderTrouble(
            WatchedFolder.State.ERROR,
            gettext(
                "The folder cannot be read: %(error)s. Its documents are unchanged. Give the "
                "worker's user permission to read it."
            )
            % {"error": error.strerror or error},
        ) from error
    return listing


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as of the last scan. `open`: it is not ingested yet."""

    path: str
    size: int
    mtime_ns: int
    open: bool
    missing: bool


@dataclass(slots=True)
class Differences:
    """Paths by the action that they need; each is in one list.

    `new` and `changed` wait until unchanged; `due` are unchanged and ready to ingest; `gone` were
    present at the last scan; `still_gone` were already missing; `back` are present again.
    """

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    due: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    still_gone: list[str] = field(default_factory=list)
    same: int = 0


def compare(
    known: Mapping[str, KnownFile], seen: Mapping[str, Entry], unknown: Iterable[str]
) -> Differences:
    """The differences since the last scan, without paths at or below one in `unknown`."""
    differences = Differences()
    for path, file in seen.items():
        before = known.get(path)
        if before is None:
            differences.new.append(path)
        elif (before.size, before.mtime_ns) != (file.size, file.mtime_ns):
            differences.changed.append(path)
        elif before.open:
            differences.due.append(path)
        elif before.missing:
            differences.back.append(path)
        else:
            differences.same += 1
    hidden = tuple(unknown)
    for path, before in known.items():
        if path in seen or any(path == one or path.startswith(f"{one}/") for one in hidden):
            continue
        (differences.still_gone if before.missing else differences.gone).append(path)
    return differences


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
