"""Calls to the kernel that Python has no function for. Elsewhere than on Linux they fail."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38


@cache
def libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def prctl(option: int, *arguments: int) -> int:
    """The result of prctl(2): negative if it failed."""
    if sys.platform != "linux":
        return -1
    given = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return int(libc().prctl(ctypes.c_int(option), *given))


def call(number: int, *arguments: Any) -> int:
    """The result of a system call by its number: -1 if it failed."""
    return int(libc().syscall(ctypes.c_long(number), *arguments))


def forbid_new_privileges() -> bool:
    """No program that this process starts gains rights, as by a set-user-id bit."""
    return prctl(_PR_SET_NO_NEW_PRIVS, 1) == 0


def hide_process() -> bool:
    """Keep this process' memory, variables and open files from others of the same user.

    Its children by fork inherit this, programs that it starts do not. It leaves no core file, and
    only root may debug it. False on other systems.
    """
    return prctl(_PR_SET_DUMPABLE, 0) == 0
