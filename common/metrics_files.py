"""The metrics of all processes of one machine, in files of one folder.

`prometheus_client` keeps each process' metrics in files named after an identifier, by default the
process id. Here it is a slot: the first number whose lock is free, locked as long as the process
lives. Containers that share the folder have the same process ids, but not the same slots; and the
next process in a slot goes on counting in its files, so that no counter falls and the number of
files is that of the processes which ever ran at once.
"""

from __future__ import annotations

import fcntl
import itertools
import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from prometheus_client import REGISTRY, CollectorRegistry, values
from prometheus_client.multiprocess import MultiProcessCollector

logger = logging.getLogger(__name__)

# The variable that prometheus_client reads.
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
# Bytes of a process' files. They are reserved because a write into a mapped file without room on
# the disk would kill the process. Twice what all labels together take.
_SIZES = {"histogram": 1 << 20, "counter": 1 << 18}


class _Slot:
    """The slot of this process; a forked child takes its own."""

    def __init__(self) -> None:
        self._pid, self._lock = 0, -1
        self._name = ""
        self._taking = threading.Lock()

    def name(self) -> str:
        """The slot's name, which no other process has; it is taken at the first call."""
        pid = os.getpid()
        if pid != self._pid:
            with self._taking:
                if pid != self._pid:
                    self._take()
                    self._pid = pid
        return self._name

    def _take(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)  # the parent's, which the parent still holds
            self._lock = -1
        folder = Path(os.environ[VARIABLE])
        for number in itertools.count():
            lock = _opened(folder / f"{number}.lock")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lock)
                continue
            break
        try:
            for kind, size in _SIZES.items():
                _reserve(folder / f"{kind}_{number}.db", size)
        except OSError:
            os.close(lock)
            raise
        self._lock, self._name = lock, str(number)

    def after_fork(self) -> None:
        """Another thread may have held the lock when the process forked."""
        self._taking = threading.Lock()


_slot = _Slot()
os.register_at_fork(after_in_child=_slot.after_fork)


def keep_in(folder: Path) -> bool:
    """Store the metrics that are created from now on in `folder`; False if that is impossible.

    Then each process knows only its own. Writes no file before the first metric is counted.
    """
    try:
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _leave_to_owner(folder, of=folder.parent)
    except OSError:
        return False
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    os.environ[VARIABLE] = str(folder)
    # The class calls it at once, before there is anything to describe.
    names: list[Callable[[], str]] = [lambda: ""]
    values.ValueClass = values.MultiProcessValue(lambda: names[0]())
    names[0] = _slot.name
    return True


def registry() -> CollectorRegistry:
    """A registry with the metrics of all processes that share the folder, and of ended ones."""
    folder = Path(os.environ.get(VARIABLE, ""))
    if VARIABLE not in os.environ or not folder.is_dir():
        return REGISTRY
    shared = CollectorRegistry()
    MultiProcessCollector(shared, path=str(folder))
    return shared


def _reserve(path: Path, size: int) -> None:
    """Create the file and reserve its disk space, unless it can be continued. Raises OSError."""
    if _is_whole(path):
        return
    draft = path.with_suffix(".new")  # a scrape must not read a file without a head
    handle = _opened(draft)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, size)
        else:  # macOS
            os.pwrite(handle, b"\0" * size, 0)
    finally:
        os.close(handle)
    draft.replace(path)


def _is_whole(path: Path) -> bool:
    """Whether the file's counts can be read: a machine that went down may have damaged it."""
    try:
        if int.from_bytes(path.read_bytes()[:4], sys.byteorder, signed=True) >= 0:
            MultiProcessCollector.merge([str(path)])  # reads all
            return True
    except Exception:  # damaged bytes can raise anything
        logger.debug("%s is begun anew", path, exc_info=True)
    return False


def _opened(path: Path) -> int:
    """The descriptor of the file, created if it is missing."""
    is_new = not path.exists()
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    if is_new:
        _leave_to_owner(path, of=path.parent)
    return handle


def _leave_to_owner(path: Path, *, of: Path) -> None:
    """Give what a command of root's made to the owner of its folder: the site's own user.

    The web server could else not read it, and every scrape would fail.
    """
    if os.geteuid() == 0:
        owner = of.stat()
        os.chown(path, owner.st_uid, owner.st_gid)
