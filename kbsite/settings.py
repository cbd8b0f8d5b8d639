"""Settings, from the environment only; every variable stands in .env.example. No ranking numbers.

Without DATABASE_URL and REDIS_URL the embedded servers of `kbsite.embedded` are used.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured
from kombu.entity import Queue

from ingestion.parsing.limits import default_numbers
from kbsite.admin_site import UNFOLD as UNFOLD
from kbsite.embedded import EmbeddedServers

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
environ.Env.read_env(BASE_DIR / ".env")

VAR_DIR = Path(env.str("STEELYARD_VAR", default=str(BASE_DIR / "var"))).resolve()


def _secret(name: str) -> str:
    """The secret kept in VAR_DIR under `name`, made on first use and readable by its owner only."""
    path = VAR_DIR / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            # Written whole, then linked: of processes that start together one wins, and none
            # reads an empty file. mkstemp makes it readable by its owner only.
            handle, draft = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_urlsafe(64))
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
            Path(draft).unlink()
        return path.read_text()
    except OSError as error:
        raise ImproperlyConfigured(
            f"Cannot keep a secret in {path}: {error.strerror}. Set SECRET_KEY, or point "
            "STEELYARD_VAR at a directory this user may write."
        ) from error


DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="") or _secret("secret_key")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# --- servers -----------------------------------------------------------------------------------
EMBEDDED = EmbeddedServers(VAR_DIR)
DATABASE_URL = env.str("DATABASE_URL", default="")
REDIS_URL = env.str("REDIS_URL", default="")
EMBEDDED_POSTGRES = not DATABASE_URL
EMBEDDED_REDIS = not REDIS_URL

_database: dict[str, Any] = (
    dict(env.db_url_config(DATABASE_URL)) if DATABASE_URL else dict(EMBEDDED.database_settings())
)
_options: dict[str, object] = dict(_database.get("OPTIONS", {}))
# JIT compiles a search's plan for longer than the search runs.
_options["options"] = f"{_options.get('options', '')} -c jit=off".strip()
# A server that vanished without a word is given up within a minute: the system itself waits hours.
_tcp = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10}
_options = {**_tcp, "keepalives_count": 3, "tcp_user_timeout": 60_000, **_options}
_pool_size = env.int("DATABASE_POOL", default=10)
if _pool_size:
    _options["pool"] = {"min_size": 0, "max_size": _pool_size, "timeout": 10}
# A database that was restarted costs the requests in hand, and not one for each pooled connection.
DATABASES = {"default": {**_database, "CONN_HEALTH_CHECKS": True, "OPTIONS": _options}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://") or EMBEDDED.broker_url
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL or EMBEDDED.cache_url,
        "KEY_PREFIX": "steelyard",
    }
}

# --- applications ------------------------------------------------------------------------------
INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_htmx",
    "rest_framework",
    "kbsite.apps.TokensConfig",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "kbsite",
    "ingestion",
    "search",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "kbsite.urls"
WSGI_APPLICATION = "kbsite.wsgi.application"
ASGI_APPLICATION = "kbsite.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "search:page"
LOGOUT_REDIRECT_URL = "search:page"

# The language of a document that states none and is too short to tell (ISO 639-1).
DEFAULT_LANGUAGE = env.str("DEFAULT_LANGUAGE", default="en")
LANGUAGE_CODE = "en"
TIME_ZONE = env.str("TIME_ZONE", default="UTC")
USE_I18N = True
USE_TZ = True
FORMAT_MODULE_PATH = "kbsite.formats"

# --- files -------------------------------------------------------------------------------------
STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Originals are private: no MEDIA_URL, they leave only through a view that asks `visible_to`.
MEDIA_ROOT = Path(env.str("FILES_DIR", default=str(VAR_DIR / "files"))).resolve()
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_MAX_AGE = 3600

# --- security ----------------------------------------------------------------------------------
HTTPS = env.bool("HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
# A health check inside a container speaks plain HTTP.
SECURE_REDIRECT_EXEMPT = [r"^health/$"]
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=31_536_000 if HTTPS else 0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
if env.bool("BEHIND_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SILENCED_SYSTEM_CHECKS: list[str] = []

# --- uploads and workers -----------------------------------------------------------------------
# How many files a document keeps, the newest first, and for how long what was deleted can be
# restored; 0 days: it is removed at once.
VERSIONS_KEPT = max(1, env.int("VERSIONS_KEPT", default=5))
DELETION_GRACE_DAYS = max(0, env.int("DELETION_GRACE_DAYS", default=30))
MAX_UPLOAD_BYTES = env.int("MAX_UPLOAD_MB", default=200) * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FILES = env.int("MAX_FILES_PER_UPLOAD", default=200)

# What one file may cost its parser; `manage.py check` prints them.
PARSE_LIMITS = {name: env.int(name, default=default) for name, default in default_numbers().items()}

# Text recognition of scanned PDFs, where Tesseract's language data is installed; never downloaded.
OCR = env.str("OCR", default="auto")
OCR_LANGUAGES = env.list("OCR_LANGUAGES", default=["eng"])
OCR_PAGES = env.int("OCR_PAGES", default=100)
TESSDATA_PREFIX = env.str("TESSDATA_PREFIX", default="")

# How much of what stands around a passage is shown with it, in tokens of the embedding model.
SECTION_TOKENS = env.int("SECTION_TOKENS", default=800)

# Fetching documents from web addresses: off until it is wanted.
URL_IMPORT = env.bool("URL_IMPORT", default=False)
# Hosts and networks that may be fetched from although they are internal, and those that never may.
URL_IMPORT_ALLOW = env.list("URL_IMPORT_ALLOW", default=[])
URL_IMPORT_DENY = env.list("URL_IMPORT_DENY", default=[])
URL_IMPORT_PORTS = env.list("URL_IMPORT_PORTS", cast=int, default=[80, 443])
URL_IMPORT_SECONDS = env.int("URL_IMPORT_SECONDS", default=60)
URL_IMPORT_MB = env.int("URL_IMPORT_MB", default=50)
URL_IMPORT_MAX_PAGES = env.int("URL_IMPORT_MAX_PAGES", default=1_000)
URL_IMPORT_DELAY = env.float("URL_IMPORT_DELAY", default=1.0)
URL_IMPORT_AGENT = env.str("URL_IMPORT_AGENT", default="Steelyard")

# Folders of the server that may be imported or watched through the admin; empty: by command only.
IMPORT_ROOTS = [Path(root) for root in env.list("IMPORT_ROOTS", default=[])]
WATCH_ROOTS = [Path(root) for root in env.list("WATCH_ROOTS", default=[])]
# An archive to import: its own size, and how many files and bytes it may hold unpacked.
IMPORT_MAX_BYTES = env.int("IMPORT_MAX_MB", default=2_048) * 1024 * 1024
IMPORT_MAX_FILES = env.int("IMPORT_MAX_FILES", default=100_000)
IMPORT_MAX_UNPACKED_BYTES = env.int("IMPORT_MAX_UNPACKED_MB", default=20_480) * 1024 * 1024

# How long a worker holds a document without a sign of life before another may take it over.
INGESTION_LEASE_SECONDS = env.int("INGESTION_LEASE_SECONDS", default=60)

CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CONCURRENCY = env.int("WORKER_CONCURRENCY", default=2)
# In the order in which a worker empties them (docs/adr/0023-two-lanes.md). `celery` takes what
# names no queue, and holds what an earlier release has sent.
CELERY_TASK_QUEUES = [
    Queue(name, routing_key=name)  # type: ignore[no-untyped-call]
    for name in ("interactive", "maintenance", "celery", "imports", "bulk")
]
CELERY_TASK_ROUTES = {
    "ingestion.tasks.sweep": {"queue": "maintenance"},
    "ingestion.tasks.fold_statistics": {"queue": "maintenance"},
    "ingestion.tasks.look_at_folders": {"queue": "maintenance"},
    "search.tasks.sweep_runs": {"queue": "maintenance"},
    "search.tasks.gather_gaps": {"queue": "maintenance"},
    "search.tasks.forget_searchers": {"queue": "maintenance"},
    "search.tasks.run_nightly": {"queue": "maintenance"},
    "search.tasks.watch_quality": {"queue": "maintenance"},
    "ingestion.tasks.scan_folder": {"queue": "imports"},
    "ingestion.tasks.purge_bin": {"queue": "imports"},
    "ingestion.tasks.run_import": {"queue": "imports"},
    "ingestion.tasks.advance_version": {"queue": "interactive"},
    "ingestion.tasks.sweep_spaces": {"queue": "maintenance"},
    "ingestion.tasks.advance_space": {"queue": "bulk"},
}
# Between two documents a process that has grown past this (in kB) makes way for a new one.
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 900_000
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A publish must fail fast when the broker is away: the sweep enqueues again from the database.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_connect_timeout": 3,
    "queue_order_strategy": "priority",
}
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.1}
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "ingestion.tasks.sweep", "schedule": 10.0, "options": {"expires": 10}},
    "sweep-spaces": {
        "task": "ingestion.tasks.sweep_spaces",
        "schedule": 10.0,
        "options": {"expires": 10},
    },
    "purge-bin": {
        "task": "ingestion.tasks.purge_bin",
        "schedule": 3600.0,
        "options": {"expires": 3600},
    },
    "look-at-folders": {
        "task": "ingestion.tasks.look_at_folders",
        "schedule": 5.0,
        "options": {"expires": 5},
    },
    "fold-statistics": {
        "task": "ingestion.tasks.fold_statistics",
        "schedule": 30.0,
        "options": {"expires": 30},
    },
    "sweep-runs": {
        "task": "search.tasks.sweep_runs",
        "schedule": 30.0,
        "options": {"expires": 30},
    },
}
CELERY_BEAT_SCHEDULE |= {
    "gather-gaps": {
        "task": "search.tasks.gather_gaps",
        "schedule": 120.0,
        "options": {"expires": 120},
    },
    "look-at-experiments": {
        "task": "search.tasks.look_at_experiments",
        "schedule": 180.0,
        "options": {"expires": 180},
    },
    "forget-searchers": {
        "task": "search.tasks.forget_searchers",
        "schedule": 3600.0,
        "options": {"expires": 3600},
    },
    # Whether it is time is asked again and again: a beat that was down at the hour misses no night.
    "run-nightly": {
        "task": "search.tasks.run_nightly",
        "schedule": 300.0,
        "options": {"expires": 300},
    },
    "watch-quality": {
        "task": "search.tasks.watch_quality",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
}
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "celerybeat-schedule")

# --- embedding ---------------------------------------------------------------------------------
EMBEDDER = env.str(
    "EMBEDDER", default="openai" if env.str("OPENAI_API_KEY", default="") else "local"
)
EMBEDDER_OPTIONS = {
    "local": {
        "folder": env.str("LOCAL_MODEL_FOLDER", default="") or None,
        "models_dir": Path(env.str("MODELS_DIR", default=str(VAR_DIR / "models"))),
        "threads": env.int("EMBEDDER_THREADS", default=0),
    },
    "openai": {
        "api_key": env.str("OPENAI_API_KEY", default=""),
        "base_url": env.str("OPENAI_BASE_URL", default="") or None,
        "model": env.str("OPENAI_EMBEDDING_MODEL", default="text-embedding-3-small"),
        "dimensions": env.int("OPENAI_EMBEDDING_DIMENSIONS", default=0) or None,
        "timeout": env.float("OPENAI_TIMEOUT", default=30.0),
        "batch_size": env.int("OPENAI_BATCH_SIZE", default=128),
    },
}
# What the index of an embedding space may take of the database server's memory while it is built.
INDEX_BUILD_MEMORY_MB = env.int("INDEX_BUILD_MEMORY_MB", default=256)
QUERY_EMBEDDING_TIMEOUT = env.float("QUERY_EMBEDDING_TIMEOUT", default=2.0)
QUERY_EMBEDDING_TTL = env.int("QUERY_EMBEDDING_TTL", default=7 * 24 * 3600)

# --- what searchers do -------------------------------------------------------------------------
# Whether searches are recorded, for how many days, and after how many they name nobody any more.
SEARCH_EVENTS = env.bool("SEARCH_EVENTS", default=True)
SEARCH_EVENTS_DAYS = max(1, env.int("SEARCH_EVENTS_DAYS", default=180))
SEARCH_EVENTS_ANONYMISE_DAYS = max(1, env.int("SEARCH_EVENTS_ANONYMISE_DAYS", default=30))
# An anonymised question keeps its words where so many visitors asked it.
SEARCH_EVENTS_KEEP_WORDS_FROM = max(1, env.int("SEARCH_EVENTS_KEEP_WORDS_FROM", default=3))

# The golden set is measured every night at this time (TIME_ZONE); empty: never.
NIGHTLY_RUN_AT = env.str("NIGHTLY_RUN_AT", default="03:30")
# A fall of the gate's measure by more than this against the last good night is an alert.
NIGHTLY_MARGIN = env.float("NIGHTLY_MARGIN", default=0.02)
ALERT_EMAILS = env.list("ALERT_EMAILS", default=[])
ALERT_WEBHOOK_URL = env.str("ALERT_WEBHOOK_URL", default="")
ALERT_TIMEOUT = env.float("ALERT_TIMEOUT", default=10.0)
globals().update(env.email_url("EMAIL_URL", default="consolemail://"))
EMAIL_TIMEOUT = ALERT_TIMEOUT
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.str("EMAIL_FROM", default="steelyard@localhost")

# --- API ---------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "common.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    # A view that declares nothing is refused.
    "DEFAULT_PERMISSION_CLASSES": ["common.api.permissions.ActionPermission"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    # OPTIONS would describe forms to people who may not fill them in.
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "common.api.schema.Schema",
    "DEFAULT_THROTTLE_CLASSES": [
        "common.api.throttling.AnonymousThrottle",
        "common.api.throttling.UserThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {
        "anon": env.str("THROTTLE_ANONYMOUS", default="120/min"),
        "user": env.str("THROTTLE_USER", default="1200/min"),
        "login": env.str("THROTTLE_LOGIN", default="10/min"),
    },
    "EXCEPTION_HANDLER": "search.api.errors.error_response",
    "NUM_PROXIES": env.int("NUM_PROXIES", default=0),
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
REST_KNOX = {
    "TOKEN_TTL": timedelta(days=env.int("API_TOKEN_DAYS", default=90)),
    "AUTH_HEADER_PREFIX": "Token",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Steelyard",
    "DESCRIPTION": "A knowledge base whose search you can weigh. Every answer holds only what "
    "its reader may see; what they may not see is as if it were not there.",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "SORT_OPERATION_PARAMETERS": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "VersionStateEnum": "ingestion.models.State",
        "SpaceStateEnum": "ingestion.models.EmbeddingSpace.State",
        "ProfileStateEnum": "search.models.SearchProfile.State",
        "InteractionKindEnum": "search.analytics.models.Interaction.Kind",
        "RunStateEnum": "search.tuning.models.EvaluationRun.State",
        "RunKindEnum": "search.tuning.models.EvaluationRun.Kind",
        "PublicationStateEnum": "search.tuning.models.Publication.State",
        "NormaliserEnum": "search.models.labels.NORMALISERS",
        "QueryClassEnum": ["lookup", "concept", "code", "debug", "comparison", "general"],
        "OptimisationKindEnum": ["weights", "presets"],
        "ExperimentKindEnum": "search.tuning.models.Experiment.Kind",
        "SignalEnum": ["vector", "keyword", "title", "recency", "synonym"],
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "common.api.schema.add_error_component",
    ],
}

# --- logging -----------------------------------------------------------------------------------
LOG_LEVEL = env.str("LOG_LEVEL", default="INFO")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{levelname:<7} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        **{app: {"level": LOG_LEVEL} for app in ("kbsite", "ingestion", "search", "common")},
        "django.request": {"level": "ERROR"},
    },
}
