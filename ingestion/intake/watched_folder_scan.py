"""Scan a watched folder and mirror its changes.

    list    -> the existing files; a folder that cannot be read ends the scan without changes
    compare -> new, changed, missing; recorded before anything is ingested or deleted
    take    -> each file that was unchanged between two scans, in its own transaction
    settle  -> a document whose file is gone but whose bytes are in another file has moved; one
               whose file is missing in two scans goes to the bin, unless too many are missing

Polling instead of inotify: inotify does not see what other hosts write to a network mount, and
misses events while no process listens. A scan finds every change, for one `stat` per file.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from common.jobs import Lease, work_on
from ingestion.errors import IngestionError, NotStored
from ingestion.files.filetypes import HEAD_BYTES, sniff
from ingestion.intake.folder_listing import Entry, is_included, open_below, path_text, walk
from ingestion.intake.mirroring import Mirror, half_lost
from ingestion.models import Lane, SourceKind, WatchedFile, WatchedFolder
from ingestion.services import Receipt, receive

# Scan again soon after a file has changed or disappeared.
SETTLE_SECONDS = 5
# A guess: a scan ends after this time, and the next one continues.
SCAN_SECONDS = 30.0
BATCH = 500

S = WatchedFile.State
F = WatchedFolder.State


def scan(folder_id: int) -> bool:
    """Scan a watched folder; False if it is disabled or leased to another worker."""
    started = time.monotonic()

    def work(lease: Lease[WatchedFolder]) -> bool:
        outcome = _outcome(_Scan(lease, started + SCAN_SECONDS))
        pause: float = lease.row.poll_seconds
        if outcome.soon:
            pause = min(pause, max(SETTLE_SECONDS, 2 * (time.monotonic() - started)))
        lease.postpone(
            timedelta(seconds=pause),
            state=outcome.state,
            message=outcome.message,
            last_counts=outcome.counts,
            last_scan=timezone.now(),
            attempts=0,
        )
        return True

    return bool(work_on(WatchedFolder, folder_id, work, early=True))


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The result of a scan. `soon`: the next scan should follow early."""

    state: WatchedFolder.State
    message: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    soon: bool = False


def _outcome(scan: _Scan) -> ScanResult:
    try:
        look = list_folder(scan.folder)
    except FolderTrouble as trouble:
        return ScanResult(trouble.state, str(trouble))
    differences = compare(scan.known(), look.seen, look.unreadable)
    scan.note(look, differences)
    finished = scan.take(look, differences.due)
    scan.settle_moved()
    many, suspicion = scan.suspicion()
    if not many:
        scan.remove(scan.missing().filter(path__in=differences.still_gone))
    scan.remove(scan.missing().filter(deletion_confirmed=True))
    waiting = scan.rows().filter(state=S.SETTLING, missing_since=None).count()
    counts = scan.counts | Counter(
        unchanged=differences.same,
        waiting=waiting,
        missing=scan.missing().count(),
        unreadable=scan.rows().filter(state=S.UNREADABLE, missing_since=None).count(),
    )
    return ScanResult(
        F.HELD if suspicion else F.OK,
        suspicion,
        {name: number for name, number in counts.items() if number},
        soon=not finished or bool(waiting) or (bool(differences.gone) and not suspicion),
    )


@dataclass(frozen=True)
class _Scan(Mirror):
    """A scan in progress; every write checks the folder's lease."""

    lease: Lease[WatchedFolder]
    deadline: float
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def folder(self) -> WatchedFolder:
        return self.lease.row

    def rows(self) -> QuerySet[WatchedFile]:
        return WatchedFile.objects.filter(folder=self.folder).select_related("folder")

    def writing(self) -> AbstractContextManager[object]:
        return self.lease.writing()

    @property
    def bins(self) -> bool:  # type: ignore[override]
        return self.folder.deletion == WatchedFolder.Deletion.BIN

    def known(self) -> dict[str, KnownFile]:
        """The files as recorded by the last scan, by path."""
        rows = self.rows().values_list("path", "size", "mtime_ns", "state", "missing_since")
        return {
            path: KnownFile(
                path, size, mtime, state in (S.SETTLING, S.UNREADABLE), since is not None
            )
            for path, size, mtime, state, since in rows.iterator()
        }

    def note(self, look: FolderListing, differences: Differences) -> None:
        """Record the files found, unreadable or missing."""
        with self.writing():
            new = {path: look.seen[path] for path in (*differences.new, *differences.changed)}
            rows = [self._row(path, each.size, each.mtime_ns) for path, each in new.items()]
            self._record(rows, "deletion_confirmed")
            # Without size and time: once readable again, the file counts as changed.
            unreadable = look.unreadable.items()
            rows = [self._row(path, state=S.UNREADABLE, message=text) for path, text in unreadable]
            self._record(rows, "message")
            there = self.rows().filter(path__in=[*differences.back, *differences.due])
            there.update(missing_since=None, deletion_confirmed=False)
            self.rows().filter(path__in=differences.gone).update(missing_since=timezone.now())

    def _row(self, path: str, size: int = 0, mtime_ns: int = 0, **values: Any) -> WatchedFile:
        return WatchedFile(folder=self.folder, path=path, size=size, mtime_ns=mtime_ns, **values)

    def _record(self, rows: list[WatchedFile], column: str) -> None:
        """Create or replace the rows; `column` is replaced besides what a listing tells."""
        WatchedFile.objects.bulk_create(
            rows,
            batch_size=BATCH,
            update_conflicts=True,
            unique_fields=["folder", "path"],
            update_fields=["size", "mtime_ns", "state", "missing_since", column],
        )

    def take(self, look: FolderListing, due: Iterable[str]) -> bool:
        """Ingest the settled files; True if all were ingested before the deadline."""
        for path in due:
            if time.monotonic() > self.deadline:
                return False
            self._take_one(look.seen[path].path, self.rows().get(path=path))
        return True

    def _take_one(self, raw: str, row: WatchedFile) -> None:
        name = PurePosixPath(row.path).name
        try:
            with open_below(Path(self.folder.path), raw) as file:
                # Refuse a video of gigabytes before reading all of it.
                sniff(file.read(HEAD_BYTES), name)
                with self.writing():
                    receipt = receive(
                        self.folder.collection,
                        file,
                        file_name=name,
                        source=row.origin,
                        source_kind=SourceKind.PATH,
                        language=self.folder.language,
                        acting_user=None,
                        lane=Lane.BULK,
                        path=row.path,
                    )
                    self._filed(row, receipt)
        except NotStored as error:
            self._left(row, S.UNREADABLE, str(error))  # retried at the next scan
        except IngestionError as error:
            self._left(row, S.REFUSED, str(error))
        except OSError as error:
            self._left(
                row,
                S.UNREADABLE,
                gettext("It cannot be read: %(reason)s.") % {"reason": error.strerror or error},
            )

    def _left(self, row: WatchedFile, state: WatchedFile.State, message: str) -> None:
        self.counts[state] += state == S.REFUSED
        with self.writing():
            self.rows().filter(pk=row.pk).update(state=state, message=message)

    def _filed(self, row: WatchedFile, receipt: Receipt) -> None:
        own = receipt.document.source == row.origin
        message = (
            ""
            if own
            else gettext("Its content is the same as that of “%(title)s”.")
            % {"title": receipt.document.title}
        )
        self.file(row, receipt, state=S.TAKEN if own else S.DUPLICATE, message=message)

    def suspicion(self) -> tuple[bool, str]:
        """Whether over half of the files are missing, so that nothing is removed; and a message.

        The message is empty while settling new files may prove to be the missing ones, renamed.
        """
        gone, total = self.gone()
        new = self.rows().filter(state=S.SETTLING, missing_since=None).count()
        if not gone or not half_lost(gone - new, total):
            return half_lost(gone, total), ""
        return True, (
            gettext(
                "%(gone)s of %(total)s files are missing, so nothing is removed. If a disk "
                "is not mounted, mount it. If they were deleted on purpose, confirm that."
            )
            % {"gone": f"{gone:,}", "total": f"{total:,}"}
        )


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
