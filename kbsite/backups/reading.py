"""Verifies and restores backups. Nothing is written before all of a backup was read."""

from __future__ import annotations

import hashlib
import tempfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any

from django.core.files.base import File
from django.core.files.storage import Storage

from kbsite.backups import database as db
from kbsite.backups.errors import BackupDamaged, BackupError
from kbsite.backups.keys import Key
from kbsite.backups.listing import DUMP, FILE, Listing, Piece, backups
from kbsite.backups.store import Store, in_threads

BLOCK = 1024 * 1024


def find(store: Store, key: Key, name: str = "") -> Listing:
    """The backup of this name, or the newest. Raises BackupError."""
    names = backups(store, key)
    if not names:
        raise BackupError(f"There is no backup in {store.address}.")
    if name and name not in names:
        raise BackupError(f"There is no backup {name}. There are: {', '.join(names)}")
    return Listing.read(name or names[-1], store, key)


class Digest:
    """A file to write to that keeps only the digest and the number of the bytes."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""


def digest_of(store: Store, key: Key, name: str, kind: str) -> tuple[str, int]:
    """The digest and the size of an object's plain content. Raises BackupDamaged."""
    if kind == DUMP:
        plain = _unpacked(key.decrypt(store.read(name)))
        return hashlib.sha256(plain).hexdigest(), len(plain)
    found = Digest()
    with store.opened(name) as sealed:
        key.decrypt_stream(sealed, found)
    return found.sha256.hexdigest(), found.size


def verify(store: Store, key: Key, listing: Listing) -> int:
    """Read every object of a backup and compare it with the list; return how many there are.

    Raises BackupDamaged, with the number of objects that are missing or not as they were written.
    """
    sizes = store.sizes("objects")
    objects = listing.objects(key)
    missing = [name for name, piece in objects.items() if sizes.get(name) != piece.stored]
    if missing:
        raise BackupDamaged(
            f"Backup {listing.name} is damaged: {len(missing)} of its {len(objects)} objects are "
            f"missing or cut off in {store.address}, such as {missing[0]}. "
            "Restore an earlier backup (`manage.py backup --list`)."
        )
    check_pieces(store, key, listing)
    return len(objects)


def check_pieces(
    store: Store, key: Key, listing: Listing, only: Collection[str] | None = None
) -> None:
    """Read the objects of a backup, or `only` some of them. Raises BackupDamaged."""
    problems = damaged_pieces(store, key, listing, only)
    for name, problem in problems.items():
        raise BackupDamaged(
            f"Backup {listing.name} is damaged: {len(problems)} of its objects are not as they "
            f"were written, such as {name}: {problem}. Restore an earlier backup "
            "(`manage.py backup --list`)."
        )


def damaged_pieces(
    store: Store, key: Key, listing: Listing, only: Collection[str] | None = None
) -> dict[str, str]:
    """What is wrong with the objects of a backup, or with `only` some; empty if all are whole."""
    wanted = {key.name_of(DUMP, piece.sha256): (DUMP, piece) for piece in listing.dump}
    for piece in listing.files.values():
        wanted[key.name_of(FILE, piece.sha256)] = (FILE, piece)

    def problem(name: str) -> str:
        kind, piece = wanted[name]
        try:
            found = digest_of(store, key, name, kind)
        except BackupDamaged as error:
            return str(error)
        return "" if found == (piece.sha256, piece.size) else "its content changed"

    names = [name for name in wanted if only is None or name in only]
    found = zip(names, in_threads(problem, names), strict=True)
    return {name: said for name, said in found if said}


def restore_files(store: Store, key: Key, listing: Listing, storage: Storage) -> int:
    """Put the originals into the storage; return how many were not there as they should be.

    Files that no row of the backup names are left alone. Raises BackupError.
    """
    count = 0
    for name, piece in listing.files.items():
        if _is_held(storage, name, piece):
            continue
        with tempfile.NamedTemporaryFile(dir=_scratch(storage), prefix=".restoring-") as plain:
            object_name = key.name_of(FILE, piece.sha256)
            with store.opened(object_name) as sealed:
                key.decrypt_stream(sealed, plain)
            plain.flush()
            plain.seek(0)
            if hashlib.file_digest(plain, "sha256").hexdigest() != piece.sha256:
                raise BackupDamaged(f"{object_name} of backup {listing.name} is damaged.")
            plain.seek(0)
            storage.delete(name)
            if (stored := storage.save(name, File(plain, name))) != name:
                raise BackupError(f"{name} was stored as {stored}: another process writes there.")
        count += 1
    return count


def dump_parts(store: Store, key: Key, listing: Listing) -> Iterator[bytes]:
    """The dump of a backup, part by part. Raises BackupDamaged."""
    for piece in listing.dump:
        name = key.name_of(DUMP, piece.sha256)
        part = _unpacked(key.decrypt(store.read(name)))
        if hashlib.sha256(part).hexdigest() != piece.sha256:
            raise BackupDamaged(f"{name} of backup {listing.name} is damaged.")
        yield part


def restore(
    store: Store, key: Key, listing: Listing, *, database: dict[str, Any], storage: Storage
) -> int:
    """Restore files, then the database in one transaction; return how many files were written.

    The caller has verified the backup. Raises BackupError, after which the database is unchanged;
    files that are there already are not written again, so it can be repeated.
    """
    try:
        count = restore_files(store, key, listing, storage)
    except OSError as error:
        raise BackupError(
            f"The originals could not be restored: {error}. Make room or mend the rights, then "
            "restore again: it goes on where it was. The database is unchanged."
        ) from error
    db.restore(database, dump_parts(store, key, listing))
    return count


def _is_held(storage: Storage, name: str, piece: Piece) -> bool:
    if not storage.exists(name) or storage.size(name) != piece.size:
        return False
    with storage.open(name, "rb") as file:
        return _digest(file) == piece.sha256


def _digest(file: IO[bytes]) -> str:
    found = hashlib.sha256()
    while block := file.read(BLOCK):
        found.update(block)
    return found.hexdigest()


def _scratch(storage: Storage) -> Path | None:
    """The storage's own directory if it has one: the plain text of files stays on that disk."""
    try:
        folder = Path(storage.path(""))
    except NotImplementedError:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _unpacked(packed: bytes) -> bytes:
    try:
        return zlib.decompress(packed)
    except zlib.error as error:
        raise BackupDamaged(f"it cannot be unpacked ({error})") from error
