"""The account that runs Postgres, which refuses root, and whose initdb requires a named account."""

import functools
import os
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .system import EmbeddedServersError

# The first of these that exists. "nobody" is last: other services share it, and in a user
# namespace its id also represents every unmapped account.
SERVICE_ACCOUNTS = ("postgres", "daemon", "nobody")


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
        enter = ("--inh-caps=-all,+dac_override", "--ambient-caps=-all,+dac_override")
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
    import pwd  # here because Windows, where this module must load, has none

    for name in SERVICE_ACCOUNTS:
        with suppress(KeyError):
            account = pwd.getpwnam(name)
            return name, account.pw_uid, account.pw_gid
    raise EmbeddedServersError(
        f"Postgres needs one of the accounts {', '.join(SERVICE_ACCOUNTS)}, and this system has "
        "none. Run Steelyard as an ordinary user, or set DATABASE_URL to a server of your own."
    )


def _has_name(uid: int) -> bool:
    import pwd

    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _succeeds(*command: str) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
