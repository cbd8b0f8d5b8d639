"""The checks of people's settings: what is wrong, and what a deployed site should have."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from knox.models import AuthToken

from common.accounts import tokens
from common.accounts.models import User
from kbsite.operations.probes import database
from kbsite.operations.probes import settings as probes


def ids(found: list[Any]) -> set[str]:
    return {finding.check for finding in found}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SSO_SIGN_UP", "yes", "SSO_SIGN_UP"),
        ("SSO_LINKS_BY_EMAIL", "yes", "SSO_LINKS_BY_EMAIL"),
        ("STAFF_SECOND_FACTOR", "on", "STAFF_SECOND_FACTOR"),
        ("SSO_GROUPS", {"groups": "insiders"}, "SSO_GROUPS"),
        ("SSO_GROUPS", {"groups": {"a": 1}}, "SSO_GROUPS"),
        ("OIDC_SERVER", "https://sso.example.org", "OIDC_CLIENT_ID"),
        ("QUOTAS_USER", {"searches": -1}, "negative"),
    ],
)
def test_a_setting_without_meaning_is_an_error(
    settings: Any, name: str, value: Any, said: str
) -> None:
    assert [*probes.people(), *probes.choices()] == []
    setattr(settings, name, value)
    [error] = [*probes.people(), *probes.choices()]
    assert error.check == "E040"
    assert said in error.text


def test_a_site_that_others_reach(settings: Any) -> None:
    settings.STAFF_SECOND_FACTOR = "all"
    assert list(probes.sign_in()) == []

    settings.STAFF_SECOND_FACTOR = "off"
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.REST_KNOX = {"TOKEN_TTL": timedelta(days=4000)}
    settings.SSO_SIGN_UP = "open"
    settings.OIDC_SERVER = "https://login.microsoftonline.com/common/v2.0"
    app = {"provider_id": "sso", "settings": {"server_url": "http://sso.example.org"}}
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app]}}
    found = ids([*probes.sign_in()])
    assert found == {f"W{number:03d}" for number in (51, 52, 53, 54)}


@pytest.mark.django_db
class TestTheDatabase:
    def found(self) -> set[str]:
        return ids([*database.tokens()])

    def test_tokens_without_scopes_or_end(self, reader: User) -> None:
        tokens.make(reader, scopes=["read"])
        assert self.found() == set()
        old, _ = AuthToken.objects.create(reader)
        assert self.found() == {"W048"}
        old.delete()
        endless, _ = tokens.make(reader, scopes=["read"])
        AuthToken.objects.filter(pk=endless.pk).update(expiry=None)
        assert self.found() == {"W048"}

    def test_superusers_without_a_second_factor(self, administrator: User) -> None:
        assert self.found() == {"W049"}
        TOTP.activate(administrator, "JBSWY3DPEHPK3PXP")
        assert self.found() == set()
