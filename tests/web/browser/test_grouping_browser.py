"""What only a browser shows of folded results: keys, colours, small screens, no JavaScript."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.repeating_library import fill
from tests.web.browser.conftest import MadeOnce, OpenPage

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESS = "/?q=handover+of+a+shift"


def test_a_search_within_a_document_stays_there_until_it_is_left(
    made_once: MadeOnce, open_page: OpenPage
) -> None:
    made_once(fill)
    page = open_page(ADDRESS)
    page.get_by_role("link", name="passages of Shift manual").click()
    expect(page.locator(".result")).to_have_count(6)
    page.wait_for_load_state()

    page.fill("#q", "conveyor belt")
    expect(page).to_have_url(re.compile(r"q=conveyor\+belt&document="))
    expect(page.locator(".within")).to_contain_text("Only in Shift manual")
    expect(page.locator(".result")).to_have_count(6)

    page.get_by_role("link", name="Search all documents").click()
    expect(page).to_have_url(re.compile(r"/\?q=conveyor\+belt$"))
    expect(page.locator(".within")).to_have_count(0)
    expect(page.locator(".shelf", has_text="Works")).to_have_count(2)
    expect(page.locator(".where .crumb").first).to_have_text("Shift manual")
