"""The steps of docs/backup.md, "Point-in-time recovery", with the embedded server's own tools."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from kbsite.embedded import EmbeddedServers
from tests.upgrades import release


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[EmbeddedServers]:
    """A Postgres of its own under `tmp_path`, running."""
    servers = EmbeddedServers(tmp_path, durable=False)
    servers.start(redis=False)
    yield servers
    servers.stop()


def _ask(servers: EmbeddedServers, *statements: str) -> list[str]:
    """Run each statement by itself; return the first value of each, as text."""
    found = servers.database_settings()
    answers = []
    with psycopg.connect(
        host=found["HOST"], user=found["USER"], dbname=found["NAME"], autocommit=True
    ) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
            row = cursor.fetchone() if cursor.description else None
            answers.append(str(row[0]) if row else "")
    return answers


def _tool(name: str, *arguments: object) -> str:
    done = subprocess.run(
        [release.postgres_program(name), *map(str, arguments)],
        text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_dropped_table_comes_back_as_of_the_moment_before(
    servers: EmbeddedServers, tmp_path: Path
) -> None:
    archive, full, more = (tmp_path / name for name in ("archive", "full", "more"))
    archive.mkdir(mode=0o777)
    archive.chmod(0o777)  # the server may run as another user
    _ask(
        servers,
        "ALTER SYSTEM SET archive_mode = 'on'",
        f"ALTER SYSTEM SET archive_command = 'test ! -f {archive}/%f && cp %p {archive}/%f'",
        "ALTER SYSTEM SET summarize_wal = 'on'",
    )
    servers.stop()
    servers.start(redis=False)
    socket = ("--host", servers.socket_dir, "--username", "steelyard", "--checkpoint", "fast")
    _ask(servers, "CREATE TABLE noted (what text)", "INSERT INTO noted VALUES ('in the full one')")
    _tool("pg_basebackup", *socket, "--pgdata", full)
    _ask(servers, "INSERT INTO noted VALUES ('in the increment')")
    _tool("pg_basebackup", *socket, "--pgdata", more, "--incremental", full / "backup_manifest")
    _, moment, *_ = _ask(
        servers,
        "INSERT INTO noted VALUES ('in the archive alone')",
        "SELECT clock_timestamp()",
        "DROP TABLE noted",
    )
    servers.stop()

    data = tmp_path / "postgres"
    data.rename(tmp_path / "postgres.broken")
    _tool("pg_combinebackup", full, more, "--output", data)
    assert "successfully verified" in _tool("pg_verifybackup", data)
    with (data / "postgresql.auto.conf").open("a") as settings:
        settings.write(
            f"restore_command = 'cp {archive}/%f %p'\n"
            f"recovery_target_time = '{moment}'\n"
            "recovery_target_action = 'promote'\n"
        )
    (data / "recovery.signal").touch()
    servers.start(redis=False)
    assert _ask(servers, "SELECT string_agg(what, ', ') FROM noted") == [
        "in the full one, in the increment, in the archive alone"
    ]
    shutil.rmtree(tmp_path / "postgres.broken")
