"""Uploaded files: stored by hash, with size and detected type."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.utils.translation import gettext

from common import database
from ingestion.errors import EmptyFile, FileTooLarge, NotStored, StorageUnavailable
from ingestion.files.filetypes import HEAD_BYTES, FileType, sniff

logger = logging.getLogger(__name__)

BLOCK_BYTES = 1024 * 1024
MAX_NAME_CHARS = 200
ORIGINALS = "originals"
# For this user and its group, regardless of the umask: web servers and workers share one.
FILE_MODE, FOLDER_MODE = 0o640, 0o750


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in storage. `name` is its storage name, `file_name` its original name."""

    name: str
    file_name: str
    size: int
    sha256: str
    media_type: str


@dataclass(frozen=True, slots=True)
class Examined:
    """Name, size, hash and type of a file that is not stored yet."""

    file_name: str
    size: int
    sha256: str
    type: FileType


def examine(file: IO[bytes], file_name: str) -> Examined:
    """Size, hash and type of a file; the file is rewound.

    Raises EmptyFile, FileTooLarge or UnsupportedType before anything is stored.
    """
    file.seek(0)
    digest = hashlib.sha256()
    head, size = b"", 0
    while block := file.read(BLOCK_BYTES):
        head = head or block[:HEAD_BYTES]
        size += len(block)
        if size > settings.MAX_UPLOAD_BYTES:
            limit = settings.MAX_UPLOAD_BYTES // (1024 * 1024)
            raise FileTooLarge(
                gettext("The file is larger than %(limit)d MB. Split it, or raise MAX_UPLOAD_MB.")
                % {"limit": limit}
            )
        digest.update(block)
    file.seek(0)
    if not size:
        raise EmptyFile(gettext("The file is empty. Check that it was saved, and upload it again."))
    name = display_name(file_name)
    return Examined(name, size, digest.hexdigest(), sniff(head, name))


def hold(sha256: str) -> None:
    """Lock the file with this hash against storing or removal until the transaction ends."""
    database.hold_name(sha256)


def store(file: IO[bytes], examined: Examined) -> StoredFile:
    """The file in storage, named by its hash, so that equal bytes are stored once.

    Raises NotStored, without leaving a partial file.
    """
    digest = examined.sha256
    name = f"{ORIGINALS}/{digest[:2]}/{digest}"
    try:
        if not default_storage.exists(name):
            name = _save(name, file)
    except StorageUnavailable as error:
        logger.warning("Could not store %s: %s", name, error.__cause__)
        raise
    except OSError as error:
        logger.exception("Could not store %s", name)
        reason = error.strerror or type(error).__name__
        raise NotStored(
            gettext(
                "The file could not be stored (%(reason)s). Check that the storage has free space "
                "and that the server may write to it, and upload the file again."
            )
            % {"reason": reason}
        ) from error
    return StoredFile(name, examined.file_name, examined.size, digest, examined.type.media_type)


def _save(name: str, file: IO[bytes]) -> str:
    """Save the complete file or nothing, and return its storage name."""
    try:
        target = Path(default_storage.path(name))
    except NotImplementedError:
        return default_storage.save(name, File(file))  # object storage is atomic
    # A full disk must not leave a partial file under a name that promises the whole.
    _make_folder(target.parent)
    handle, draft = tempfile.mkstemp(prefix=".draft-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stored:
            shutil.copyfileobj(file, stored, BLOCK_BYTES)
            stored.flush()
            os.fsync(stored.fileno())
        Path(draft).chmod(FILE_MODE)
        Path(draft).replace(target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    return name


def _make_folder(folder: Path) -> None:
    """Make a folder of originals, and those above it below MEDIA_ROOT, closed to other users."""
    if not folder.exists():
        if folder.parent != Path(settings.MEDIA_ROOT):
            _make_folder(folder.parent)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(FOLDER_MODE)


def close_originals() -> None:
    """Remove the permissions of other users of this machine on the folder of the originals.

    Does nothing for an object storage, or if the folder belongs to another user.
    """
    with suppress(NotImplementedError, OSError):
        root = Path(default_storage.path(ORIGINALS))
        root.chmod(stat.S_IMODE(root.stat().st_mode) & FOLDER_MODE)


def display_name(file_name: str) -> str:
    """A file name for display, in NFC: without a path, control and direction characters."""
    # Browsers encode only the quotation mark, as %22.
    last = PurePosixPath(file_name.replace("\\", "/")).name.replace("%22", '"')
    clean = "".join(c for c in last if unicodedata.category(c)[0] != "C").strip(" .")
    clean = unicodedata.normalize("NFC", clean)
    if len(clean) > MAX_NAME_CHARS:
        stem, suffix = Path(clean).stem, Path(clean).suffix[:20]
        clean = stem[: MAX_NAME_CHARS - len(suffix)] + suffix
    return clean or "unnamed"


@contextmanager
def local_copy(name: str) -> Iterator[Path]:
    """A local path of the stored file, valid within the block."""
    try:
        yield Path(default_storage.path(name))
    except NotImplementedError:
        with tempfile.NamedTemporaryFile() as copy, default_storage.open(name) as stored:
            shutil.copyfileobj(stored, copy)
            copy.flush()
            yield Path(copy.name)


def remove(name: str) -> None:
    """Delete a stored file that no version refers to.

    It stays in an object storage that is unavailable, but without rows nothing refers to it.
    """
    try:
        default_storage.delete(name)
    except StorageUnavailable as error:
        logger.warning("%s was not deleted and belongs to no document: %s", name, error.__cause__)
