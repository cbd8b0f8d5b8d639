"""The base class of the embedded servers: start, attach, stop, and recovery from a kill."""

import os
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from kbsite.embedded import system
from kbsite.embedded.system import EmbeddedServersError, is_private, possible_owners, try_lock

if TYPE_CHECKING:
    import psutil  # at run time only where it is needed: it takes longer to load than to attach

# Guesses: a start takes 1-2 s, recovery of a full write-ahead log on a slow disk may take a minute.
START_TIMEOUT = 90.0
STOP_TIMEOUT = 60.0
POLL_INTERVAL = 0.02
# A server writes its pid file and opens its socket within milliseconds; without them after this
# time (a guess with a wide margin) it has failed.
PATIENCE = 2.0
LOG_LIMIT = 10_000_000  # bytes; one older log is kept


@dataclass(frozen=True)
class ServerStatus:
    """The status of one server; `pid` and `version` are None while it is down."""

    name: str
    up: bool
    pid: int | None
    version: str | None
    data_dir: Path
    socket: Path


@dataclass(frozen=True)
class Server(ABC):
    """One embedded server: its data under `var_dir`, its socket in `socket_dir`, no TCP."""

    name: ClassVar[str]
    package: ClassVar[str]
    setting: ClassVar[str]
    socket_name: ClassVar[str]
    pid_name: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]

    var_dir: Path
    socket_dir: Path
    durable: bool = True

    @property
    def data_dir(self) -> Path:
        """The server's own directory."""
        return self.var_dir / self.name.lower()

    @property
    def socket(self) -> Path:
        """The socket that clients connect to."""
        return self.socket_dir / self.socket_name

    @property
    def log(self) -> Path:
        """The file with all output of the server."""
        return self.var_dir / "log" / f"{self.name.lower()}.log"

    @property
    def lock(self) -> Path:
        """The file that is locked while any process of the server is alive."""
        return self.var_dir / "run" / f"{self.name.lower()}.lock"

    @abstractmethod
    def accepts_work(self) -> bool:
        """True if the server at the socket accepts requests already."""

    @abstractmethod
    def prepare(self, lock: int) -> None:
        """Create data directory and settings. Runs under the lock, which children inherit."""

    @abstractmethod
    def command(self) -> list[str]:
        """The program and its arguments; it stays in the foreground."""

    def is_up(self) -> bool:
        """True if the server can be used. Raises EmbeddedServersError for an unsafe socket."""
        return is_private(self.socket_dir, possible_owners()) and self.accepts_work()

    def start(self, *, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Start the server unless it already runs; return when it can be used, or if cancelled."""
        started = time.monotonic()
        launched = False
        while not self.is_up() and not cancelled():
            self.lock.parent.mkdir(parents=True, exist_ok=True)
            with try_lock(self.lock) as lock:
                if lock is not None and launched:
                    raise EmbeddedServersError(
                        f"The embedded {self.name} exited during its start. {self._last_words()}"
                    )
                if lock is not None:
                    self._launch(lock)
                    launched = True
            self._wait(
                started,
                START_TIMEOUT,
                f"was not ready after {START_TIMEOUT:.0f} s. It may still be recovering: try again "
                "in a minute.",
            )

    def stop(self) -> None:
        """Stop the server; return when none of its processes is alive."""
        started = time.monotonic()
        signalled = False
        while self.lock.exists():
            with try_lock(self.lock) as lock:
                if lock is not None:
                    return
            leader = self._leader()
            if leader is not None and not signalled:
                leader.send_signal(self.stop_signal)
                signalled = True
            self._wait(started, STOP_TIMEOUT, f"did not stop within {STOP_TIMEOUT:.0f} s.")

    def _wait(self, started: float, timeout: float, problem: str) -> None:
        """Sleep until the next check; raise EmbeddedServersError after `timeout` seconds."""
        waited = time.monotonic() - started
        if waited > timeout:
            raise EmbeddedServersError(f"The embedded {self.name} {problem} {self._last_words()}")
        if waited > PATIENCE:
            self._end_unreachable()
        time.sleep(POLL_INTERVAL)

    def status(self) -> ServerStatus:
        """The current status of the server."""
        up = self.is_up()
        return ServerStatus(
            name=self.name,
            up=up,
            pid=self._noted_pid() if up else None,
            version=self.lock.read_text().strip() or None if up else None,
            data_dir=self.data_dir,
            socket=self.socket,
        )

    def remove_sockets(self) -> None:
        """Remove the socket files of a killed server. Requires the lock."""
        for leftover in self.socket_dir.glob(f"{self.socket_name}*"):
            leftover.unlink()

    def make_socket_dir(self) -> None:
        """Create the socket directory; check its owner and mode if it exists."""
        self.socket_dir.mkdir(mode=0o700, exist_ok=True)
        is_private(self.socket_dir, possible_owners())

    def _launch(self, lock: int) -> None:
        if leader := self._leader():
            raise EmbeddedServersError(
                f"Process {leader.pid} uses {self.data_dir} and was not started by Steelyard. "
                "Stop it, then start again."
            )
        # The lock is free, so a pid file is stale.
        (self.data_dir / self.pid_name).unlink(missing_ok=True)
        self.remove_sockets()
        self.log.parent.mkdir(exist_ok=True)
        self.prepare(lock)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{self.package} {system.installed_version(self.package)}\n".encode(), 0)
        if self.log.exists() and self.log.stat().st_size > LOG_LIMIT:
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("ab") as log:
            # The shell exits at once and leaves the server to init: as a child of this process
            # it would become a zombie if it exits before us.
            subprocess.run(
                ["/bin/sh", "-c", '"$@" &', "sh", *self.command()],
                cwd=self.data_dir,
                env=server_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(lock,),
                umask=0o077,
                check=True,
            )

    def _end_unreachable(self) -> None:
        """End processes that hold the lock although the server is unusable.

        These are a server whose socket was deleted, and children that outlive a killed server
        because they are busy with a long statement.
        """
        leader = self._leader()
        if leader is None:
            for orphan in _processes_in(self.data_dir):
                if time.time() - orphan.create_time() > PATIENCE:
                    orphan.kill()
        elif not self.socket.exists() and time.time() - leader.create_time() > PATIENCE:
            leader.send_signal(self.stop_signal)

    def _leader(self) -> "psutil.Process | None":
        """The process in the pid file, if it is alive and works in the data directory."""
        pid = self._noted_pid()
        if pid is None:
            return None
        return next((p for p in _processes_in(self.data_dir, pids=[pid])), None)

    def _noted_pid(self) -> int | None:
        try:
            return int((self.data_dir / self.pid_name).read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return None

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return f"The end of {self.log}:\n" + "\n".join(lines[-8:])


# glibc's malloc gives the memory of each search back to the kernel and takes it anew: of 20,000
# passages a tenth to a fifth of a search's processor time in Postgres, of 200,000 too little to be
# seen. Kept, it is a few megabytes a connection, which is a guess.
# https://www.gnu.org/software/libc/manual/html_node/Memory-Allocation-Tunables.html
MALLOC = {
    "MALLOC_TOP_PAD_": str(16 * 1024**2),
    "MALLOC_TRIM_THRESHOLD_": str(128 * 1024**2),
    "MALLOC_MMAP_THRESHOLD_": str(32 * 1024**2),
}


def server_environment() -> dict[str, str]:
    """Our environment without variables that would change a server's settings or language."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    return MALLOC | ours | {"LC_ALL": "C"}


def _processes_in(directory: Path, pids: list[int] | None = None) -> "list[psutil.Process]":
    """The live processes, of the given ones or of all, with this working directory."""
    import psutil

    processes = []
    for pid in psutil.pids() if pids is None else pids:
        try:
            process = psutil.Process(pid)
            if directory.samefile(process.cwd()):
                processes.append(process)
        except (psutil.Error, OSError, ValueError):
            continue  # gone, a zombie, or another user's: not ours
    return processes
