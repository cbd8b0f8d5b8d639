"""Checks of the machine and of the limits in its settings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, register
from django.core.checks import Warning as CheckWarning

from ingestion.intake.fetching import read_rules
from ingestion.parsing.isolation_report import isolation_report
from ingestion.parsing.ocr import installed
from kbsite.monitoring.logs import FORMATS
from kbsite.monitoring.requests import networks

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
        problems.append(CheckWarning(text, hint=hint, id="steelyard.W034"))
    try:
        networks(tuple(settings.REQUEST_ID_PROXIES))
    except ValueError as error:
        hint = "Use addresses (10.0.0.5) and networks (10.0.0.0/24), separated by commas."
        problems.append(Error(f"REQUEST_ID_PROXIES: {error}", hint=hint, id="steelyard.E033"))
    return problems


@register()
def check_retrieval(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """The backend of searches must be a known one, and Qdrant needs an address."""
    # Here: `services` registers the checks without the apps that have models.
    from search.retrieval.backends import POSTGRES, QDRANT

    backend = settings.RETRIEVAL_BACKEND
    if backend not in {POSTGRES, QDRANT}:
        text = f"RETRIEVAL_BACKEND is set to “{backend}”, which is unknown."
        return [Error(text, hint="Set it to postgres or to qdrant.", id="steelyard.E060")]
    if backend == QDRANT and not settings.QDRANT_URL:
        text = "RETRIEVAL_BACKEND is qdrant, but QDRANT_URL is not set."
        return [Error(text, hint="Set it: see docs/scale.md.", id="steelyard.E061")]
    if backend == POSTGRES and not settings.VECTOR_INDEX:
        text = "VECTOR_INDEX is off: searches by meaning read every vector."
        hint = "Set VECTOR_INDEX=1, and run: manage.py embedding_space index NUMBER"
        return [CheckWarning(text, hint=hint, id="steelyard.W062")]
    return []


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
