"""The scratch directory of one file: locked while its worker runs, always removed."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ingestion.errors import DamagedFile

PREFIX = "steelyard-parse-"
_LOCK = "worker.lock"
# A directory is created a moment before it is locked.
_YOUNG_SECONDS = 60
SWEEP_EVERY_SECONDS = 600

STRANGE_RESULT = (
    "This file could not be read: its parser returned an invalid result. Open it in the "
    "program it was made with, save it again and upload the new file."
)

_next_sweep = 0.0


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """A private directory, removed after the block.

    If a worker is killed together with its child, the next worker that parses a file on the same
    machine removes its directory.
    """
    sweep_now_and_then()
    scratch = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        with (scratch / _LOCK).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield scratch
    finally:
        _remove(scratch)


def sweep_now_and_then() -> None:
    """Sweep in this process's first call, then at most every ten minutes."""
    global _next_sweep
    if time.monotonic() >= _next_sweep:
        _next_sweep = time.monotonic() + SWEEP_EVERY_SECONDS
        sweep_abandoned()


def sweep_abandoned() -> int:
    """Remove the directories of dead workers, which are not locked; return how many."""
    return sum(
        _remove_abandoned(found)
        for found in Path(tempfile.gettempdir()).glob(f"{PREFIX}*")
        if found.is_dir() and not found.is_symlink()
    )


def _remove_abandoned(scratch: Path) -> bool:
    try:
        if scratch.stat().st_uid != os.getuid():
            return False
        handle = os.open(scratch / _LOCK, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        with suppress(OSError):
            if time.time() - scratch.stat().st_mtime > _YOUNG_SECONDS:
                _remove(scratch)
                return True
        return False
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(handle).st_mtime < _YOUNG_SECONDS:
            return False
        _remove(scratch)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _remove(scratch: Path) -> None:
    """Remove the directory, even if the child has made parts of it unreadable."""
    shutil.rmtree(scratch, ignore_errors=True)
    if not scratch.exists():
        return
    for parent, folders, _ in os.walk(scratch):
        for folder in folders:
            with suppress(OSError):
                Path(parent, folder).chmod(0o700)
    shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def opened_result(path: Path, limit: int) -> Iterator[BinaryIO]:
    """Open a result file of the child: a regular file of at most `limit` bytes.

    A compromised parser could leave a link to another file, or a pipe that blocks its reader.
    Raises DamagedFile.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise DamagedFile(STRANGE_RESULT) from error
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            raise DamagedFile(STRANGE_RESULT)
        yield file
