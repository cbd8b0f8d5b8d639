"""`manage.py services`: control the embedded servers. Needs no database connection."""

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kbsite.embedded import EmbeddedServers, EmbeddedServersError, ServerStatus

NOT_ALL_UP = 3  # the exit code of `systemctl status` and LSB init scripts for a stopped service


class Command(BaseCommand):
    help = "Start or stop the embedded Postgres and Valkey, or show their status."
    requires_system_checks = []  # checks may query the database
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["start", "stop", "status"])

    def handle(self, *args: Any, **options: Any) -> None:
        postgres, redis = settings.EMBEDDED_POSTGRES, settings.EMBEDDED_REDIS
        for name, setting, embedded in (
            ("Postgres", "DATABASE_URL", postgres),
            ("Redis", "REDIS_URL", redis),
        ):
            if not embedded:
                self.stdout.write(f"{name} is external ({setting} is set): nothing to do here.")
        if not (postgres or redis):
            return
        try:
            statuses = self._act(options["action"], postgres=postgres, redis=redis)
        except EmbeddedServersError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(table(statuses))
        if options["action"] == "status" and not all(server.up for server in statuses):
            sys.exit(NOT_ALL_UP)

    def _act(self, action: str, *, postgres: bool, redis: bool) -> list[ServerStatus]:
        servers: EmbeddedServers = settings.EMBEDDED
        if action == "start":
            return list(servers.start(postgres=postgres, redis=redis))
        if action == "stop":
            # Both, regardless of the settings: one may have been started before a URL was set.
            servers.stop()
        in_use = {"Postgres": postgres, "Valkey": redis}
        return [server for server in servers.status() if in_use[server.name]]


def table(servers: list[ServerStatus]) -> str:
    """The servers as lines of text, one a server."""
    return "\n".join(
        f"{server.name:<9} {'up' if server.up else 'down':<5} pid {server.pid or '-'}, "
        f"{server.version or '-'}, socket {server.socket}, data {server.data_dir}"
        for server in servers
    )
