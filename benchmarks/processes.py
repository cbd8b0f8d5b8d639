"""Processes that answer requests; processor time and memory of groups of them (Linux's /proc)."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class Child:
    """A process that answers requests, each one line of JSON in and one out."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment
        )

    def ask(self, request: dict[str, Any]) -> Any:
        """The answer to a request. Raises RuntimeError if the process has ended."""
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise RuntimeError("The process that searches has ended: see its error above.")
        return json.loads(answer)

    def close(self) -> None:
        """End the process, and wait for it."""
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()


TICK = os.sysconf("SC_CLK_TCK")


def postmaster() -> int:
    """The process id of the Postgres of Django's connection, on this machine."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return _stat(cursor.fetchone()[0]).parent


def tree(root: int) -> list[int]:
    """The process and all its descendants."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    pids = [root]
    for pid in pids:
        pids += children.get(pid, [])
    return pids


def lifetime_seconds(root: int) -> float:
    """Processor seconds of a process and its descendants since each started, ended ones included.

    An ended descendant counts if its parent has waited for it, as Postgres and gunicorn do.
    """
    return sum(_stat(pid).seconds for pid in tree(root) if Path(f"/proc/{pid}").exists())


def timed(run: Callable[[], T], others: list[int]) -> tuple[float, float, T]:
    """The result of the call with its milliseconds on the clock and of the processor.

    Processor time is that of this process and of `others`, with their descendants.
    """
    theirs, ours, started = running_seconds(others), time.process_time(), time.perf_counter()
    result = run()
    elapsed, ours = time.perf_counter() - started, time.process_time() - ours
    theirs = running_seconds(others) - theirs
    return elapsed * 1e3, (ours + theirs) * 1e3, result


def running_seconds(roots: list[int]) -> float:
    """Processor seconds of the processes that run now, to the nanosecond, for differences."""
    nanoseconds = 0
    for root in roots:
        for pid in tree(root):
            for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                nanoseconds += int(path.read_text().split()[0])
    return nanoseconds / 1e9


def megabytes(root: int) -> float:
    """Memory of a process and its descendants; what several of them share counts once (PSS)."""
    kilobytes = 0
    for pid in tree(root):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                kilobytes += int(line.split()[1])
    return kilobytes / 1024


class _stat:  # noqa: N801  # reads like a function
    """Parent and processor seconds of a process, with those of its ended children."""

    def __init__(self, pid: int) -> None:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        self.parent = int(fields[1])
        self.seconds = sum(map(int, fields[11:15])) / TICK


def _parents() -> Iterator[tuple[int, int]]:
    for path in Path("/proc").glob("[0-9]*"):
        try:
            yield int(path.name), _stat(int(path.name)).parent
        except (FileNotFoundError, ProcessLookupError):
            continue
