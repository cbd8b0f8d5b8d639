"""`manage.py mcp`: the tools for agents on this machine, on standard input and output."""

from __future__ import annotations

from typing import Any

import anyio
from django.core.management.base import BaseCommand, CommandError, CommandParser
from mcp.server.mcpserver import Context

from common.accounts.models import User
from search.mcp.server import build
from search.mcp.tools import Caller


class Command(BaseCommand):
    help = "Serve agents on standard input and output (MCP), reading as one user."
    # Their output would precede the protocol's first line.
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--user", metavar="NAME", help="read as this user; default: as an anonymous visitor"
        )
        parser.add_argument(
            "--url",
            default="http://localhost:8000/",
            help="the address of the site, for links (default: %(default)s)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name, url = options["user"], options["url"]
        if name is not None:
            self._check(name)

        def identify(ctx: Context[Any, Any]) -> Caller:
            # Read at each call: the user may lose a group, or be deactivated, while an agent runs.
            user = None if name is None else User.objects.filter(username=name).first()
            return Caller(user, url)

        server = build(identify)
        anyio.run(server.run_stdio_async)

    def _check(self, name: str) -> None:
        if not User.objects.filter(username=name, is_active=True).exists():
            raise CommandError(f"There is no active user named {name!r}.")
