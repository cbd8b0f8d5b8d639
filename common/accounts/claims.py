"""The claims of a sign-on provider (OpenID Connect): the groups they give, asked for anew.

The groups that SSO_GROUPS names are the provider's: a person who signs in with it is in those that
the claims say, and in no other of them. All other groups stay as they are. Whoever leaves a group
at the provider loses its collections at the next log-in or refresh, and after SSO_HOURS without
either: also in sessions and for API tokens, which ask for groups anew. `kbsite/sign_in.py` has the
sign-in itself.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import requests
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.signals import social_account_added
from django.conf import settings
from django.contrib.auth.models import Group
from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.db.models import Q
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.utils import timezone

from common.accounts.encryption import decipher, encipher
from common.accounts.models import SignOn, User

logger = logging.getLogger(__name__)

# For administrators: what to do is in docs/sign-on.md, "Entra ID".
LEFT_OUT = "The sign-on provider left out claims of %s, who is in too many groups: %s"
BATCH = 200  # accounts that one run refreshes; the next run goes on
# A provider that is away, answers in another form, or is no longer in the settings. The next
# person's has its turn, and these people's time runs out.
UNANSWERED = (
    requests.RequestException, OAuth2Error, KeyError, ValueError, AttributeError, TypeError,
    ObjectDoesNotExist,
)  # fmt: skip


def claims_of(account: SocialAccount) -> dict[str, Any]:
    """The most recent claims about a person: of the ID token, then of the user info."""
    extra = account.extra_data or {}
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


class Refused(Exception):
    """The provider no longer vouches for the person."""


def confirmed(login: SocialLogin) -> None:
    """Apply the claims of a log-in and store its refresh token. The account is saved."""
    token = getattr(login.token, "token_secret", "") or ""
    SignOn.objects.update_or_create(
        account=login.account,
        defaults={
            "refresh_token": encipher(token) if token else "",
            "confirmed_at": timezone.now(),
            "withdrawn": False,
        },
    )
    apply(login.account.user, claims_of(login.account))


def refresh_all(*, now: datetime | None = None) -> int:
    """Refresh the claims of the people who are due; return their approximate number.

    People whose provider refuses lose the groups that claims gave them, and so do those of whom
    nothing was heard for SSO_HOURS.
    """
    now = now or timezone.now()
    due = now - timedelta(minutes=settings.SSO_REFRESH_MINUTES)
    silent = now - timedelta(hours=settings.SSO_HOURS)
    rows = SignOn.objects.filter(
        ~Q(refresh_token="") | Q(confirmed_at__lte=silent), confirmed_at__lte=due, withdrawn=False
    )
    count = 0
    for row in rows.select_related("account__user").order_by("confirmed_at")[:BATCH]:
        _refresh(row, now=now, is_silent=row.confirmed_at <= silent)
        count += 1
    return count


def _refresh(row: SignOn, *, now: datetime, is_silent: bool) -> None:
    try:
        refreshed = _ask(row)
    except Refused as error:
        logger.info("Sign-on refused for user %s: %s", row.account.user_id, error)
        refreshed = None
        is_silent = True
    except UNANSWERED as error:
        logger.warning("A sign-on provider could not be asked: %s", type(error).__name__)
        refreshed = None
    if refreshed is not None:
        new_claims, token = refreshed
        row.account.extra_data = {**(row.account.extra_data or {}), **new_claims}
        row.account.save(update_fields=["extra_data"])
        row.refresh_token = encipher(token) if token else row.refresh_token
        row.confirmed_at = now
        row.save()
        current = claims_of(row.account)
        if missing := left_out(current):
            logger.warning(LEFT_OUT, row.account.uid, ", ".join(missing))
        apply(row.account.user, current)
    elif is_silent:
        row.withdrawn = True
        row.save(update_fields=["withdrawn"])
        apply(row.account.user, {})


def _ask(row: SignOn) -> tuple[dict[str, Any], str] | None:
    """New claims and the next refresh token; None without a token. Raises Refused and others."""
    token = decipher(row.refresh_token) if row.refresh_token else ""
    if not token:
        return None
    app = get_adapter().get_app(None, provider=row.account.provider)
    server = app.settings["server_url"].removesuffix("/")
    with get_adapter().get_requests_session() as session:
        config = session.get(_discovery(server))
        config.raise_for_status()
        discovery = config.json()
        # As allauth does at the log-in: in the form, or in the header if only that is accepted.
        ways = discovery.get("token_endpoint_auth_methods_supported", [])
        in_header = "client_secret_post" not in ways and "client_secret_basic" in ways
        secret = {} if in_header else {"client_id": app.client_id, "client_secret": app.secret}
        response = session.post(
            discovery["token_endpoint"],
            data={"grant_type": "refresh_token", "refresh_token": token, **secret},
            auth=(app.client_id, app.secret) if in_header else None,
        )
        if response.status_code in (400, 401):
            raise Refused(str(_json(response).get("error", response.status_code))[:40])
        response.raise_for_status()
        answer = response.json()
        new_claims: dict[str, Any] = {}
        if answer.get("id_token"):
            new_claims["id_token"] = jwtkit.verify_and_decode(
                credential=answer["id_token"],
                keys_url=discovery["jwks_uri"],
                issuer=discovery["issuer"],
                audience=app.client_id,
                lookup_kid=jwtkit.lookup_kid_jwk,
            )
        if discovery.get("userinfo_endpoint"):
            headers = {"Authorization": f"Bearer {answer['access_token']}"}
            info = session.get(discovery["userinfo_endpoint"], headers=headers)
            if info.status_code in (401, 403):
                raise Refused("user info")
            info.raise_for_status()
            new_claims["userinfo"] = info.json()
    if not new_claims or any(
        str(part.get("sub")) != row.account.uid for part in new_claims.values()
    ):
        raise Refused("another subject")
    return new_claims, str(answer.get("refresh_token") or "")


def _discovery(server: str) -> str:
    path = "/.well-known/openid-configuration"
    return server if "/.well-known/" in server else f"{server}{path}"


def _json(response: requests.Response) -> dict[str, Any]:
    try:
        data = response.json()
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


# --- when a sign-on is connected to an account, and when it no longer is ---


@receiver(social_account_added)
def connected(sociallogin: SocialLogin, **_: Any) -> None:
    """Apply the claims of the newly connected sign-on."""
    confirmed(sociallogin)


@receiver(post_delete, sender=SignOn)
def disconnected(instance: SignOn, **_: Any) -> None:
    """Remove the groups set by claims: without the connection they would never be refreshed."""
    if user := User.objects.filter(pk=instance.account.user_id).first():
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
