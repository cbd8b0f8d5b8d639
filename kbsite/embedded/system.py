"""Programs, locks and socket directory of the embedded servers.

The programs come from wheels, whose Python code is never imported.
"""

import hashlib
import os
import socket
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

with suppress(ImportError):  # Windows, which `EmbeddedServers` refuses with a message
    import fcntl

# Not TMPDIR or XDG_RUNTIME_DIR: a shell, a cron job and a service have different ones, and all of
# them must find the same server. A path of our own choice also stays below the limit of 103
# (macOS) or 107 (Linux) bytes for a socket's path, however long the path of var/ is.
SOCKETS_ROOT = Path("/tmp")  # noqa: S108 -- owner and mode are checked before every use

# The limit of a container's memory: https://docs.kernel.org/admin-guide/cgroup-v2.html, and of v1.
CONTAINER_MEMORY = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


class EmbeddedServersError(Exception):
    """An embedded server cannot run here; the message says why and what to do."""


def program(package: str, pattern: str, *, instead: str) -> Path:
    """The file of an installed package that matches a glob pattern.

    Raises EmbeddedServersError if package or program is missing; the message suggests the setting
    `instead`, for an external server.
    """
    try:
        root = Path(str(distribution(package).locate_file("")))
    except PackageNotFoundError:
        raise EmbeddedServersError(
            f"The package {package} is not installed. Install requirements.txt (there are wheels "
            f"for Linux and macOS only), or set {instead} to a server of your own."
        ) from None
    # resolve(): the wheel's programs find their libraries relative to their real path.
    found = next((path.resolve() for path in root.glob(pattern)), None)
    if found is None:
        raise EmbeddedServersError(
            f"The installed package {package} contains no {pattern}: this platform has no complete "
            f"wheel. Reinstall it, or set {instead} to a server of your own."
        )
    return found


def installed_version(package: str) -> str:
    """The version of an installed package, such as '18.6.3'."""
    return distribution(package).version


def memory(limits: Collection[Path] = CONTAINER_MEMORY) -> int:
    """The bytes of memory that this machine, or the container that it is, may use."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in limits:
        with suppress(OSError, ValueError):  # no container; or its limit is "max"
            found.append(int(path.read_text()))
    return min(found)


@contextmanager
def try_lock(path: Path) -> Iterator[int | None]:
    """The descriptor of the locked file, or None while another process or a server holds it.

    A server inherits the open, locked file, so the kernel frees the lock when the last of its
    processes exits, however it died and in whatever process namespace. A process id in a file
    would be less reliable: ids are reused.
    """
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


def socket_dir_for(var_dir: Path) -> Path:
    """The path of the socket directory of one var directory and user; creates nothing."""
    digest = hashlib.sha256(os.fsencode(var_dir.resolve())).hexdigest()[:12]
    return SOCKETS_ROOT / f"steelyard-{os.geteuid()}-{digest}"


def is_private(directory: Path, owners: Collection[int]) -> bool:
    """True for a directory that only its rightful owner can enter, False if there is none.

    Raises EmbeddedServersError otherwise: someone may have created it to impersonate the database.
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
        problem = f"has the mode {mode:04o}, which lets other users enter it"
    else:
        return True
    raise EmbeddedServersError(
        f"{directory} {problem}. Steelyard keeps the sockets of its servers there, which only "
        "this user may reach. Find out who created it, remove it, and start again."
    )


def answers(path: Path, request: bytes, expected: bytes) -> bool:
    """True if the server at the socket answers the request as expected within a second."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1)
        try:
            client.connect(os.fspath(path))
            client.sendall(request)
            return client.recv(len(expected)) == expected
        except OSError:
            return False
