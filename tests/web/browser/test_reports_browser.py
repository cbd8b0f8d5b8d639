"""What only a browser reports: a beacon for a click, reading time, thumbs by keyboard."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from search.analytics.models import Interaction, SearchEvent
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS, REGIONS
from tests.web.browser.conftest import MadeOnce, OpenPage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _library(made_once: MadeOnce) -> None:
    made_once(library)


def library() -> None:
    handbook = make_collection("Handbook")
    make_document(handbook, CONNECTIONS, file_name="connections.md")
    make_document(handbook, REGIONS, file_name="regions.md")


def kinds() -> list[str]:
    return sorted(Interaction.objects.values_list("kind", flat=True))


def until(holds: Callable[[], bool]) -> None:
    """Waits for what a beacon writes: nothing on the page tells that it has arrived."""
    for _ in range(150):
        if holds():
            return
        time.sleep(0.1)
    pytest.fail(f"Only these arrived: {kinds()}")


def test_what_is_opened_and_how_long_it_is_read(open_page: OpenPage) -> None:
    page = open_page("/?q=connection+pool")
    page.locator(".result-link").first.click()
    expect(page.locator("h1")).to_have_text("Database connections")
    until(lambda: kinds() == ["click"])
    page.wait_for_timeout(400)
    page.go_back()
    until(lambda: kinds() == ["click", "dwell"])

    read = Interaction.objects.get(kind="dwell")
    assert read.seconds is not None
    assert read.seconds >= 0.4
    searched = SearchEvent.objects.searches().get()
    assert (read.event, read.rank, searched.best_click) == (searched, 1, 1)


def test_a_thumb_and_an_answer_by_keyboard(open_page: OpenPage) -> None:
    page = open_page("/?q=connection+pool")
    down = page.get_by_role("button", name="Not helpful: Database connections")
    down.focus()
    page.keyboard.press("Enter")
    expect(down).to_have_attribute("aria-pressed", "true")
    until(lambda: kinds() == ["down"])
    page.keyboard.press("Enter")
    expect(down).to_have_attribute("aria-pressed", "false")
    until(lambda: kinds() == [])

    yes = page.get_by_role("group", name="Did this answer your question?").get_by_text("Yes")
    yes.press("Space")
    expect(page.locator(".solved [role=status]")).to_contain_text("Thank you")
    assert kinds() == ["solved"]


def test_without_scripts_the_thumbs_are_forms(open_page: OpenPage) -> None:
    page = open_page("/?q=connection+pool", java_script_enabled=False)
    page.get_by_role("button", name="Helpful: Database connections", exact=True).click()
    expect(page.locator("h1")).to_have_text("Thank you")
    assert kinds() == ["up"]
    page.get_by_role("button", name="Withdraw").click()
    assert kinds() == []
    page.get_by_role("link", name="Back to the results").click()
    expect(page.locator(".result-link").first).to_have_text("Connection pool")


def test_results_that_htmx_brought_report_as_well(open_page: OpenPage) -> None:
    page: Page = open_page("/")
    page.locator("#q").press_sequentially("region d40", delay=20)
    page.get_by_role("button", name="Helpful: Cave regions", exact=True).click()
    until(lambda: kinds() == ["up"])

    assert SearchEvent.objects.searches().get().query == "region d40"
