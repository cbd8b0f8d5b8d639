"""The Django site: applications, pages, files, security, email, monitoring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from csp.constants import NONCE, NONE, SELF

from common import metrics_files as processes
from common import parts
from kbsite.operations.logs import logging_of
from kbsite.settings.environment import RESOURCES_DIR, VAR_DIR, env
from kbsite.settings.parts import SEARCH_PARTS

DEBUG = env.bool("DEBUG", default=False)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
# Whether nothing can be changed over HTTP: for exported servers.
READ_ONLY = env.bool("READ_ONLY", default=False)
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
# The site's own address, for links in mails.
SITE_URL = env.str("SITE_URL", default=next(iter(CSRF_TRUSTED_ORIGINS), "http://localhost:8000"))

# --- applications ------------------------------------------------------------------------------
INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "kbsite.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "csp",
    "django_htmx",
    "rest_framework",
    "kbsite.apps.TokensConfig",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django.contrib.humanize",
    "axes",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.mfa",
    "allauth.idp.oidc",
    "kbsite",
    "kbsite.apps.AccountsConfig",
    "kbsite.apps.AuditConfig",
    "ingestion",
    "ingestion.apps.WebhooksConfig",
    "search",
    "search.apps.TuningConfig",
    "search.apps.AnswersConfig",
    "search.apps.AnalyticsConfig",
    "search.apps.ReadersConfig",
    *parts.packages_of(SEARCH_PARTS),
]
AUTH_USER_MODEL = "accounts.User"
MIDDLEWARE = [
    "kbsite.operations.instrumentation.observe",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "corsheaders.middleware.CorsMiddleware",
    "kbsite.serving.middleware.ContentSecurityPolicy",
    "kbsite.serving.middleware.Compressed",
    "search.read_only_server.ReadOnly",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "kbsite.serving.middleware.Language",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "kbsite.sign_in.RefusalMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
ROOT_URLCONF = "kbsite.urls"
ASGI_APPLICATION = "kbsite.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [RESOURCES_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "kbsite.serving.middleware.nonce",
            ]
        },
    }
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

LANGUAGE_CODE = "en"
# Those of the readers' pages: docs/extending.md, "Another language is a file".
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("fr", "français")]
TIME_ZONE = env.str("TIME_ZONE", default="UTC")
USE_I18N = True
LOCALE_PATHS = [RESOURCES_DIR / "locale"]
USE_TZ = True
FORMAT_MODULE_PATH = "kbsite.formats"

# --- files -------------------------------------------------------------------------------------
STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [RESOURCES_DIR / "static"]
# Originals are private: no MEDIA_URL; they are served only by a view that checks `visible_to`.
MEDIA_ROOT = Path(env.str("FILES_DIR", default=str(VAR_DIR / "files"))).resolve()
# A bucket for them instead, for sites on several machines: s3://BUCKET/PREFIX.
ORIGINALS_URL = env.str("ORIGINALS_URL", default="")
# The folder of `manage.py backup`, whose age is looked at, or “elsewhere”; empty: no backups.
BACKUP_FOLDER = env.str("BACKUP_FOLDER", default="")
STORAGES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "ingestion.files.bucket.BucketStorage",
        "OPTIONS": {"address": ORIGINALS_URL},
    }
    if ORIGINALS_URL
    else {"BACKEND": "django.core.files.storage.FileSystemStorage"},
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
# A health check inside a container uses plain HTTP, and so does a scrape.
SECURE_REDIRECT_EXEMPT = [r"^health/$", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0  # a year, as browsers' preload lists ask for
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
if env.bool("BEHIND_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# What pages may load and run: this site's files, and scripts that its templates name. Exceptions:
# kbsite/serving/middleware.py, reasons: ADR 65. Django 6 reads the same directives from SECURE_CSP.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
# W002 asks for axes' middleware by name: RefusalMiddleware extends it.
SILENCED_SYSTEM_CHECKS = ["axes.W002"]

# --- email ---
_email = env.email_url("EMAIL_URL", default="consolemail://")
EMAIL_BACKEND = _email["EMAIL_BACKEND"]
EMAIL_HOST, EMAIL_PORT = _email["EMAIL_HOST"], _email["EMAIL_PORT"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _email["EMAIL_HOST_USER"], _email["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS, EMAIL_USE_SSL = (_email.get(f"EMAIL_USE_{name}", False) for name in ("TLS", "SSL"))
EMAIL_FILE_PATH = _email["EMAIL_FILE_PATH"]
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.str("EMAIL_FROM", default="steelyard@localhost")

# --- monitoring (docs/monitoring.md) ---
# Whoever sends this as a bearer token may read /metrics; empty: nobody, the address does not exist.
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
# The folder of the counts of all processes of this machine: not shared with other machines.
METRICS_DIR = Path(env.str("METRICS_DIR", default=str(VAR_DIR / "metrics"))).resolve()
METRICS_SHARED = processes.keep_in(METRICS_DIR)

LOG_LEVEL = env.str("LOG_LEVEL", default="INFO")
# line: for people; json: an object a line, for programs.
LOG_FORMAT = env.str("LOG_FORMAT", default="line")
LOGGING = logging_of(LOG_FORMAT, LOG_LEVEL)
