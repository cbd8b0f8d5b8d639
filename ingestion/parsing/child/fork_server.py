"""The fork server of a worker: keeps the parsers loaded, and forks a child for each file.

Starting Python and importing a parser takes longer than parsing most files, so this process does
it once. It never opens a file itself: no child inherits memory that held an earlier upload.
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
from pathlib import Path
from typing import Any, NoReturn

from ingestion.parsing import page_pictures
from ingestion.parsing.child import child, privileges
from ingestion.parsing.child.scratch import used_bytes
from ingestion.parsing.formats import markup
from ingestion.parsing.registry import parser_for

IDLE_SECONDS = 300
# A child's line closes just before it exits. A child that closes it and goes on is killed.
_EXIT_SECONDS, _LOOK_SECONDS = 1.0, 0.001
# How often a child's scratch directory is measured; most files are read sooner.
_MEASURE_SECONDS = 0.1
# How long a count of the user's processes is cached: it takes some 5 ms on a busy machine.
_COUNT_SECONDS = 10.0


def serve(handle: int) -> None:
    """Answer the worker's requests, one after another, on the socket `handle`.

    A request is a line of JSON: `job` for `child.main`, and its time limit in `seconds`. The answer
    has the exit `status`: None after a time-out, negative for a signal. Returns when the worker has
    closed its end, killing a running child, or after IDLE_SECONDS without a request.
    """
    os.set_inheritable(handle, False)
    for stop in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # A stop signal to the worker's whole group must let it finish its file, and us with it.
        signal.signal(stop, signal.SIG_IGN)
    # A killed worker may leave an answer unread: the connection is then reset, not closed.
    with socket.socket(fileno=handle) as worker, suppress(ConnectionError):
        _serve(worker)


class _Others:
    """The number of processes and threads that the kernel counts with a child's, cached a while."""

    def __init__(self) -> None:
        self._count, self._until = 0, 0.0

    def __call__(self, job: dict[str, Any]) -> int:
        if job["account"] is not None:
            return 0
        if time.monotonic() >= self._until:
            self._count = privileges.tasks_of_this_user()
            self._until = time.monotonic() + _COUNT_SECONDS
        return self._count


def _serve(worker: socket.socket) -> None:
    others = _Others()
    with worker.makefile("rb") as requests:
        while select.select([worker], [], [], IDLE_SECONDS)[0]:
            line = requests.readline()
            if not line:
                return
            request = json.loads(line)
            _load(request["job"])
            if not _run(
                worker, {**request["job"], "others": others(request["job"])}, request["seconds"]
            ):
                return


def _load(job: dict[str, Any]) -> None:
    """Import what such a job needs for all later children; a child reports a failed import."""
    if sys.platform != "linux":
        return  # on other systems, system libraries may break after a fork
    loaded = len(sys.modules)
    with suppress(Exception):
        if job["page"]:
            page_pictures.load()
        else:
            parser_for(job["file_type"][0])
            markup.executable()
    if len(sys.modules) > loaded:
        gc.collect()
        gc.freeze()  # garbage collection in a child would copy every memory page


def _run(worker: socket.socket, job: dict[str, Any], seconds: float) -> bool:
    """Run one job and send its status; False if the worker has disconnected meanwhile."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        pid = os.fork()
        if pid == 0:
            os.close(worker.detach())  # close() would wait for the reader of its lines
            ours.close()
            _become_child(job, theirs.detach())
        with suppress(OSError):
            os.setpgid(pid, pid)  # the child does it as well; either may come first
        theirs.close()
        ready, is_full = _wait(ours, worker, pid, job, seconds)
        is_ending = ours in ready
        status = _ended(pid, _EXIT_SECONDS if is_ending else 0)
    if worker in ready:
        shutil.rmtree(job["scratch"], ignore_errors=True)
        return False
    answer = {"status": -signal.SIGXFSZ if is_full else status if is_ending else None}
    worker.sendall(json.dumps(answer).encode() + b"\n")
    return True


def _wait(
    ours: socket.socket, worker: socket.socket, pid: int, job: dict[str, Any], seconds: float
) -> tuple[list[socket.socket], bool]:
    """Wait for the child's end, the worker's, or the time-out: the sockets that ended.

    The second value: whether the child wrote more than its scratch directory may hold.
    """
    deadline = time.monotonic() + seconds
    most, scratch = job["limits"]["scratch_bytes"] + job["given_bytes"], Path(job["scratch"])
    while (left := deadline - time.monotonic()) > 0:
        ready = select.select([ours, worker], [], [], min(left, _MEASURE_SECONDS))[0]
        if ready:
            return ready, False
        if used_bytes(scratch, pid) > most:
            return [], True
    return [], False


def _ended(pid: int, seconds: float) -> int:
    """Wait up to `seconds` for the child, then kill it and its group; return its exit status."""
    deadline = time.monotonic() + seconds
    exited = status = 0
    while not exited and time.monotonic() < deadline:
        exited, status = os.waitpid(pid, os.WNOHANG)
        if not exited:
            time.sleep(_LOOK_SECONDS)
    if not exited:
        os.kill(pid, signal.SIGKILL)
    _kill_group(pid)
    if not exited:
        status = os.waitpid(pid, 0)[1]
    return os.waitstatus_to_exitcode(status)


def _kill_group(pid: int) -> None:
    """Kill all processes that the child started, such as pandoc, whether or not it still runs."""
    # macOS answers PermissionError for a group of zombies.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _become_child(job: dict[str, Any], line: int) -> NoReturn:
    status = 1
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        os.chdir(job["scratch"])
        os.environ["HOME"] = os.environ["TMPDIR"] = job["scratch"]
        complaints = os.open("stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(complaints, 2)
        os.close(complaints)
        child.main(job, line)
        status = 0
    except BaseException as error:
        if not isinstance(error, Exception):
            status = child.PANICKED
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)
