"""A reader's own pages in a browser: without a script, by keyboard, narrow and wide."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from common.accounts.models import User
from search.readers import saved_searches
from search.readers.models import HistoryEntry, SavedSearch
from tests.support.factories import make_collection, make_document
from tests.web.browser.conftest import OpenPage
from tests.web.browser.test_axe_browser import violations

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("clean_cache")]

PUMPS = "# Pump maintenance\n\nThe bilge pump is greased every week, or it seizes in salt water.\n"


def overflow(page: Page) -> int:
    """The pixels by which the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


@pytest.fixture
def saved(reader: User) -> SavedSearch:
    made = saved_searches.save(
        reader,
        name="Pumps and what becomes of them in salt water",
        question="how is the bilge pump greased",
        params={"type": ["text/markdown"], "after": ["2020-01-31"]},
    )
    HistoryEntry.objects.create(user=reader, key="k", question="pump " * 40, params={})
    return made


@pytest.mark.parametrize("locale", ["de-DE", "fr-FR"])
def test_the_head_of_a_page_fits_a_phone_in_one_row(
    open_page: OpenPage, db: None, locale: str
) -> None:
    """Formerly "Bibliothèque Connexion" beside the name was 23 px too wide."""
    page = open_page("/library/", width=390, locale=locale)
    assert overflow(page) <= 0
    head = page.locator(".top")
    rows = head.locator("> *").evaluate_all("parts => parts.map(e => e.getBoundingClientRect())")
    assert rows[1]["top"] < rows[0]["bottom"]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_reader_keeps_a_document_and_the_pages_fit(
    open_page: OpenPage, reader: User, saved: SavedSearch, width: int
) -> None:
    document = make_document(make_collection(icon="wrench"), PUMPS)
    shown = {"user": reader, "width": width, "java_script_enabled": False}

    page = open_page(document.get_absolute_url(), **shown)
    page.get_by_role("button", name="Add to favourites").click()
    expect(page.get_by_role("button", name="In your favourites")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.locator(".account summary").click()
    assert overflow(page) <= 0
    page.get_by_role("link", name="Your page").click()
    expect(page.get_by_role("link", name=saved.name)).to_be_visible()
    page.locator(".saved summary").click()
    assert overflow(page) <= 0
    for name in ("History", "Favourites", "API tokens"):
        page.locator(".own").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        assert overflow(page) <= 0


# --- Signing in with a real browser --------------------------------------------------------------

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
    expect(page).to_have_url(re.compile(r":\d+/$"))


def confirm(page: Page) -> None:
    page.goto("/accounts/reauthenticate/?next=/accounts/2fa/")
    page.fill("#id_password", "pw-reader")
    page.get_by_role("button", name="Confirm").click()
    expect(page).to_have_url(re.compile(r"\d/accounts/2fa/$"))


def with_authenticator(page: Page) -> Any:
    """A passkey device of the browser's, which confirms by itself."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True,
        "hasUserVerification": True, "isUserVerified": True, "automaticPresenceSimulation": True,
    }  # fmt: skip
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
    expect(page.locator("details.account")).not_to_contain_text("reader")
    page.goto("/login/?next=/library/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page).to_have_url(re.compile(r"/library/"))
    expect(page.locator("details.account")).to_contain_text("reader")


def test_pages_fit_small_screens_in_both_themes(open_page: OpenPage, reader: User) -> None:
    page = open_page("/login/", width=390, bypass_csp=True)
    sign_in(page)
    confirm(page)
    for address in (*PAGES, "/login/"):
        if address == "/login/":
            page.context.clear_cookies()
        page.goto(address)
        expect(page.locator("header.top .brand")).to_be_visible()
        assert overflow(page) <= 0, address
        assert violations(page) == []
