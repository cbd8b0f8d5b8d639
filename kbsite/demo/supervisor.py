"""Run several programs as one: prefixed logs, restarts, and a shutdown that leaves no orphans.

Servers that run on their own are watched and started again.

Independent of Django. Not honcho: there one failed program ends the others, Ctrl-C is a failure,
a killed supervisor leaves orphans, and its output would break the demo's progress bar.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Self

from kbsite.demo.stop import STOP_TIMEOUT, SupervisorError, end_group, note_running, run_file
from kbsite.embedded.server import Server
from kbsite.embedded.system import EmbeddedServersError

# A guess.
RESTART_PAUSE = 1.0
# A program that exits this often within this many seconds is not restarted any more, unless it once
# ran for longer: then what it needs will come back, such as room on the disk.
MAX_ENDS, ENDS_WITHIN = 3, 60.0
# Seconds between two looks at a server, and the longest between two starts that fail: guesses.
WATCH_INTERVAL, LONGEST_PAUSE = 1.0, 30.0


@dataclass(frozen=True, slots=True)
class Program:
    """A program to keep running. `environment` is added to ours; `niceness` as in nice(1)."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    niceness: int = 0
    inherits: Sequence[int] = ()


@dataclass(eq=False)
class Supervisor:
    """Keeps programs and servers running while its block lasts; `write` receives their output.

    The servers, by name, run already; they are not stopped. What the programs print while they are
    being stopped is dropped. One supervisor at a time per `run_dir`.
    """

    programs: Sequence[Program]
    _: KW_ONLY
    run_dir: Path
    url: str
    write: Callable[[str], None]
    servers: Mapping[str, Server] = field(default_factory=dict)
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, init=False)
    _threads: list[threading.Thread] = field(default_factory=list, init=False)
    _changing: threading.Lock = field(default_factory=threading.Lock, init=False)
    _stopping: threading.Event = field(default_factory=threading.Event, init=False)
    _failure: str = field(default="", init=False)

    def __enter__(self) -> Self:
        try:
            for program in self.programs:
                self._run(self._keep, program, self._prefix(program.name))
            for name, server in self.servers.items():
                self._run(self._watch, server, self._prefix(name))
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
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
            self._say("Stopping at once.")
        for process in processes:
            end_group(process.pid)
        for thread in self._threads:
            thread.join(5)
        run_file(self.run_dir).unlink(missing_ok=True)

    def _run(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _watch(self, server: Server, prefix: str) -> None:
        """Start a server again when it does not answer twice in a row."""
        pause, missed = WATCH_INTERVAL, 0
        while not self._stopping.wait(pause):
            try:
                missed = 0 if server.is_up() else missed + 1
                if missed < 2:
                    pause = WATCH_INTERVAL
                    continue
                if missed == 2:
                    self._say(f"{prefix}does not answer; starting it again. Its log: {server.log}")
                server.start(cancelled=self._stopping.is_set)
            except (EmbeddedServersError, OSError) as error:
                pause = min(2 * pause, LONGEST_PAUSE)
                self._say(f"{prefix}cannot be started; next attempt in {pause:.0f} s. {error}")

    def _keep(self, program: Program, prefix: str) -> None:
        """Start a program, forward its output, and restart it when it exits."""
        ends: deque[float] = deque(maxlen=MAX_ENDS)
        pause, has_run, started = RESTART_PAUSE, False, time.monotonic()
        while (process := self._launch(program)) is not None:
            reader = threading.Thread(target=self._read, args=(process, prefix), daemon=True)
            reader.start()
            code = process.wait()
            if not self._stopping.is_set():
                # Its children must not keep working beside those of the next start.
                end_group(process.pid)
            reader.join(5)
            if self._stopping.is_set():
                return
            ends.append(time.monotonic())
            has_run = has_run or ends[-1] - started >= ENDS_WITHIN
            is_failing = len(ends) == MAX_ENDS and ends[-1] - ends[0] < ENDS_WITHIN
            if is_failing and not has_run:
                self._failure = (
                    f"{program.name} exited {MAX_ENDS} times in a minute, last {_how(code)}. See "
                    "its output above, correct the cause and start again."
                )
                return
            self._say(f"{prefix}exited {_how(code)}; restarting it")
            pause = min(2 * pause, LONGEST_PAUSE) if is_failing else RESTART_PAUSE
            self._stopping.wait(pause)
            started = time.monotonic()

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
            try:
                self._note()
            except OSError as error:
                # A full disk must not end the supervision; the next start notes all of them.
                self._say(f"The list of running programs cannot be written: {error}.")
        return process

    def _read(self, process: subprocess.Popen[bytes], prefix: str) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                # Celery advises to press Ctrl-C again, although it has just been pressed.
                if not self._stopping.is_set():
                    self._say(prefix + line.decode("utf-8", "replace").rstrip())

    def _say(self, line: str) -> None:
        """Write a line; it is lost if the output is a file on a full disk."""
        with suppress(OSError):
            self.write(line)

    def _prefix(self, name: str) -> str:
        width = max(map(len, (*self.servers, *(each.name for each in self.programs))))
        return f"{name:<{width}} | "

    def _note(self) -> None:
        """Rewrite the run file: this process first, then the programs."""
        pids = [os.getpid(), *(process.pid for process in self._processes.values())]
        note_running(self.run_dir, self.url, pids)


def _how(code: int) -> str:
    """A phrase for a process's exit: "by signal SIGKILL", "with exit code 1"."""
    if code < 0:
        return f"by signal {signal.Signals(-code).name}"
    return f"with exit code {code}"
