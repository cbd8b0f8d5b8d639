"""Data of every release follows to the newest migration: each row, and each search result."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kbsite.embedded import EmbeddedServers
from tests.upgrades import release

# What Django writes of the models themselves, and of sessions, follows the release.
DJANGOS_OWN = {
    "auth_permission", "auth_group_permissions", "django_content_type", "django_migrations",
    "django_session",
}  # fmt: skip

# A random number, drawn anew when a release installs another preset.
DRAWN_ANEW = {"search_configurationstamp"}


@pytest.fixture
def var(tmp_path: Path) -> Iterator[Path]:
    """An empty cluster of its own, running."""
    servers = EmbeddedServers(tmp_path, durable=False)
    servers.start()
    yield tmp_path
    servers.stop()


@pytest.mark.parametrize("dump", release.dumps(), ids=lambda path: path.name.split(".sql")[0])
def test_a_release_upgrades_with_its_rows_and_results(dump: Path, var: Path) -> None:
    subprocess.run(
        [release.postgres_program("psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1",
         *release.connect_to(var)],
        input=gzip.decompress(dump.read_bytes()), check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip

    before = _rows(var)
    release.run(var, "manage.py", "migrate", "--verbosity", "0")
    after = _rows(var)

    for table, rows in before.items():
        assert table in after, f"The table {table} is gone: say here where its rows went."
        shared = rows[0].keys() & after[table][0].keys() if rows and after[table] else set()
        lost = _values(rows, shared) - _values(after[table], shared)
        assert not lost, f"{table} lost {sorted(lost)[:3]}"
        assert not rows or shared, f"{table} lost every row"
    then = json.loads(dump.with_name(dump.name.replace(".sql.gz", ".json")).read_text())
    now = json.loads(release.run(var, "-m", "tests.upgrades.release", "--search"))
    for question, results in then.items():
        assert [r[:2] for r in now[question]] == [r[:2] for r in results], question
        # The query is embedded anew, on another processor perhaps.
        scores = [score for _, _, score in now[question]]
        assert scores == pytest.approx([score for _, _, score in results], abs=0.01)


def test_there_is_a_dump_of_the_first_release() -> None:
    assert "0.1.0.sql.gz" in {dump.name for dump in release.dumps()}


def _rows(var: Path) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table that people's data is in, by table."""
    database = EmbeddedServers(var).database_settings()
    with psycopg.connect(
        host=database["HOST"], port=database["PORT"],
        user=database["USER"], dbname=database["NAME"],
    ) as connection:  # fmt: skip
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
        ).fetchall()
        return {
            table: [row for (row,) in connection.execute(f'SELECT to_jsonb(t) FROM "{table}" t')]
            for (table,) in tables
            if table not in DJANGOS_OWN | DRAWN_ANEW
        }


def _values(rows: Iterable[dict[str, Any]], columns: Iterable[str]) -> set[str]:
    """Each row as text, of these columns alone."""
    named = sorted(columns)
    return {json.dumps([row[column] for column in named]) for row in rows}
