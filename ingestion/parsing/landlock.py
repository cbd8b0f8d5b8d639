"""Landlock: the files that a process may read, write and execute, on Linux since 5.13.

The kernel holds this process and its children to it for good, whoever they run as.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from .system_calls import call, forbid_new_privileges

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_VERSION, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_MAKE_DEVICES = 1 << 6 | 1 << 11
_FIRST_ACCESSES = (1 << 13) - 1
# What a rule on a single file may name.
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_READ = _READ_FILE | _READ_DIR
_NET_ACCESSES = 0b11  # binding and connecting TCP
_SCOPES = 0b11  # abstract sockets, and signals to processes outside


def version() -> int:
    """The version of the kernel's Landlock; 0 if it has none or has it switched off."""
    if sys.platform != "linux":
        return 0
    return max(0, call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION)))


def holds_signals() -> bool:
    """Whether this kernel's Landlock also keeps signals from processes outside (Linux 6.12)."""
    return version() >= 6


def restrict(reads: Iterable[Path], writes: Iterable[Path], runs: Iterable[Path]) -> bool:
    """Allow these files and folders, with all below them, and no others; True if in effect.

    Paths that do not exist are left out. What is open stays open. Must run before the process
    starts a thread.
    """
    known = version()
    if not known:
        return False
    handled = _handled(known)
    ruleset = _ruleset(handled, known)
    if ruleset < 0:
        return False
    try:
        for path in reads:
            _allow(ruleset, path, _READ)
        for path in runs:
            _allow(ruleset, path, _READ_FILE | _EXECUTE)
        for path in writes:
            _allow(ruleset, path, handled & ~(_EXECUTE | _MAKE_DEVICES | _IOCTL_DEV))
        return forbid_new_privileges() and call(_RESTRICT, ruleset, ctypes.c_uint(0)) == 0
    finally:
        os.close(ruleset)


def _handled(known: int) -> int:
    """The accesses that this version can refuse."""
    handled = _FIRST_ACCESSES
    for since, access in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        handled |= access if known >= since else 0
    return handled


def _ruleset(handled: int, known: int) -> int:
    """The descriptor of an empty set of rules; -1 if it cannot be made."""
    fields = [handled]
    if known >= 4:
        fields.append(_NET_ACCESSES)
    if known >= 6:
        fields.append(_SCOPES)
    packed = struct.pack(f"={len(fields)}Q", *fields)
    return call(_CREATE, packed, ctypes.c_size_t(len(packed)), ctypes.c_uint(0))


def _allow(ruleset: int, path: Path, accesses: int) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(handle).st_mode):
                accesses &= _OF_FILES
            rule = struct.pack("=Qi", accesses & _handled(version()), handle)
            call(_ADD, ruleset, ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint(0))
        finally:
            os.close(handle)
