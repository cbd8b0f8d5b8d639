"""Makes one backup: files first, then a snapshot, the files that are newer, the dump, the list.

An original is immutable: its storage name is its hash, or drawn at random. So each is copied once,
and a later backup only names it. Rows are dumped out of one snapshot, whose files are all
copied before the backup counts as one; those that were purged in between make it take another.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.files.storage import Storage

from kbsite.backups import database as db
from kbsite.backups.errors import BackupDamaged, BackupError
from kbsite.backups.keys import Key
from kbsite.backups.listing import (
    DUMP,
    FILE,
    Listing,
    Piece,
    backups,
    new_name,
    newest_readable,
)
from kbsite.backups.reading import check_pieces, damaged_pieces, digest_of
from kbsite.backups.splitting import split
from kbsite.backups.store import Store, in_threads

SNAPSHOTS = 5
# Within so many days of daily backups each object is read again.
REREAD_DAYS = 14
COMPRESSION = 1  # zlib's fastest: a dump shrinks to a third or so, and levels above gain little
HASH = re.compile(r"(?:^|/)([0-9a-f]{64})$")

Say = Callable[[str], None]


@dataclass
class Backup:
    """A backup that is being made: what the store holds already, and what was added."""

    store: Store
    key: Key
    storage: Storage
    scratch: Path
    there: dict[str, int]
    """The objects in the store, with their sizes."""
    known: dict[str, Piece] = field(default_factory=dict)
    """The objects of the last backup that are still as it wrote them, by name."""
    files: dict[str, Piece] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
    added: dict[str, Piece] = field(default_factory=dict)
    """The objects written by this backup, by name."""

    def learn(self, last: Listing) -> None:
        """Know the objects and files of the last backup that are still stored as it wrote them.

        Their sizes tell, and for a share of them, another one every day, their content: a disk may
        change bytes by itself. What fails is written again.
        """
        objects = last.objects(self.key)
        there = {name for name, piece in objects.items() if self.there.get(name) == piece.stored}
        share = {name for name in there if int(name[-8:], 16) % REREAD_DAYS == _day() % REREAD_DAYS}
        there -= damaged_pieces(self.store, self.key, last, only=share).keys()
        self.known = {name: objects[name] for name in there}
        for name, piece in last.files.items():
            if self.key.name_of(FILE, piece.sha256) in there and name not in last.damaged:
                self.files[name] = piece

    def copy(self, names: Iterable[str]) -> set[str]:
        """Copy the files that are not stored yet; return those that the site does not have."""
        wanted = sorted(set(names) - self.files.keys())
        pieces = dict(zip(wanted, in_threads(self._copied, wanted), strict=True))
        self.files |= {name: piece for name, piece in pieces.items() if piece is not None}
        return {name for name, piece in pieces.items() if piece is None}

    def _copied(self, name: str) -> Piece | None:
        promised = _promised(name)
        if promised and (held := self._held(FILE, promised)):
            return held
        try:
            with (
                self.storage.open(name, "rb") as source,
                tempfile.TemporaryFile(dir=self.scratch) as sealed,
            ):
                measured = Measured(source)
                self.key.encrypt_stream(measured, sealed)
                piece = Piece(measured.digest.hexdigest(), measured.size, sealed.tell())
                if promised and piece.sha256 != promised:
                    self.damaged.add(name)
                if held := self._held(FILE, piece.sha256):
                    return held
                sealed.seek(0)
                self.store.put(self.key.name_of(FILE, piece.sha256), sealed)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BackupError(
                f"The original {name} could not be copied: {error}. Check that it can be read and "
                f"that {self.scratch} has room for it."
            ) from error
        self.added[self.key.name_of(FILE, piece.sha256)] = piece
        return piece

    def keep(self, part: bytes) -> Piece:
        """Store a part of the dump, unless it is stored already."""
        sha256 = hashlib.sha256(part).hexdigest()
        if held := self._held(DUMP, sha256):
            return held
        sealed = self.key.encrypt(zlib.compress(part, COMPRESSION))
        name = self.key.name_of(DUMP, sha256)
        self.store.put(name, sealed)
        self.added[name] = Piece(sha256, len(part), len(sealed))
        return self.added[name]

    def _held(self, kind: str, sha256: str) -> Piece | None:
        """The object with this content, if the store has it and it can be read.

        Those of no known backup, such as one that was killed, are read, and known from then on.
        """
        name = self.key.name_of(kind, sha256)
        if name in self.added or name in self.known:
            return self.added.get(name) or self.known[name]
        if name not in self.there:
            return None
        try:
            found, size = digest_of(self.store, self.key, name, kind)
        except BackupDamaged:
            return None
        if found == sha256:
            self.known[name] = Piece(sha256, size, self.there[name])
        return self.known.get(name)


class Measured:
    """A file that is being read, with the digest and the number of its bytes."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.digest = hashlib.sha256()
        self.size = 0

    def read(self, size: int = -1) -> bytes:
        data = bytes(self._source.read(size))
        self.digest.update(data)
        self.size += len(data)
        return data


@dataclass(frozen=True, slots=True)
class Made:
    """A finished backup, and how many objects and bytes it added to the store."""

    listing: Listing
    objects: int
    stored: int


def make(
    store: Store,
    key: Key,
    *,
    database: dict[str, Any],
    storage: Storage,
    scratch: Path,
    say: Say = lambda line: None,
) -> Made:
    """Make, verify and return a backup. Raises BackupError; earlier backups stay as they are.

    The caller holds the lock of backups. `scratch` is a directory for encrypted copies.
    """
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = backups(store, key)
    work = Backup(store, key, storage, scratch, store.sizes("objects"))
    last = next(newest_readable(names, store, key), None)
    if last is not None:
        work.learn(last)
    with db.connect(database) as connection:
        # Most of the work, before the snapshot: a long one keeps Postgres from tidying up.
        work.copy(db.originals(connection))
    for _ in range(SNAPSHOTS):
        with db.snapshot(database) as snapshot:
            name, wanted = new_name(), snapshot.originals()
            gone = work.copy(wanted)
            with db.connect(database) as connection:
                purged = gone - db.originals(connection)
            if purged:
                say(f"{len(purged)} files were purged meanwhile: taking another snapshot.")
                continue
            say(f"Dumping the database, with {len(wanted) - len(gone)} originals beside it.")
            with db.dumped(database, snapshot) as text:
                dump = tuple(work.keep(part) for part in split(text))
            listing = Listing(
                name=name,
                dump=dump,
                files={path: work.files[path] for path in sorted(wanted - gone)},
                migrations=snapshot.migrations(),
                postgres=db.version(database),
                missing=tuple(sorted(gone)),
                damaged=tuple(sorted(work.damaged & wanted)),
            )
        return _finished(work, listing, say)
    raise BackupError(
        "Documents were purged during every attempt, so that no moment could be saved. Try again "
        "when the bin is not being emptied."
    )


def _finished(work: Backup, listing: Listing, say: Say) -> Made:
    """Verify what was written; then write the list, which makes it a backup."""
    say(f"Verifying the {len(work.added)} new objects.")
    check_pieces(work.store, work.key, listing, only=set(work.added))
    work.store.settle()
    listing.write(work.store, work.key)
    Listing.read(listing.name, work.store, work.key)
    work.store.settle()
    return Made(listing, len(work.added), sum(piece.stored for piece in work.added.values()))


def _day() -> int:
    """The number of the current day."""
    return datetime.now(UTC).toordinal()


def _promised(name: str) -> str:
    """The hash that a storage name promises, or nothing."""
    found = HASH.search(name)
    return found[1] if found else ""
