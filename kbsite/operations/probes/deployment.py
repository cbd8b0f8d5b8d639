"""Probes of a site that others reach, for `check --deploy`; all probes as Django system checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from csp.constants import UNSAFE_EVAL, UNSAFE_INLINE
from django.apps import AppConfig
from django.conf import settings
from django.core.checks import ERROR, WARNING, CheckMessage, Error, Info, Tags, run_checks
from django.core.checks import Warning as CheckWarning
from django.core.checks import register as register_check
from django.db import DatabaseError
from django.http.request import validate_host

from common.probes import Finding, Occasion, Probe, State, look, of, register, wrong

LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
# Longer than this, a token of a program is found before it expires: a guess.
LONG_DAYS = 400


@register("hosts", Occasion.DEPLOYMENT)
def hosts() -> Iterator[Finding]:
    """The site must answer to its own names only, and know the one that mails link to."""
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
    """What the site believes of a proxy's headers must fit the proxies that it has."""
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
        yield look(f"{text}chooses the address that limits count by.", advice, "W044")


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
        advice = "Set both to servers of your own (docs/operations.md)."
        yield look(f"{text}backs up, watches or upgrades for you.", advice, "W047")


@register("policy", Occasion.DEPLOYMENT)
def policy() -> Iterator[Finding]:
    """Pages must name the scripts that a browser may run (docs/adr/0062)."""
    directives: Any = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    sources = {*directives.get("script-src", ["*"])}
    is_sent = any("ContentSecurityPolicy" in name for name in settings.MIDDLEWARE)
    if not is_sent or sources & {"*", "http:", "https:", "data:", UNSAFE_EVAL, UNSAFE_INLINE}:
        text = "The Content-Security-Policy lets pages run any script."
        advice = "Leave CONTENT_SECURITY_POLICY and MIDDLEWARE as they are in "
        yield look(text, f"{advice}kbsite/settings/site.py.", "W050")


@register("sign-in", Occasion.DEPLOYMENT)
def sign_in() -> Iterator[Finding]:
    if settings.STAFF_SECOND_FACTOR == "off":
        advice = "Set STAFF_SECOND_FACTOR to password or all (docs/operations.md)."
        yield look("Staff sign in with a password alone.", advice, "W051")
    providers: Any = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]
    for one in providers["APPS"]:
        if not one["settings"]["server_url"].startswith("https://"):
            text = f"The sign-on provider {one['provider_id']} is asked without TLS."
            yield look(text, "Use its address with https://.", "W052")
    if settings.SSO_SIGN_UP == "open" and "/common/" in settings.OIDC_SERVER:
        advice = "Put your tenant's id in place of “common”, or set SSO_SIGN_UP=mapped."
        yield look("Everybody with a Microsoft account gets an account here.", advice, "W053")
    lifetime: Any = settings.REST_KNOX["TOKEN_TTL"]
    if lifetime.days > LONG_DAYS:
        text = "API tokens last longer than a year."
        yield look(text, "Set API_TOKEN_DAYS to 365 or less.", "W054")


Apps = Sequence[AppConfig] | None
_LEVELS = {State.OK: Info, State.LOOK: CheckWarning, State.WRONG: Error}


def messages(probe: Probe) -> list[CheckMessage]:
    """The findings that have an id; none before the first migrate, or if the server is down."""
    try:
        return [
            _LEVELS[each.state](each.text, hint=each.advice or None, id=f"steelyard.{each.check}")
            for each in probe.examine()
            if each.check
        ]
    except DatabaseError:
        return []


def _messages(scope: Occasion) -> list[CheckMessage]:
    return [message for probe in of(scope) for message in messages(probe)]


@register_check()
def check_settings(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    return _messages(Occasion.SETTINGS)


@register_check(Tags.security, deploy=True)
def check_deployment(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    return _messages(Occasion.DEPLOYMENT)


@register_check(Tags.database)
def check_rows(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    return _messages(Occasion.ROWS) if "default" in (databases or ()) else []


@register_check(Tags.database, deploy=True)
def check_deployed_rows(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    return _messages(Occasion.DEPLOYED_ROWS) if "default" in (databases or ()) else []


def check_for_people(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Registered by the command `check` alone: other commands should not list all of this."""
    return _messages(Occasion.CHECK)


def findings(also: Sequence[CheckMessage] = (), **options: Any) -> Iterator[Finding]:
    """The warnings and errors of all of Django's checks, for the doctor."""
    for each in [*run_checks(**options), *also]:
        if each.level >= WARNING and not each.is_silenced():
            make = wrong if each.level >= ERROR else look
            yield make(f"{each.msg} ({each.id})", each.hint or "See docs/operations.md.")
