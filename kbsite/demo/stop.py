"""Which processes of a demo run, and how they are stopped. `python -m kbsite.demo.stop`: make stop.

Without the settings: a value in .env that keeps the site from starting must not keep it from
stopping.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import environ
import psutil

from common import UserError
from kbsite.embedded import EmbeddedServers
from kbsite.embedded.system import try_lock
from kbsite.layout import ENV_FILE, STOP, var_dir

# Guesses: a worker returns its work within a second or two, and a request ends within ten.
STOP_TIMEOUT = 15.0


class SupervisorError(UserError):
    """A program keeps failing; the message says what to do."""


class AlreadyRunning(SupervisorError):
    """Another supervisor is running."""


@dataclass(frozen=True, slots=True)
class Running:
    """The content of a supervisor's run file: its URL, and each process' id and start time."""

    url: str
    processes: tuple[tuple[int, float], ...]

    def alive(self) -> list[psutil.Process]:
        """The processes that still run; a reused process id does not count."""
        alive = []
        for pid, started in self.processes:
            with suppress(psutil.Error):
                process = psutil.Process(pid)
                is_same = abs(process.create_time() - started) < 1
                if is_same and process.status() != psutil.STATUS_ZOMBIE:
                    alive.append(process)
        return alive


def run_file(run_dir: Path) -> Path:
    return run_dir / "supervisor.json"


def note_running(run_dir: Path, url: str, pids: Sequence[int]) -> None:
    """Replace the run file."""
    processes = []
    for pid in pids:
        with suppress(psutil.Error):
            processes.append((pid, psutil.Process(pid).create_time()))
    path = run_file(run_dir)
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"url": url, "processes": processes}))
    new.replace(path)


@contextmanager
def alone(run_dir: Path) -> Iterator[None]:
    """Hold the supervisor lock of `run_dir`; orphans of a killed supervisor are ended first.

    Raises AlreadyRunning with the URL of the supervisor that is running.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    with try_lock(run_dir / "supervisor.lock") as lock:
        if lock is None:
            demo = running(run_dir)
            where = f" at {demo.url}" if demo else ""
            raise AlreadyRunning(f"Already running{where}. To stop it: {STOP}")
        if orphans := running(run_dir):
            end(orphans.alive())
            run_file(run_dir).unlink(missing_ok=True)
        yield


def running(run_dir: Path) -> Running | None:
    """The content of the run file; None if it is missing or unreadable."""
    try:
        content = json.loads(run_file(run_dir).read_text())
        processes = tuple((int(pid), float(started)) for pid, started in content["processes"])
        return Running(str(content["url"]), processes)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def stop_running(run_dir: Path) -> bool:
    """Stop the supervisor or the orphans of a killed one; False if none was running."""
    demo = running(run_dir)
    alive = demo.alive() if demo else []
    if demo is None or not alive:
        return False
    leader = next((process for process in alive if process.pid == demo.processes[0][0]), None)
    # The supervisor stops the others in order; without it they are stopped directly.
    end([leader] if leader else alive, patience=STOP_TIMEOUT + 15)
    end(demo.alive())
    run_file(run_dir).unlink(missing_ok=True)
    return True


def end(processes: Sequence[psutil.Process], patience: float = STOP_TIMEOUT) -> None:
    """Terminate the processes; after `patience` seconds kill them with their groups."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=patience)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()
        end_group(process.pid)
    psutil.wait_procs(alive, timeout=5)


def end_group(pid: int) -> None:
    """Kill the remaining processes of a program's group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def main() -> None:
    """Stop what runs in the var directory of the environment or of .env."""
    environ.Env.read_env(ENV_FILE)
    var = var_dir()
    if stop_running(var / "run"):
        sys.stdout.write("The demo is stopped.\n")
    EmbeddedServers(var).stop()
    sys.stdout.write("Nothing runs any more. The data is kept.\n")


if __name__ == "__main__":
    main()
