"""Originals in an S3 bucket or another store that obstore supports, for sites on several machines.

An object's name is the address' prefix and the storage name, so that any tool can copy a folder of
originals into a bucket, and back. Credentials come from the environment
(docs/adr/0083-several-machines.md).
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cached_property
from typing import IO, Any

import obstore
from django.core.files.base import File
from django.core.files.storage import Storage
from django.utils.deconstruct import deconstructible
from django.utils.translation import gettext
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import from_url

from ingestion.errors import StorageUnavailable

# Since a reader waits, an unreachable server is given up after seconds. Guesses.
CONNECT_TIMEOUT, TIMEOUT = "2s", "20s"
RETRIES = {"max_retries": 2, "retry_timeout": timedelta(seconds=8)}
# Larger uploads are sent in parts of this size; downloads always are.
PART_BYTES = 8 * 1024 * 1024
BLOCK_BYTES = 1024 * 1024
_HASH = re.compile(r"(?:^|/)([0-9a-f]{64})$")


@deconstructible
class BucketStorage(Storage):
    """A storage whose objects are written atomically and have no public address.

    Raises FileNotFoundError for a missing object, and StorageUnavailable for everything else.
    """

    def __init__(self, address: str) -> None:
        self.address = address

    @cached_property
    def _objects(self) -> Any:
        with _translating_errors():
            return from_url(  # type: ignore[call-overload]
                self.address, client_options=_limits(), retry_config=RETRIES
            )

    def exists(self, name: str) -> bool:
        try:
            self.size(name)
        except FileNotFoundError:
            return False
        return True

    def size(self, name: str) -> int:
        with _translating_errors():
            return int(obstore.head(self._objects, name)["size"])

    def delete(self, name: str) -> None:
        with _translating_errors(), suppress(FileNotFoundError):
            obstore.delete(self._objects, name)

    def url(self, name: str | None) -> str:
        raise ValueError("Originals have no address of their own: views check who may read them.")

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name  # a hash, or drawn at random: to write it again is to write the same

    def _open(self, name: str, mode: str = "rb") -> File[bytes]:
        with _translating_errors():
            reader = obstore.open_reader(self._objects, name, buffer_size=PART_BYTES)
        return File(io.BufferedReader(_Object(reader), PART_BYTES), name)

    def _save(self, name: str, content: File[bytes]) -> str:
        upload = _Sent(content)
        try:
            with _translating_errors():
                obstore.put(
                    self._objects, name, upload.blocks(), chunk_size=PART_BYTES, max_concurrency=2
                )
        except FileNotFoundError as error:
            raise _unavailable(error) from error  # the bucket itself
        promised = _HASH.search(name)
        if (promised and upload.digest.hexdigest() != promised[1]) or self.size(
            name
        ) != upload.size:
            self.delete(name)
            raise _unavailable()
        return name

    def check(self) -> None:
        """Write, read and delete an object. Raises StorageUnavailable, or FileNotFoundError."""
        name, content = f"probes/{uuid.uuid4().hex}", b"Written by manage.py doctor."
        self.save(name, File(io.BytesIO(content)))
        try:
            with self.open(name) as stored:
                if stored.read() != content:
                    raise _unavailable()
        finally:
            self.delete(name)

    def answers(self) -> bool:
        """Whether the server answers and permits this site to read objects; nothing is written."""
        try:
            self.exists("probes/none")
        except StorageUnavailable:
            return False
        return True


def _limits() -> dict[str, Any]:
    # Options that are given replace the one that the environment may have.
    allow = os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true", "yes", "on")
    return {"connect_timeout": CONNECT_TIMEOUT, "timeout": TIMEOUT, "allow_http": allow}


class _Object(io.RawIOBase):
    """An object of the bucket as a file that is read from any position."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with _translating_errors():
            return int(self._reader.seek(offset, whence))

    def tell(self) -> int:
        with _translating_errors():
            return int(self._reader.tell())

    def readinto(self, buffer: Any) -> int:
        with _translating_errors():
            data = bytes(self._reader.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)


class _Sent:
    """A file that is being sent, with the digest and the number of the bytes sent so far."""

    def __init__(self, source: IO[bytes] | File[bytes]) -> None:
        self._source = source
        self.digest = hashlib.sha256()
        self.size = 0

    def blocks(self) -> Iterator[bytes]:
        while data := bytes(self._source.read(BLOCK_BYTES)):
            self.digest.update(data)
            self.size += len(data)
            yield data


@contextmanager
def _translating_errors() -> Iterator[None]:
    """Translate the errors of obstore; errors of reading the file that is sent are not changed."""
    try:
        yield
    except (FileNotFoundError, StorageUnavailable):
        raise
    except (BaseError, OSError, ValueError) as error:
        raise _unavailable(error) from error


def _unavailable(error: Exception | None = None) -> StorageUnavailable:
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return StorageUnavailable(
            gettext(
                "The storage of the files refuses access to this site. Nothing was changed. "
                "An administrator finds the reason with manage.py doctor."
            )
        )
    return StorageUnavailable(
        gettext(
            "The storage of the files is unavailable. Nothing was changed: try again in a minute."
        )
    )
