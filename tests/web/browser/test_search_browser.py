"""What only a browser shows of search: typing, keys, no JavaScript, colours, small screens."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from common.accounts.models import User
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS, REGIONS, SECRET, logbook
from tests.web.browser.conftest import MadeOnce, OpenPage

pytestmark = pytest.mark.django_db(transaction=True)

LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnung" * 3

# Every visible text whose colour stands too little out from what lies under it (WCAG 2.2, 1.4.3).
FAINT_TEXTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3]));
  const luminance = (color) => {
    const [r, g, b] = color.map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.unshift(getComputedStyle(e));
    return layers.map((style) => rgba(style.backgroundColor))
      .reduce((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility({visibilityProperty: true})) continue;
    const style = getComputedStyle(element);
    const under = ground(element);
    const text = over(rgba(style.color), under);
    const [high, low] = [luminance(text), luminance(under)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < (isLarge ? 3 : 4.5)) faint.push(`${ratio.toFixed(2)} ${node.data.trim()}`);
  }
  return faint;
}"""


@pytest.fixture(autouse=True)
def _library(made_once: MadeOnce) -> None:
    made_once(library)


def library() -> None:
    handbook = make_collection("Handbook")
    make_document(handbook, CONNECTIONS, file_name="connections.md")
    make_document(handbook, REGIONS, file_name="regions.md")


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
    expect(page.get_by_role("status")).to_contain_text("passages")
    expect(page.locator("#q")).to_be_focused()

    page.reload()
    expect(page.locator("#q")).to_have_value("connection timeouts")
    expect(page.locator(".result-link").first).to_have_text("Connection timeouts")


def test_a_filter_narrows_at_once_and_back_undoes_it(open_page: OpenPage) -> None:
    make_document(make_collection("Ship"), "# Log\n\nThe connection to the harbour was lost.\n")
    page = open_page("/?q=connection")
    expect(page.locator(".shelf", has_text="Ship")).not_to_have_count(0)

    page.get_by_label("Handbook").check()
    expect(page.locator(".shelf", has_text="Ship")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"collection=handbook"))
    expect(page.get_by_role("link", name="Clear filters")).to_be_visible()

    page.go_back()
    expect(page.locator(".shelf", has_text="Ship")).not_to_have_count(0)


def test_the_keyboard_is_enough(open_page: OpenPage) -> None:
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

    page.fill("#q", "connection")
    expect(links.first).to_be_visible()
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


@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_can_be_read(open_page: OpenPage, width: int) -> None:
    shelf = make_collection(f"A shelf of {LONG_WORD}"[:110])
    text = f"# Title {LONG_WORD}\n\nA connection {LONG_WORD}.\n\n```\n{'x = 1; ' * 60}\n```\n"
    make_document(shelf, text, file_name="long.md")
    page = open_page("/?q=connection+D40", width=width)
    places = page.locator(".result-link").evaluate_all("all => all.map(a => a.href)")
    long_query = f"/?q={'x' * 501}"
    searches = ["/", "/?q=connection+D40", "/?q=connection&before=2001-01-01", long_query]
    for address in [*searches, "/login/", "/nothing/", *places]:
        page.goto(address)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert page.evaluate(FAINT_TEXTS) == [], f"{address} {scheme}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_the_filters_fold_away_on_a_small_screen(open_page: OpenPage) -> None:
    page = open_page("/?q=connection", width=390)
    expect(page.get_by_label("Handbook")).to_be_hidden()
    page.locator(".filters summary").click()
    expect(page.get_by_label("Handbook")).to_be_visible()


def test_nothing_moves_for_those_who_ask_for_it(open_page: OpenPage) -> None:
    page = open_page("/", reduced_motion="reduce")
    moving = """() => [...document.querySelectorAll('*')].filter((e) => {
      const style = getComputedStyle(e);
      return style.animationName !== 'none' || parseFloat(style.transitionDuration) > 0;
    }).length"""
    page.evaluate("document.getElementById('search').classList.add('htmx-request')")
    assert page.evaluate(moving) == 0
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(moving) > 0


def test_it_holds_under_a_strict_content_security_policy(open_page: OpenPage) -> None:
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'"
    )
    page = open_page()
    refusals: list[str] = []
    page.on("console", lambda message: refusals.append(message.text))

    def with_policy(route: Route) -> None:
        response = route.fetch()
        headers = {**response.headers, "content-security-policy": policy}
        route.fulfill(response=response, headers=headers)

    page.route("**/*", with_policy)
    page.goto("/")
    search_for(page, "connection timeouts")
    page.locator(".why summary").first.click()
    expect(page.locator(".figures").first).to_be_visible()
    assert refusals == []


def test_a_server_that_fails_is_not_taken_for_no_results(open_page: OpenPage) -> None:
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_link_to_insisting_is_reached_by_keys_and_readable(
    open_page: OpenPage, scheme: str
) -> None:
    page = open_page("/?q=%22pool of sharks%22 connection", color_scheme=scheme)
    note = page.locator(".spelling")
    expect(note).to_contain_text("No passage holds the exact words “pool of sharks”")
    assert page.evaluate(FAINT_TEXTS) == []
    link = page.get_by_role("link", name="Insist on quotes and hyphens")
    for _ in range(40):
        page.keyboard.press("Tab")
        if link.evaluate("link => link === document.activeElement"):
            break
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="No results for")).to_be_visible()
    page.get_by_role("link", name="Search without insisting").click()
    expect(page.locator(".result-link").first).to_be_visible()


def test_a_question_too_long_for_an_address_is_answered(open_page: OpenPage) -> None:
    page = open_page()
    page.fill("#q", "connection “水泵站 水泵” " + "水泵站 " * 800)
    expect(page.locator(".result-link").first).to_be_visible()
    assert page.url.endswith("/")
    page.get_by_role("link", name="Insist on quotes and hyphens").click()
    expect(page.get_by_role("heading", name="No results for")).to_be_visible()
    assert page.url.endswith("/")
    page.get_by_role("link", name="Search without insisting").click()
    expect(page.locator(".result-link").first).to_be_visible()
