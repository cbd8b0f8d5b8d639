"""The worker's side of its fork servers: runs a job, returns the exit status of its child."""

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

from ingestion.parsing.child.system_calls import hide_process

_ROOT = Path(__file__).resolve().parents[3]
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from ingestion.parsing.child.fork_server import serve; serve(int(sys.argv[2]))"
)
# All children of a server share its address layout: a new server now and then randomises it.
_MOST_FILES = 1_000 if sys.platform == "linux" else 1
_MOST_IDLE = 4
# A server kills an overdue child itself; a server that does not answer is killed after this.
_GRACE_SECONDS = 10.0


class ServerEnded(Exception):
    """The server has exited, and its child with it; `status` is the server's exit status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"The fork server ended with {status}")
        self.status = status


class ForkServer:
    """One server process, which runs one job at a time."""

    def __init__(self) -> None:
        hide_process()
        ours, theirs = socket.socketpair()
        with theirs:
            # No environment variable and no open file of the worker is inherited.
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
        """The exit status of the job's child; None if it ran longer than `seconds`.

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
        """Stop the server and its child."""
        self._line.close()
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def disown(self) -> None:
        """Forget the server: it belongs to the process from which this one was forked."""
        self._line.close()
        self._process.returncode = 0


_idle: list[ForkServer] = []
_lock = threading.Lock()


def run_in_child(job: dict[str, Any], seconds: float) -> int | None:
    """The exit status of the child that ran `job`; None if it ran longer than `seconds`.

    Negative if a signal ended the child or its server.
    """
    try:
        return _run(job, seconds)
    except ServerEnded as error:
        if error.status != 0:
            return error.status
    # The server had just exited after its idle time: the job never started.
    try:
        return _run(job, seconds)
    except ServerEnded as error:
        return error.status or 1


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
        is_reusable = server.files < _MOST_FILES and len(_idle) < _MOST_IDLE
        if is_reusable:
            _idle.append(server)
    if not is_reusable:
        server.close()
    return status


@atexit.register
def close_servers() -> None:
    """Stop the idle servers."""
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
