"""The lock that says whether anything of a server is alive.

The server inherits the open, locked file, so the kernel frees the lock when the last of the
server's processes is gone, however it died and in whatever process namespace it ran. A process id
in a file cannot say as much: ids are used again.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

with suppress(ImportError):  # Windows, which `EmbeddedServers` refuses with a message
    import fcntl


@contextmanager
def try_lock(path: Path) -> Iterator[int | None]:
    """The descriptor of the locked file, or None while another process or a server holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor if _locked(descriptor) else None
    finally:
        # Closed, never unlocked: a server that inherited the descriptor must keep the lock.
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
