"""Probes of the database: its version, extensions, migrations, indexes, and rows in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from django.conf import settings
from django.db import ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from psycopg.errors import InsufficientPrivilege

from common import parts
from common.accounts.models import User
from common.accounts.second_factor import FACTORS
from common.accounts.tokens import everlasting
from common.probes import Finding, Occasion, look, ok, register, wrong
from ingestion.models import EmbeddingSpace
from ingestion.models.statistics import differences
from ingestion.spaces.allowed_servers import why_refused
from ingestion.spaces.index import IndexState, indexes_of
from ingestion.spaces.report import overview
from kbsite.operations import endpoints
from kbsite.operations.probes import findings
from search.domain import OPTIONAL, Signal
from search.engine import configuration
from search.errors import SearchError
from search.models import ClassWeights, SearchProfile
from search.signals import registry

# halfvec and sparsevec, which the indexes use, were added in 0.7.
PGVECTOR_AT_LEAST = (0, 7)
# 0.8.3 and 0.8.4 mend indexes that a vacuum could damage (pgvector's CHANGELOG.md).
PGVECTOR_MENDED = (0, 8, 4)
POSTGRES_AT_LEAST = 16


@register(
    "database",
    alive=endpoints.database_answers,
    start="Run: manage.py services start"
    if settings.EMBEDDED_POSTGRES
    else "Start it, or correct DATABASE_URL.",
)
def database() -> Iterator[Finding]:
    """The database: reachability, version, and the findings of `check --database`."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        yield ok(f"Postgres {cursor.fetchone()[0]}")
    if is_migrated():
        yield from findings(tags=["database"], databases=["default"])


@register("versions", Occasion.ROWS)
def versions() -> Iterator[Finding]:
    """Postgres and pgvector must be recent enough."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        postgres = int(cursor.fetchone()[0]) // 10_000
        cursor.execute("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'")
        row = cursor.fetchone()
    yield from version_problems(postgres, row[0] if row else "")


def version_problems(postgres: int, pgvector: str) -> Iterator[Finding]:
    """The findings on this major version of Postgres and version of pgvector; empty if none."""
    if postgres < POSTGRES_AT_LEAST:
        text = f"The database is Postgres {postgres}; {POSTGRES_AT_LEAST} or newer is needed."
        yield wrong(text, "Upgrade it, or set DATABASE_URL to a newer server.", "E004")
    version = tuple(map(int, re.findall(r"\d+", pgvector)))
    advice = "Install the package postgresql-NN-pgvector, or use an image with it."
    if not version:
        yield wrong("The database server has no pgvector.", advice, "E005")
    elif version < PGVECTOR_AT_LEAST:
        text = f"The database has pgvector {pgvector}; 0.7 or newer is needed."
        yield wrong(text, advice, "E005")
    elif version < PGVECTOR_MENDED:
        text = f"pgvector {pgvector} can damage an index of vectors while it is vacuumed."
        advice = "Install 0.8.4 or newer, then as a superuser: ALTER EXTENSION vector UPDATE"
        yield look(text, advice, "W063")


def lacks_vector(error: ProgrammingError) -> bool:
    """True if the role of `migrate` may not add the extension."""
    denied = isinstance(error.__cause__, InsufficientPrivilege)
    return denied and '"vector"' in str(error)


@register("extensions", needs="database")
def extensions() -> Iterator[Finding]:
    """The extensions in use, against the newest that the server has."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, installed_version, default_version FROM pg_available_extensions"
            " WHERE installed_version IS NOT NULL ORDER BY name"
        )
        rows = cursor.fetchall()
    for name, installed, newest in rows:
        if installed != newest:
            advice = f"As the database's owner: ALTER EXTENSION {name} UPDATE"
            yield look(f"{name} {installed} is used, {newest} is installed", advice)
    if "vector" not in {name for name, *_ in rows}:
        yield wrong("vector is missing", "Run: manage.py migrate")
    else:
        yield ok(", ".join(f"{name} {used}" for name, used, _ in rows))


def is_migrated() -> bool:
    """Whether the database has the tables of this version."""
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def unknown_migrations(applied: Iterable[Sequence[str]]) -> list[str]:
    """The migrations (app, name) among these that this code lacks, of apps that it has."""
    disk = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    # A squashed migration is recorded with those that it replaces.
    known = disk.keys() | {key for each in disk.values() for key in each.replaces}
    apps = {app for app, _ in disk}
    return [f"{app}.{name}" for app, name in applied if app in apps and (app, name) not in known]


@register("migrations", needs="database")
def migrations() -> Iterator[Finding]:
    if is_migrated():
        yield ok(f"all of Steelyard {settings.VERSION} are applied")
    else:
        yield wrong("some are not applied", "Run: manage.py migrate")


@register("indexes", needs="migrations")
def indexes() -> Iterator[Finding]:
    """Invalid indexes left by a failed build, and a missing index of the active space."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
            " LEFT JOIN pg_stat_progress_create_index p ON p.index_relid = c.oid"
            " WHERE NOT i.indisvalid AND p.index_relid IS NULL AND pg_table_is_visible(c.oid)"
        )
        invalid = [name for (name,) in cursor.fetchall()]
    for name in invalid:
        text = f"{name} is incomplete after a failed build and is not used"
        yield wrong(text, f"Run in psql: REINDEX INDEX CONCURRENTLY {name}")
    active = EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).first()
    if not settings.VECTOR_INDEX:
        active = None  # Qdrant has it
    if active is not None and indexes_of([active])[active.pk].state is IndexState.NONE:
        text = f"the vectors of {active} have no index: searches by meaning read all of them"
        yield wrong(text, f"Run: manage.py embedding_space backfill {active.pk} --here")
    elif not invalid:
        yield ok("all valid")


@register("embedding spaces", Occasion.ROWS)
def spaces() -> Iterator[Finding]:
    """Whether the settings name another model than the active space, or forbid a space's model."""
    rows = list(EmbeddingSpace.objects.all())
    advice = "See “Embedding spaces” in docs/operations.md."
    if rows:
        yield from (look(text, advice, "W006") for text in overview(rows))
    for space in rows:
        if reason := why_refused(space.config):
            yield look(f"{space}: {reason}", advice, "W021")


@register("signals", Occasion.ROWS)
def signals() -> Iterator[Finding]:
    """Whether the active profile weighs a signal whose part or data is missing."""
    weights = ClassWeights.objects.filter(profile__state=SearchProfile.State.ACTIVE)
    weighed = {
        name
        for row in weights
        for name in (*(each.value for each in OPTIONAL), *row.added)
        if getattr(row, name, True)
    }
    for name in sorted(weighed):
        if name in OPTIONAL and (part := registry.part(Signal(name))):
            yield from part.findings()
        else:
            text = f"The active profile weighs “{name}”, which is not installed."
            yield look(text, "Add its part to SEARCH_PARTS, or set its weight to 0.", "W014")
    for name in set(settings.SEARCH_PARTS) - parts.installed().keys():
        advice = "Install its package, or take the name out of SEARCH_PARTS."
        yield look(f"SEARCH_PARTS names “{name}”, which is not installed.", advice, "W015")


@register("tokens", Occasion.DEPLOYED_ROWS)
def tokens() -> Iterator[Finding]:
    """Tokens with all rights of their user, and superusers without a second factor."""
    if count := everlasting().count():
        text = f"{count} API tokens never expire, or may do all that their users may."
        advice = "Revoke them under “API tokens” in the admin; their owners make others."
        yield look(text, advice, "W048")
    bare = User.objects.filter(is_active=True, is_superuser=True)
    count = bare.exclude(authenticator__type__in=FACTORS).count()
    if settings.STAFF_SECOND_FACTOR == "off" and count:
        text = f"{count} superusers have no second factor."
        yield look(text, "They add one under “Second factor” of their page.", "W049")


@register("statistics", needs="migrations")
def statistics() -> Iterator[Finding]:
    """Whether the figures behind keyword scores equal a recount."""
    wrong_counts = differences()
    if wrong_counts:
        text = "; ".join(
            f"collection {pk}: {stated:,} passages stated, {counted:,} counted"
            for pk, stated, counted in wrong_counts[:5]
        )
        yield wrong(text, "Run: manage.py doctor --recount")
    else:
        yield ok("equal to a recount")


@register("profile", needs="migrations")
def profile() -> Iterator[Finding]:
    """Whether a profile is active, without which no search is answered."""
    try:
        active = configuration.current().profile(None)
    except SearchError as error:
        yield wrong(str(error), "Publish a search profile in the admin.")
    else:
        yield ok(f"{active.name}@{active.version} is active")
