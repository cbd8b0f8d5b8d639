"""Four providers by the settings that docs/sign-on.md gives for them, each in its dialect."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from common.accounts import claims
from common.accounts.models import SignOn, User
from ingestion.models import Collection
from tests.support.factories import make_collection
from tests.support.oidc_provider import (
    AUTHENTIK,
    CLIENT,
    ENTRA,
    GOOGLE,
    KEYCLOAK,
    SECRET,
    TENANT,
    Dialect,
    OidcProvider,
)
from tests.web.test_sign_on import reads, sign_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]
ROOT = Path(__file__).resolve().parents[2]
LOGIN = "/accounts/oidc/sso/login/"
GUID = "6f1c9d0e-4b7a-4f0e-9d55-0f8f0a7b1c2d"
DIALECTS = {"Entra ID": ENTRA, "Google": GOOGLE, "Keycloak": KEYCLOAK, "Authentik": AUTHENTIK}
# The placeholders of the examples; the hosts are all the test's provider.
PLACES = {"TENANT-ID": TENANT, "OBJECT-ID-OF-THE-GROUP": GUID}
HOSTS = "https://(login.microsoftonline.com|accounts.google.com|sso.example.org|auth.example.org)"


def documented(name: str, provider: OidcProvider) -> dict[str, str]:
    """The settings of the provider's section, with the placeholders filled in."""
    text = (ROOT / "docs" / "sign-on.md").read_text()
    block = re.search(rf"\n## {name}\n.*?```ini\n(.*?)```", text, re.DOTALL)
    assert block
    filled = re.sub(HOSTS, provider.base, block[1])
    for place, value in PLACES.items():
        filled = filled.replace(place, value)
    return {
        "SSO_SIGN_UP": "mapped",
        **dict(line.split("=", 1) for line in filled.splitlines()),
        "OIDC_CLIENT_ID": CLIENT,
        "OIDC_CLIENT_SECRET": SECRET,
    }


@pytest.fixture(params=DIALECTS)
def provider(
    request: pytest.FixtureRequest, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OidcProvider]:
    dialect: Dialect = DIALECTS[request.param]
    groups = [GUID if dialect is ENTRA else "insiders"]
    person = {"sub": "1001", "login": "ann", "email": "ann@example.org", "groups": groups}
    with OidcProvider(dialect, **person) as started:
        for name, value in documented(request.param, started).items():
            monkeypatch.setenv(name, value)
        # The settings as a site with these variables reads them.
        read = runpy.run_path(str(ROOT / "kbsite" / "settings" / "accounts.py"))
        for name, value in read.items():
            if name.startswith(("SSO_", "OIDC_", "SOCIALACCOUNT_")):
                setattr(settings, name, value)
        yield started


@pytest.fixture
def vault(provider: OidcProvider) -> Collection:
    name = "house" if provider.dialect is GOOGLE else "insiders"
    return make_collection("Vault", visibility="groups", groups=[name])


def test_provider_signs_users_in_with_groups(provider: OidcProvider, vault: Collection) -> None:
    _, response = sign_in(address=LOGIN, next="/library/")

    assert response.headers["Location"] == "/library/", response.content
    ann = User.objects.get()
    assert ann.username == "ann"
    assert reads(ann, vault)
    # Google alone says that the address is verified.
    assert ann.email == ("ann@example.org" if provider.dialect is GOOGLE else None)


def test_lost_group_is_noticed_at_the_refresh(provider: OidcProvider, vault: Collection) -> None:
    sign_in(address=LOGIN)
    ann = User.objects.get()
    provider.person |= {"groups": [], "email": "ann@gmail.example"}
    if provider.dialect is GOOGLE:  # it gives no refresh tokens
        assert not SignOn.objects.get().refresh_token
        assert claims.refresh_all(now=timezone.now() + timedelta(hours=11)) == 0
        sign_in(address=LOGIN)
    else:
        claims.refresh_all(now=timezone.now() + timedelta(minutes=16))
    assert not reads(ann, vault)
    assert not SignOn.objects.get().withdrawn


@pytest.mark.parametrize("provider", ["Keycloak"], indirect=True)
def test_realm_roles_of_keycloak_are_groups(provider: OidcProvider) -> None:
    provider.person |= {"groups": [], "roles": ["kb-reader"]}
    sign_in(address=LOGIN)
    assert [group.name for group in User.objects.get().groups.all()] == ["readers"]


@pytest.mark.parametrize("provider", ["Entra ID"], indirect=True)
class TestTooManyGroups:
    """Entra ID leaves the claim out for members of more than 200 groups."""

    def test_too_many_groups_are_refused_with_a_reason(
        self, provider: OidcProvider, caplog: pytest.LogCaptureFixture
    ) -> None:
        provider.person["groups"] = [GUID, *(f"{GUID[:-3]}{i}" for i in range(100, 300))]
        client, response = sign_in(address=LOGIN)

        assert response.status_code == 403
        assert "too many groups" in response.content.decode()
        assert "left out" in caplog.text
        assert "_auth_user_id" not in client.session
        assert not User.objects.exists()

    def test_too_many_groups_remove_the_granted_groups(
        self, provider: OidcProvider, vault: Collection, caplog: pytest.LogCaptureFixture
    ) -> None:
        sign_in(address=LOGIN)
        ann = User.objects.get()
        assert reads(ann, vault)
        provider.person["groups"] = [GUID] * 201
        claims.refresh_all(now=timezone.now() + timedelta(minutes=16))
        assert not reads(ann, vault)
        assert "left out" in caplog.text
