"""Signing in with a real browser: a passkey, and pages that fit small screens and dark themes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from common.accounts.models import User
from tests.web.browser.conftest import OpenPage
from tests.web.browser.test_search_browser import FAINT_TEXTS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("clean_cache")]

PAGES = (
    "/accounts/2fa/",
    "/accounts/2fa/totp/activate/",
    "/accounts/2fa/webauthn/add/",
    "/accounts/password/",
    "/accounts/sign-on/",
)


def sign_in(page: Page) -> None:
    page.goto("/login/")
    page.fill("#id_username", "reader")
    page.fill("#id_password", "pw-reader")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page).to_have_url(re.compile(r"/$"))


def confirm(page: Page) -> None:
    page.goto("/accounts/reauthenticate/?next=/accounts/2fa/")
    page.fill("#id_password", "pw-reader")
    page.get_by_role("button", name="Confirm").click()
    expect(page).to_have_url(re.compile(r"/accounts/2fa/$"))


def with_authenticator(page: Page) -> Any:
    """A passkey device of the browser's, which confirms by itself."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return session


def test_a_passkey_is_added_and_signs_in(open_page: OpenPage, reader: User) -> None:
    page = open_page("/login/")
    with_authenticator(page)
    sign_in(page)
    confirm(page)
    page.goto("/accounts/2fa/webauthn/add/")
    page.get_by_label("Passwordless").check()
    page.get_by_role("button", name="Add").click()
    expect(page).to_have_url(re.compile(r"/accounts/2fa/(recovery-codes/.*|webauthn/)$"))

    page.goto("/")
    page.locator("details.account summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("details.account")).to_have_count(0)
    page.goto("/login/?next=/library/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page).to_have_url(re.compile(r"/library/"))
    expect(page.locator("details.account")).to_contain_text("reader")


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_pages_fit_small_screens_in_both_themes(
    open_page: OpenPage, reader: User, color_scheme: str
) -> None:
    page = open_page("/login/", width=390, color_scheme=color_scheme)
    sign_in(page)
    confirm(page)
    for address in PAGES:
        page.goto(address)
        expect(page.locator("header.top .brand")).to_be_visible()
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390, address
        assert page.evaluate(FAINT_TEXTS) == [], address
    page.context.clear_cookies()
    page.goto("/login/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(FAINT_TEXTS) == []
