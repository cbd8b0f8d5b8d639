"""The scratch directory of one file, and the results that its child writes there.

It is locked while its worker runs, and always removed.
"""

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
from ingestion.parsing.child import privileges

PREFIX = "steelyard-parse-"
_LOCK, _COPY = "worker.lock", "upload"
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
        _remove_abandoned(folder)
        for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*")
        if folder.is_dir() and not folder.is_symlink()
    )


def _remove_abandoned(scratch: Path) -> bool:
    try:
        if not privileges.is_ours(scratch.stat().st_uid):
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
                # Never follow a link created by the child: it could lead to another folder.
                if not Path(parent, folder).is_symlink():
                    Path(parent, folder).chmod(0o700)
    shutil.rmtree(scratch, ignore_errors=True)


def hand_over(scratch: Path, path: Path, account: int) -> tuple[Path, int]:
    """A copy of the file at `path` for a child of another user, and its size in bytes.

    The scratch directory becomes the child's own.
    """
    os.chown(scratch, account, account)
    if not path.is_file():
        return path, 0  # a pipe cannot be copied: it is read in place
    copy = scratch / _COPY
    shutil.copyfile(path, copy)
    copy.chmod(0o444)
    return copy, copy.stat().st_size


def used_bytes(scratch: Path, pid: int) -> int:
    """The size of all files in the directory, and of those that `pid` has open but removed."""
    return sum(_sizes(scratch)) + sum(_removed_sizes(pid))


def _sizes(scratch: Path) -> Iterator[int]:
    for parent, _, names in os.walk(scratch):
        for name in names:
            with suppress(OSError):
                yield Path(parent, name).lstat().st_blocks * 512


def _removed_sizes(pid: int) -> Iterator[int]:
    """The sizes of files without a name that the process or a child of it has open (Linux)."""
    with suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for process in (pid, *children):
            with suppress(OSError):
                for handle in Path(f"/proc/{process}/fd").iterdir():
                    with suppress(OSError):
                        status = handle.stat()
                        if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                            yield status.st_blocks * 512


@contextmanager
def opened_result(path: Path, limit: int) -> Iterator[BinaryIO]:
    """Open a result file of the child: a regular file of at most `limit` bytes.

    A compromised parser could leave a link to another file, or a pipe that blocks its reader.
    Raises DamagedFile.
    """
    try:
        if path.parent.is_symlink():
            raise DamagedFile(STRANGE_RESULT)
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise DamagedFile(STRANGE_RESULT) from error
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        # A file with a second name may be a hard link to a file outside.
        is_own = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
        if not is_own or status.st_size > limit:
            raise DamagedFile(STRANGE_RESULT)
        yield file
