"""Signing in with SAML: the site as it runs in production, by settings alone, and a provider."""

from __future__ import annotations

import base64
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest
import requests
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.models import Session
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import timezone

from common.accounts.models import User
from common.api.access import AnonymousThrottle
from tests.faults.asgi import gunicorn
from tests.support.factories import make_collection, make_document
from tests.support.saml_provider import SamlProvider, saml_provider, write_key, xmldsig

pytestmark = pytest.mark.django_db(transaction=True)
GROUP = "http://schemas.xmlsoap.org/claims/Group"


@dataclass(frozen=True)
class Site:
    """The running site; `said` is what it has logged since the last look."""

    address: str
    log: IO[bytes]

    def said(self) -> str:
        return (self.log.read() or b"").decode()


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SamlProvider]:
    with saml_provider(tmp_path_factory.mktemp("saml")) as started:
        yield started


@pytest.fixture(scope="module")
def site(provider: SamlProvider, django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    """The site under gunicorn; its settings are those of docs/sign-on.md."""
    with django_db_blocker.unblock():
        started = gunicorn(
            SAML_METADATA_URL=provider.entity,
            SAML_ENTITY_ID=provider.entity,
            SSO_GROUPS=f'{{"{GROUP}": {{"crew-of-the-house": "insiders"}}}}',
            SSO_SIGN_UP="mapped",
            ALLOWED_HOSTS="127.0.0.1",
            DEBUG="1",  # static files without the manifest of `collectstatic`
        )
        with started as (process, address):
            deadline = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline:
                try:
                    if requests.get(f"{address}/login/", timeout=30).ok:
                        break
                except requests.ConnectionError:
                    time.sleep(0.1)
            assert process.stderr
            os.set_blocking(process.stderr.fileno(), False)
            yield Site(address, process.stderr)


@pytest.fixture(autouse=True)
def ann(provider: SamlProvider) -> None:
    """Whoever signs in; the provider tells the truth."""
    provider.reset()
    provider.person = {GROUP: ["crew-of-the-house", "others"], "mail": ["ann@example.org"]}


class Browser:
    """A person's browser between the site and the provider."""

    def __init__(self, site: Site, provider: SamlProvider) -> None:
        self.running, self.site, self.provider = site, site.address, provider
        self.session = requests.Session()
        self.saml = f"{site.address}/accounts/saml/saml"

    def begin(self, **query: str) -> str:
        """Press the button; the provider's response that the browser shall bring back."""
        page = self.session.get(f"{self.site}/login/", timeout=30).text
        assert "Single sign-on (SAML)" in page
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert token
        sent = self.session.post(
            f"{self.saml}/login/",
            params=query,
            data={"csrfmiddlewaretoken": token[1]},
            allow_redirects=False,
            timeout=30,
        )
        assert sent.headers["Location"].startswith(f"{self.provider.address}/sign-on?")
        metadata = requests.get(f"{self.saml}/metadata/", timeout=30)
        assert metadata.status_code == 200, metadata.text
        return self.provider.respond(sent.headers["Location"], metadata.content)

    def bring(self, response: str) -> requests.Response:
        """Post the response, as the provider's page does."""
        return self.session.post(f"{self.saml}/acs/", data={"SAMLResponse": response}, timeout=30)

    @property
    def is_signed_in(self) -> bool:
        page = self.session.get(f"{self.site}/me/", timeout=30, allow_redirects=False)
        return page.status_code == 200


@pytest.fixture
def browser(site: Site, provider: SamlProvider) -> Browser:
    return Browser(site, provider)


def test_a_signed_assertion_signs_in_with_its_groups(
    browser: Browser, provider: SamlProvider
) -> None:
    vault = make_collection("Vault", visibility="groups", groups=["insiders"])
    make_document(vault, "# Rope\n\nA rope.")
    response = browser.begin(next="/library/")
    found = browser.bring(response)

    assert found.url == f"{browser.site}/library/"
    assert "Vault" in found.text
    person = User.objects.get()
    assert not person.has_usable_password()
    assert person.email is None  # the provider does not say that it is verified
    assert SocialAccount.objects.get().uid == "ann-1001"

    # The response works once: not in this browser again, and not in another one.
    for thief in (browser, Browser(browser.running, provider)):
        thief.session.cookies.clear()
        refused = thief.bring(response)
        assert "did not work" in refused.text
        assert not thief.is_signed_in

    # Whoever left the group loses what it opens when they sign in again: the same account.
    provider.person[GROUP] = ["others"]
    again = Browser(browser.running, provider)
    assert "Vault" not in again.bring(again.begin(next="/library/")).text
    assert again.is_signed_in
    assert User.objects.get() == person
    assert not person.groups.exists()


def test_sign_up_is_for_those_in_a_group(browser: Browser, provider: SamlProvider) -> None:
    provider.person = {GROUP: ["others"]}
    assert "Ask an administrator" in browser.bring(browser.begin()).text
    assert not User.objects.exists()


def tampered(response: str, provider: SamlProvider) -> str:
    text = base64.b64decode(response)
    assert b"ann-1001" in text
    return base64.b64encode(text.replace(b"ann-1001", b"bob-2002")).decode()


def wrapped(response: str, provider: SamlProvider) -> str:
    """Signature wrapping: a forged assertion stands before the signed one."""
    text = base64.b64decode(response).decode()
    assertion = re.search(r"<(\w+):Assertion .*</\1:Assertion>", text, re.DOTALL)
    assert assertion
    forged = re.sub(r"<(\w+):Signature .*?</\1:Signature>", "", assertion[0], flags=re.DOTALL)
    forged = re.sub(r' ID="[^"]+"', ' ID="id-forged"', forged).replace("ann-1001", "bob-2002")
    return base64.b64encode(text.replace(assertion[0], forged + assertion[0]).encode()).decode()


@pytest.mark.parametrize(
    ("spoilt", "change", "reason"),
    [
        ({"is_signing": False}, None, "is not signed"),
        ({"signature": xmldsig.SIG_RSA_SHA1}, None, "Deprecated signature algorithm"),
        ({"audience": "https://other.example.org/"}, None, "is not a valid audience"),
        ({"minutes": -10}, None, "timestamp: expired"),
        ({"answered": "id-of-another-request"}, None, "answers no request"),
        ({}, tampered, "Signature validation failed"),
        ({}, wrapped, "must contain 1 assertion"),
        ({}, lambda response, provider: "bm8geG1s", "XMLSyntaxError"),
        ({}, lambda response, provider: "A" * 300_000, "300000 letters was refused"),
    ],
    ids=[
        "unsigned",
        "SHA-1",
        "audience",
        "expired",
        "unasked",
        "tampered",
        "wrapped",
        "no XML",
        "long",
    ],
)
def test_what_proves_nothing_is_refused(
    browser: Browser,
    provider: SamlProvider,
    spoilt: dict[str, Any],
    change: Callable[[str, SamlProvider], str] | None,
    reason: str,
) -> None:
    for name, value in spoilt.items():
        setattr(provider, name, value)
    response = browser.begin()
    browser.running.said()
    found = browser.bring(change(response, provider) if change else response)

    assert reason in browser.running.said()
    assert found.status_code == 401
    assert not browser.is_signed_in
    assert not User.objects.exists()


def test_another_key_proves_nothing(
    browser: Browser, provider: SamlProvider, tmp_path: Path
) -> None:
    write_key(tmp_path)
    forger = SamlProvider(0, tmp_path)
    forger.address, forger.person = provider.address, provider.person
    browser.provider = forger
    response = browser.begin()
    browser.running.said()
    assert browser.bring(response).status_code == 401
    assert "Signature validation failed" in browser.running.said()
    assert not browser.is_signed_in


def test_nothing_is_refused_as_well(browser: Browser) -> None:
    assert browser.session.post(f"{browser.saml}/acs/", timeout=30).status_code == 401
    assert browser.session.get(f"{browser.saml}/acs/finish/", timeout=30).status_code == 401
    assert browser.session.get(f"{browser.site}/accounts/saml/other/login/").status_code == 404


def test_nobody_is_signed_out_by_a_link(browser: Browser, provider: SamlProvider) -> None:
    """A request to sign out proves nothing without the provider's signature."""
    browser.bring(browser.begin())
    assert browser.is_signed_in
    now = f"{timezone.now():%Y-%m-%dT%H:%M:%SZ}"
    said = (
        '<samlp:LogoutRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" '
        'xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_1" Version="2.0" '
        f'IssueInstant="{now}" Destination="{browser.saml}/sls/">'
        f"<saml:Issuer>{provider.entity}</saml:Issuer><saml:NameID>ann-1001</saml:NameID>"
        "</samlp:LogoutRequest>"
    )
    link = {"SAMLRequest": base64.b64encode(zlib.compress(said.encode())[2:-4]).decode()}
    refused = browser.session.get(f"{browser.saml}/sls/", params=link, timeout=30)
    assert browser.is_signed_in
    assert refused.status_code == 401


def test_responses_are_kept_for_minutes_and_no_more_than_a_network_may_search(
    rf: RequestFactory, settings: Any, clean_cache: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever floods the address fills no database: each response is kept, 250,000 letters long."""
    from kbsite.sign_in import saml

    monkeypatch.setattr(AnonymousThrottle, "THROTTLE_RATES", {"anon": "2/min"})
    # Not among the addresses of a site without SAML, as this process has it.
    monkeypatch.setattr(saml.views, "reverse", lambda *_, **__: "/accounts/saml/work/acs/finish/")
    at = "/accounts/saml/work/acs/"

    def sent() -> HttpResponse:
        request = rf.post(at, {"SAMLResponse": "x" * 1_000})
        request.user = AnonymousUser()
        return saml.take(request, "work")

    assert [sent().status_code for _ in range(3)] == [302, 302, 429]
    assert Session.objects.count() == 2
    soon = timezone.now() + saml.HOP
    assert {each.expire_date <= soon for each in Session.objects.all()} == {True}
    beat = settings.CELERY_BEAT_SCHEDULE["forget-sessions"]
    assert beat["schedule"] <= 600
    assert saml.take(rf.get(at), "work").status_code == 405
