"""What only a browser shows of folded results: keys, colours, small screens, no JavaScript."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.repeating_library import fill
from tests.web.browser.conftest import MadeOnce, OpenPage
from tests.web.browser.test_search_browser import FAINT_TEXTS

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESS = "/?q=handover+of+a+shift"


@pytest.mark.parametrize("width", [390, 1280])
def test_sibling_sections_are_reached_by_the_keyboard_and_can_be_read(
    made_once: MadeOnce, open_page: OpenPage, width: int
) -> None:
    made_once(fill)
    page = open_page(ADDRESS, width=width)
    expect(page.locator(".result")).to_have_count(3)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert page.evaluate(FAINT_TEXTS) == [], scheme
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    # The arrows move between results, past what belongs to one.
    page.locator(".result-link").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".result-link").nth(1)).to_be_focused()

    # Past why it stands here, the section around it and the thumbs.
    links = page.locator(".rest a" if width == 390 else ".siblings a")
    for _ in range(12):
        page.keyboard.press("Tab")
        if links.first.evaluate("it => it === document.activeElement"):
            break
    expect(links.first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(
        re.compile("document=" if width == 390 else r"/documents/[0-9a-f-]{36}/\?chunk=\d+")
    )


def test_a_search_within_a_document_stays_there_until_it_is_left(
    made_once: MadeOnce, open_page: OpenPage
) -> None:
    made_once(fill)
    page = open_page(ADDRESS)
    page.get_by_role("link", name="passages of Shift manual").click()
    expect(page.locator(".result")).to_have_count(6)

    page.fill("#q", "conveyor belt")
    expect(page).to_have_url(re.compile(r"q=conveyor\+belt&document="))
    expect(page.locator(".within")).to_contain_text("Only in Shift manual")
    expect(page.locator(".result")).to_have_count(6)

    page.get_by_role("link", name="Search all documents").click()
    expect(page).to_have_url(re.compile(r"/\?q=conveyor\+belt$"))
    expect(page.locator(".within")).to_have_count(0)
    expect(page.locator(".shelf", has_text="Works")).to_have_count(2)
    expect(page.locator(".where .crumb").first).to_have_text("Shift manual")


def test_everything_is_reached_without_javascript(made_once: MadeOnce, open_page: OpenPage) -> None:
    made_once(fill)
    page = open_page(ADDRESS, java_script_enabled=False)
    page.get_by_role("link", name="Show all passages").click()
    assert page.locator(".result").count() == 9
    page.fill("#q", "furnace")
    page.keyboard.press("Enter")
    assert "group=false" in page.url
    page.get_by_role("link", name="Group by document").click()
    assert page.locator(".siblings a").first.is_visible()
