"""System checks of Steelyard's settings and database, each with an id and a hint."""

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
from django.utils.module_loading import import_string

from ingestion.errors import EmbeddingError
from ingestion.identifiers import regex_problems
from ingestion.intake.fetching import read_rules
from ingestion.parsing.isolation_report import isolation_report
from ingestion.parsing.ocr import installed
from kbsite.monitoring.logs import FORMATS
from kbsite.monitoring.requests import networks
from search import reranking
from search.query import MAX_QUERY_CHARS

# halfvec and sparsevec, which the indexes use, were added in 0.7.
PGVECTOR_AT_LEAST = (0, 7)
POSTGRES_AT_LEAST = 16

# Characters of METRICS_TOKEN: a shorter one could be guessed.
LEAST_TOKEN = 16

Apps = Sequence[AppConfig] | None


@register()
def check_var_dir(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """The directory of originals, model and embedded servers' data must be writable."""
    folder = existing = Path(settings.VAR_DIR)
    while not existing.exists():
        existing = existing.parent
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return []
    return [
        Error(
            f"This user may not write to {folder}.",
            hint="Make it writable, or set STEELYARD_VAR to a directory that is.",
            id="steelyard.E001",
        )
    ]


@register()
def check_embedder(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """The settings must describe an embedder. Nothing is loaded and no server is contacted."""
    # Here, because it imports models, which are not loaded yet when this module is.
    from ingestion.spaces.configuring import config_of_settings, embedder_config

    try:
        config = embedder_config(config_of_settings())
        if config.kind == "local":
            from ingestion.embedding.local import require_installed

            require_installed(config.local)
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
def check_embedding_addresses(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Each entry of EMBEDDING_ADDRESSES must be the base URL of a server."""
    from ingestion.spaces.allowed import origin

    return [
        Error(
            f"EMBEDDING_ADDRESSES contains “{address}”, which is not the address of a server.",
            hint="Use base URLs separated by commas: https://models.example.org/v1",
            id="steelyard.E020",
        )
        for address in settings.EMBEDDING_ADDRESSES
        if origin(address) is None
    ]


@register()
def check_numbers(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Numeric limits must be above 0, or every file or question would be refused."""
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
        "SEARCH_QUERY_CHARS": settings.SEARCH_QUERY_CHARS,
        "QUERY_CLASSIFIER_TIMEOUT": settings.QUERY_CLASSIFIER_TIMEOUT,
        **settings.PARSE_LIMITS,
    }
    return [
        Error(
            f"{name} must be above 0.",
            hint="Set it to a positive number, or remove it for the default.",
            id="steelyard.E003",
        )
        for name, value in numbers.items()
        if value <= 0
    ]


@register()
def check_base_rate(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """A share of 0 or 1 leaves nothing for a confidence to say."""
    if 0 < settings.CONFIDENCE_BASE_RATE < 1:
        return []
    return [
        Error(
            f"CONFIDENCE_BASE_RATE is {settings.CONFIDENCE_BASE_RATE}: not between 0 and 1.",
            hint="Set it to the share of your readers' questions that the library can answer.",
            id="steelyard.E013",
        )
    ]


@register()
def check_monitoring(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """The settings of logs, metrics and request ids must be usable."""
    problems: list[CheckMessage] = []
    if settings.LOG_FORMAT not in FORMATS:
        text = f"LOG_FORMAT is set to “{settings.LOG_FORMAT}”, which is unknown."
        hint = "Set it to line (for people) or to json (for programs)."
        problems.append(Error(text, hint=hint, id="steelyard.E031"))
    if 0 < len(settings.METRICS_TOKEN) < LEAST_TOKEN:
        text = f"METRICS_TOKEN has fewer than {LEAST_TOKEN} characters."
        hint = "python3 -c 'import secrets; print(secrets.token_urlsafe(32))' makes one."
        problems.append(Error(text, hint=hint, id="steelyard.E032"))
    if not settings.METRICS_SHARED:
        text = f"Metrics cannot be kept in {settings.METRICS_DIR}: each process counts alone."
        hint = "Set METRICS_DIR to a local folder that this user may write to."
        problems.append(CheckWarning(text, hint=hint, id="steelyard.W031"))
    try:
        networks(tuple(settings.REQUEST_ID_PROXIES))
    except ValueError as error:
        hint = "Use addresses (10.0.0.5) and networks (10.0.0.0/24), separated by commas."
        problems.append(Error(f"REQUEST_ID_PROXIES: {error}", hint=hint, id="steelyard.E033"))
    return problems


@register()
def check_query_chars(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Questions must fit into the tables that record them."""
    if settings.SEARCH_QUERY_CHARS <= MAX_QUERY_CHARS:
        return []
    return [
        Error(
            f"SEARCH_QUERY_CHARS is {settings.SEARCH_QUERY_CHARS}: more than the tables hold.",
            hint=f"Set it to {MAX_QUERY_CHARS} or less.",
            id="steelyard.E011",
        )
    ]


@register()
def check_reranker(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """The settings must describe a reranker, or none. No server is contacted."""
    try:
        reranking.configured()
    except ValueError as error:
        hint = "docs/operations.md lists the variables of the reranker."
        return [Error(str(error), hint=hint, id="steelyard.E012")]
    return []


@register()
def check_query_classifier(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """QUERY_CLASSIFIER must name a class with `classify`. It is imported and not called."""
    path = settings.QUERY_CLASSIFIER
    if not path:
        return []
    hint = "docs/tuning.md describes a classifier of your own; leave it empty for none."
    try:
        found = import_string(path)
    except ImportError as error:
        text = f"QUERY_CLASSIFIER names {path!r}, which cannot be imported: {error}"
        return [Error(text, hint=hint, id="steelyard.E014")]
    if isinstance(found, type) and callable(getattr(found, "classify", None)):
        return []
    text = f"QUERY_CLASSIFIER names {path!r}, which is not a class with a method `classify`."
    return [Error(text, hint=hint, id="steelyard.E014")]


@register()
def check_ocr(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """OCR must be a known value, and its languages must be installed."""
    if settings.OCR not in {"auto", "off"}:
        hint = "Set it to auto (OCR if Tesseract's data is installed) or to off."
        return [
            Error(
                f"OCR is set to “{settings.OCR}”, which is unknown.", hint=hint, id="steelyard.E010"
            )
        ]
    found = installed(settings.OCR_LANGUAGES, folder=settings.TESSDATA_PREFIX)
    missing = [code for code in settings.OCR_LANGUAGES if code not in found.languages]
    if settings.OCR == "off" or not missing or not found.languages:
        return []  # without any OCR, the affected documents say what to do
    packages = " ".join(f"tesseract-ocr-{code.replace('_', '-')}" for code in missing)
    return [
        CheckWarning(
            f"OCR_LANGUAGES contains {', '.join(missing)}, which Tesseract has no data for.",
            hint=f"On Debian: sudo apt-get install {packages}",
            id="steelyard.W010",
        )
    ]


# Python with a parser loaded needs this much to start.
LEAST_PARSE_MEMORY_MB = 256


@register()
def check_parse_limits(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Parse limits must let ordinary files pass and stop hostile ones."""
    limits = settings.PARSE_LIMITS
    problems = []
    if 0 < limits["PARSE_MEMORY_MB"] < LEAST_PARSE_MEMORY_MB:
        problems.append(
            (
                f"PARSE_MEMORY_MB is {limits['PARSE_MEMORY_MB']}: too little for any parser.",
                f"Set it to {LEAST_PARSE_MEMORY_MB} or more; a large HTML page takes 700.",
            )
        )
    if limits["PARSE_WALL_SECONDS"] > 3600:
        problems.append(
            (
                f"PARSE_WALL_SECONDS is {limits['PARSE_WALL_SECONDS']}: one hostile file could "
                "block a worker for more than an hour.",
                "Set it to 3600 or less; the slowest real file tested took 8.",
            )
        )
    return [Error(message, hint=hint, id="steelyard.E006") for message, hint in problems]


@register()
def check_url_import(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """The settings of URL imports and webhooks must be valid hosts, networks, ports, seconds."""
    problems: list[CheckMessage] = []
    for name in ("URL_IMPORT_ALLOW", "URL_IMPORT_DENY", "WEBHOOK_ALLOW"):
        try:
            read_rules(getattr(settings, name))
        except ValueError as error:
            hint = "Use hosts (wiki.example.org, .example.org) and networks (10.1.0.0/16)."
            problems.append(Error(f"{name}: {error}", hint=hint, id="steelyard.E007"))
    ports = settings.URL_IMPORT_PORTS
    if not ports or not all(0 < port < 65536 for port in ports):
        hint = "Use numbers from 1 to 65535 separated by commas; remove it for 80,443."
        problems.append(
            Error("URL_IMPORT_PORTS contains no usable port.", hint=hint, id="steelyard.E007")
        )
    if settings.URL_IMPORT_DELAY < 0:
        hint = "Set it to a number of seconds; 0 for no delay."
        problems.append(Error("URL_IMPORT_DELAY is negative.", hint=hint, id="steelyard.E007"))
    return problems


def list_limits(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """A message that lists the parse limits. Run by `manage.py check` only."""
    lines = [f"    {name:<28}{number:>12,}" for name, number in settings.PARSE_LIMITS.items()]
    heading = "Limits of parsing one file (docs/operations.md explains each):"
    return [Info("\n".join([heading, *lines]), id="steelyard.I001")]


def check_isolation(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Warnings of what does not hold a parser on this machine. Run by `manage.py check` only."""
    return [
        CheckWarning(text, hint="docs/operations.md: “The parser”.", id="steelyard.W020")
        for is_held, text in isolation_report()
        if not is_held
    ]


@register(Tags.database)
def check_database(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Postgres and pgvector must be recent enough. Run by `migrate` and `check --database`."""
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
            continue  # the command itself reports that the server is down
        problems += _database_problems(postgres, found[0] if found else "")
    return problems


def _database_problems(postgres: int, pgvector: str) -> list[CheckMessage]:
    """The errors for this major version of Postgres and version of pgvector; empty if none."""
    problems: list[CheckMessage] = []
    if postgres < POSTGRES_AT_LEAST:
        problems.append(
            Error(
                f"The database is Postgres {postgres}; {POSTGRES_AT_LEAST} or newer is needed.",
                hint="Upgrade it, or set DATABASE_URL to a newer server.",
                id="steelyard.E004",
            )
        )
    if tuple(map(int, pgvector.split(".")[:2] if pgvector else "0")) < PGVECTOR_AT_LEAST:
        problems.append(
            Error(
                f"The database has pgvector {pgvector}; 0.7 or newer is needed."
                if pgvector
                else "The database server has no pgvector.",
                hint="Install the package postgresql-NN-pgvector, or use an image with it.",
                id="steelyard.E005",
            )
        )
    return problems


@register(Tags.database)
def check_active_space(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Warn if the settings name another model than the active space, or do not allow a space's."""
    from ingestion.models import EmbeddingSpace
    from ingestion.spaces.allowed import why_refused
    from ingestion.spaces.report import overview

    if "default" not in (databases or ()):
        return []
    try:
        spaces = list(EmbeddingSpace.objects.all())
    except DatabaseError:
        return []  # before the first migrate, or the command reports that the server is down
    if not spaces:
        return []
    refused = [(space, reason) for space in spaces if (reason := why_refused(space.config))]
    return [
        *(CheckWarning(text, id="steelyard.W006") for text in overview(spaces)),
        *(CheckWarning(f"{space}: {reason}", id="steelyard.W021") for space, reason in refused),
    ]


@register(Tags.database)
def check_expressions(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Warn of expressions from before RE2 that it lacks: they match nothing."""
    from ingestion.models import IdentifierPattern
    from search.models import ClassRule, SearchProfile
    from search.query.rule_classifier import pattern_problems
    from search.ranking.boosts import anchor_problem, parse_boosts

    if "default" not in (databases or ()):
        return []
    try:
        profiles = SearchProfile.objects.exclude(state=SearchProfile.State.RETIRED)
        found: list[tuple[str, object, list[str]]] = [
            ("identifier pattern", row, regex_problems(row.regex))
            for row in IdentifierPattern.objects.all()
        ]
        found += [
            ("classifier rule", rule, pattern_problems(rule.pattern))
            for rule in ClassRule.objects.exclude(pattern="")
        ]
        found += [
            ("bypass of", profile, regex_problems(profile.bypass))
            for profile in profiles.exclude(bypass="")
        ]
        found += [
            (f"anchor of the boost “{boost.name}” of", profile, [problem])
            for profile in profiles.exclude(boosts=[])
            for boost in parse_boosts(profile.boosts)
            if (problem := anchor_problem(boost))
        ]
    except DatabaseError:
        return []  # before migrate, or the command reports that the server is down
    return [
        CheckWarning(
            f"The {kind} “{row}” matches nothing: {problems[0]}",
            hint="Change it in the admin. Documents follow when they are reprocessed.",
            id="steelyard.W022",
        )
        for kind, row, problems in found
        if problems
    ]


@register(Tags.database)
def check_signals(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Warn if the active profile weighs WordNet or concepts, and their data is missing."""
    from ingestion.lexical import concepts
    from search.models import ClassWeights, SearchProfile
    from search.query.wordnet import opened

    if "default" not in (databases or ()):
        return []
    problems: list[CheckMessage] = []
    try:
        weights = ClassWeights.objects.filter(profile__state=SearchProfile.State.ACTIVE)
        if opened(settings.WORDNET_DIR) is None and weights.filter(wordnet__gt=0).exists():
            problems.append(
                CheckWarning(
                    f"The active profile weighs WordNet, which is not in {settings.WORDNET_DIR}.",
                    hint="On Debian: sudo apt-get install wordnet-base. Elsewhere set WORDNET_DIR.",
                    id="steelyard.W012",
                )
            )
        lacking = next(concepts.waiting(), None) is not None
        if lacking and weights.filter(concept__gt=0).exists():
            problems.append(
                CheckWarning(
                    "The active profile weighs concepts, which some documents do not have yet.",
                    hint="Run: manage.py concepts",
                    id="steelyard.W013",
                )
            )
    except DatabaseError:
        return []  # before migrate, or the command reports that the server is down
    return problems
