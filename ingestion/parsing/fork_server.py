"""The fork server of a worker: holds the parsers' code, and forks a child for each file.

Starting Python and importing a parser takes longer than most files. This process does it once. It
never opens a file itself: of what was uploaded before, a child finds nothing in its memory.
"""

from __future__ import annotations

import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from typing import Any, NoReturn

from . import child
from .registry import parser_for

IDLE_SECONDS = 300
# A child's line closes a moment before its end. One that closes it and goes on is ended.
_EXIT_SECONDS, _LOOK_SECONDS = 1.0, 0.001


def serve(handle: int) -> None:
    """Answers the worker's requests, one after another, at the socket `handle`.

    A request is a line of JSON: `job` for `child.main`, and after how many `seconds` to end it. The
    answer has the exit `status`: None after the seconds, negative for a signal. Returns when the
    worker has closed its end, or has asked for nothing in IDLE_SECONDS; what runs then is ended.
    """
    os.set_inheritable(handle, False)
    for stop in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # A stop sent to all of the worker's processes lets it finish its file, and us with it.
        signal.signal(stop, signal.SIG_IGN)
    # A worker that is killed may leave an answer unread: its end then breaks rather than closes.
    with socket.socket(fileno=handle) as worker, suppress(ConnectionError):
        _serve(worker)


def _serve(worker: socket.socket) -> None:
    with worker.makefile("rb") as requests:
        while select.select([worker], [], [], IDLE_SECONDS)[0]:
            line = requests.readline()
            if not line:
                return
            request = json.loads(line)
            _load(request["job"]["file_type"][0])
            if not _run(worker, request["job"], request["seconds"]):
                return


def _load(media_type: str) -> None:
    """Imports what reads such files, for all children to come; the child says what fails."""
    if sys.platform != "linux":
        return  # elsewhere a system's library may not outlive a fork
    loaded = len(sys.modules)
    with suppress(Exception):
        parser_for(media_type)
    if len(sys.modules) > loaded:
        gc.collect()
        gc.freeze()  # a child that collects would copy every page


def _run(worker: socket.socket, job: dict[str, Any], seconds: float) -> bool:
    """Whether the worker lived to be told the child's end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        pid = os.fork()
        if pid == 0:
            os.close(worker.detach())  # close() would wait for the reader of its lines
            ours.close()
            _become_child(job, theirs.detach())
        with suppress(OSError):
            os.setpgid(pid, pid)  # the child does it too: whoever comes first
        theirs.close()
        ready = select.select([ours, worker], [], [], seconds)[0]
        is_ending = ours in ready
        status = _ended(pid, _EXIT_SECONDS if is_ending else 0)
    if worker in ready:
        shutil.rmtree(job["scratch"], ignore_errors=True)
        return False
    answer = {"status": status if is_ending else None}
    worker.sendall(json.dumps(answer).encode() + b"\n")
    return True


def _ended(pid: int, seconds: float) -> int:
    """The exit status of a child that has so long to end by itself, and with it all it started."""
    deadline = time.monotonic() + seconds
    found = status = 0
    while not found and time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        if not found:
            time.sleep(_LOOK_SECONDS)
    if not found:
        os.kill(pid, signal.SIGKILL)
    _kill_group(pid)
    if not found:
        status = os.waitpid(pid, 0)[1]
    return os.waitstatus_to_exitcode(status)


def _kill_group(pid: int) -> None:
    """Ends what the child started, pandoc among it, whether or not the child lives."""
    # macOS answers PermissionError for a group of zombies.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _become_child(job: dict[str, Any], line: int) -> NoReturn:
    status = 1
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        os.chdir(job["scratch"])
        os.environ["HOME"] = job["scratch"]
        complaints = os.open("stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(complaints, 2)
        os.close(complaints)
        child.main(job, line)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)
