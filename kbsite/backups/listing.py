"""The list of one backup: what it consists of. It is written last, so it makes a backup one."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from kbsite.backups.errors import BackupDamaged, BackupError
from kbsite.backups.keys import Key
from kbsite.backups.store import Store

FORMAT = 1
FOLDER = "backups"
SUFFIX = ".age"
TIME = "%Y%m%dT%H%M%S%fZ"
FILE, DUMP = "file", "dump"


@dataclass(frozen=True, slots=True)
class Piece:
    """An object: the digest and size of its plain content, and its size in the store, in bytes."""

    sha256: str
    size: int
    stored: int


@dataclass(frozen=True, slots=True)
class Listing:
    """One backup. `files` are the originals by storage name, `dump` is the database in order.

    `missing` are originals that the site itself had lost, `damaged` those whose content no longer
    was what their name says.
    """

    name: str
    dump: tuple[Piece, ...]
    files: dict[str, Piece]
    migrations: tuple[tuple[str, str], ...]
    postgres: int
    missing: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    format: int = field(default=FORMAT)

    @property
    def made(self) -> datetime:
        return time_of(self.name)

    def objects(self, key: Key) -> dict[str, Piece]:
        """Every object of the backup, by its name in the store."""
        found = {key.name_of(DUMP, piece.sha256): piece for piece in self.dump}
        return found | {key.name_of(FILE, piece.sha256): piece for piece in self.files.values()}

    def write(self, store: Store, key: Key) -> None:
        text = gzip.compress(json.dumps(asdict(self)).encode(), mtime=0)
        store.put(address(self.name, key), key.encrypt(key.sign(text)))

    @classmethod
    def read(cls, name: str, store: Store, key: Key) -> Listing:
        """The list of a backup. Raises BackupDamaged if it is not as it was written."""
        try:
            text = key.signed(key.decrypt(store.read(address(name, key))))
            held = json.loads(gzip.decompress(text))
        except (BackupDamaged, ValueError, OSError, EOFError) as error:
            raise BackupDamaged(f"The list of backup {name} is damaged: {error}.") from error
        if held["format"] != FORMAT:
            raise BackupError(
                f"Backup {name} was written by a newer Steelyard (format {held['format']}): "
                "restore it with that version."
            )
        return cls(
            name=held["name"],
            dump=tuple(Piece(**piece) for piece in held["dump"]),
            files={path: Piece(**piece) for path, piece in held["files"].items()},
            migrations=tuple((app, step) for app, step in held["migrations"]),
            postgres=held["postgres"],
            missing=tuple(held["missing"]),
            damaged=tuple(held["damaged"]),
        )


def address(name: str, key: Key) -> str:
    return f"{FOLDER}/{name}-{key.fingerprint}{SUFFIX}"


def new_name(now: datetime | None = None) -> str:
    """The name of a backup that is made now: its time (UTC), so that names sort by it."""
    return (now or datetime.now(UTC)).astimezone(UTC).strftime(TIME)


def time_of(name: str) -> datetime:
    return datetime.strptime(name, TIME).replace(tzinfo=UTC)


def backups(store: Store, key: Key) -> list[str]:
    """The names of all backups in the store, oldest first.

    Raises BackupError if the store holds backups of another key: they would be neither read nor
    kept, since nobody could tell which objects they need.
    """
    found, others = [], set()
    for path in store.sizes(FOLDER):
        name, _, mark = path.removeprefix(f"{FOLDER}/").removesuffix(SUFFIX).rpartition("-")
        found.append(name)
        others |= {mark} - {key.fingerprint}
    if others:
        raise BackupError(
            f"{store.address} holds backups of another key ({', '.join(sorted(others))}), and the "
            f"key given is {key.fingerprint}. Give their key (BACKUP_KEY_FILE, --key), or a place "
            "of its own for each site."
        )
    return sorted(found)


def newest_readable(names: list[str], store: Store, key: Key) -> Iterator[Listing]:
    """The lists that can be read, newest first."""
    for name in reversed(names):
        try:
            yield Listing.read(name, store, key)
        except BackupDamaged:
            continue
