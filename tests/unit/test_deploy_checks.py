"""The site's checks: hosts, proxies, secrets, servers for --deploy; the settings of people."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.db import ProgrammingError
from knox.models import AuthToken
from psycopg.errors import InsufficientPrivilege, UndefinedTable
from pytest_django import Settings

from common.accounts import tokens
from common.accounts.models import User
from common.probes import Occasion, of
from kbsite.operations.probes import database, machine
from kbsite.operations.probes import settings as probes

SITE: dict[str, Any] = {
    "ALLOWED_HOSTS": ["kb.example.org", "localhost"],
    "CSRF_TRUSTED_ORIGINS": ["https://kb.example.org"], "SITE_URL": "https://kb.example.org",
    "SECURE_SSL_REDIRECT": True, "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https"),
    "LOG_LEVEL": "INFO", "EMBEDDED_POSTGRES": False, "EMBEDDED_REDIS": False,
    "STAFF_SECOND_FACTOR": "all", "BACKUP_FOLDER": "elsewhere",
}  # fmt: skip


@pytest.fixture
def site(settings: Settings, tmp_path: Path) -> Settings:
    """The settings of a site that nothing is wrong with."""
    for name, value in SITE.items():
        setattr(settings, name, value)
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": 1}
    settings.BASE_DIR = settings.VAR_DIR = tmp_path
    return settings


def found() -> list[str]:
    """The ids of the warnings that only a site which others reach gets."""
    return sorted(finding.check for probe in of(Occasion.DEPLOYMENT) for finding in probe.examine())


def test_a_site_as_the_manual_says_has_no_warning(site: Settings) -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ALLOWED_HOSTS", ["*"], "W040"),
        ("CSRF_TRUSTED_ORIGINS", ["https://elsewhere.example.org"], "W041"),
        ("CSRF_TRUSTED_ORIGINS", ["https://*.example.org"], "W041"),
        ("SITE_URL", "http://localhost:8000", "W042"),
        ("SECURE_SSL_REDIRECT", False, ""),
        ("LOG_LEVEL", "debug", "W046"),
        ("EMBEDDED_POSTGRES", True, "W047"),
        ("EMBEDDED_REDIS", True, "W047"),
    ],
)
def test_each_setting_has_its_warning(
    site: Settings, name: str, value: object, expected: str
) -> None:
    setattr(site, name, value)
    assert found() == ([expected] if expected else [])


def test_local_host_names_alone_are_a_warning(site: Settings) -> None:
    site.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
    site.CSRF_TRUSTED_ORIGINS = []
    assert found() == ["W040"]


def test_proxy_headers_without_a_proxy_are_a_warning(site: Settings) -> None:
    site.SECURE_PROXY_SSL_HEADER = None
    assert found() == ["W043", "W044"]  # redirects; forged addresses
    site.REST_FRAMEWORK = {**site.REST_FRAMEWORK, "NUM_PROXIES": 0}
    assert found() == ["W043"]
    site.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert found() == ["W044"]  # all readers share an address


def secrets() -> list[str]:
    return [finding.text for finding in machine.secrets()]


def test_files_with_secrets_are_closed_to_others(
    site: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    monkeypatch.setattr(machine, "ENV_FILE", tmp_path / ".env")
    for name in (".env", "secret_key"):
        (tmp_path / name).write_text("SECRET_KEY=x")
        (tmp_path / name).chmod(0o644)
    assert len(secrets()) == 2
    # A key from the environment leaves the generated one unused.
    monkeypatch.setenv("SECRET_KEY", "y")
    assert len(secrets()) == 1
    (tmp_path / ".env").chmod(0o640)
    assert len(secrets()) == 1
    (tmp_path / ".env").chmod(0o600)
    assert secrets() == []
    # Of the documented installation: root's, and readable by the group of the site's user.
    (tmp_path / ".env").chmod(0o640)
    monkeypatch.setattr(machine.os, "geteuid", lambda: -1)
    assert secrets() == []


def ids(found: list[Any]) -> set[str]:
    return {finding.check for finding in found}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SSO_SIGN_UP", "yes", "SSO_SIGN_UP"),
        ("SSO_LINKS_BY_EMAIL", "yes", "SSO_LINKS_BY_EMAIL"),
        ("STAFF_SECOND_FACTOR", "on", "STAFF_SECOND_FACTOR"),
        ("OAUTH", "on", "OAUTH"),
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


def test_public_site_without_second_factor_is_a_warning(settings: Any) -> None:
    settings.STAFF_SECOND_FACTOR = "all"
    assert list(probes.sign_in()) == []

    settings.STAFF_SECOND_FACTOR = "off"
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.REST_KNOX = {"TOKEN_TTL": timedelta(days=4000)}
    settings.SSO_SIGN_UP = "open"
    settings.OIDC_SERVER = "http://login.microsoftonline.com/common/v2.0"
    found = ids([*probes.sign_in()])
    assert found == {f"W{number:03d}" for number in (51, 52, 53, 54)}


@pytest.mark.django_db
class TestTheDatabase:
    def found(self) -> set[str]:
        return ids([*database.tokens()])

    def test_tokens_without_scopes_or_expiry_are_a_warning(self, reader: User) -> None:
        tokens.make(reader, scopes=["read"])
        assert self.found() == set()
        old, _ = AuthToken.objects.create(reader)
        assert self.found() == {"W048"}
        old.delete()
        endless, _ = tokens.make(reader, scopes=["read"])
        AuthToken.objects.filter(pk=endless.pk).update(expiry=None)
        assert self.found() == {"W048"}

    def test_superusers_without_a_second_factor_are_a_warning(self, administrator: User) -> None:
        assert self.found() == {"W049"}
        TOTP.activate(administrator, "JBSWY3DPEHPK3PXP")
        assert self.found() == set()


@pytest.mark.parametrize(
    ("version", "expected"),
    [("", "E005"), ("0.6.2", "E005"), ("0.8.3", "W063"), ("0.8.4", ""), ("0.9", ""), ("1.0.0", "")],
)
def test_outdated_pgvector_is_a_problem(version: str, expected: str) -> None:
    found = list(database.version_problems(17, version))
    assert [one.check for one in found] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (InsufficientPrivilege('permission denied to create extension "vector"'), True),
        (InsufficientPrivilege("permission denied for schema public"), False),
        (UndefinedTable('relation "vector" does not exist'), False),
    ],
)
def test_migrate_explains_who_can_add_the_extension(cause: Exception, expected: bool) -> None:
    error = ProgrammingError(str(cause))
    error.__cause__ = cause
    assert database.lacks_vector(error) == expected
