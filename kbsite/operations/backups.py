"""A snapshot of the site in a folder: the dump of the database and the originals its rows name.

    FOLDER/snapshot.json          the list of all that belongs to the snapshot, with hashes
    FOLDER/database-MOMENT.dump   `pg_dump --format=custom`
    FOLDER/files/NAME              the originals by their names in the storage

The list is replaced last and at once, so a run that is killed leaves the former snapshot whole.
Encryption, increments and retention are restic's, over this folder: docs/backup.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import IO, Any

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import Storage

from ingestion.errors import IngestionError
from kbsite.operations import dumps
from kbsite.operations.dumps import BackupError

LIST = "snapshot.json"
FILES = "files"
FORMAT = 1
# The value of BACKUP_FOLDER with which an administrator says that other programs make the backups.
ELSEWHERE = "elsewhere"
# A daily backup may take half a day: a guess.
LATE = timedelta(hours=36)
# Attempts at a snapshot none of whose originals is purged before it is copied: a guess.
ATTEMPTS = 5
BLOCK = 1024 * 1024
# An original's name is the hash of its content, or drawn at random: its content never changes.
HASH = re.compile(r"(?:^|/)([0-9a-f]{64})$")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The content of snapshot.json. Originals by name with the SHA-256 of their content."""

    made: str
    dump: str
    dump_sha256: str
    originals: dict[str, str]
    migrations: list[list[str]]
    missing: list[str]
    """Originals that rows name and the site has lost."""
    damaged: list[str]
    """Originals whose content is not the one that their name says."""
    format: int = FORMAT

    @property
    def moment(self) -> datetime:
        return datetime.fromisoformat(self.made)

    @classmethod
    def read(cls, folder: Path) -> Snapshot:
        """The snapshot in a folder. Raises BackupError if there is none."""
        try:
            snapshot = cls(**json.loads((folder / LIST).read_text("utf-8")))
            paths = [PurePosixPath(name) for name in (snapshot.dump, *snapshot.originals)]
            if snapshot.format != FORMAT or snapshot.moment.tzinfo is None:
                raise ValueError(f"format {snapshot.format}")
        except FileNotFoundError:
            raise BackupError(f"{folder} holds no snapshot: {LIST} is missing.") from None
        except (OSError, ValueError, TypeError) as error:
            raise BackupError(f"{folder / LIST} cannot be read: {error}") from error
        if any(path.is_absolute() or ".." in path.parts for path in paths):
            raise BackupError(f"{folder / LIST} names files outside the folder.")
        return snapshot

    def write(self, folder: Path) -> None:
        with _replacing(folder / LIST) as file:
            file.write(json.dumps(asdict(self), indent=1).encode())


def is_configured() -> bool:
    """Whether BACKUP_FOLDER names a folder, so that the age of its snapshot is monitored."""
    return settings.BACKUP_FOLDER not in {"", ELSEWHERE}


def age() -> timedelta | None:
    """The age of the snapshot in BACKUP_FOLDER; None if there is none."""
    try:
        return datetime.now(UTC) - Snapshot.read(Path(settings.BACKUP_FOLDER)).moment
    except BackupError:
        return None


def is_recent() -> bool:
    """Whether the snapshot in BACKUP_FOLDER is younger than LATE."""
    newest = age()
    return newest is not None and newest < LATE


def write(folder: Path, *, database: dict[str, Any], storage: Storage) -> Snapshot:
    """Write a snapshot of the site into a folder; replace the previous one.

    Originals that are there already and unchanged are not copied again. Raises BackupError; then
    the former snapshot is as it was.
    """
    try:
        before = _prepare(folder)
        with dumps.snapshot(database) as now:
            copies = Copies(folder / FILES, storage, before.originals if before else {})
            copies.add(now.originals())
        lost: set[str] = set()
        for _ in range(ATTEMPTS):
            with dumps.snapshot(database) as now:
                names = now.originals()
                lost, lost_before = copies.add(names), lost
                # Missing twice means lost; missing once may mean purged since this snapshot.
                if lost <= lost_before:
                    return _finish(folder, database, now, copies, names, lost)
        raise BackupError("Documents are being purged all the time. Try again later.")
    except OSError as error:
        raise BackupError(
            f"The snapshot cannot be written to {folder}: {error}. The former one is unchanged."
        ) from error


def _prepare(folder: Path) -> Snapshot | None:
    """Create the folder, remove leftovers of a killed run; return the previous snapshot, if any."""
    folder.mkdir(parents=True, exist_ok=True)
    allowed = re.compile(rf"{LIST}|{FILES}|database-\w+\.dump|.*\.part")
    if other := [path.name for path in folder.iterdir() if not allowed.fullmatch(path.name)]:
        raise BackupError(f"{folder} holds other files ({other[0]}). Choose an empty folder.")
    before = Snapshot.read(folder) if (folder / LIST).exists() else None
    _remove_dumps(folder, but=before.dump if before else "")
    return before


def _finish(
    folder: Path, database: dict[str, Any], now: dumps.ExportedSnapshot, copies: Copies,
    names: set[str], lost: set[str],
) -> Snapshot:  # fmt: skip
    made = datetime.now(UTC)
    dump = folder / f"database-{made:%Y%m%dT%H%M%S%fZ}.dump"
    dumps.dump(database, now, dump)
    with dump.open("rb") as file:
        os.fsync(file.fileno())
        dump_sha256 = _digest(file)
    hashes = {name: copies.hashes[name] for name in sorted(names - lost)}
    damaged = [name for name, sha256 in hashes.items() if _stated_hash(name) not in {sha256, None}]
    snapshot = Snapshot(
        made.isoformat(), dump.name, dump_sha256, hashes, now.migrations(), sorted(lost), damaged
    )
    snapshot.write(folder)
    _remove_dumps(folder, but=dump.name)
    for path in [*(folder / FILES).rglob("*")]:
        if path.is_file() and str(path.relative_to(folder / FILES)) not in hashes:
            path.unlink()
    return snapshot


class Copies:
    """The copies of originals in a folder, with the hashes of the examined ones."""

    def __init__(self, folder: Path, storage: Storage, before: dict[str, str]) -> None:
        self._folder = folder
        self._storage = storage
        self._before = before
        self.hashes: dict[str, str] = {}

    def add(self, names: Iterable[str]) -> set[str]:
        """Copy the originals that are not in the folder; return the names of the lost ones."""
        lost = set()
        for name in sorted(set(names) - self.hashes.keys()):
            try:
                self.hashes[name] = self._unchanged(name) or self._copy(name)
            except FileNotFoundError:
                lost.add(name)
            except IngestionError as error:  # a bucket that does not answer
                raise BackupError(f"The original {name} cannot be read: {error}") from error
        return lost

    def _unchanged(self, name: str) -> str:
        """The hash of an unchanged copy; empty if the file has to be copied again."""
        path = self._folder / name
        expected = _stated_hash(name) or self._before.get(name)
        if expected is None or not path.is_file():
            return ""
        with path.open("rb") as file:
            return expected if _digest(file) == expected else ""

    def _copy(self, name: str) -> str:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._storage.open(name, "rb") as original, _replacing(path) as copy:
            return _digest(original, copy.write)


def verify(folder: Path, snapshot: Snapshot) -> None:
    """Compare all files of the snapshot with their hashes. Raises BackupError for the first."""
    expected = {snapshot.dump: snapshot.dump_sha256}
    expected |= {f"{FILES}/{name}": sha256 for name, sha256 in snapshot.originals.items()}
    for name, sha256 in expected.items():
        try:
            with (folder / name).open("rb") as file:
                is_whole = _digest(file) == sha256
        except OSError as error:
            raise BackupError(f"The snapshot is damaged: {name}: {error.strerror}.") from error
        if not is_whole:
            raise BackupError(f"The snapshot is damaged: the content of {name} has changed.")


def restore(folder: Path, snapshot: Snapshot, *, database: dict[str, Any], storage: Storage) -> int:
    """Restore originals, then the database in one transaction; return how many were written.

    The caller has verified the snapshot. Originals that are in place stay, so it can be repeated;
    files that no row names are left. Raises BackupError, after which the database is unchanged.
    """
    count = 0
    try:
        for name, sha256 in snapshot.originals.items():
            if not _is_stored(storage, name, sha256):
                storage.delete(name)
                with (folder / FILES / name).open("rb") as copy:
                    stored = storage.save(name, File(copy, name))
                if stored != name:
                    raise BackupError(f"{name} became {stored}: another process writes there.")
                count += 1
    except (OSError, IngestionError) as error:
        raise BackupError(
            f"The originals could not be restored: {error}. Make room or mend the rights, then "
            "restore again. The database is unchanged."
        ) from error
    dumps.restore(database, folder / snapshot.dump)
    return count


def _is_stored(storage: Storage, name: str, sha256: str) -> bool:
    if not storage.exists(name):
        return False
    with storage.open(name, "rb") as file:
        return _digest(file) == sha256


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that replaces `path` at the end of the block, synchronised to the disk."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _remove_dumps(folder: Path, *, but: str) -> None:
    for path in [*folder.glob("database-*.dump"), *folder.rglob("*.part")]:
        if path.name != but:
            path.unlink()


def _stated_hash(name: str) -> str | None:
    match = HASH.search(name)
    return match[1] if match else None


def _digest(file: Any, write: Callable[[bytes], object] | None = None) -> str:
    """The SHA-256 of the rest of a file; each block read is also passed to `write`."""
    digest = hashlib.sha256()
    while block := file.read(BLOCK):
        digest.update(block)
        if write is not None:
            write(block)
    return digest.hexdigest()
