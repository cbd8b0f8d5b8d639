"""The place of the backups: a folder, or a bucket of S3 or of whatever else obstore knows.

Credentials of a bucket come from the environment (AWS_ACCESS_KEY_ID, AWS_ENDPOINT, ...).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, from_url

from kbsite.backups.errors import BackupDamaged, BackupError

# object_store's default is ten attempts within three minutes; a command waits less.
RETRIES = {"max_retries": 4}
# Multipart above this size, in parts of as much: the least that S3 takes is 5 MiB.
PART_BYTES = 8 * 1024 * 1024
DELETED_AT_ONCE = 1_000  # as S3 does
# Small objects in a bucket wait for the network, not for the processor. Guesses.
THREADS = 4
QUEUED = 1_000

A = TypeVar("A")
B = TypeVar("B")


class Store:
    """Named objects of bytes. Writing one is atomic: it is there as a whole, or not at all."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.folder: Path | None = None
        with self._told("opened"):
            if "://" not in address or address.startswith("file://"):
                self.folder = Path(address.removeprefix("file://")).expanduser().resolve()
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._objects: Any = LocalStore(self.folder)
            else:
                # With all that the environment says of it.
                self._objects = from_url(address, retry_config=RETRIES)  # type: ignore[call-overload]

    def put(self, name: str, content: bytes | IO[bytes]) -> None:
        with self._told("written"):
            obstore.put(self._objects, name, content, chunk_size=PART_BYTES, max_concurrency=2)

    def read(self, name: str) -> bytes:
        """All bytes of an object. Raises BackupDamaged if it is missing."""
        with self._told("read", name):
            return bytes(self._objects.get(name).bytes())

    @contextmanager
    def opened(self, name: str) -> Iterator[Any]:
        """An object to be read in pieces. Raises BackupDamaged if it is missing."""
        with self._told("read", name):
            reader = obstore.open_reader(self._objects, name, buffer_size=PART_BYTES)
        yield _Pieces(reader)

    def sizes(self, prefix: str) -> dict[str, int]:
        """The sizes in bytes of all objects under a prefix, by name."""
        with self._told("listed"):
            return {
                meta["path"]: meta["size"] for batch in self._objects.list(prefix) for meta in batch
            }

    def delete(self, names: Iterable[str]) -> None:
        wanted = list(names)
        with self._told("tidied"):
            for start in range(0, len(wanted), DELETED_AT_ONCE):
                self._objects.delete(wanted[start : start + DELETED_AT_ONCE])

    def settle(self) -> None:
        """Return when a folder's objects would survive a power cut. Buckets promise that at once.

        The drafts of backups that were killed are removed; nobody else writes meanwhile.
        """
        if self.folder is not None:
            for draft in self.folder.glob("objects/*/*#*"):
                draft.unlink(missing_ok=True)
            os.sync()

    @contextmanager
    def _told(self, done: str, name: str = "") -> Iterator[None]:
        """Translate what obstore and the system raise."""
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            reason = str(error).split("\n", 1)[0]
            if name and isinstance(error, FileNotFoundError):
                raise BackupDamaged(f"{name} is missing in {self.address}") from error
            if "No space left" in str(error) or "StorageFull" in str(error):
                raise BackupError(
                    f"{self.address} is full: make room, or keep fewer backups (BACKUP_DAYS, "
                    "BACKUP_WEEKS). Earlier backups are unharmed."
                ) from error
            raise BackupError(
                f"{self.address} cannot be {done}: {reason}. Check BACKUP_URL, the rights, and for "
                "a bucket the variables AWS_ENDPOINT, AWS_REGION, AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY."
            ) from error


def in_threads(work: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
    """The results of `work` for each item, in order, some at once; millions take no more memory."""
    with ThreadPoolExecutor(THREADS, thread_name_prefix="backup") as threads:
        for start in range(0, len(items), QUEUED):
            yield from threads.map(work, items[start : start + QUEUED])


class _Pieces:
    """An object of the store as a file whose pieces are `bytes`, as age wants them."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def read(self, size: int = -1) -> bytes:
        try:
            return bytes(self._reader.read(size))
        except BaseError as error:
            raise OSError(str(error).split("\n", 1)[0]) from error
