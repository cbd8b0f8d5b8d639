"""The directory of the servers' sockets: short, private, and the same for every process."""

import hashlib
import os
import socket
import stat
from collections.abc import Collection
from pathlib import Path

from .errors import EmbeddedServersError

# Not TMPDIR or XDG_RUNTIME_DIR: a shell, a cron job and a service have different ones, and all of
# them must find the same server. A path of our own choice also stays below the limit of 103
# (macOS) or 107 (Linux) bytes for a socket's path, however long the path of var/ is.
SOCKETS_ROOT = Path("/tmp")  # noqa: S108 -- owner and mode are checked before every use


def socket_dir_for(var_dir: Path) -> Path:
    """The directory for the sockets of one var directory and user; makes nothing."""
    digest = hashlib.sha256(os.fsencode(var_dir.resolve())).hexdigest()[:12]
    return SOCKETS_ROOT / f"steelyard-{os.geteuid()}-{digest}"


def is_private(directory: Path, owners: Collection[int]) -> bool:
    """True for a directory that only its rightful owner can enter, False where there is none.

    Raises EmbeddedServersError for anything else: someone may have put it there so as to be
    taken for the database.
    """
    try:
        found = directory.lstat()
    except FileNotFoundError:
        return False
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode):
        problem = "is not a directory"
    elif found.st_uid not in owners:
        problem = f"belongs to another user (id {found.st_uid})"
    elif mode != 0o700:
        problem = f"has the mode {mode:04o}, so that other users may enter it"
    else:
        return True
    raise EmbeddedServersError(
        f"{directory} {problem}. Steelyard keeps the sockets of its servers there and needs it "
        "for itself alone. Find out who made it, remove it, and start again."
    )


def is_listening(path: Path) -> bool:
    """True when a process accepts connections at the socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1)
        try:
            client.connect(os.fspath(path))
        except BlockingIOError:  # its queue of new connections is full
            return True
        except OSError:
            return False
    return True


def answers(path: Path, request: bytes, expected: bytes) -> bool:
    """True when the server at the socket answers the request as expected within a second."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1)
        try:
            client.connect(os.fspath(path))
            client.sendall(request)
            return client.recv(len(expected)) == expected
        except OSError:
            return False
