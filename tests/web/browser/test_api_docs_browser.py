"""The API's documentation in a browser: the list of operations."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.browser.conftest import OpenPage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_it_opens_with_search_in_the_readers_colours(
    open_page: OpenPage, scheme: str, width: int
) -> None:
    page = open_page("/api/docs/", width=width, color_scheme=scheme)

    expect(page.locator(".opblock-tag").first).to_contain_text("search")
    expect(page.locator(".opblock-summary").first).to_contain_text("/api/v1/search/")
    expect(page.locator("html.dark-mode")).to_have_count(int(scheme == "dark"))
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_javascript_the_schema_remains(open_page: OpenPage) -> None:
    page = open_page("/api/docs/", java_script_enabled=False)

    expect(page.locator(".notice")).to_contain_text("needs JavaScript")
    expect(page.get_by_role("link", name="OpenAPI schema")).to_have_attribute(
        "href", "/api/schema/"
    )
