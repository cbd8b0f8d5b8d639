"""The groups that the claims of a sign-on provider (OpenID Connect, SAML) give (SSO_GROUPS).

The groups that SSO_GROUPS names are the provider's: a person who signs in with it is in those that
the claims say, and in no other of them. All other groups stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import transaction

from common.accounts.models import User


def merged(extra: Mapping[str, Any]) -> dict[str, Any]:
    """The claims of an account's stored data: of the ID token, then of the user info."""
    if "id_token" not in extra and "userinfo" not in extra:
        return dict(extra)  # SAML's attributes
    return {**(extra.get("id_token") or {}), **(extra.get("userinfo") or {})}


def group_names(claims: Mapping[str, Any]) -> set[str]:
    """The names of the groups that the claims put a person into."""
    return {
        group
        for claim, by_value in settings.SSO_GROUPS.items()
        for value in _values(claims, claim)
        for group in _as_list(by_value.get(value, ()))
    }


def left_out(claims: Mapping[str, Any]) -> list[str]:
    """The claims of SSO_GROUPS that the provider replaced by an overage marker, as too long.

    "Distributed claims" (OpenID Connect Core 1.0, section 5.6.2): Entra ID names them for members
    of more than 200 groups. Whoever has no such claim is in no group; of these people nobody knows.
    """
    elsewhere = claims.get("_claim_names")
    names = elsewhere if isinstance(elsewhere, Mapping) else {}
    return sorted(name for name in settings.SSO_GROUPS if name in names and name not in claims)


def managed_names() -> set[str]:
    """The names of all groups whose membership is set by claims."""
    mapped = settings.SSO_GROUPS.values()
    return {group for by_value in mapped for to in by_value.values() for group in _as_list(to)}


def apply(user: User, claims: Mapping[str, Any]) -> None:
    """Set the user's groups to those of the claims; missing groups are created."""
    names = group_names(claims)
    managed = managed_names()
    with transaction.atomic():
        current = dict(user.groups.filter(name__in=managed).values_list("name", "pk"))
        if removed := [pk for name, pk in current.items() if name not in names]:
            user.groups.remove(*removed)
        for name in sorted(names - current.keys()):
            user.groups.add(Group.objects.get_or_create(name=name)[0])


def withdraw(user: User) -> None:
    """Remove the user from all groups whose membership is set by claims."""
    apply(user, {})


def _values(claims: Mapping[str, Any], path: str) -> Iterator[str]:
    """The values at a claim's path, “realm_access.roles”; a name with a dot itself comes first."""
    value_at: Any = claims.get(path)
    if value_at is None:
        value_at = claims
        for part in path.split("."):
            value_at = value_at.get(part) if isinstance(value_at, Mapping) else None
    for value in _as_list(value_at):
        if isinstance(value, str | int):
            yield str(value)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
