"""Data of every release follows to the newest migration: each row, and each search result."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.contrib.auth.models import AnonymousUser
from django.core.files.storage import FileSystemStorage
from django.core.management import call_command
from django.db import connection, migrations, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.migration import Migration
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from common.database import MIGRATION
from ingestion.models import Document
from kbsite.embedded import EmbeddedServers
from kbsite.operations import backups
from search.pipeline import search
from tests.support.factories import make_collection, make_document
from tests.upgrades import release

# What Django writes of the models themselves, and of sessions, follows the release.
DJANGOS_OWN = {
    "auth_permission", "auth_group_permissions", "django_content_type", "django_migrations",
    "django_session",
}  # fmt: skip

Rows = dict[str, list[dict[str, Any]]]

# Columns that a version before this read (in the admin alone) and that are gone: table.column.
GONE = {"tuning_publishgate.count_synthetic"}

# Old web servers go on writing these during an upgrade. Workers, who write the others, are stopped.
WRITTEN_BY_SEARCHES = {"analytics_searchevent", "django_session"}

# A random number, drawn anew when a release installs another preset.
DRAWN_ANEW = {"search_configurationstamp"}

# Columns whose shipped values a migration changes, where nobody has changed them.
CHANGED = {"ingestion_identifierpattern": {"regex"}}


@pytest.fixture
def var(tmp_path: Path) -> Iterator[Path]:
    """An empty cluster of its own, running."""
    servers = EmbeddedServers(tmp_path, durable=False)
    servers.start()
    yield tmp_path
    servers.stop()


@pytest.mark.parametrize("dump", release.dumps(), ids=lambda path: _name(path))
def test_a_release_upgrades_with_its_rows_and_results(dump: Path, var: Path) -> None:
    subprocess.run(
        [release.postgres_program("psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1",
         *release.connect_to(var)],
        input=gzip.decompress(dump.read_bytes()), check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip

    before = _rows(var)
    needed = _required(var)
    is_oldest = dump == release.dumps()[0]
    if is_oldest:
        originals = FileSystemStorage(var / "files")
        backups.write(var / "backups", database=_address(var), storage=originals)
    with old_readers(var, before, _searches(dump)) as refused:
        _fail_halfway(var, before)
        assert refused == {}, "A failed migration stops the version before."
        release.run(var, "manage.py", "migrate", "--verbosity", "0")
    assert refused == {}, "The version before can no longer read this: keep it for one release."
    after = _rows(var)
    _assert_nothing_lost(before, after)
    _assert_answers_as_then(var, before, after)
    _assert_found_as_then(dump, var)
    new = {(table, column) for table, column in _required(var) if table in WRITTEN_BY_SEARCHES}
    assert new <= needed, "Old web servers leave this column out: give it a db_default."

    # The way back from an upgrade, then forward again: an old backup, restored by newer code. Of
    # the release with every migration before it alone: those of later ones are seen above.
    if is_oldest:
        release.run(var, "manage.py", "restore", "--overwrite", str(var / "backups"))
        _assert_nothing_lost(before, _rows(var))


def _searches(dump: Path) -> list[str]:
    """What the release's own code asked the database for some searches."""
    return list(
        json.loads(gzip.decompress(dump.with_name(_name(dump) + ".searches.gz").read_bytes()))
    )


def _name(dump: Path) -> str:
    return dump.name.removesuffix(".sql.gz")


def _fail_halfway(var: Path, before: Rows) -> None:
    """A migration that fails: a table of the middle of all new ones is in its way, for now."""
    new = sorted(
        {model._meta.db_table for model in apps.get_models()}
        - before.keys()
        - DJANGOS_OWN
        - DRAWN_ANEW
    )
    if not new:
        return
    obstacle = sql.Identifier(new[len(new) // 2])
    with psycopg.connect(**_address(var), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE TABLE {} ()").format(obstacle))
        with pytest.raises(subprocess.CalledProcessError):
            release.run(var, "manage.py", "migrate", "--verbosity", "0")
        connection.execute(sql.SQL("DROP TABLE {}").format(obstacle))


def _assert_nothing_lost(before: Rows, after: Rows) -> None:
    for table, rows in before.items():
        assert table in after, f"The table {table} is gone: say here where its rows went."
        shared = rows[0].keys() & after[table][0].keys() if rows and after[table] else set()
        kept = shared - CHANGED.get(table, set())
        lost = _values(rows, kept) - _values(after[table], kept)
        assert not lost, f"{table} lost {sorted(lost)[:3]}"
        assert not rows or shared, f"{table} lost every row"


def _assert_answers_as_then(var: Path, before: Rows, after: Rows) -> None:
    """The settings are the active profile's, and whoever might publish it may change them."""
    if "answers_answerprofile" not in before:  # 0.1.0 had none: the shipped settings
        return
    (profile,) = (row for row in before["answers_answerprofile"] if row["state"] == "active")
    (settings,) = after["answers_answersettings"]
    same = profile.keys() & settings.keys() - {"id"}
    assert len(same) == 18
    assert {name: settings[name] for name in same} == {name: profile[name] for name in same}

    with psycopg.connect(**_address(var)) as connection:
        rights = connection.execute(
            "SELECT codename, array_agg(group_id ORDER BY group_id) FROM auth_group_permissions "
            "JOIN auth_permission p ON p.id = permission_id WHERE codename IN "
            "('change_answersettings', 'publish_answerprofile') GROUP BY codename"
        ).fetchall()
    assert len(rights) == 2
    assert rights[0][1] == rights[1][1]


def _assert_found_as_then(dump: Path, var: Path) -> None:
    then = json.loads(dump.with_name(_name(dump) + ".json").read_text())
    now = json.loads(release.run(var, "-m", "tests.upgrades.release", "--search"))
    for question, results in then.items():
        assert [r[:2] for r in now[question]] == [r[:2] for r in results], question
        # The query is embedded anew, on another processor perhaps.
        scores = [score for _, _, score in now[question]]
        assert scores == pytest.approx([score for _, _, score in results], abs=0.01)


def test_dump_of_the_first_release_exists() -> None:
    assert "0.1.0.sql.gz" in {dump.name for dump in release.dumps()}


def _address(var: Path) -> dict[str, str]:
    database = EmbeddedServers(var).database_settings()
    names = {"host": "HOST", "port": "PORT", "user": "USER", "dbname": "NAME"}
    return {name: database[key] for name, key in names.items()}


@contextmanager
def old_readers(var: Path, before: Rows, searches: Sequence[str]) -> Iterator[dict[str, str]]:
    """Read and search as the old version does, again and again while the block runs.

    All columns are read that there were before, and its own statements are sent. Yields the errors
    by table and search: a column that is gone, one that was locked for longer than a reader waits,
    or other rows than at first. One round at least is before the block, one after it.
    """
    refused: dict[str, str] = {}
    begun, ended = threading.Event(), threading.Event()
    found: dict[str, list[Any]] = {}
    wanted = {
        table: [name for name in rows[0] if f"{table}.{name}" not in GONE]
        for table, rows in before.items() if rows
    }  # fmt: skip

    def read() -> None:
        # Without prepared statements, as Django connects: their plans would outlive the columns.
        with psycopg.connect(
            **_address(var), autocommit=True, prepare_threshold=None
        ) as connection:
            connection.execute("SET lock_timeout = '10s'")
            is_last = False
            while not is_last:
                is_last = ended.wait(0.2)
                for table, names in wanted.items():
                    columns = sql.SQL(", ").join(map(sql.Identifier, names))
                    query = sql.SQL("SELECT {} FROM {} LIMIT 3")
                    try:
                        connection.execute(query.format(columns, sql.Identifier(table)))
                    except psycopg.Error as error:
                        refused[table] = str(error)
                for search in searches:
                    try:
                        with connection.transaction():
                            rows = _last_rows(connection.execute(search.encode()))
                        # A release may install other presets; passages stay what they were.
                        is_same = rows == found.setdefault(search, rows)
                        if "ingestion_chunk" in search and not is_same:
                            refused[search[:200]] = f"{found[search]} became {rows}"
                    except psycopg.Error as error:
                        refused[search[:200]] = str(error)
                begun.set()

    reader = threading.Thread(target=read)
    reader.start()
    begun.wait(60)
    try:
        yield refused
    finally:
        ended.set()
        reader.join()


def _last_rows(cursor: psycopg.Cursor[Any]) -> list[Any]:
    """The rows of the last of several statements: settings of the search come first."""
    while cursor.nextset():
        pass
    return cursor.fetchall()


def _required(var: Path) -> set[tuple[str, str]]:
    """Tables and columns that every INSERT must name."""
    with psycopg.connect(**_address(var)) as connection:
        return set(
            connection.execute(
                "SELECT table_name, column_name FROM information_schema.columns "
                "WHERE table_schema = 'public' AND is_nullable = 'NO' AND column_default IS NULL "
                "AND is_identity = 'NO' AND is_generated = 'NEVER'"
            ).fetchall()
        )


def _rows(var: Path) -> Rows:
    """Every row of every table that people's data is in, by table."""
    with psycopg.connect(**_address(var)) as connection:
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


# --- Migrations let a site go on -----------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]

# Tables whose rows people write one by one: what takes seconds for millions takes nothing for them.
# Whatever is not named is taken to be large.
SMALL = re.compile(
    r"(search|tuning|accounts|auth|webhooks)_\w+|answers_(answersettings|answerlimits|modelprice)"
    r"|ingestion_(collection|collection_groups|identifierpattern|embeddingspace|chunkedit|import|"
    r"watchedfolder)"
)

# Migrations that have landed, by what they do to a large table, and why that is borne. Nothing new
# belongs here: build indexes with AddIndexConcurrently (or CREATE INDEX CONCURRENTLY inside
# SeparateDatabaseAndState, atomic = False), add constraints NOT VALID and validate them in a
# migration of their own, and fill columns in a background task.
WRITES_WAIT = "searches go on; uploads wait while it is built"
BORNE: dict[tuple[str, str, str], str] = {
    ("ingestion.0002_since_0_1_0", "ingestion_chunk", "builds an index"): WRITES_WAIT,
    ("search.0002_since_0_1_0", "ingestion_chunk", "builds an index"): WRITES_WAIT,
    ("search.0002_since_0_1_0", "ingestion_document", "builds an index"): WRITES_WAIT,
    ("ingestion.0010_readers_of_documents", "ingestion_document", "builds an index"): WRITES_WAIT,
    ("ingestion.0011_currency", "ingestion_document", "builds an index"): WRITES_WAIT,
    ("ingestion.0011_currency", "ingestion_document", "checks every row"):
        "documents are few beside their passages: 100,000 take some hundredths of a second",
    ("analytics.0002_since_0_1_0", "analytics_searchevent", "rewrites the table"):
        "a longer varchar: Postgres changes its catalogue alone",
    ("experiments.0001_initial", "django_content_type", "writes every row"):
        "it has a row for each model",
}  # fmt: skip

LONG = {
    "builds an index": re.compile(r"CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)\S+ ON (\S+)"),
    "checks every row": re.compile(
        r"ALTER TABLE (\S+) ADD CONSTRAINT (?!.*NOT VALID)(?!.*USING INDEX)"
    ),
    "refuses NULL": re.compile(r"ALTER TABLE (\S+) .*ALTER COLUMN \S+ SET NOT NULL"),
    "rewrites the table": re.compile(
        r"ALTER TABLE (\S+) (?:.*ALTER COLUMN \S+ TYPE"
        r"|ADD COLUMN .*(?:GENERATED ALWAYS AS \(.*STORED|DEFAULT [^'\d]*\())"
    ),
    "writes every row": re.compile(r"UPDATE (\S+) SET"),
    "keeps everybody out": re.compile(r"(?:VACUUM FULL|CLUSTER|LOCK TABLE|TRUNCATE) (\S+)"),
}  # fmt: skip
MADE = re.compile(r"CREATE TABLE (\S+)")
NOT_SQL = "THIS OPERATION CANNOT BE WRITTEN AS SQL"


def ours() -> list[Migration]:
    """The migrations of this project."""
    return [
        migration
        for (_, _), migration in sorted(MigrationLoader(None).disk_migrations.items())
        if (ROOT / migration.__module__.split(".")[0]).is_dir()
    ]


def found_in(statements: list[str]) -> Iterator[tuple[str, str]]:
    """What statements of one migration do to large tables that were there before: table, what."""
    lines = [" ".join(statement.replace('"', "").split()) for statement in statements]
    new = {made[1] for line in lines for made in MADE.finditer(line)}
    for line in lines:
        if NOT_SQL in line:
            yield "", "runs Python in one transaction"
        for what, pattern in LONG.items():
            for match in pattern.finditer(line):
                table = match[1].strip(";")
                if table not in new and not SMALL.fullmatch(table):
                    yield table, what


def held_long() -> set[tuple[str, str, str]]:
    """Migration, table, and what holds the table for long, of all that have landed."""
    loader = MigrationLoader(connection, replace_migrations=False)
    return {
        (f"{migration.app_label}.{migration.name}", table, what)
        for migration in ours()
        for table, what in found_in(loader.collect_sql([(migration, False)]))
        if migration.atomic or what != "runs Python in one transaction"
    }


@pytest.mark.django_db
def test_only_named_migrations_lock_a_large_table_for_long() -> None:
    found = held_long()
    assert found - BORNE.keys() == set(), "See BORNE for what to do instead."
    assert BORNE.keys() - found == set(), "BORNE names what no migration does."


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ('CREATE INDEX "i" ON "ingestion_chunk" ("x");', "builds an index"),
        ('CREATE INDEX CONCURRENTLY "i" ON "ingestion_chunk" ("x");', None),
        ('ALTER TABLE "ingestion_chunk" ADD CONSTRAINT "c" CHECK ("x" > 0);', "checks every row"),
        ('ALTER TABLE "ingestion_chunk" ADD CONSTRAINT "c" CHECK ("x" > 0) NOT VALID;', None),
        ('ALTER TABLE "ingestion_chunk" ALTER COLUMN "x" SET NOT NULL;', "refuses NULL"),
        ('ALTER TABLE "ingestion_chunk" ALTER COLUMN "x" TYPE bigint USING "x"::bigint;',
         "rewrites the table"),
        ('ALTER TABLE "ingestion_chunk" ADD COLUMN "x" integer DEFAULT 7 NOT NULL;', None),
        ('ALTER TABLE "ingestion_chunk" ADD COLUMN "x" uuid DEFAULT gen_random_uuid() NOT NULL;',
         "rewrites the table"),
        ('ALTER TABLE "ingestion_chunk" ADD COLUMN "x" text GENERATED ALWAYS AS ("y") STORED;',
         "rewrites the table"),
        ('UPDATE "ingestion_chunk" SET "x" = 1;', "writes every row"),
        ('CREATE INDEX "i" ON "search_pin" ("x");', None),
        (f"-- {NOT_SQL}", "runs Python in one transaction"),
    ],
)  # fmt: skip
def test_statements_that_lock_a_table_are_recognised(statement: str, expected: str | None) -> None:
    assert [what for _, what in found_in([statement])] == ([expected] if expected else [])
    created = 'CREATE TABLE "ingestion_chunk" ("id" bigint);'
    if expected and NOT_SQL not in statement:
        assert list(found_in([created, statement])) == []


def test_every_migration_is_atomic_or_repeatable() -> None:
    """One that is not atomic consists of operations that find out how far they came."""
    again = ("AddIndexConcurrently", "RemoveIndexConcurrently", "SeparateDatabaseAndState")
    for migration in ours():
        if not migration.atomic:
            kinds = {type(operation).__name__ for operation in migration.operations}
            assert kinds <= set(again), f"{migration}: split it."


class Failing(Migration):
    """Adds a column, changes rows, and fails."""

    operations = [
        migrations.AddField("document", "half_way", models.IntegerField(default=0)),
        migrations.RunSQL("UPDATE ingestion_document SET title = 'half way'"),
        migrations.RunSQL("SELECT 1 / 0"),
    ]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("clean_cache")
def test_a_migration_that_fails_leaves_the_version_before_it_working() -> None:
    make_document(make_collection(), "# Ferry\n\nThe ferry crosses twice an hour.")
    recorder = MigrationRecorder(connection)
    applied = recorder.applied_migrations().keys()
    executor = MigrationExecutor(connection)

    with pytest.raises(Exception, match="division by zero"):
        executor.apply_migration(executor.loader.project_state(), Failing("9999", "ingestion"))

    assert recorder.applied_migrations().keys() == applied
    with connection.cursor() as cursor:
        columns = connection.introspection.get_table_description(cursor, "ingestion_document")
    assert "half_way" not in {column.name for column in columns}
    (found,) = search("how often does the ferry cross", viewer=AnonymousUser()).results
    assert found.title == Document.objects.get().title == "Ferry"


@pytest.mark.django_db
def test_two_migrations_at_once_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    name = str(connection.settings_dict["NAME"])
    with psycopg.connect(**connection.get_connection_params() | {"dbname": name}) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [MIGRATION])
        waits: list[float] = []

        def release(seconds: float) -> None:
            waits.append(seconds)
            other.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION])

        monkeypatch.setattr("kbsite.management.commands.migrate.time.sleep", release)
        call_command("migrate", verbosity=0)
        assert len(waits) == 1
        assert other.execute("SELECT pg_try_advisory_lock(%s)", [MIGRATION]).fetchone() == (True,)
