"""System checks of what Steelyard needs, each with an id and a way to mend it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import OperationalError, connections

from ingestion.embedding import EmbedderConfig
from ingestion.errors import EmbeddingError

# halfvec and sparsevec, which the indexes are made of, came with 0.7.
PGVECTOR_AT_LEAST = (0, 7)
POSTGRES_AT_LEAST = 16

Apps = Sequence[AppConfig] | None


@register()
def check_var_dir(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """The originals, the model and the embedded servers' data must have a place."""
    folder = existing = Path(settings.VAR_DIR)
    while not existing.exists():
        existing = existing.parent
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return []
    return [
        Error(
            f"This user may not write to {folder}.",
            hint="Make it writable, or point STEELYARD_VAR at a directory that is.",
            id="steelyard.E001",
        )
    ]


@register()
def check_embedder(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """The settings must describe an embedder. Nothing is loaded and no server is asked."""
    try:
        config = EmbedderConfig.of(
            settings.EMBEDDER, **settings.EMBEDDER_OPTIONS.get(settings.EMBEDDER, {})
        )
        if config.kind == "local" and config.local.folder is None:
            from ingestion.embedding import minilm

            minilm.tokenizer_file()
    except EmbeddingError as error:
        return [
            Error(
                str(error),
                hint="docs/operations.md lists the variables of the embedder.",
                id="steelyard.E002",
            )
        ]
    return []


@register()
def check_numbers(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Limits of 0 or less would refuse every file or every question."""
    numbers = {
        "MAX_UPLOAD_MB": settings.MAX_UPLOAD_BYTES,
        "MAX_FILES_PER_UPLOAD": settings.DATA_UPLOAD_MAX_NUMBER_FILES,
        "WORKER_CONCURRENCY": settings.CELERY_WORKER_CONCURRENCY,
        "QUERY_EMBEDDING_TIMEOUT": settings.QUERY_EMBEDDING_TIMEOUT,
        "QUERY_EMBEDDING_TTL": settings.QUERY_EMBEDDING_TTL,
    }
    return [
        Error(
            f"{name} must be above 0.",
            hint="Set it to another number, or leave it out for the default.",
            id="steelyard.E003",
        )
        for name, value in numbers.items()
        if value <= 0
    ]


@register(Tags.database)
def check_database(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """The server must be new enough and have pgvector. Run by `migrate` and `check --database`."""
    problems: list[CheckMessage] = []
    for alias in databases or ():
        try:
            with connections[alias].cursor() as cursor:
                cursor.execute("SHOW server_version_num")
                postgres = int(cursor.fetchone()[0]) // 10_000
                cursor.execute(
                    "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
                )
                found = cursor.fetchone()
        except OperationalError:
            continue  # the command itself says that the server is away
        problems += _database_problems(postgres, found[0] if found else "")
    return problems


def _database_problems(postgres: int, pgvector: str) -> list[CheckMessage]:
    """What is wrong with a server of this major version and this pgvector; empty for none."""
    problems: list[CheckMessage] = []
    if postgres < POSTGRES_AT_LEAST:
        problems.append(
            Error(
                f"The database is Postgres {postgres}; {POSTGRES_AT_LEAST} or newer is needed.",
                hint="Upgrade it, or point DATABASE_URL at a newer server.",
                id="steelyard.E004",
            )
        )
    if tuple(map(int, pgvector.split(".")[:2] if pgvector else "0")) < PGVECTOR_AT_LEAST:
        problems.append(
            Error(
                f"The database has pgvector {pgvector}; 0.7 or newer is needed."
                if pgvector
                else "The database server has no pgvector.",
                hint="Install the package postgresql-NN-pgvector, or use an image that has it.",
                id="steelyard.E005",
            )
        )
    return problems
