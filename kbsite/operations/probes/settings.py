"""Probes of the settings. They contact nothing, and run with every command."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from common.probes import Finding, Occasion, look, register, wrong
from ingestion.embedding.local import require_installed
from ingestion.errors import EmbeddingError
from ingestion.intake.fetching import read_rules
from ingestion.parsing.protocol import installed
from ingestion.spaces.configuring import config_of_settings, embedder_config
from ingestion.spaces.metering import origin
from kbsite.operations.monitoring.logs import FORMATS
from search.query import MAX_QUERY_CHARS
from search.retrieval import backends

# Characters of METRICS_TOKEN: a shorter one could be guessed.
LEAST_TOKEN = 16
# Python with a parser loaded needs this much to start.
LEAST_PARSE_MEMORY_MB = 256
# The settings that have one of a few values, with the id of their check.
CHOICES = {
    "LOG_FORMAT": ("E031", FORMATS),
    "OCR": ("E010", ("auto", "off")),
    "SSO_LINKS_BY_EMAIL": ("E040", ("0", "1", "all")),
    "SSO_SIGN_UP": ("E040", ("closed", "mapped", "open")),
    "STAFF_SECOND_FACTOR": ("E040", ("off", "password", "all")),
}


@register("var", Occasion.SETTINGS)
def var_dir() -> Iterator[Finding]:
    """The folder of originals, model and embedded servers' data must be writable."""
    folder = existing = Path(settings.VAR_DIR)
    while not existing.exists():
        existing = existing.parent
    if not (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)):
        advice = "Make it writable, or set STEELYARD_VAR to a directory that is."
        yield wrong(f"This user may not write to {folder}.", advice, "E001")


@register("numbers", Occasion.SETTINGS)
def numbers() -> Iterator[Finding]:
    """Limits must be above 0, or every file or question would be refused."""
    limits = {
        "MAX_UPLOAD_MB": settings.MAX_UPLOAD_BYTES,
        "WORKER_CONCURRENCY": settings.CELERY_WORKER_CONCURRENCY,
        "QUERY_EMBEDDING_TIMEOUT": settings.QUERY_EMBEDDING_TIMEOUT,
        "URL_IMPORT_MAX_PAGES": settings.URL_IMPORT_MAX_PAGES,
        "OCR_PAGES": settings.OCR_PAGES,
        "SEARCH_QUERY_CHARS": settings.SEARCH_QUERY_CHARS,
        **settings.PARSE_LIMITS,
    }
    advice = "Set it to a positive number, or remove it for the default."
    for name, value in limits.items():
        if value <= 0:
            yield wrong(f"{name} must be above 0.", advice, "E003")


@register("choices", Occasion.SETTINGS)
def choices() -> Iterator[Finding]:
    for name, (check, values) in CHOICES.items():
        if (value := getattr(settings, name)) not in values:
            advice = f"Write one of: {', '.join(values)} (.env.example says what each means)."
            yield wrong(f"{name} is “{value}”, which is unknown.", advice, check)


@register("monitoring", Occasion.SETTINGS)
def monitoring() -> Iterator[Finding]:
    if 0 < len(settings.METRICS_TOKEN) < LEAST_TOKEN:
        text = f"METRICS_TOKEN has fewer than {LEAST_TOKEN} characters."
        advice = "python3 -c 'import secrets; print(secrets.token_urlsafe(32))' makes one."
        yield wrong(text, advice, "E032")
    if not settings.METRICS_SHARED:
        text = f"Metrics cannot be kept in {settings.METRICS_DIR}: each process counts alone."
        advice = "Set METRICS_DIR to a local folder that this user may write to."
        yield look(text, advice, "W034")


@register("retrieval", Occasion.SETTINGS)
def retrieval() -> Iterator[Finding]:
    """The backend of searches must be an installed one."""
    backend = settings.RETRIEVAL_BACKEND
    if backend not in backends.names():
        text = f"RETRIEVAL_BACKEND is set to “{backend}”, which is unknown."
        yield wrong(text, f"Installed are: {', '.join(backends.names())}.", "E060")
    elif backend == backends.POSTGRES and not settings.VECTOR_INDEX:
        advice = "Set VECTOR_INDEX=1, and run: manage.py embedding_space backfill NUMBER --here"
        yield look("VECTOR_INDEX is off: searches by meaning read every vector.", advice, "W062")


@register("ocr", Occasion.SETTINGS)
def ocr() -> Iterator[Finding]:
    """The languages of OCR must be installed."""
    available = installed(settings.OCR_LANGUAGES, folder=settings.TESSDATA_PREFIX).languages
    missing = [code for code in settings.OCR_LANGUAGES if code not in available]
    # Without any OCR, the affected documents say what to do.
    if settings.OCR == "auto" and missing and available:
        packages = " ".join(f"tesseract-ocr-{code.replace('_', '-')}" for code in missing)
        text = f"OCR_LANGUAGES contains {', '.join(missing)}, which Tesseract has no data for."
        yield look(text, f"On Debian: sudo apt-get install {packages}", "W010")


@register("parse limits", Occasion.SETTINGS)
def parse_limits() -> Iterator[Finding]:
    """Parse limits must let ordinary files pass and stop hostile ones."""
    memory = settings.PARSE_LIMITS["PARSE_MEMORY_MB"]
    seconds = settings.PARSE_LIMITS["PARSE_WALL_SECONDS"]
    if 0 < memory < LEAST_PARSE_MEMORY_MB:
        text = f"PARSE_MEMORY_MB is {memory}: too little for any parser."
        advice = f"Set it to {LEAST_PARSE_MEMORY_MB} or more; a large HTML page takes 700."
        yield wrong(text, advice, "E006")
    if seconds > 3600:
        text = f"PARSE_WALL_SECONDS is {seconds}: one hostile file could block a worker for "
        advice = "Set it to 3600 or less; the slowest real file tested took 8."
        yield wrong(f"{text}more than an hour.", advice, "E006")


@register("addresses", Occasion.SETTINGS)
def addresses() -> Iterator[Finding]:
    """Imports, webhooks and embedding need valid hosts, networks and addresses."""
    for name in ("URL_IMPORT_ALLOW", "URL_IMPORT_DENY", "WEBHOOK_ALLOW"):
        try:
            read_rules(getattr(settings, name))
        except ValueError as error:
            advice = "Use hosts (wiki.example.org, .example.org) and networks (10.1.0.0/16)."
            yield wrong(f"{name}: {error}", advice, "E007")
    for address in settings.EMBEDDING_ADDRESSES:
        if origin(address) is None:
            text = (
                f"EMBEDDING_ADDRESSES contains “{address}”, which is not the address of a server."
            )
            advice = "Use base URLs separated by commas: https://models.example.org/v1"
            yield wrong(text, advice, "E020")


@register("embedder settings", Occasion.SETTINGS)
def embedder() -> Iterator[Finding]:
    """The settings must describe an embedder. Nothing is loaded."""
    try:
        config = embedder_config(config_of_settings())
        if config.kind == "local":
            require_installed(config.local)
    except EmbeddingError as error:
        advice = "docs/operations.md lists the variables of the embedder."
        yield wrong(str(error), advice, "E002")


@register("questions", Occasion.SETTINGS)
def questions() -> Iterator[Finding]:
    if not 0 < settings.CONFIDENCE_BASE_RATE < 1:
        text = f"CONFIDENCE_BASE_RATE is {settings.CONFIDENCE_BASE_RATE}: not between 0 and 1."
        advice = "Set it to the share of your readers' questions that the library can answer."
        yield wrong(text, advice, "E013")
    if settings.SEARCH_QUERY_CHARS > MAX_QUERY_CHARS:
        text = f"SEARCH_QUERY_CHARS is {settings.SEARCH_QUERY_CHARS}: more than the tables hold."
        yield wrong(text, f"Set it to {MAX_QUERY_CHARS} or less.", "E011")


@register("query classifier", Occasion.SETTINGS)
def query_classifier() -> Iterator[Finding]:
    """QUERY_CLASSIFIER must name a class with `classify`. It is imported and not called."""
    path = settings.QUERY_CLASSIFIER
    if not path:
        return
    advice = "docs/tuning.md describes a classifier of your own; leave it empty for none."
    try:
        classifier = import_string(path)
    except ImportError as error:
        text = f"QUERY_CLASSIFIER names {path!r}, which cannot be imported: {error}"
        yield wrong(text, advice, "E014")
        return
    if not (isinstance(classifier, type) and callable(getattr(classifier, "classify", None))):
        text = f"QUERY_CLASSIFIER names {path!r}, which is not a class with a method `classify`."
        yield wrong(text, advice, "E014")


@register("people", Occasion.SETTINGS)
def people() -> Iterator[Finding]:
    """Settings of sign-on, second factors and quotas must have a meaning."""
    for text in _without_meaning():
        yield wrong(text, "docs/sign-on.md describes each setting.", "E040")


def _without_meaning() -> Iterator[str]:
    if not _is_mapping(settings.SSO_GROUPS):
        yield 'SSO_GROUPS is no JSON like {"groups": {"a value": "a group"}}.'
    if settings.OIDC_SERVER and not settings.OIDC_CLIENT_ID:
        yield "OIDC_SERVER is set, and OIDC_CLIENT_ID is not."
    if any(
        number < 0 for number in [*settings.QUOTAS_USER.values(), *settings.QUOTAS_TOKEN.values()]
    ):
        yield "A quota is negative; 0 is unlimited."


def _is_mapping(groups: Any) -> bool:
    return isinstance(groups, Mapping) and all(
        isinstance(by_value, Mapping)
        and all(
            isinstance(group, str)
            for to in by_value.values()
            for group in (to if isinstance(to, list) else [to])
        )
        for by_value in groups.values()
    )
