"""What `manage.py check --deploy` says beyond Django: hosts, proxies, secrets, servers."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from csp.constants import UNSAFE_EVAL, UNSAFE_INLINE
from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Tags, register
from django.core.checks import Warning as CheckWarning
from django.http.request import validate_host

Apps = Sequence[AppConfig] | None

LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
# Who may read this file besides its owner and its group.
OTHERS = stat.S_IROTH | stat.S_IWOTH


def warning(number: int, text: str, hint: str) -> CheckMessage:
    """Return a warning of this module, whose ids begin at W040."""
    return CheckWarning(text, hint=hint, id=f"steelyard.W{number:03}")


@register(Tags.security, deploy=True)
def check_hosts(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """The site must answer to its own names only, and know the one that mails link to."""
    problems = []
    hosts = settings.ALLOWED_HOSTS
    if "*" in hosts:
        problems.append(
            warning(
                40,
                "ALLOWED_HOSTS contains *: a forged Host header gets into links for others.",
                "List the site's names, such as kb.example.org.",
            )
        )
    elif hosts and set(hosts) <= LOOPBACK:
        problems.append(
            warning(
                40,
                "ALLOWED_HOSTS names this machine only: readers elsewhere get 400.",
                "Add the site's name, such as kb.example.org.",
            )
        )
    for origin in settings.CSRF_TRUSTED_ORIGINS:
        name = urlsplit(origin).netloc.rpartition(":")[0] or urlsplit(origin).netloc
        if not validate_host(name.replace("*.", "x."), [host.lower() for host in hosts]):
            problems.append(
                warning(
                    41,
                    f"CSRF_TRUSTED_ORIGINS trusts {origin}, which is no name of this site.",
                    "Its pages may send forms in a reader's name. Remove it, or add its host to "
                    "ALLOWED_HOSTS.",
                )
            )
    if urlsplit(settings.SITE_URL).hostname in {"localhost", "127.0.0.1", "::1"}:
        problems.append(
            warning(
                42,
                f"Links in mails lead to {settings.SITE_URL}, the machine of whoever reads them.",
                "Set SITE_URL, or CSRF_TRUSTED_ORIGINS, to https://kb.example.org.",
            )
        )
    return problems


@register(Tags.security, deploy=True)
def check_proxies(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """What the site believes of a proxy's headers must fit the proxies that it has."""
    behind = bool(settings.SECURE_PROXY_SSL_HEADER)
    proxies = settings.REST_FRAMEWORK["NUM_PROXIES"] or 0
    problems = []
    if settings.SECURE_SSL_REDIRECT and not behind:
        problems.append(
            warning(
                43,
                "HTTPS=1 without BEHIND_PROXY=1: unless gunicorn itself has the certificate, every "
                "page redirects to itself for ever.",
                "Set BEHIND_PROXY=1 where your proxy sets X-Forwarded-Proto on every request.",
            )
        )
    if behind and not proxies:
        problems.append(
            warning(
                44,
                "BEHIND_PROXY=1 with NUM_PROXIES=0: all readers share the proxy's address, and so "
                "each other's limits.",
                "Set NUM_PROXIES to the number of proxies that add to X-Forwarded-For.",
            )
        )
    if proxies and not behind:
        problems.append(
            warning(
                44,
                f"NUM_PROXIES={proxies} without BEHIND_PROXY=1: if there is no proxy, each reader "
                "chooses the address that limits count by.",
                "Set BEHIND_PROXY=1, or NUM_PROXIES=0.",
            )
        )
    return problems


@register(Tags.security, deploy=True)
def check_secrets(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Files with secrets must be closed to other users of the machine."""
    return [
        warning(
            45,
            f"Every user of this machine may read or write {path}.",
            f"chmod o= {path}. It holds what signs sessions and opens the database.",
        )
        for path in _secret_files()
        if path.exists() and path.stat().st_mode & OTHERS
    ]


def _secret_files() -> Iterator[Path]:
    yield Path(settings.BASE_DIR) / ".env"
    if not os.environ.get("SECRET_KEY"):
        yield Path(settings.VAR_DIR) / "secret_key"


@register(Tags.security, deploy=True)
def check_debugging(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """What helps to find a fault shows readers' questions to whoever reads the log."""
    if settings.LOG_LEVEL.upper() != "DEBUG":
        return []
    return [
        warning(
            46,
            "LOG_LEVEL=DEBUG: logs may contain questions and texts of documents.",
            "Set it to INFO once the fault is found.",
        )
    ]


@register(Tags.security, deploy=True)
def check_servers(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """The embedded servers are for one machine and one user."""
    embedded = [
        name
        for name, used in (
            ("DATABASE_URL", settings.EMBEDDED_POSTGRES),
            ("REDIS_URL", settings.EMBEDDED_REDIS),
        )
        if used
    ]
    if not embedded:
        return []
    return [
        warning(
            47,
            f"{' and '.join(embedded)} not set: an embedded server is used, which nobody "
            "backs up, watches or upgrades for you.",
            "Set both to servers of your own (docs/operations.md).",
        )
    ]


@register(Tags.security, deploy=True)
def check_policy(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Pages must name the scripts that a browser may run (docs/adr/0062)."""
    policy: Any = settings.CONTENT_SECURITY_POLICY
    sources = {*policy["DIRECTIVES"].get("script-src", ["*"])}
    is_sent = any("ContentSecurityPolicy" in name for name in settings.MIDDLEWARE)
    if is_sent and not sources & {"*", "http:", "https:", "data:", UNSAFE_EVAL, UNSAFE_INLINE}:
        return []
    return [
        warning(
            50,
            "The Content-Security-Policy lets pages run any script.",
            "Leave CONTENT_SECURITY_POLICY and MIDDLEWARE as they are in kbsite/settings/site.py.",
        )
    ]
