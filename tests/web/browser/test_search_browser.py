"""What only a browser shows of search: typing, keys, no JavaScript, colours, small screens."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from common.accounts.models import User
from search.analytics.models import Interaction, SearchEvent
from tests.support.factories import make_collection, make_document
from tests.support.library import SECRET, logbook
from tests.web.browser.conftest import OpenPage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("handbook_made")]

LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnung" * 3


def search_for(page: Page, query: str) -> None:
    page.fill("#q", query)
    expect(page).to_have_url(re.compile(r"[?&]q="))
    expect(page.locator(".result-link").first).to_be_visible()


def test_typing_searches_by_itself_and_says_what_it_found(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("connection timeouts", delay=20)

    expect(page.locator(".result-link").first).to_have_text("Connection timeouts")
    expect(page).to_have_url(re.compile(r"/\?q=connection\+timeouts$"))
    expect(page).to_have_title("connection timeouts · Steelyard")
    expect(page.get_by_role("status")).to_contain_text("results")
    expect(page.locator("#q")).to_be_focused()

    page.reload()
    expect(page.locator("#q")).to_have_value("connection timeouts")
    expect(page.locator(".result-link").first).to_have_text("Connection timeouts")


def test_search_works_by_keyboard(open_page: OpenPage) -> None:
    page = open_page("/?q=connection")
    links = page.locator(".result-link")

    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    expect(page.locator("#q")).to_have_value("connection")
    page.keyboard.press("ArrowDown")
    expect(links.nth(0)).to_be_focused()
    assert links.nth(0).evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    page.keyboard.press("ArrowDown")
    expect(links.nth(1)).to_be_focused()
    for _ in range(links.count() + 3):
        page.keyboard.press("ArrowDown")
    expect(links.last).to_be_focused()
    for _ in range(links.count()):
        page.keyboard.press("ArrowUp")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("a/b")
    expect(page.locator("#q")).to_have_value("a/b")

    page.goto("/?q=connection")
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/documents/[0-9a-f-]{36}/\?chunk=\d+"))


def test_a_search_works_without_javascript(open_page: OpenPage) -> None:
    page = open_page(java_script_enabled=False)
    page.fill("#q", "connection timeouts")
    page.keyboard.press("Enter")
    assert page.locator(".result-link").first.inner_text() == "Connection timeouts"

    page.get_by_label("Handbook").check()
    page.get_by_role("button", name="Apply").click()
    assert "collection=handbook" in page.url
    page.locator(".why summary").first.click()
    assert page.locator(".figures").first.is_visible()
    page.locator(".result-link").first.click()
    assert page.locator("h1").inner_text() == "Database connections"


def test_a_document_opens_at_its_passage(open_page: OpenPage) -> None:
    make_document(make_collection("Ship"), logbook(), file_name="logbook.md")
    page = open_page("/?q=barometer+955")
    link = page.locator(".result", has_text="955").locator(".result-link").first
    link.click()

    asked = page.locator(".passage.asked")
    expect(asked).to_contain_text("955")
    expect(asked).to_be_in_viewport()
    expect(asked.locator("mark").first).to_be_visible()
    # Its neighbours stand around it.
    expect(page.locator(".passage.asked + .passage")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the original").click()
    assert download.value.suggested_filename == "logbook.md"

    page.get_by_role("link", name="Results for").click()
    expect(page.locator("#q")).to_have_value("barometer 955")


def test_no_page_is_wider_than_the_screen(open_page: OpenPage) -> None:
    shelf = make_collection(f"A shelf of {LONG_WORD}"[:110])
    text = f"# Title {LONG_WORD}\n\nA connection {LONG_WORD}.\n\n```\n{'x = 1; ' * 60}\n```\n"
    make_document(shelf, text, file_name="long.md")
    page = open_page("/?q=connection+D40")
    places = page.locator(".result-link").evaluate_all("all => all.map(a => a.href)")
    searches = ["/", "/?q=connection+D40", "/?q=connection&before=2001-01-01", f"/?q={'x' * 501}"]
    for address in [*searches, "/login/", "/nothing/", *places]:
        page.goto(address)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_the_filters_fold_away_on_a_small_screen(open_page: OpenPage) -> None:
    page = open_page("/?q=connection", width=390)
    expect(page.get_by_label("Handbook")).to_be_hidden()
    page.locator(".filters summary").click()
    expect(page.get_by_label("Handbook")).to_be_visible()


def test_reduced_motion_is_respected(open_page: OpenPage) -> None:
    page = open_page("/", reduced_motion="reduce")
    moving = """() => [...document.querySelectorAll('*')].filter((e) => {
      const style = getComputedStyle(e);
      return style.animationName !== 'none' || parseFloat(style.transitionDuration) > 0;
    }).length"""
    page.evaluate("document.getElementById('search').classList.add('htmx-request')")
    assert page.evaluate(moving) == 0
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(moving) > 0


def test_failed_request_is_not_shown_as_no_results(open_page: OpenPage) -> None:
    page = open_page("/?q=connection")
    page.route("**/?q=*", lambda route: route.fulfill(status=500, body="broken"))
    page.fill("#q", "another question")

    expect(page.get_by_role("status")).to_contain_text("could not answer this search")
    expect(page.locator(".result-link").first).to_be_visible()


def test_the_history_keeps_nothing_after_signing_out(open_page: OpenPage, member: User) -> None:
    hidden = make_collection("Hidden", visibility="groups", groups=["insiders"])
    make_document(hidden, SECRET, file_name="zanzibar.csv")
    page = open_page("/", user=member)
    search_for(page, "lighthouse keeper")
    expect(page.locator("#found")).to_contain_text("zanzibar")
    page.locator(".account summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator(".top").get_by_role("link", name="Sign in")).to_be_visible()

    page.go_back()
    expect(page.locator(".top").get_by_role("link", name="Sign in")).to_be_visible()
    expect(page.locator("#found")).not_to_contain_text("zanzibar")
    stored = page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})")
    assert "lighthouse keeper" not in stored


def test_link_to_the_exact_search_is_reached_by_keyboard(open_page: OpenPage) -> None:
    page = open_page("/?q=%22pool of sharks%22 connection")
    note = page.locator(".spelling")
    expect(note).to_contain_text("No passage contains the exact words “pool of sharks”")
    link = page.get_by_role("link", name="Apply quotes and hyphens strictly")
    for _ in range(40):
        page.keyboard.press("Tab")
        if link.evaluate("link => link === document.activeElement"):
            break
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="No results for")).to_be_visible()
    page.get_by_role("link", name="Treat them as preferences").click()
    expect(page.locator(".result-link").first).to_be_visible()


def test_a_question_too_long_for_an_address_is_answered(open_page: OpenPage) -> None:
    page = open_page()
    page.fill("#q", "connection “水泵站 水泵” " + "水泵站 " * 800)
    expect(page.locator(".result-link").first).to_be_visible()
    assert page.url.endswith("/")
    page.get_by_role("link", name="Apply quotes and hyphens strictly").click()
    expect(page.get_by_role("heading", name="No results for")).to_be_visible()
    assert page.url.endswith("/")


# --- Suggestions below the box -------------------------------------------------------------------


def test_suggestions_are_chosen_by_keys_alone(open_page: OpenPage, member: User) -> None:
    page = open_page("/", locale="de-DE")
    box, rows = page.get_by_role("combobox"), page.get_by_role("option")
    expect(box).to_have_attribute("aria-expanded", "false")
    box.fill("conn")  # at once: a second list would take back what is chosen
    expect(page.get_by_role("listbox", name="Vorschläge")).to_be_visible()
    expect(box).to_have_attribute("aria-expanded", "true")
    expect(rows.first).to_have_text("Database connections Titel")

    # The arrows go around by way of what was typed, and leave it in the box.
    page.keyboard.press("ArrowUp")
    expect(rows.last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(page.locator("[aria-selected=true]")).to_have_count(0)
    page.keyboard.press("ArrowDown")
    expect(box).to_have_attribute("aria-activedescendant", rows.first.get_attribute("id") or "")
    expect(box).to_have_value("conn")

    # Escape closes the list and nothing else; Alt and the arrow open it again.
    page.keyboard.press("Escape")
    expect(rows.first).to_be_hidden()
    expect(box).to_have_value("conn")
    page.keyboard.press("Alt+ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/documents/[0-9a-f-]{36}/$"))
    expect(page.get_by_role("heading", name="Database connections").first).to_be_visible()


def test_enter_searches_the_typed_text_and_a_click_opens_the_section(open_page: OpenPage) -> None:
    page = open_page()
    rows = page.get_by_role("option")
    page.locator("#q").press_sequentially("conn", delay=20)
    expect(rows.first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"\?q=conn$"))
    expect(rows.first).to_be_hidden()

    page.keyboard.type("ection t", delay=20)
    rows.filter(has_text="Connection timeouts").click()
    expect(page).to_have_url(re.compile(r"/documents/.*#section-connection-timeouts$"))
    expect(page.get_by_role("heading", name="Connection timeouts")).to_be_in_viewport()


def test_search_works_without_suggestions(open_page: OpenPage) -> None:
    page = open_page()
    page.route("**/suggestions/?*", lambda route: route.fulfill(status=503))
    page.locator("#q").press_sequentially("connection", delay=20)
    expect(page.locator(".result-link").first).to_be_visible()
    expect(page.get_by_role("listbox")).to_be_hidden()


# --- What only a browser reports: a beacon for a click, reading time, thumbs by keyboard ---------


def kinds() -> list[str]:
    return sorted(Interaction.objects.values_list("kind", flat=True))


def until(holds: Callable[[], bool]) -> None:
    """Waits for what a beacon writes: nothing on the page tells that it has arrived."""
    for _ in range(150):
        if holds():
            return
        time.sleep(0.1)
    pytest.fail(f"Only these arrived: {kinds()}")


def test_clicks_and_reading_time_are_recorded(open_page: OpenPage) -> None:
    page = open_page("/?q=connection+pool")
    page.locator(".result-link").first.click()
    expect(page.locator("h1")).to_have_text("Database connections")
    until(lambda: kinds() == ["click"])
    page.wait_for_load_state()  # its script counts from then on
    page.wait_for_timeout(400)
    page.go_back()
    until(lambda: kinds() == ["click", "dwell"])

    read = Interaction.objects.get(kind="dwell")
    assert (read.seconds or 0) >= 0.4
    searched = SearchEvent.objects.searches().get()
    assert (read.event, read.rank, searched.best_click) == (searched, 1, 1)


def test_feedback_is_given_by_keyboard(open_page: OpenPage) -> None:
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


def test_clicks_on_results_loaded_by_htmx_are_recorded(open_page: OpenPage) -> None:
    page: Page = open_page("/")
    page.fill("#q", "region d40")  # at once: one search
    page.get_by_role("button", name="Helpful: Cave regions", exact=True).click()
    until(lambda: kinds() == ["up"])

    assert SearchEvent.objects.searches().get().query == "region d40"


# --- The Content-Security-Policy in a real browser; all other pages here are watched, too --------


def test_a_script_that_the_page_does_not_name_is_not_run(
    browser: Browser, live_server: Any
) -> None:
    context = browser.new_context(base_url=live_server.url)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto("/")
    for source in ("window.ran = true", None):
        page.evaluate(
            """source => {
                const script = document.createElement("script");
                source ? script.textContent = source : script.src = "/api/schema/";
                const event = new Promise(done =>
                    document.addEventListener("securitypolicyviolation", done, {once: true}));
                document.body.append(script);
                return event.then(() => null);
            }""",
            source,
        )
    assert page.evaluate("window.ran") is None
    assert sum("Content Security Policy" in each for each in said) == 2
    context.close()


# --- The API's documentation in a browser: the list of operations ---------------------------------


def test_api_documentation_opens_in_the_readers_colour_scheme(open_page: OpenPage) -> None:
    page = open_page("/api/docs/", width=390, color_scheme="dark")

    expect(page.locator(".opblock-tag").first).to_contain_text("search")
    expect(page.locator(".opblock-summary").first).to_contain_text("/api/v1/search/")
    expect(page.locator("html.dark-mode")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
