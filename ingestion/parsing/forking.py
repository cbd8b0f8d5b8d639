"""The worker's end of its fork servers: a job in, the exit status of its child out."""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from ingestion.parsing.fork_server import serve; serve(int(sys.argv[2]))"
)
# All children of a server lie at the same addresses: a new one now and then draws new ones.
_MOST_FILES = 1_000 if sys.platform == "linux" else 1
_MOST_IDLE = 4
# A server ends its child in time itself; one that does not answer is ended after this.
_GRACE_SECONDS = 10.0


class ServerEnded(Exception):
    """The server is gone, and with it the child; `status` is its own exit status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"The fork server ended with {status}")
        self.status = status


class ForkServer:
    """One server process, which runs one job at a time."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            # No variable and no open file of the worker goes along.
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT, str(_ROOT), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": os.defpath, "LANG": "C.UTF-8"},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._line = ours
        self.files = 0

    def run(self, job: dict[str, Any], seconds: float) -> int | None:
        """The exit status of the job's child; None where it ran longer than `seconds`.

        Raises ServerEnded.
        """
        self.files += 1
        self._line.settimeout(seconds + _GRACE_SECONDS)
        try:
            self._line.sendall(json.dumps({"job": job, "seconds": seconds}).encode() + b"\n")
            with self._line.makefile("rb") as answers:
                answer = answers.readline()
        except TimeoutError:
            self._process.kill()
            raise ServerEnded(self._process.wait()) from None
        except OSError:
            answer = b""
        if not answer:
            raise ServerEnded(self._process.wait())
        status: int | None = json.loads(answer)["status"]
        return status

    def close(self) -> None:
        """Ends the server and what it runs."""
        self._line.close()
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def disown(self) -> None:
        """Leaves the server to the process that this one was forked from."""
        self._line.close()
        self._process.returncode = 0


_idle: list[ForkServer] = []
_lock = threading.Lock()


def run_in_child(job: dict[str, Any], seconds: float) -> int | None:
    """The exit status of the child that `child.main` ran `job` in; None after `seconds`.

    Negative where a signal ended it, or the server above it.
    """
    try:
        return _run(job, seconds)
    except ServerEnded as ended:
        if ended.status != 0:
            return ended.status
    # It had just grown tired of waiting: the job never began.
    try:
        return _run(job, seconds)
    except ServerEnded as ended:
        return ended.status or 1


def _run(job: dict[str, Any], seconds: float) -> int | None:
    with _lock:
        server = _idle.pop() if _idle else None
    server = server or ForkServer()
    try:
        status = server.run(job, seconds)
    except BaseException:
        server.close()
        raise
    with _lock:
        kept = server.files < _MOST_FILES and len(_idle) < _MOST_IDLE
        if kept:
            _idle.append(server)
    if not kept:
        server.close()
    return status


@atexit.register
def close_servers() -> None:
    """Ends the servers that wait for a file."""
    with _lock:
        servers = _idle[:]
        _idle.clear()
    for server in servers:
        server.close()


def _start_afresh() -> None:
    global _lock
    _lock = threading.Lock()
    for server in _idle:
        with suppress(OSError):
            server.disown()
    _idle.clear()


os.register_at_fork(after_in_child=_start_afresh)
