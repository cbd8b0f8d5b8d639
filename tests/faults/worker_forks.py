"""Starts Celery workers by forking a process that has imported the project already.

A worker spends two seconds importing before it can be killed. One process imports for all; each
worker is a fork of it in a session of its own, and from there on a worker like any other. Run as
a program, this module is that process: a line of arguments in, the new worker's pid out.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class ForkedWorker:
    """A worker, with those methods of `subprocess.Popen` that the tests use."""

    pid: int

    def poll(self) -> int | None:
        """None while it runs. What it ended with is known to its parent alone: 0 stands for it."""
        return None if psutil.pid_exists(self.pid) else 0

    def wait(self) -> int:
        if psutil.pid_exists(self.pid):
            psutil.Process(self.pid).wait(30)
        return 0


class WorkerForks:
    """The process that has imported the project in this environment."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def start(self, arguments: Sequence[str]) -> ForkedWorker:
        """A new worker, started with these arguments of `celery`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(list(arguments)) + "\n")
        self._process.stdin.flush()
        return ForkedWorker(int(self._process.stdout.readline()))

    def close(self) -> None:
        """End the process; its workers are their starters' to kill."""
        self._process.communicate(timeout=30)


def serve() -> None:
    """Fork a worker for each line of the input, until it ends."""
    import django

    from ingestion.lexical.languages import detect_language
    from kbsite.celery import app

    django.setup()
    app.loader.import_default_modules()
    # Reads the model of the languages, which takes half a second in each process.
    detect_language("The worker that is forked from here knows the languages already. " * 2)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a worker that was killed
    for line in iter(sys.stdin.readline, ""):
        pid = os.fork()
        if pid == 0:
            _become_worker(json.loads(line))
        os.setpgid(pid, pid)  # before somebody kills the group
        print(pid, flush=True)


def _become_worker(arguments: list[str]) -> None:
    from celery.bin.celery import main

    os.setpgid(0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # the pipe is for pids
    sys.argv = ["celery", *arguments]
    sys.exit(main())


if __name__ == "__main__":
    serve()
