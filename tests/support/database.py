"""The test database: created once for all workers; each test's end restores its first rows."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from django.db import OperationalError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from kbsite.embedded import DATABASE
from kbsite.operations.dumps import postgres_program

MIGRATED = Path(os.environ["MIGRATED_DATABASE"])  # of all workers of a run: see tests/plugin.py
RESTORES = 3
DEADLOCK = "40P01"  # PostgreSQL's code


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The rows that a new database holds after its migrations, in Postgres' COPY format.

    `TransactionTestCase` truncates every table, and the receivers of `post_migrate` create
    permissions, groups and presets again: a second after every test that commits. These rows are
    restored within 20 milliseconds, under the same keys.
    """

    tables: tuple[str, ...]
    rows: dict[str, bytes]

    @classmethod
    def of_database(cls) -> Self:
        """The current rows of the database, of all tables of installed models."""
        tables = connection.introspection.django_table_names(
            only_existing=True, include_views=False
        )
        with connection.cursor() as cursor:
            return cls(
                tuple(tables), {table: _copied(cursor, table) for table in _filled(cursor, tables)}
            )

    def restore(self) -> None:
        """Make the tables hold these rows and no others.

        Again after a deadlock: a request of a page that was closed may still be writing.
        """
        for left in reversed(range(RESTORES)):
            try:
                self._restore()
                break
            except OperationalError as error:
                if not left or getattr(error.__cause__, "sqlstate", "") != DEADLOCK:
                    raise

    def _restore(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            # Without foreign keys and triggers: the rows are consistent in the end. Deleting few
            # rows takes a hundredth of the time of a TRUNCATE, which rebuilds every index.
            cursor.execute("SET LOCAL session_replication_role = replica")
            for table in _filled(cursor, self.tables):
                cursor.execute(f"DELETE FROM {_quoted(table)}")
            for table, rows in self.rows.items():
                with cursor.copy(f"COPY {_quoted(table)} FROM STDIN (FORMAT binary)") as copy:
                    copy.write(rows)


def dump_database() -> None:
    """Write the migrated test database to a file, unless another worker of this run did."""
    if not MIGRATED.exists():
        part = MIGRATED.with_suffix(f".{os.getpid()}")
        _run("pg_dump", f"--file={part}", str(connection.settings_dict["NAME"]))
        part.replace(MIGRATED)


def restore_database(name: str) -> None:
    """Make a database of that file, if there is one: a tenth of the time of migrations."""
    if MIGRATED.exists():
        commands = (f"--command=CREATE DATABASE {name}", rf"--command=\connect {name}")
        options = ("--no-psqlrc", "--set=ON_ERROR_STOP=1", *commands, f"--file={MIGRATED}")
        _run("psql", *options, DATABASE)


def _run(program: str, *arguments: str) -> None:
    where = connection.settings_dict
    server = [f"--host={where['HOST']}", f"--port={where['PORT']}", f"--username={where['USER']}"]
    command = [postgres_program(program), *server, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def lasting(blocker: Any) -> Iterator[None]:
    """Rows that the block creates last for all tests of a module or class: a transaction around.

    For fixtures of that scope, which yield within the block.
    """
    with blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)
    with blocker.unblock():
        connections.close_all()


def statements(call: Callable[[], object]) -> int:
    """The number of statements that a call sends to the database."""
    with CaptureQueriesContext(connection) as captured:
        call()
    return len(captured)


def _filled(cursor: Any, tables: Any) -> list[str]:
    """Those of the tables that have rows."""
    queries = (f"SELECT %s WHERE EXISTS (SELECT FROM {_quoted(table)})" for table in tables)
    cursor.execute(" UNION ALL ".join(queries), list(tables))
    return [table for (table,) in cursor.fetchall()]


def _copied(cursor: Any, table: str) -> bytes:
    with cursor.copy(f"COPY {_quoted(table)} TO STDOUT (FORMAT binary)") as copy:
        return b"".join(map(bytes, copy))


def _quoted(table: str) -> str:
    return connection.ops.quote_name(table)
