"""What isolates a file's child process on this machine, tried in a child."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ingestion.parsing.child import privileges

_ROOT = Path(__file__).resolve().parents[3]
_TRIAL = """
import json, sys, tempfile
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from ingestion.parsing.child import isolation, privileges, system_calls
with privileges.spare_account() as account:
    signals = system_calls.holds_signals()
    bounds = isolation.Confinement(writes=Path(tempfile.gettempdir()), account=account)
    print(json.dumps([signals, *isolation.cut_off(bounds)]), flush=True)
"""
_SECONDS = 30


def isolation_report() -> list[tuple[bool, str]]:
    """For each layer of isolation: whether it is enforced on this machine, and a sentence about it.

    A separate process tries them like the child of a file would. Nothing is written.
    """
    try:
        process = subprocess.run(
            [sys.executable, "-I", "-c", _TRIAL, str(_ROOT)],
            capture_output=True,
            check=True,
            timeout=_SECONDS,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        )
        signals, *layers = json.loads(process.stdout)
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        return [(False, f"The isolation of parsers could not be tried: {error}.")]
    return _lines(set(layers), holds_signals=signals)


def _lines(layers: set[str], *, holds_signals: bool) -> list[tuple[bool, str]]:
    return [
        _files("landlock" in layers),
        _processes("landlock" in layers and holds_signals),
        _calls("filter" in layers),
        _network(layers),
        _account("account" in layers),
    ]


def _files(is_enforced: bool) -> tuple[bool, str]:
    if is_enforced:
        return True, "Parsers read their file and the code, and write their scratch directory."
    return False, (
        "Parsers can read and write every file that their user can: this system has no Landlock. "
        "Use Linux 5.13 or newer with Landlock switched on (lsm=landlock,... at boot), and a "
        "container engine that allows its calls."
    )


def _processes(is_enforced: bool) -> tuple[bool, str]:
    if is_enforced:
        return True, "Parsers can send no signal to other processes."
    return False, (
        "Parsers can send signals to other processes of their user: that needs Linux 6.12. "
        "Until then run workers as a user of their own."
    )


def _calls(is_enforced: bool) -> tuple[bool, str]:
    if is_enforced:
        return True, "Parsers are refused sockets, mounts, namespaces and other processes' memory."
    return False, (
        "System calls of parsers are not filtered: that needs Linux on x86-64 or ARM, with seccomp."
    )


def _network(layers: set[str]) -> tuple[bool, str]:
    if "namespace" in layers:
        return True, "Parsers run in a network of their own, without an interface."
    if "filter" in layers:
        return True, "Parsers have no network: the filter of system calls refuses it."
    return False, (
        "Only Python keeps parsers from the network: this system allows neither network "
        "namespaces nor a filter of system calls. Run workers without access to the network."
    )


def _account(is_enforced: bool) -> tuple[bool, str]:
    if is_enforced and privileges.is_root():
        return True, "This process is root; parsers run as a user without a name or rights."
    if is_enforced:
        return True, "Parsers do not run as root."
    return False, (
        "Parsers run as root, since this process is root and may not change its user. Run it as "
        "another user (User= of systemd, user: of compose)."
    )
