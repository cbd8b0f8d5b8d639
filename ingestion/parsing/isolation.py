"""Isolation of a file's child process from the network and from other processes.

Three layers, since none is available everywhere: an empty network namespace, a filter of system
calls (Linux on x86-64 and ARM), and a Python audit hook.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Callable
from pathlib import Path

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2

# struct seccomp_data: the call's number, the architecture.
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_X32_CALLS = 0x40000000  # a second table of all calls on x86-64 that would bypass the filter
# Linux' AUDIT_ARCH and the numbers of socket, connect, setsid, setpgid, ptrace,
# process_vm_readv, process_vm_writev, io_uring_setup.
_FILTERS: dict[str, tuple[int, tuple[int, ...]]] = {
    "x86_64": (0xC000003E, (41, 42, 112, 109, 101, 310, 311, 425)),
    "aarch64": (0xC00000B7, (198, 203, 157, 154, 117, 270, 271, 425)),
}
_NETWORK_EVENTS = frozenset(
    {
        *("socket.__new__", "socket.bind", "socket.connect", "socket.sendto", "socket.sendmsg"),
        *("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"),
    }
)


def cut_off() -> tuple[str, ...]:
    """Isolate this process; return the layers in effect: "hook" at least, "namespace", "filter".

    Must run before the process starts a thread. Its children inherit the first two layers.
    """
    layers: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("namespace", _enter_empty_network),
        ("filter", _filter_calls),
        ("hook", _hook),
    )
    return tuple(name for name, take in layers if take())


def _enter_empty_network() -> bool:
    """Enter an empty network namespace; True if no interface is up now, not even loopback."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWNET) == 0:
        return True
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return False
    # Keep the user and group ids in the new user namespace.
    for name, line in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        try:
            Path("/proc/self", name).write_text(line)
        except OSError:
            break
    return True


def _filter_calls() -> bool:
    """Install the system call filter; True if sockets and leaving the session are refused now."""
    known = _FILTERS.get(platform.machine()) if sys.platform == "linux" else None
    if known is None:
        return False
    program = _program(*known)
    code = ctypes.create_string_buffer(program, len(program))
    count, place = len(program) // 8, ctypes.addressof(code)
    described = ctypes.create_string_buffer(struct.pack("HL", count, place))
    libc = ctypes.CDLL(None, use_errno=True)
    prctl = libc.prctl
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    if prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    done = prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(described), 0, 0)
    return bool(done == 0)


def _program(architecture: int, refused: tuple[int, ...]) -> bytes:
    """A BPF program that allows every call but the `refused` ones, which fail with EPERM."""

    def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("HBBI", code, if_true, if_false, value)

    # A match jumps past the remaining tests and the "allow" to the "refuse" at the end.
    tests = [(_JUMP_IF_AT_LEAST, _X32_CALLS), *((_JUMP_IF_EQUAL, number) for number in refused)]
    steps = [
        step(_LOAD, _ARCHITECTURE_AT),
        step(_JUMP_IF_EQUAL, architecture, if_true=1),
        step(_RETURN, _KILL),
        step(_LOAD, _NUMBER_AT),
        *(step(code, value, len(tests) - at) for at, (code, value) in enumerate(tests)),
        step(_RETURN, _ALLOW),
        step(_RETURN, _REFUSE),
    ]
    return b"".join(steps)


def _hook() -> bool:
    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event in _NETWORK_EVENTS:
            raise PermissionError(
                errno.EPERM, "Network access is not allowed while a file is parsed"
            )

    sys.addaudithook(refuse)
    return True
