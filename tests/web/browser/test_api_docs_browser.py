"""The API's documentation in a browser: the quick start, and the list of operations."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.browser.conftest import OpenPage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_it_opens_with_a_start_then_search_in_the_readers_colours(
    open_page: OpenPage, scheme: str, width: int
) -> None:
    page = open_page("/api/docs/", width=width, color_scheme=scheme)

    groups = page.locator(".opblock-tag")
    expect(groups.first).to_contain_text("search")
    expect(page.locator(".opblock-summary").first).to_contain_text("/api/v1/search/")
    start = page.get_by_role("heading", name="Quick start").bounding_box()
    assert start is not None
    assert start["y"] < 250
    expect(page.locator("html.dark-mode")).to_have_count(int(scheme == "dark"))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Copy").first.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()


def test_without_javascript_the_start_and_the_schema_remain(open_page: OpenPage) -> None:
    page = open_page("/api/docs/", java_script_enabled=False)

    expect(page.locator(".command")).to_have_count(3)
    expect(page.locator(".notice")).to_contain_text("needs JavaScript")
    expect(page.get_by_role("link", name="OpenAPI schema")).to_have_attribute(
        "href", "/api/schema/"
    )
