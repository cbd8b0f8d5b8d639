"""Programs, locks, socket directory and account of the embedded servers.

Postgres refuses root, and its initdb requires a named account.

The programs come from wheels, whose Python code is never imported.
"""

import fcntl
import functools
import hashlib
import os
import pwd
import shutil
import socket
import stat
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from common import UserError

# Not TMPDIR or XDG_RUNTIME_DIR: a shell, a cron job and a service have different ones, and all of
# them must find the same server. A path of our own choice also stays below the limit of 103
# (macOS) or 107 (Linux) bytes for a socket's path, however long the path of var/ is.
SOCKETS_ROOT = Path("/tmp")  # noqa: S108 -- owner and mode are checked before every use

# The limit of a container's memory: https://docs.kernel.org/admin-guide/cgroup-v2.html, and of v1.
CONTAINER_MEMORY = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
# The first of these that exists. "nobody" is last: other services share it, and in a user
# namespace its id also represents every unmapped account.
SERVICE_ACCOUNTS = ("postgres", "daemon", "nobody")


class EmbeddedServersError(UserError):
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
    path = next((match.resolve() for match in root.glob(pattern)), None)
    if path is None:
        raise EmbeddedServersError(
            f"The installed package {package} contains no {pattern}: this platform has no complete "
            f"wheel. Reinstall it, or set {instead} to a server of your own."
        )
    return path


def installed_version(package: str) -> str:
    """The version of an installed package, such as '18.6.3'."""
    return distribution(package).version


def memory(limits: Collection[Path] = CONTAINER_MEMORY) -> int:
    """The bytes of memory that this machine, or the container that it is, may use."""
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in limits:
        with suppress(OSError, ValueError):  # no container; or its limit is "max"
            sizes.append(int(path.read_text()))
    return min(sizes)


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
        # Close it, never unlock it: a server that inherited the descriptor must keep the lock.
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
        status = directory.lstat()
    except FileNotFoundError:
        return False
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISDIR(status.st_mode):
        problem = "is not a directory"
    elif status.st_uid not in owners:
        problem = f"belongs to another user (id {status.st_uid})"
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


@dataclass(frozen=True)
class Account:
    """The owner of a server's files, as seen from this process, and the command to become it."""

    uid: int
    gid: int
    prefix: tuple[str, ...] = ()

    def take_over(self, directory: Path) -> None:
        """Make the account the owner of a directory and everything in it."""
        if directory.stat().st_uid == self.uid:
            return
        for folder, _, names in os.walk(directory, topdown=False):
            for name in names:
                os.chown(Path(folder) / name, self.uid, self.gid, follow_symlinks=False)
            # Folders after their content, so that an interrupted change is repeated next time.
            os.chown(folder, self.uid, self.gid, follow_symlinks=False)


def possible_owners() -> frozenset[int]:
    """The ids of the users that may own the servers' files, as seen from this process."""
    owner = os.geteuid()
    if owner != 0:
        return frozenset({owner})
    return frozenset({0, _service_account()[1]})


@functools.cache
def account_for(program: Path, directory: Path) -> Account:
    """The account for a program that refuses root and works in a directory.

    In order of preference: this process' own; its own under another name in a user namespace,
    which changes no file's owner; for root, a service account, with the capability to enter closed
    directories only if it cannot otherwise reach the program and the directory.
    """
    uid, gid = os.geteuid(), os.getegid()
    if uid != 0 and _has_name(uid):
        return Account(uid, gid)
    name, service_uid, service_gid = _service_account()
    mapped = ("unshare", "--user", f"--map-user={name}")
    if _succeeds(*mapped, "true"):
        return Account(uid, gid, mapped)
    if uid == 0:
        become = ("setpriv", f"--reuid={service_uid}", f"--regid={service_gid}", "--clear-groups")
        # The bit, because `access` ignores a plain user's capability without it, and Postgres asks
        # it for its own program (capabilities(7), access(2)).
        caps = ("--inh-caps=-all,+dac_override", "--ambient-caps=-all,+dac_override")
        enter = (*caps, "--securebits=+no_setuid_fixup")
        reach = ("sh", "-c", 'test -x "$0" && test -x "$1"', str(program), str(directory))
        for prefix in ((*become, "--inh-caps=-all"), (*become, *enter)):
            if _succeeds(*prefix, *reach):
                return Account(service_uid, service_gid, prefix)
    raise EmbeddedServersError(
        f"Postgres does not run as {'root' if uid == 0 else f'user {uid}, which has no name'}, and "
        "this system lets Steelyard use neither a user namespace (unshare) nor a service account "
        "(setpriv). Run Steelyard as an ordinary user, or set DATABASE_URL to a server of your own."
    )


@functools.cache
def _service_account() -> tuple[str, int, int]:
    for name in SERVICE_ACCOUNTS:
        with suppress(KeyError):
            account = pwd.getpwnam(name)
            return name, account.pw_uid, account.pw_gid
    raise EmbeddedServersError(
        f"Postgres needs one of the accounts {', '.join(SERVICE_ACCOUNTS)}, and this system has "
        "none. Run Steelyard as an ordinary user, or set DATABASE_URL to a server of your own."
    )


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _succeeds(*command: str) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
