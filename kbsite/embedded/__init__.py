"""Postgres and Valkey for a machine that has neither: real servers from Python wheels.

Independent of Django but for `ensure_servers`. The servers outlive the process that starts them;
`manage.py services stop` stops them. docs/adr/0003-embedded-servers.md gives the reasons.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kbsite.embedded.server import Server, ServerStatus
from kbsite.embedded.system import EmbeddedServersError, socket_dir_for, try_lock
from kbsite.embedded.wheels import DATABASE, PORT, USER, Postgres, Valkey


@dataclass(frozen=True)
class EmbeddedServers:
    """The embedded servers of one var directory.

    Only `start` and `stop` change anything. `durable=False` trades the safety of the data for
    speed, for tests.
    """

    var_dir: Path
    durable: bool = True

    @property
    def socket_dir(self) -> Path:
        """The private directory of the sockets; the same for every process of this user."""
        return socket_dir_for(self.var_dir)

    @property
    def postgres(self) -> Postgres:
        """The database server."""
        return Postgres(self.var_dir, self.socket_dir, self.durable)

    @property
    def valkey(self) -> Valkey:
        """The broker and cache server."""
        return Valkey(self.var_dir, self.socket_dir, self.durable)

    @property
    def redis_socket(self) -> Path:
        """The socket that speaks the Redis protocol."""
        return self.valkey.socket

    @property
    def broker_url(self) -> str:
        """Celery's broker: database 0."""
        return f"socket://{self.redis_socket}?virtual_host=0"

    @property
    def cache_url(self) -> str:
        """Django's cache: database 2."""
        return f"unix://{self.redis_socket}?db=2"

    def database_settings(self) -> dict[str, str]:
        """Django's settings for the database."""
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": DATABASE,
            "USER": USER,
            "HOST": str(self.socket_dir),
            "PORT": PORT,
        }

    def start(self, *, postgres: bool = True, redis: bool = True) -> tuple[ServerStatus, ...]:
        """Start the servers unless they already run; return their status.

        Any number of processes may call this at once. Raises EmbeddedServersError.
        """
        servers: list[Server] = []
        servers += [self.postgres] if postgres else []
        servers += [self.valkey] if redis else []
        for server in servers:
            with _explained(server):
                server.start()
        return tuple(server.status() for server in servers)

    def stop(self) -> None:
        """Stop both servers and remove everything outside `var_dir`."""
        servers = (self.valkey, self.postgres)
        for server in servers:
            with _explained(server):
                server.stop()
        with ExitStack() as stack:
            locks = [s.lock for s in servers if s.lock.exists()]
            # Another process may be starting one of them again, and needs the directory.
            if all(stack.enter_context(try_lock(lock)) is not None for lock in locks):
                for server in servers:
                    server.remove_sockets()
                with suppress(OSError):
                    self.socket_dir.rmdir()

    def status(self) -> tuple[ServerStatus, ...]:
        """The current status of each server."""
        return (self.postgres.status(), self.valkey.status())


def ensure_servers() -> None:
    """Start the embedded servers that the settings use, unless they run; every entry point does.

    Exits with the reason if one cannot be started: a traceback would obscure what to do.
    """
    from django.conf import settings

    postgres, redis = settings.EMBEDDED_POSTGRES, settings.EMBEDDED_REDIS
    try:
        if postgres or redis:
            settings.EMBEDDED.start(postgres=postgres, redis=redis)
    except EmbeddedServersError as error:
        sys.exit(f"Steelyard cannot start its database: {error}")


@contextmanager
def _explained(server: Server) -> Iterator[None]:
    """Translate errors of the operating system into EmbeddedServersError."""
    try:
        yield
    except OSError as error:
        raise EmbeddedServersError(
            f"The embedded {server.name} cannot be used: {error}. Check that this user owns "
            f"{server.var_dir} and that the disk has room, or set {server.setting} to a server of "
            "your own."
        ) from error
