"""System checks of people's settings: sign-on, second factors, proxies, tokens.

Those of wrong settings always run; those of a site that others reach with `check --deploy`, where
Django's own look at cookies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as CheckWarning
from django.db import DatabaseError

Apps = Sequence[AppConfig] | None
SIGN_UP = ("closed", "mapped", "open")
SECOND_FACTOR = ("off", "password", "all")
# Longer than this, a token of a program is found before it expires: a guess.
LONG_DAYS = 400


@register()
def check_people(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Settings of people must have a meaning; nothing is contacted."""
    return [
        Error(message, hint="docs/sign-on.md describes each setting.", id="steelyard.E040")
        for message in _wrong()
    ]


def _wrong() -> Iterator[str]:
    if settings.SSO_SIGN_UP not in SIGN_UP:
        yield f"SSO_SIGN_UP is “{settings.SSO_SIGN_UP}”: write {', '.join(SIGN_UP)}."
    if settings.STAFF_SECOND_FACTOR not in SECOND_FACTOR:
        known = ", ".join(SECOND_FACTOR)
        yield f"STAFF_SECOND_FACTOR is “{settings.STAFF_SECOND_FACTOR}”: write {known}."
    if not _is_mapping(settings.SSO_GROUPS):
        yield 'SSO_GROUPS is no JSON like {"groups": {"a value": "a group"}}.'
    if settings.OIDC_SERVER and not settings.OIDC_CLIENT_ID:
        yield "OIDC_SERVER is set, and OIDC_CLIENT_ID is not."
    negative = [*settings.QUOTAS_USER.values(), *settings.QUOTAS_TOKEN.values()]
    if any(number < 0 for number in negative):
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


@register(Tags.security, deploy=True)
def check_people_deployed(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """What a site that others reach should have set."""
    return [
        CheckWarning(message, hint=hint, id=f"steelyard.W{number:03d}")
        for number, message, hint in _weak()
    ]


def _weak() -> Iterator[tuple[int, str, str]]:
    if settings.STAFF_SECOND_FACTOR == "off":
        hint = "Set STAFF_SECOND_FACTOR to password or all (docs/operations.md)."
        yield 20, "Staff sign in with a password alone.", hint
    if not settings.REST_FRAMEWORK["NUM_PROXIES"] and settings.SECURE_PROXY_SSL_HEADER:
        hint = "Set NUM_PROXIES to the number of proxies, usually 1."
        text = "Behind a proxy all people share its address: ten wrong passwords lock all out."
        yield 21, text, hint
    providers: Any = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]
    for one in providers["APPS"]:
        if not one["settings"]["server_url"].startswith("https://"):
            text = f"The sign-on provider {one['provider_id']} is asked without TLS."
            yield 22, text, "Use its address with https://."
    if settings.SSO_SIGN_UP == "open" and "/common/" in settings.OIDC_SERVER:
        hint = "Put your tenant's id in place of “common”, or set SSO_SIGN_UP=mapped."
        yield 23, "Everybody with a Microsoft account gets an account here.", hint
    lifetime: Any = settings.REST_KNOX["TOKEN_TTL"]
    if lifetime.days > LONG_DAYS:
        yield 24, "API tokens last longer than a year.", "Set API_TOKEN_DAYS to 365 or less."


@register(Tags.database, deploy=True)
def check_tokens(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Warn of tokens that may do all, and of superusers without a second factor."""
    from common.accounts.models import User
    from common.accounts.rights import FACTORS
    from common.accounts.tokens import everlasting

    if "default" not in (databases or ()):
        return []
    problems: list[CheckMessage] = []
    try:
        if count := everlasting().count():
            text = f"{count} API tokens never expire, or may do all that their users may."
            hint = "Revoke them under “API tokens” in the admin; their owners make others."
            problems.append(CheckWarning(text, hint=hint, id="steelyard.W048"))
        bare = User.objects.filter(is_active=True, is_superuser=True)
        bare = bare.exclude(authenticator__type__in=FACTORS)
        if settings.STAFF_SECOND_FACTOR == "off" and (count := bare.count()):
            text = f"{count} superusers have no second factor."
            hint = "They add one under “Second factor” of their page."
            problems.append(CheckWarning(text, hint=hint, id="steelyard.W049"))
    except DatabaseError:
        return []  # before the first migrate, or the command reports that the server is down
    return problems
