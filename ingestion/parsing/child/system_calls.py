"""Isolation of a file's child by the kernel: a filter of system calls (seccomp), rules on files.

Without a library, by calls that Python has no function for. Elsewhere than on Linux they fail.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38


@cache
def libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def prctl(option: int, *arguments: int) -> int:
    """The result of prctl(2): negative if it failed."""
    if sys.platform != "linux":
        return -1
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return int(libc().prctl(ctypes.c_int(option), *padded))


def call(number: int, *arguments: Any) -> int:
    """The result of a system call by its number: -1 if it failed."""
    return int(libc().syscall(ctypes.c_long(number), *arguments))


def forbid_new_privileges() -> bool:
    """Prevent programs started by this process from gaining rights, as by a set-user-id bit."""
    return prctl(_PR_SET_NO_NEW_PRIVS, 1) == 0


def hide_process() -> bool:
    """Keep this process' memory, variables and open files from others of the same user.

    Its children by fork inherit this, programs that it starts do not. It leaves no core file, and
    only root may debug it. False on other systems.
    """
    return prctl(_PR_SET_DUMPABLE, 0) == 0


_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2

# struct seccomp_data: the call's number, the architecture, the low half of the first argument.
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENT_AT = 0, 4, 16
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _JUMP_IF_ANY = 0x20, 0x15, 0x35, 0x45
_RETURN = 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE, _LACK = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_X32_CALLS = 0x40000000  # a second table of all calls on x86-64 that would bypass the filter
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # Linux' AUDIT_ARCH

# The numbers on x86-64 and on ARM.
_REFUSED = {
    # The network.
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    # A process that left the group would outlive the time-out.
    "setsid": (112, 157),
    "setpgid": (109, 154),
    # Other processes: their memory, their open files, their limits.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    # A queue of calls that the filter would not see.
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # Mounts and namespaces.
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    # Files without a path, which no rule on paths holds.
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "execveat": (322, 281),
    # The kernel's keys, and its most dangerous calls.
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "userfaultfd": (323, 282),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "fanotify_init": (300, 262),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "syslog": (103, 116),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
}
# Allowed unless they make a namespace; allowed for this process (0) alone; said to be missing, so
# that libraries fall back to clone(2), whose flags can be read here.
_CLONE, _PRLIMIT, _CLONE3 = (56, 220), (302, 261), (435, 435)
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x70000000


def filter_calls() -> bool:
    """Install the filter, for good; True if it is in effect now."""
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _ARCHITECTURES:
        return False
    program = _program(_ARCHITECTURES[machine], list(_ARCHITECTURES).index(machine))
    code = ctypes.create_string_buffer(program, len(program))
    count, place = len(program) // 8, ctypes.addressof(code)
    described = ctypes.create_string_buffer(struct.pack("HL", count, place))
    if not forbid_new_privileges():
        return False
    return prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(described)) == 0


def _program(architecture: int, column: int) -> bytes:
    """A BPF program that allows every call but those above, which fail with EPERM."""

    def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("HBBI", code, if_true, if_false, value)

    def only_if(number: int, code: int, value: int, *, refused: bool) -> list[bytes]:
        """Five steps that decide a call by its first argument."""
        return [
            step(_JUMP_IF_EQUAL, number, if_false=4),
            step(_LOAD, _ARGUMENT_AT),
            step(code, value, if_true=int(refused), if_false=int(not refused)),
            step(_RETURN, _ALLOW),
            step(_RETURN, _REFUSE),
        ]

    # A match jumps past the remaining tests and the "allow" to the "refuse" at the end.
    numbers = [pair[column] for pair in _REFUSED.values()]
    tests = [(_JUMP_IF_AT_LEAST, _X32_CALLS), *((_JUMP_IF_EQUAL, number) for number in numbers)]
    steps = [
        step(_LOAD, _ARCHITECTURE_AT),
        step(_JUMP_IF_EQUAL, architecture, if_true=1),
        step(_RETURN, _KILL),
        step(_LOAD, _NUMBER_AT),
        step(_JUMP_IF_EQUAL, _CLONE3[column], if_false=1),
        step(_RETURN, _LACK),
        *only_if(_CLONE[column], _JUMP_IF_ANY, _NAMESPACES, refused=True),
        *only_if(_PRLIMIT[column], _JUMP_IF_EQUAL, 0, refused=False),
        *(step(code, value, len(tests) - at) for at, (code, value) in enumerate(tests)),
        step(_RETURN, _ALLOW),
        step(_RETURN, _REFUSE),
    ]
    return b"".join(steps)


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


def landlock_version() -> int:
    """The version of the kernel's Landlock; 0 if it has none or has it switched off."""
    if sys.platform != "linux":
        return 0
    return max(0, call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION)))


def holds_signals() -> bool:
    """Whether this kernel's Landlock also keeps signals from processes outside (Linux 6.12)."""
    return landlock_version() >= 6


def restrict_files(reads: Iterable[Path], writes: Iterable[Path], runs: Iterable[Path]) -> bool:
    """Allow these files and folders, with all below them, and no others; True if in effect.

    Paths that do not exist are left out. What is open stays open. Must run before the process
    starts a thread.
    """
    version = landlock_version()
    if not version:
        return False
    handled = _handled(version)
    ruleset = _ruleset(handled, version)
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


def _handled(version: int) -> int:
    """The kinds of access that this version of Landlock can refuse."""
    handled = _FIRST_ACCESSES
    for since, access in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        handled |= access if version >= since else 0
    return handled


def _ruleset(handled: int, version: int) -> int:
    """The descriptor of an empty set of rules; -1 if it cannot be made."""
    fields = [handled]
    if version >= 4:
        fields.append(_NET_ACCESSES)
    if version >= 6:
        fields.append(_SCOPES)
    packed = struct.pack(f"={len(fields)}Q", *fields)
    return call(_CREATE, packed, ctypes.c_size_t(len(packed)), ctypes.c_uint(0))


def _allow(ruleset: int, path: Path, accesses: int) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(handle).st_mode):
                accesses &= _OF_FILES
            rule = struct.pack("=Qi", accesses & _handled(landlock_version()), handle)
            call(_ADD, ruleset, ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint(0))
        finally:
            os.close(handle)
