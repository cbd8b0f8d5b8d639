"""The metrics of all processes of one machine, in files of one folder.

`prometheus_client` keeps each process' metrics in files named after its process id. Here they are
named after a lock that the process holds as long as it lives: containers that share the folder
have the same process ids, and a dead process is recognised by its free lock. Its counts are then
added to those of all dead processes, so that no counter falls and the number of files stays small.
"""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, values
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

with suppress(ImportError):  # Windows: each process then has its own metrics only
    import fcntl

# The variable that prometheus_client reads.
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_FOLDED = "folded"
# Bytes of a process' files. They are reserved because a write into a mapped file without room on
# the disk would kill the process. Twice what all labels together take.
_SIZES = {"histogram": 1 << 20, "counter": 1 << 18, "gauge_livesum": 1 << 14}


class _Own:
    """The name and the lock of this process; a forked child gets its own."""

    def __init__(self) -> None:
        self._pid, self._lock = 0, -1
        self._name = ""
        self._naming = threading.Lock()

    def name(self) -> str:
        """The name that no other process has, its lock held from the first call on."""
        pid = os.getpid()
        if pid != self._pid:
            self._become(pid)
        return self._name

    def _become(self, pid: int) -> None:
        with self._naming:
            if pid == self._pid:
                return
            if self._lock >= 0:
                os.close(self._lock)  # the parent's, which the parent still holds
                self._lock = -1
            host = re.sub(r"[^a-zA-Z0-9.]", "-", socket.gethostname())[:40]
            name = f"{host}-{pid}-{time.time_ns():x}"
            folder = Path(os.environ[VARIABLE])
            with _whole(folder):
                lock = _opened(folder / f"{name}.lock")
                fcntl.flock(lock, fcntl.LOCK_EX)
                try:
                    for kind, size in _SIZES.items():
                        _reserve(folder / f"{kind}_{name}.db", size)
                except OSError:
                    os.close(lock)  # the next scrape removes what was made so far
                    raise
            self._lock, self._pid, self._name = lock, pid, name

    def after_fork(self) -> None:
        """Another thread may have held the lock when the process forked."""
        self._naming = threading.Lock()


_own = _Own()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_own.after_fork)


def keep_in(folder: Path) -> bool:
    """Keep the metrics that are made from now on in `folder`; False if that is impossible.

    Then each process knows only its own. Writes no file before the first metric is counted.
    """
    try:
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _leave_to_owner(folder, of=folder.parent)
    except OSError:
        return False
    if "fcntl" not in globals() or not os.access(folder, os.W_OK | os.X_OK):
        return False
    os.environ[VARIABLE] = str(folder)
    # The class asks at once, before there is anything to name.
    names: list[Callable[[], str]] = [lambda: ""]
    values.ValueClass = values.MultiProcessValue(lambda: names[0]())
    names[0] = _own.name
    return True


def registry() -> CollectorRegistry:
    """The metrics of all processes that share the folder, dead ones included."""
    from prometheus_client import REGISTRY

    folder = os.environ.get(VARIABLE)
    if not folder or not Path(folder).is_dir():
        return REGISTRY
    found = CollectorRegistry()
    MultiProcessCollector(found, path=folder)
    return found


@contextmanager
def settled() -> Iterator[None]:
    """Fold what dead processes left, and keep others from doing so within the block."""
    folder = os.environ.get(VARIABLE)
    if not folder or not Path(folder).is_dir():
        yield
        return
    with _whole(Path(folder)):
        with suppress(OSError):  # a full disk: the dead are counted from their own files
            _fold(Path(folder))
        yield


@contextmanager
def _whole(folder: Path) -> Iterator[None]:
    """Hold the lock of the whole folder."""
    handle = _opened(folder / "folder.guard")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _fold(folder: Path) -> None:
    """Add the counts of each dead process to those of all, and remove its files."""
    for lock in folder.glob("*.lock"):
        handle = os.open(lock, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # it lives
        else:
            for left in folder.glob(f"*_{lock.stem}.db"):
                kind = left.name.partition("_")[0]
                # Of a gauge only the living count; a file without room is empty.
                if kind != "gauge" and left.stat().st_size:
                    _add(left, folder / f"{kind}_{_FOLDED}.db")
                left.unlink()
            lock.unlink()
        finally:
            os.close(handle)


def _add(left: Path, folded: Path) -> None:
    _reserve(folded, _SIZES[left.name.partition("_")[0]])
    total = MmapedDict(str(folded))
    try:
        for key, value, _, _ in MmapedDict.read_all_values_from_file(str(left)):
            total.write_value(key, total.read_value(key)[0] + value, 0.0)
    finally:
        total.close()


def _reserve(path: Path, size: int) -> None:
    """Create the file at its size, with its room on the disk. Raises OSError."""
    handle = _opened(path)
    size = max(size, os.fstat(handle).st_size)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, size)
        else:  # macOS
            os.pwrite(handle, b"\0" * (size - os.fstat(handle).st_size), os.fstat(handle).st_size)
    finally:
        os.close(handle)


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
        found = of.stat()
        os.chown(path, found.st_uid, found.st_gid)
