"""Signing in with an OpenID Connect provider over HTTP: accounts, groups, refresh, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from common.accounts import claims
from common.accounts.models import SignOn, User
from ingestion.models import Collection
from kbsite.tasks import forget_sessions
from tests.support.factories import make_collection, make_document
from tests.support.oidc_provider import CLIENT, SECRET, OidcProvider

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

LOGIN = "/accounts/oidc/house/login/"
GROUPS = {"groups": {"6f1c": "insiders", "77aa": ["crew", "insiders"]}}


@pytest.fixture
def provider(settings: Any) -> Iterator[OidcProvider]:
    with OidcProvider(groups=["6f1c"]) as started:
        settings.SOCIALACCOUNT_PROVIDERS = {
            "openid_connect": {
                "OAUTH_PKCE_ENABLED": True,
                "APPS": [
                    {
                        "provider_id": "house",
                        "name": "House",
                        "client_id": CLIENT,
                        "secret": SECRET,
                        "settings": {"server_url": started.issuer, "oauth_pkce_enabled": True},
                    }
                ],
            }
        }
        settings.SSO_SIGN_UP = "open"
        settings.SSO_GROUPS = GROUPS
        yield started


@pytest.fixture
def vault(db: None) -> Collection:
    return make_collection("Vault", visibility="groups", groups=["insiders"])


def sign_in(
    client: Client | None = None, *, address: str = LOGIN, **data: str
) -> tuple[Client, Any]:
    """A browser's way to the provider and back; the client and the last response."""
    client = client or Client()
    sent = client.post(address, data)
    assert sent.status_code == 302, sent.content
    back = requests.get(sent.headers["Location"], allow_redirects=False, timeout=60)
    found = urlsplit(back.headers["Location"])
    return client, client.get(f"{found.path}?{found.query}")


def reads(user: User, collection: Collection) -> bool:
    return Collection.objects.visible_to(user).filter(pk=collection.pk).exists()


class TestSigningIn:
    def test_sign_on_creates_an_account_with_groups(
        self, provider: OidcProvider, vault: Collection
    ) -> None:
        make_document(vault, "# Rope\n\nA rope.")
        client, response = sign_in(next="/library/")

        assert response.headers["Location"] == "/library/"
        ann = User.objects.get(username="ann")
        assert not ann.has_usable_password()
        assert reads(ann, vault)
        assert "Vault" in client.get("/library/").content.decode()
        assert [path for path, _ in provider.asked].count("/realm/keys") == 1

    def test_the_same_person_has_the_same_account(self, provider: OidcProvider) -> None:
        sign_in()
        provider.person["preferred_username"] = "renamed"
        sign_in()
        assert User.objects.count() == SocialAccount.objects.count() == 1

    def test_sign_in_page_offers_sign_on_by_post_only(self, provider: OidcProvider) -> None:
        page = Client().get("/login/?next=/library/").content.decode()
        assert "Sign in with House" in page
        assert f'action="{LOGIN}"' in page

        assert Client().get(LOGIN).status_code == 200
        assert not provider.asked

        assert Client().get("/accounts/oidc/other/login/").status_code == 404

    def test_sign_on_does_not_redirect_to_another_site(self, provider: OidcProvider) -> None:
        _, response = sign_in(next="https://evil.example/")
        assert response.headers["Location"] == "/"

    @pytest.mark.parametrize(("is_verified", "email"), [(False, None), (True, "ann@example.org")])
    def test_only_a_verified_address_is_stored(
        self, provider: OidcProvider, is_verified: bool, email: str | None
    ) -> None:
        provider.person |= {"email": "Ann@example.org", "email_verified": is_verified}
        sign_in()
        assert User.objects.get().email == email

    def test_expired_sessions_are_deleted(self, provider: OidcProvider) -> None:
        old, new = sign_in()[0], sign_in()[0]
        Session.objects.filter(session_key=old.session.session_key).update(
            expire_date=timezone.now() - timedelta(seconds=1)
        )
        forget_sessions()
        assert [row.session_key for row in Session.objects.all()] == [new.session.session_key]


class TestWhoGetsAnAccount:
    @pytest.mark.parametrize(
        ("rule", "groups", "made"),
        [
            ("closed", ["6f1c"], False),
            ("mapped", ["6f1c"], True),
            ("mapped", ["other"], False),
            ("open", [], True),
        ],
    )
    def test_setting_decides_who_gets_an_account(
        self, provider: OidcProvider, settings: Any, rule: str, groups: list[str], made: bool
    ) -> None:
        settings.SSO_SIGN_UP = rule
        provider.person["groups"] = groups
        client, response = sign_in()

        assert User.objects.exists() == made
        assert ("_auth_user_id" in client.session) == made
        if not made:
            assert "Ask an administrator" in response.content.decode()

    def test_no_account_is_created_by_default(self) -> None:
        from kbsite.settings import accounts

        assert accounts.SSO_SIGN_UP == "closed"
        page = Client().post("/accounts/sign-up/", {"username": "me", "password1": "long-enough-7"})
        assert "accounts are not created here" in page.content.decode()
        assert not User.objects.exists()

    @pytest.mark.parametrize("is_trusted", [False, True])
    def test_only_a_trusted_provider_links_accounts_by_address(
        self, provider: OidcProvider, reader: User, settings: Any, is_trusted: bool
    ) -> None:
        settings.SOCIALACCOUNT_EMAIL_AUTHENTICATION = is_trusted
        reader.email = "ann@example.org"
        reader.save()
        provider.person |= {"email": "ann@example.org", "email_verified": True}
        client, response = sign_in()

        if is_trusted:
            assert int(client.session["_auth_user_id"]) == reader.pk
            assert set(reader.groups.values_list("name", flat=True)) == {"insiders"}
        else:
            assert response.status_code == 403
            assert "connect it" in response.content.decode()
            assert "_auth_user_id" not in client.session

    def test_an_account_is_connected_by_its_owner(
        self, provider: OidcProvider, reader: User, settings: Any
    ) -> None:
        settings.SSO_SIGN_UP = "closed"
        client = Client()
        client.post("/login/", {"username": "reader", "password": "pw-reader"})
        client.post("/accounts/reauthenticate/", {"password": "pw-reader"})
        assert "House" in client.get("/accounts/sign-on/").content.decode()
        sign_in(client, address=f"{LOGIN}?process=connect")
        client.logout()
        again, _ = sign_in()

        assert int(again.session["_auth_user_id"]) == reader.pk

    def test_a_deactivated_account_stays_out(self, provider: OidcProvider) -> None:
        sign_in()
        User.objects.update(is_active=False)
        client, _ = sign_in()
        assert "_auth_user_id" not in client.session


class TestClaims:
    def names(self, **person: Any) -> set[str]:
        return claims.group_names(person)

    def test_values_map_to_groups(self, settings: Any) -> None:
        settings.SSO_GROUPS = {
            **GROUPS,
            "realm_access.roles": {"kb": "readers"},
            "hd": {"example.org": "house"},
        }
        assert self.names(groups=["77aa", "x"]) == {"crew", "insiders"}
        assert self.names(groups="6f1c") == {"insiders"}
        assert self.names(realm_access={"roles": ["kb"]}, hd="example.org") == {"readers", "house"}
        assert self.names(groups={"6f1c": 1}, realm_access="kb", hd=["evil.example"]) == set()

    def test_leaving_a_group_closes_its_collections_at_the_next_log_in(
        self, provider: OidcProvider, vault: Collection
    ) -> None:
        first, _ = sign_in()
        ann = User.objects.get()
        ann.groups.add(Group.objects.create(name="by hand"))
        provider.person["groups"] = []
        sign_in()

        assert not reads(ann, vault)
        assert set(ann.groups.values_list("name", flat=True)) == {"by hand"}
        assert "Vault" not in first.get("/library/").content.decode()

    def test_disconnecting_removes_the_groups(
        self, provider: OidcProvider, vault: Collection
    ) -> None:
        sign_in()
        SocialAccount.objects.get().delete()
        assert not reads(User.objects.get(), vault)


class TestRefresh:
    @pytest.fixture
    def ann(self, provider: OidcProvider, vault: Collection) -> User:
        sign_in()
        return User.objects.get()

    def later(self, **passed: int) -> int:
        return claims.refresh_all(now=timezone.now() + timedelta(**passed))

    def test_refresh_follows_changed_groups(
        self, ann: User, provider: OidcProvider, vault: Collection
    ) -> None:
        assert self.later(minutes=1) == 0
        assert self.later(minutes=16) == 1
        assert reads(ann, vault)
        provider.person["groups"] = ["unknown"]
        assert self.later(minutes=32) == 1
        assert not reads(ann, vault)

    def test_refused_refresh_removes_the_groups_until_the_next_log_in(
        self, ann: User, provider: OidcProvider, vault: Collection
    ) -> None:
        provider.refusing = True
        self.later(minutes=16)
        assert not reads(ann, vault)
        assert self.later(minutes=32) == 0
        sign_in()
        assert reads(ann, vault)

    @pytest.mark.parametrize("reason", ["silence", "no refresh tokens", "no such provider"])
    def test_groups_expire_without_a_refresh(
        self, ann: User, provider: OidcProvider, vault: Collection, reason: str
    ) -> None:
        provider.is_down = reason == "silence"
        if reason == "no refresh tokens":
            SignOn.objects.update(refresh_token="")
        elif reason == "no such provider":
            SocialAccount.objects.update(provider="removed")
        self.later(hours=11)
        assert reads(ann, vault)
        self.later(hours=13)
        assert not reads(ann, vault)

    @pytest.mark.parametrize("spoil", [{"changes": {"sub": "2"}}, {"forged": True}], ids=str)
    def test_a_wrong_answer_gives_nothing(
        self, ann: User, provider: OidcProvider, vault: Collection, spoil: dict[str, Any]
    ) -> None:
        provider.person["groups"] = ["6f1c", "77aa"]
        for name, value in spoil.items():
            setattr(provider, name, value)
        self.later(minutes=16)
        assert not ann.groups.filter(name="crew").exists()

    def test_the_token_is_not_readable_in_the_database(self, ann: User, provider: Any) -> None:
        stored = SignOn.objects.get().refresh_token
        assert stored
        assert not any(token in stored for token in provider.refresh_tokens)


class TestRefused:
    @pytest.mark.parametrize(
        "spoil",
        [
            {"forged": True},
            {"changes": {"aud": "another-client"}},
            {"changes": {"iss": "https://evil.example"}},
            {"changes": {"exp": 1_000_000}},
            {"userinfo_changes": {"sub": "2002"}},
        ],
        ids=str,
    )
    def test_invalid_id_token_is_refused(
        self, provider: OidcProvider, spoil: dict[str, Any]
    ) -> None:
        for name, value in spoil.items():
            setattr(provider, name, value)
        client, response = sign_in()

        assert "did not work" in response.content.decode()
        assert "_auth_user_id" not in client.session
        assert not User.objects.exists()

    def test_state_of_another_browser_is_refused(self, provider: OidcProvider) -> None:
        sent = Client().post(LOGIN)
        back = requests.get(sent.headers["Location"], allow_redirects=False, timeout=60)
        found = urlsplit(back.headers["Location"])
        victim = Client()
        victim.get(f"{found.path}?{found.query}")
        assert "_auth_user_id" not in victim.session

    def test_unreachable_provider_shows_an_error(self, provider: OidcProvider) -> None:
        provider.is_down = True
        response = Client().post(LOGIN)
        assert response.status_code < 500
        assert "did not work" in response.content.decode()
