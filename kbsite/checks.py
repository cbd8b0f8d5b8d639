"""System checks of what Steelyard needs, each with an id and a way to mend it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, register
from django.core.checks import Warning as CheckWarning
from django.db import DatabaseError, OperationalError, connections

from ingestion.embedding import EmbedderConfig
from ingestion.errors import EmbeddingError
from ingestion.intake.fetching import read_rules
from ingestion.parsing.ocr import installed

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
        "URL_IMPORT_SECONDS": settings.URL_IMPORT_SECONDS,
        "URL_IMPORT_MB": settings.URL_IMPORT_MB,
        "URL_IMPORT_MAX_PAGES": settings.URL_IMPORT_MAX_PAGES,
        "OCR_PAGES": settings.OCR_PAGES,
        "SECTION_TOKENS": settings.SECTION_TOKENS,
        **settings.PARSE_LIMITS,
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


@register()
def check_ocr(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """What OCR is told, and whether it has the data for it."""
    if settings.OCR not in {"auto", "off"}:
        hint = "Write auto (where Tesseract's data is installed) or off."
        return [Error(f"OCR is “{settings.OCR}”.", hint=hint, id="steelyard.E010")]
    found = installed(settings.OCR_LANGUAGES, folder=settings.TESSDATA_PREFIX)
    missing = [code for code in settings.OCR_LANGUAGES if code not in found.languages]
    if settings.OCR == "off" or not missing or not found.languages:
        return []  # without any OCR the documents themselves say what to do
    packages = " ".join(f"tesseract-ocr-{code.replace('_', '-')}" for code in missing)
    return [
        CheckWarning(
            f"OCR_LANGUAGES names {', '.join(missing)}, for which Tesseract has no data here.",
            hint=f"On Debian: sudo apt-get install {packages}",
            id="steelyard.W010",
        )
    ]


# A child that may not even start is no limit: Python with a parser loaded needs this much.
LEAST_PARSE_MEMORY_MB = 256


@register()
def check_parse_limits(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Limits that no file could pass, or that another one makes void."""
    limits = settings.PARSE_LIMITS
    problems = []
    if 0 < limits["PARSE_MEMORY_MB"] < LEAST_PARSE_MEMORY_MB:
        problems.append(
            (
                f"PARSE_MEMORY_MB is {limits['PARSE_MEMORY_MB']}: no parser runs in so little.",
                f"Set it to {LEAST_PARSE_MEMORY_MB} or more; a large HTML page takes 700.",
            )
        )
    if limits["PARSE_WALL_SECONDS"] > 3600:
        problems.append(
            (
                f"PARSE_WALL_SECONDS is {limits['PARSE_WALL_SECONDS']}: one hostile file would "
                "hold a worker for more than an hour.",
                "Set it to 3600 or less; the slowest real file that was tried took 8.",
            )
        )
    return [Error(message, hint=hint, id="steelyard.E006") for message, hint in problems]


@register()
def check_url_import(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """The lists of hosts must be readable: what is no host or network would let nothing through."""
    problems: list[CheckMessage] = []
    for name in ("URL_IMPORT_ALLOW", "URL_IMPORT_DENY"):
        try:
            read_rules(getattr(settings, name))
        except ValueError as error:
            hint = "Write hosts (wiki.example.org, .example.org) and networks (10.1.0.0/16)."
            problems.append(Error(f"{name}: {error}", hint=hint, id="steelyard.E007"))
    ports = settings.URL_IMPORT_PORTS
    if not ports or not all(0 < port < 65536 for port in ports):
        hint = "Write numbers from 1 to 65535 with commas between; leave it out for 80,443."
        problems.append(
            Error("URL_IMPORT_PORTS names no usable port.", hint=hint, id="steelyard.E007")
        )
    if settings.URL_IMPORT_DELAY < 0:
        hint = "Write seconds; 0 for no pause."
        problems.append(Error("URL_IMPORT_DELAY is negative.", hint=hint, id="steelyard.E007"))
    return problems


def list_limits(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """What one file may cost, as a message. `manage.py check` alone runs this."""
    lines = [f"    {name:<28}{number:>12,}" for name, number in settings.PARSE_LIMITS.items()]
    heading = "What reading one file may cost (docs/operations.md explains each):"
    return [Info("\n".join([heading, *lines]), id="steelyard.I001")]


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


@register(Tags.database)
def check_active_space(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Settings that name another model than the one that answers change nothing: worth a word."""
    from ingestion.models import EmbeddingSpace
    from ingestion.spaces.report import overview

    if "default" not in (databases or ()):
        return []
    try:
        spaces = list(EmbeddingSpace.objects.all())
    except DatabaseError:
        return []  # before the first migrate, or the command itself says that the server is away
    if not spaces:
        return []
    return [CheckWarning(text, id="steelyard.W006") for text in overview(spaces)]
