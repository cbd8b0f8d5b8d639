"""Probes of the settings, which contact nothing.

They run with every command; those at the end, of a site that others reach, with `check --deploy`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import validate_host
from django.utils.module_loading import import_string

from common.probes import Finding, Occasion, look, register, wrong
from ingestion.embedding import fastembed
from ingestion.embedding.minilm import tokenizer_file
from ingestion.errors import EmbeddingError
from ingestion.intake.url_guard import read_rules
from ingestion.parsing.ocr import installed
from ingestion.spaces.allowed_servers import origin
from ingestion.spaces.configuring import config_of_settings, embedder_config
from kbsite.operations.logs import FORMATS
from search import retrieval
from search.query import MAX_QUERY_CHARS

# Characters of METRICS_TOKEN: a shorter one could be guessed.
LEAST_TOKEN = 16
LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
# Longer than this, a token of a program is found before it expires: a guess.
LONG_DAYS = 400
# The settings that have one of a few values, with the id of their check.
CHOICES = {
    "LOG_FORMAT": ("E031", FORMATS),
    "OAUTH": ("E040", ("off", "clients", "documents", "registration")),
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
def retrieval_backend() -> Iterator[Finding]:
    """The backend of searches must be an installed one."""
    backend = settings.RETRIEVAL_BACKEND
    if backend not in retrieval.backend_names():
        text = f"RETRIEVAL_BACKEND is set to “{backend}”, which is unknown."
        yield wrong(text, f"Installed are: {', '.join(retrieval.backend_names())}.", "E060")
    elif backend == retrieval.POSTGRES and not settings.VECTOR_INDEX:
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
        if config.kind == "fastembed":
            fastembed.require_installed()
        elif config.kind == "local" and config.local.folder is None:
            tokenizer_file(Path(config.local.models_dir))
    except EmbeddingError as error:
        advice = "docs/settings.md lists the variables of the embedder."
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
    advice = "docs/profiles.md describes a classifier of your own; leave it empty for none."
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
    """Settings of sign-on, second factors and quotas must have valid values."""
    for text in _without_meaning():
        yield wrong(text, "docs/sign-on.md describes each setting.", "E040")


def _without_meaning() -> Iterator[str]:
    if not _is_mapping(settings.SSO_GROUPS):
        yield 'SSO_GROUPS is not JSON of the form {"groups": {"a value": "a group"}}.'
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


# --- a site that others reach ---


@register("hosts", Occasion.DEPLOYMENT)
def hosts() -> Iterator[Finding]:
    """ALLOWED_HOSTS must list only the site's own names, and SITE_URL must not be this machine."""
    names = settings.ALLOWED_HOSTS
    if "*" in names:
        text = "ALLOWED_HOSTS contains *: a forged Host header gets into links for others."
        yield look(text, "List the site's names, such as kb.example.org.", "W040")
    elif names and set(names) <= LOOPBACK:
        text = "ALLOWED_HOSTS names this machine only: readers elsewhere get 400."
        yield look(text, "Add the site's name, such as kb.example.org.", "W040")
    for trusted in settings.CSRF_TRUSTED_ORIGINS:
        name = urlsplit(trusted).netloc.rpartition(":")[0] or urlsplit(trusted).netloc
        if not validate_host(name.replace("*.", "x."), [host.lower() for host in names]):
            text = f"CSRF_TRUSTED_ORIGINS trusts {trusted}, which is no name of this site."
            advice = "Its pages may send forms in a reader's name. Remove it, or add its host to "
            yield look(text, f"{advice}ALLOWED_HOSTS.", "W041")
    if urlsplit(settings.SITE_URL).hostname in {"localhost", "127.0.0.1", "::1"}:
        text = f"Links in mails lead to {settings.SITE_URL}, the machine of whoever reads them."
        advice = "Set SITE_URL, or CSRF_TRUSTED_ORIGINS, to https://kb.example.org."
        yield look(text, advice, "W042")


@register("proxies", Occasion.DEPLOYMENT)
def proxies() -> Iterator[Finding]:
    """The settings about trusted proxy headers must match the proxies in front of the site."""
    behind = bool(settings.SECURE_PROXY_SSL_HEADER)
    number = settings.REST_FRAMEWORK["NUM_PROXIES"] or 0
    if settings.SECURE_SSL_REDIRECT and not behind:
        text = "HTTPS=1 without BEHIND_PROXY=1: unless gunicorn itself has the certificate, every "
        advice = "Set BEHIND_PROXY=1 where your proxy sets X-Forwarded-Proto on every request."
        yield look(f"{text}page redirects to itself for ever.", advice, "W043")
    if behind and not number:
        text = "BEHIND_PROXY=1 with NUM_PROXIES=0: all readers share the proxy's address, and so "
        advice = "Set NUM_PROXIES to the number of proxies that add to X-Forwarded-For."
        yield look(f"{text}each other's limits; ten wrong passwords lock all out.", advice, "W044")
    if number and not behind:
        text = f"NUM_PROXIES={number} without BEHIND_PROXY=1: if there is no proxy, each reader "
        advice = "Set BEHIND_PROXY=1, or NUM_PROXIES=0."
        yield look(f"{text}can choose the address by which limits count.", advice, "W044")


@register("debugging", Occasion.DEPLOYMENT)
def debugging() -> Iterator[Finding]:
    if settings.LOG_LEVEL.upper() == "DEBUG":
        text = "LOG_LEVEL=DEBUG: logs may contain questions and texts of documents."
        yield look(text, "Set it to INFO once the fault is found.", "W046")


@register("embedded servers", Occasion.DEPLOYMENT)
def embedded_servers() -> Iterator[Finding]:
    """The embedded servers are for one machine and one user."""
    used = {"DATABASE_URL": settings.EMBEDDED_POSTGRES, "REDIS_URL": settings.EMBEDDED_REDIS}
    if any(used.values()):
        names = " and ".join(name for name, is_used in used.items() if is_used)
        text = f"{names} not set: an embedded server is used, which nobody "
        advice = "Set both to servers of your own (docs/install.md)."
        yield look(f"{text}backs up, watches or upgrades for you.", advice, "W047")


@register("sign-in", Occasion.DEPLOYMENT)
def sign_in() -> Iterator[Finding]:
    if settings.STAFF_SECOND_FACTOR == "off":
        advice = "Set STAFF_SECOND_FACTOR to password or all (docs/operations.md)."
        yield look("Staff sign in with a password alone.", advice, "W051")
    if settings.OIDC_SERVER and not settings.OIDC_SERVER.startswith("https://"):
        text = "The sign-on provider is asked without TLS."
        yield look(text, "Set OIDC_SERVER to its address with https://.", "W052")
    if settings.SSO_SIGN_UP == "open" and "/common/" in settings.OIDC_SERVER:
        advice = "Put your tenant's id in place of “common”, or set SSO_SIGN_UP=mapped."
        yield look("Everybody with a Microsoft account gets an account here.", advice, "W053")
    lifetime: Any = settings.REST_KNOX["TOKEN_TTL"]
    if lifetime.days > LONG_DAYS:
        text = "API tokens last longer than a year."
        yield look(text, "Set API_TOKEN_DAYS to 365 or less.", "W054")
