"""How four providers speak OpenID Connect, by their documentation: paths, claims, what is missing.

Of `tests.support.oidc_provider`, which is one of them at a time; all stand on one port, though
Google's and Entra ID's endpoints are on several hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Claims = dict[str, Any]
TENANT = "8eaef023-2b34-4da1-9baa-8bc8c9d6a490"


@dataclass(frozen=True)
class Dialect:
    """A provider's ways. Paths are those of its addresses; `server` is what OIDC_SERVER names.

    `told` makes the claims of the ID token and of the user info from what is known of a person:
    sub, login, email, groups.
    """

    server: str
    issuer: str
    authorize: str
    token: str
    userinfo: str
    keys: str
    told: Callable[[Mapping[str, Any]], tuple[Claims, Claims]]
    key_left_out: tuple[str, ...] = ()
    has_encryption_key: bool = False
    scopes: frozenset[str] = frozenset({"openid", "profile", "email", "offline_access"})


def _entra(person: Mapping[str, Any]) -> tuple[Claims, Claims]:
    # https://learn.microsoft.com/en-us/entra/identity-platform/id-token-claims-reference
    groups: Claims = {"groups": list(person["groups"])}
    if len(person["groups"]) > 200:
        source = f"https://graph.windows.net/{TENANT}/users/{person['sub']}/getMemberObjects"
        groups = {
            "_claim_names": {"groups": "src1"},
            "_claim_sources": {"src1": {"endpoint": source}},
        }
    token = {
        "sub": person["sub"],
        "name": "Ann Example",
        "oid": "690222be-ff1a-4d56-abd1-7e4f7d38e474",
        "preferred_username": person["email"],
        "email": person["email"],
        "tid": TENANT,
        "ver": "2.0",
        **groups,
    }
    info = {"sub": person["sub"], "name": "Ann Example", "email": person["email"]}
    return token, {**info, "given_name": "Ann", "family_name": "Example"}


def _google(person: Mapping[str, Any]) -> tuple[Claims, Claims]:
    # https://developers.google.com/identity/openid-connect/openid-connect
    shared = {
        "sub": person["sub"],
        "hd": person["email"].partition("@")[2],
        "email": person["email"],
        "email_verified": True,
        "name": "Ann Example",
        "given_name": "Ann",
    }
    return {**shared, "azp": "steelyard-client", "at_hash": "HK6E_P6Dh8Y93mRNtsDB1Q"}, shared


def _keycloak(person: Mapping[str, Any]) -> tuple[Claims, Claims]:
    # https://www.keycloak.org/docs/latest/server_admin/ (Group Membership; realm roles)
    shared = {
        "sub": person["sub"],
        "email_verified": False,
        "preferred_username": person["login"],
        "email": person["email"],
        "groups": [f"/{name}" for name in person["groups"]],
    }
    roles = {"realm_access": {"roles": ["offline_access", *person.get("roles", [])]}}
    return {**shared, **roles, "typ": "ID", "azp": "steelyard-client", "acr": "1"}, shared


def _authentik(person: Mapping[str, Any]) -> tuple[Claims, Claims]:
    # https://docs.goauthentik.io/add-secure-apps/providers/oauth2/
    shared = {
        "sub": person["sub"],
        "email": person["email"],
        "email_verified": False,
        "name": "Ann Example",
        "preferred_username": person["login"],
        "nickname": person["login"],
        "groups": list(person["groups"]),
    }
    return {**shared, "acr": "goauthentik.io/providers/oauth2/default"}, shared


HOUSE = Dialect(
    server="/realm",
    issuer="/realm",
    authorize="/realm/authorize",
    token="/realm/token",
    userinfo="/realm/userinfo",
    keys="/realm/keys",
    told=lambda person: (dict(person), dict(person)),
)
ENTRA = Dialect(
    server=f"/{TENANT}/v2.0",
    issuer=f"/{TENANT}/v2.0",
    authorize=f"/{TENANT}/oauth2/v2.0/authorize",
    token=f"/{TENANT}/oauth2/v2.0/token",
    userinfo="/oidc/userinfo",
    keys=f"/{TENANT}/discovery/v2.0/keys",
    told=_entra,
    key_left_out=("alg",),
)
GOOGLE = Dialect(
    server="",
    issuer="",
    authorize="/o/oauth2/v2/auth",
    token="/token",
    userinfo="/v1/userinfo",
    keys="/oauth2/v3/certs",
    told=_google,
    # Another one is an error there: invalid_scope.
    scopes=frozenset({"openid", "profile", "email"}),
)
KEYCLOAK = Dialect(
    server="/realms/REALM",
    issuer="/realms/REALM",
    authorize="/realms/REALM/protocol/openid-connect/auth",
    token="/realms/REALM/protocol/openid-connect/token",
    userinfo="/realms/REALM/protocol/openid-connect/userinfo",
    keys="/realms/REALM/protocol/openid-connect/certs",
    told=_keycloak,
    has_encryption_key=True,
)
AUTHENTIK = Dialect(
    server="/application/o/APPLICATION",
    # The slash at its end is part of the issuer.
    issuer="/application/o/APPLICATION/",
    authorize="/application/o/authorize/",
    token="/application/o/token/",
    userinfo="/application/o/userinfo/",
    keys="/application/o/APPLICATION/jwks/",
    told=_authentik,
)
