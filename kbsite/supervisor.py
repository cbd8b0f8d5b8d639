"""Runs several programs as one: prefixed logs, restarts, and a shutdown that leaves no orphans.

Servers that run on their own are watched and started again.

Independent of Django. Not honcho: there one failed program ends the others, Ctrl-C is a failure,
a killed supervisor leaves orphans, and its output would break the demo's progress bar.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import psutil

from kbsite.embedded.system import EmbeddedServersError, try_lock

# Guesses: a worker returns its work within a second or two, and a request ends within ten.
STOP_TIMEOUT = 15.0
RESTART_PAUSE = 1.0
# A program that exits this often within this many seconds is given up.
MAX_ENDS, ENDS_WITHIN = 3, 60.0
# Seconds between two looks at a server, and the longest between two starts that fail: guesses.
WATCH_INTERVAL, LONGEST_PAUSE = 1.0, 30.0
COLOURS = (36, 33, 32, 35, 34)  # ANSI: cyan, yellow, green, magenta, blue


class SupervisorError(Exception):
    """A program keeps failing; the message says what to do."""


class AlreadyRunning(SupervisorError):
    """Another supervisor is running."""


class Watched(Protocol):
    """A server that is no child of ours, such as `kbsite.embedded.server.Server`."""

    @property
    def log(self) -> Path: ...

    def is_up(self) -> bool: ...

    def start(self, *, cancelled: Callable[[], bool]) -> None: ...


@dataclass(frozen=True, slots=True)
class Program:
    """A program to keep running. `environment` is added to ours; `niceness` as in nice(1)."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    niceness: int = 0
    inherits: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Running:
    """The content of a supervisor's run file: its URL, and each process' id and start time."""

    url: str
    processes: tuple[tuple[int, float], ...]

    def alive(self) -> list[psutil.Process]:
        """The processes that still run; a reused process id does not count."""
        found = []
        for pid, started in self.processes:
            with suppress(psutil.Error):
                process = psutil.Process(pid)
                if abs(process.create_time() - started) < 1 and _runs(process):
                    found.append(process)
        return found


class Supervisor:
    """Keeps programs and servers running while its block lasts; `write` receives their output.

    The servers, by name, run already; they are not stopped. What the programs print while they are
    being stopped is dropped, unless `verbose`. One supervisor at a time per `run_dir`.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        run_dir: Path,
        url: str,
        write: Callable[[str], None],
        servers: Mapping[str, Watched] | None = None,
        colour: bool = False,
        verbose: bool = False,
    ) -> None:
        self._programs = programs
        self._servers = servers or {}
        self._verbose = verbose
        self._run_dir = run_dir
        self._url = url
        self._write = write
        self._colour = colour
        self._width = max(len(name) for name in (*self._servers, *(p.name for p in programs)))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._threads: list[threading.Thread] = []
        self._changing = threading.Lock()
        self._stopping = threading.Event()
        self._failure = ""

    def __enter__(self) -> Self:
        try:
            for index, program in enumerate(self._programs):
                self._run(self._keep, program, self._prefix(program.name, index))
            for index, (name, server) in enumerate(self._servers.items(), len(self._programs)):
                self._run(self._watch, server, self._prefix(name, index))
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def check(self) -> None:
        """Raise SupervisorError if a program has been given up."""
        if self._failure:
            raise SupervisorError(self._failure)

    def wait(self) -> None:
        """Wait for an interrupting signal. Raises SupervisorError if a program is given up."""
        while True:
            self.check()
            self._stopping.wait(0.5)

    def stop(self) -> None:
        """Stop all programs; Ctrl-C meanwhile kills them at once."""
        with self._changing:
            self._stopping.set()
            processes = list(self._processes.values())
        for process in processes:
            with suppress(ProcessLookupError):
                process.terminate()
        deadline = time.monotonic() + STOP_TIMEOUT
        try:
            for process in processes:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(deadline - time.monotonic(), 0.01))
        except KeyboardInterrupt:
            self._write("Stopping at once.")
        for process in processes:
            _end_group(process.pid)
        for thread in self._threads:
            thread.join(5)
        _run_file(self._run_dir).unlink(missing_ok=True)

    def _run(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _watch(self, server: Watched, prefix: str) -> None:
        """Start a server again when it does not answer twice in a row."""
        pause, missed = WATCH_INTERVAL, 0
        while not self._stopping.wait(pause):
            try:
                missed = 0 if server.is_up() else missed + 1
                if missed < 2:
                    pause = WATCH_INTERVAL
                    continue
                if missed == 2:
                    self._write(
                        f"{prefix}does not answer; starting it again. Its log: {server.log}"
                    )
                server.start(cancelled=self._stopping.is_set)
            except (EmbeddedServersError, OSError) as error:
                pause = min(2 * pause, LONGEST_PAUSE)
                self._write(f"{prefix}cannot be started; next attempt in {pause:.0f} s. {error}")

    def _keep(self, program: Program, prefix: str) -> None:
        """Start a program, forward its output, and restart it when it exits."""
        ends: deque[float] = deque(maxlen=MAX_ENDS)
        while (process := self._launch(program)) is not None:
            reader = threading.Thread(target=self._read, args=(process, prefix), daemon=True)
            reader.start()
            code = process.wait()
            if not self._stopping.is_set():
                # Its children must not keep working beside those of the next start.
                _end_group(process.pid)
            reader.join(5)
            if self._stopping.is_set():
                return
            ends.append(time.monotonic())
            if len(ends) == MAX_ENDS and ends[-1] - ends[0] < ENDS_WITHIN:
                self._failure = (
                    f"{program.name} exited {MAX_ENDS} times in a minute, last {_how(code)}. See "
                    "its output above, correct the cause and start again."
                )
                return
            self._write(f"{prefix}exited {_how(code)}; restarting it")
            self._stopping.wait(RESTART_PAUSE)

    def _launch(self, program: Program) -> subprocess.Popen[bytes] | None:
        """Start the program; None if the supervisor is stopping or the start fails."""
        command = [*program.command]
        if program.niceness:
            command = ["nice", "-n", str(program.niceness), *command]
        with self._changing:
            if self._stopping.is_set():
                return None
            try:
                process = subprocess.Popen(
                    command,
                    env={**os.environ, **program.environment, "PYTHONUNBUFFERED": "1"},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    pass_fds=tuple(program.inherits),
                    # Ctrl-C in the terminal goes to the supervisor alone, which stops the programs.
                    start_new_session=True,
                )
            except OSError as error:
                self._failure = f"{program.name} cannot be started: {error}."
                return None
            self._processes[program.name] = process
            self._note()
        return process

    def _read(self, process: subprocess.Popen[bytes], prefix: str) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                # Celery advises to press Ctrl-C again, which somebody has just pressed.
                if self._verbose or not self._stopping.is_set():
                    self._write(prefix + line.decode("utf-8", "replace").rstrip())

    def _prefix(self, name: str, index: int) -> str:
        padded = f"{name:<{self._width}} | "
        return f"\033[{COLOURS[index % len(COLOURS)]}m{padded}\033[0m" if self._colour else padded

    def _note(self) -> None:
        """Rewrite the run file: this process first, then the programs."""
        pids = [os.getpid(), *(process.pid for process in self._processes.values())]
        noted = []
        for pid in pids:
            with suppress(psutil.Error):
                noted.append((pid, psutil.Process(pid).create_time()))
        path = _run_file(self._run_dir)
        new = path.with_suffix(".new")
        new.write_text(json.dumps({"url": self._url, "processes": noted}))
        new.replace(path)


@contextmanager
def alone(run_dir: Path) -> Iterator[None]:
    """Hold the supervisor lock of `run_dir`; orphans of a killed supervisor are ended first.

    Raises AlreadyRunning with the URL of the supervisor that is running.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    with try_lock(run_dir / "supervisor.lock") as lock:
        if lock is None:
            known = running(run_dir)
            where = f" at {known.url}" if known else ""
            raise AlreadyRunning(f"Already running{where}. To stop it: make stop")
        if left := running(run_dir):
            end(left.alive())
            _run_file(run_dir).unlink(missing_ok=True)
        yield


def running(run_dir: Path) -> Running | None:
    """The content of the run file; None if it is missing or unreadable."""
    try:
        known = json.loads(_run_file(run_dir).read_text())
        processes = tuple((int(pid), float(started)) for pid, started in known["processes"])
        return Running(str(known["url"]), processes)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def stop_running(run_dir: Path) -> bool:
    """Stop the supervisor or the orphans of a killed one; False if none was running."""
    known = running(run_dir)
    alive = known.alive() if known else []
    if known is None or not alive:
        return False
    leader = next((process for process in alive if process.pid == known.processes[0][0]), None)
    # The supervisor stops the others in order; without it they are stopped directly.
    end([leader] if leader else alive, patience=STOP_TIMEOUT + 15)
    end(known.alive())
    _run_file(run_dir).unlink(missing_ok=True)
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
        _end_group(process.pid)
    psutil.wait_procs(alive, timeout=5)


def _run_file(run_dir: Path) -> Path:
    return run_dir / "supervisor.json"


def _end_group(pid: int) -> None:
    """Kill the remaining processes of a program's group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _runs(process: psutil.Process) -> bool:
    return bool(process.status() != psutil.STATUS_ZOMBIE)


def _how(code: int) -> str:
    """How a process exited: "by signal SIGKILL", "with exit code 1"."""
    if code < 0:
        return f"by signal {signal.Signals(-code).name}"
    return f"with exit code {code}"
