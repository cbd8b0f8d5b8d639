"""Migrations let a site go on: what locks a large table for long is named here, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection, migrations, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.migration import Migration
from django.db.migrations.recorder import MigrationRecorder

from ingestion.models import Document
from search.pipeline import search
from tests.support.factories import make_collection, make_document

ROOT = Path(__file__).resolve().parents[2]

# Tables whose rows people write one by one: what takes seconds for millions takes nothing for them.
# Whatever is not named is taken to be large.
SMALL = re.compile(
    r"(search|tuning|accounts|auth|webhooks)_\w+|answers_(answerprofile|answerlimits|modelprice)"
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
    ("analytics.0002_since_0_1_0", "analytics_searchevent", "rewrites the table"):
        "a longer varchar: Postgres changes its catalogue alone",
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
def test_no_migration_holds_a_large_table_for_long_unless_named() -> None:
    found = held_long()
    assert found - BORNE.keys() == set(), "See BORNE for what to do instead."
    assert BORNE.keys() - found == set(), "BORNE names what no migration does."


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ('CREATE INDEX "i" ON "ingestion_chunk" ("x");', "builds an index"),
        ("CREATE INDEX i ON ingestion_chunk USING gin (x)", "builds an index"),
        ('CREATE UNIQUE INDEX "i" ON "ingestion_chunk" ("x");', "builds an index"),
        ('CREATE INDEX CONCURRENTLY "i" ON "ingestion_chunk" ("x");', None),
        ('ALTER TABLE "ingestion_chunk" ADD CONSTRAINT "c" CHECK ("x" > 0);', "checks every row"),
        ('ALTER TABLE "ingestion_chunk" ADD CONSTRAINT "c" CHECK ("x" > 0) NOT VALID;', None),
        ('ALTER TABLE "ingestion_chunk" ALTER COLUMN "x" SET NOT NULL;', "refuses NULL"),
        ('ALTER TABLE "ingestion_chunk" ALTER COLUMN "x" TYPE bigint USING "x"::bigint;',
         "rewrites the table"),
        ('ALTER TABLE "ingestion_chunk" ADD COLUMN "x" integer DEFAULT 7 NOT NULL;', None),
        ('ALTER TABLE "ingestion_chunk" ADD COLUMN "x" varchar(9) DEFAULT \'\' NOT NULL;', None),
        ('ALTER TABLE "ingestion_chunk" ADD COLUMN "x" uuid DEFAULT gen_random_uuid() NOT NULL;',
         "rewrites the table"),
        ('ALTER TABLE "ingestion_chunk" ADD COLUMN "x" text GENERATED ALWAYS AS ("y") STORED;',
         "rewrites the table"),
        ('UPDATE "ingestion_chunk" SET "x" = 1;', "writes every row"),
        ('CREATE INDEX "i" ON "search_pin" ("x");', None),
        (f"-- {NOT_SQL}", "runs Python in one transaction"),
    ],
)  # fmt: skip
def test_what_holds_a_table_is_recognised(statement: str, expected: str | None) -> None:
    assert [what for _, what in found_in([statement])] == ([expected] if expected else [])
    created = 'CREATE TABLE "ingestion_chunk" ("id" bigint);'
    if expected and NOT_SQL not in statement:
        assert list(found_in([created, statement])) == []


def test_every_migration_is_all_or_nothing_or_can_be_repeated() -> None:
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
