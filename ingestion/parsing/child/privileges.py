"""The user of a file's child process: never root, and without capabilities."""

from __future__ import annotations

import ctypes
import os
import random
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from ingestion.parsing.child.system_calls import libc, prctl

# Numbers that Debian reserves and gives to nobody: a child of its own number shares no files,
# processes or limits with any account. Mapped in containers that have 65,536 numbers.
_FIRST_ACCOUNT, _ACCOUNTS = 65_000, 500
_CHOWN, _DAC_READ_SEARCH, _SETGID, _SETUID = 0, 2, 6, 7
_PR_SET_KEEPCAPS, _PR_CAPBSET_DROP, _PR_CAP_AMBIENT = 8, 24, 47
_AMBIENT_RAISE, _AMBIENT_CLEAR = 2, 4
_LAST_CAPABILITY = 40
_CAPABILITIES_3 = 0x20080522


def is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


@cache
def _may_change_user() -> bool:
    """Whether this process is root with the rights to give a directory and a process away."""
    if not is_root():
        return False
    if sys.platform != "linux":
        return True
    needed = 1 << _CHOWN | 1 << _SETGID | 1 << _SETUID
    return _effective() & needed == needed and all(
        _is_mapped(Path("/proc/self", name)) for name in ("uid_map", "gid_map")
    )


def _effective() -> int:
    """The effective capabilities of this process, as bits."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0


def _is_mapped(table: Path) -> bool:
    rows = (map(int, line.split()) for line in table.read_text().splitlines())
    return any(
        first <= _FIRST_ACCOUNT and first + length >= _FIRST_ACCOUNT + _ACCOUNTS
        for first, _, length in rows
    )


@contextmanager
def spare_account() -> Iterator[int | None]:
    """The number of a user and group for a child of root; None if it runs as this user.

    No other child on this machine has it during the block: it could read this one's files, and
    the kernel's limit of processes counts those of all children of one number.
    """
    if not _may_change_user():
        yield None
        return
    numbers = random.sample(range(_FIRST_ACCOUNT, _FIRST_ACCOUNT + _ACCOUNTS), _ACCOUNTS)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
        yield next((number for number in numbers if _is_claimed(claim, number)), numbers[0])


def _is_claimed(claim: socket.socket, number: int) -> bool:
    """Whether the socket has claimed the number, until it is closed or its process ends."""
    if sys.platform != "linux":
        return True
    try:
        claim.bind(f"\0steelyard-parser-{number}")
    except OSError:
        return False
    return True


def tasks_of_this_user() -> int:
    """The number of this user's processes and threads; on Linux, the kernel limits their sum."""
    count, user = 0, os.getuid()
    with suppress(OSError), os.scandir("/proc") as processes:
        for process in processes:
            with suppress(OSError):
                if process.name.isdecimal() and process.stat().st_uid == user:
                    count += Path(process.path, "task").stat().st_nlink - 2
    return count


def is_ours(owner: int) -> bool:
    """Whether a file's owner is this user or, if this process is root, one of its children."""
    spare = range(_FIRST_ACCOUNT, _FIRST_ACCOUNT + _ACCOUNTS)
    return owner == os.getuid() or (is_root() and owner in spare)


def is_open_to_all(path: Path) -> bool:
    """Whether any user may read `path` and enter each folder above it; True if it is missing."""
    try:
        return bool(path.stat().st_mode & 0o004) and all(map(is_entered, path.parents))
    except FileNotFoundError:
        return True


def is_entered(folder: Path) -> bool:
    """Whether any user may enter this folder."""
    return bool(folder.stat().st_mode & 0o001)


def drop(account: int | None, *, keeps_reading: bool = False) -> bool:
    """Become the user `account`, if given, and give up all capabilities, for good.

    `keeps_reading`: keep the one to read files of others, for root's own Python in a closed home
    directory; Landlock must hold the files then. True unless this process remains root with rights.
    """
    capability_left = _DAC_READ_SEARCH if keeps_reading and account is not None else None
    if sys.platform == "linux":
        for capability in range(_LAST_CAPABILITY + 1):
            if capability != capability_left:
                prctl(_PR_CAPBSET_DROP, capability)
        prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR)
    if account is not None:
        if capability_left is not None:
            prctl(_PR_SET_KEEPCAPS, 1)
        os.setgroups([])
        os.setresgid(account, account, account)
        os.setresuid(account, account, account)
    if sys.platform != "linux":
        return not is_root()
    is_dropped = _set_capabilities(1 << capability_left if capability_left is not None else 0)
    if not is_dropped:
        is_dropped = _set_capabilities(0)
    elif capability_left is not None:
        # Also for pandoc.
        prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, capability_left)
    return is_dropped and not is_root()


def _set_capabilities(bits: int) -> bool:
    """Set the effective, permitted and inheritable capabilities, all below number 32."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITIES_3, 0), 8)
    sets = ctypes.create_string_buffer(struct.pack("=6I", bits, bits, bits, 0, 0, 0), 24)
    return int(libc().capset(header, sets)) == 0
