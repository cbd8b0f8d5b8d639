"""Isolation of a file's child process from files, other processes and the network.

Several layers, since none is available everywhere: namespaces without a network, Landlock's rules
on files, a user without rights, a filter of system calls, and a Python audit hook.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ingestion.parsing.child import privileges
from ingestion.parsing.child.system_calls import filter_calls, libc, restrict_files

_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000
_NETWORK_EVENTS = frozenset(
    {
        *("socket.__new__", "socket.bind", "socket.connect", "socket.sendto", "socket.sendmsg"),
        *("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"),
    }
)
_CODE = Path(__file__).resolve().parents[2]
# Libraries, fonts, time zones, and the devices and figures that libraries open when they start.
_SYSTEM_FILES = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store"),
    *("/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/mime.types", "/etc/localtime"),
    *("/etc/fonts", "/usr/share/fonts", "/usr/share/X11/fonts", "/usr/local/share/fonts"),
    *("/usr/share/zoneinfo", "/usr/share/locale", "/usr/share/pandoc"),
    *("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"),
)
_LOADERS = ("lib*/ld-*.so*", "lib/*/ld-*.so*")


@dataclass(frozen=True)
class Confinement:
    """The files of one child: files to read, the folder to write, programs to run.

    `account`: the user and group to become, for a child of root.
    """

    reads: tuple[Path, ...] = ()
    writes: Path | None = None
    runs: tuple[Path, ...] = ()
    account: int | None = None


def cut_off(bounds: Confinement) -> tuple[str, ...]:
    """Isolate this process; return the layers in effect, of LAYERS; "hook" at least.

    Must run before the process starts a thread. Its children inherit all layers but the hook.
    """
    layers: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("namespace", _enter_empty_network),
        ("landlock", lambda: _hold_files(bounds)),
        ("account", lambda: _drop(bounds)),
        ("filter", filter_calls),
        ("hook", _hook),
    )
    return tuple(name for name, take in layers if take())


LAYERS = ("namespace", "landlock", "account", "filter", "hook")


def _enter_empty_network() -> bool:
    """Enter an empty network namespace; True if no interface is up now, not even loopback."""
    if sys.platform != "linux":
        return False
    user, group = os.getuid(), os.getgid()
    if libc().unshare(_CLONE_NEWNET | _CLONE_NEWIPC) == 0:
        return True
    if libc().unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC) != 0:
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


def _hold_files(bounds: Confinement) -> bool:
    if bounds.writes is None:
        return False
    reads = (*code_paths(), *map(Path, _SYSTEM_FILES), *bounds.reads)
    runs = bounds.runs
    if not all(path.is_relative_to(sys.prefix) for path in runs):
        # A program of the system is linked dynamically: its loader is run as well.
        runs += tuple(loader for pattern in _LOADERS for loader in Path("/").glob(pattern))
    return restrict_files(reads, (bounds.writes, Path("/dev/null")), runs)


def code_paths() -> tuple[Path, ...]:
    """The folders of Python, of the installed packages, and of this one.

    Never the project's own folder, which may contain .env, the originals and the secret key.
    """
    libraries = Path(sys.base_prefix, "lib")
    installed = [Path(entry) for entry in sys.path if entry]
    packages = [path for path in installed if _is_packages(path) or not _CODE.is_relative_to(path)]
    return (_CODE, libraries, *packages)


def _is_packages(path: Path) -> bool:
    return path.name in {"site-packages", "dist-packages"}


def _drop(bounds: Confinement) -> bool:
    """Give up root and all capabilities, except one if the code is in files of root's own."""
    keeps_reading = False
    if bounds.account is not None:
        code = (Path(__file__), *code_paths(), *bounds.runs)
        above = bounds.writes.parents if bounds.writes else ()
        keeps_reading = not (
            all(map(privileges.is_open_to_all, code)) and all(map(privileges.is_entered, above))
        )
    return privileges.drop(bounds.account, keeps_reading=keeps_reading)


def _hook() -> bool:
    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event in _NETWORK_EVENTS:
            raise PermissionError(
                errno.EPERM, "Network access is not allowed while a file is parsed"
            )

    sys.addaudithook(refuse)
    return True
