"""What needs a layout: where results stand, light rows, fingers, keys, the way back, browsing."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from common.accounts.models import User
from tests.support.factories import make_collection, make_document
from tests.support.library import logbook
from tests.web.browser.conftest import MadeOnce, OpenPage, fill_handbook

pytestmark = pytest.mark.django_db(transaction=True)

LOOKUP = "/?q=barometer&group=false"
TOP = "e => e.getBoundingClientRect().top + scrollY"
BOTTOM = "e => e.getBoundingClientRect().bottom + scrollY"
BOX = "e => e.getBoundingClientRect().toJSON()"
TARGETS = "main a, main button, main summary, header a"
SMALL_TARGETS = """(targets) => [...document.querySelectorAll(targets)]
  .filter((e) => e.checkVisibility({opacityProperty: true}) && !e.closest(".notice, .panel p"))
  .map((e) => [e.textContent.trim(), Math.round(e.getBoundingClientRect().height)])
  .filter(([, height]) => height > 0 && height < 44)"""


@pytest.fixture(autouse=True)
def _library(made_once: MadeOnce) -> None:
    made_once(library)


def library() -> None:
    fill_handbook()
    make_document(make_collection("Ship"), logbook(), file_name="logbook.md")


def top(page: Page, selector: str, place: int = 0) -> float:
    return float(page.locator(selector).nth(place).evaluate(TOP))


def test_the_first_result_is_in_sight_and_ten_take_little_room(open_page: OpenPage) -> None:
    page = open_page(LOOKUP)
    expect(page.locator(".result")).to_have_count(10)
    assert top(page, ".result") <= 250
    height = page.locator(".result").last.evaluate(BOTTOM) - top(page, ".result")
    assert height <= 2400

    # The steelyard is behind a click, and the figures behind another.
    expect(page.locator(".beam")).to_be_hidden()
    page.locator(".weighing > summary").click()
    expect(page.locator(".beam")).to_be_visible()

    # A row is light until it is pointed at or has the focus.
    row = page.locator(".result").nth(1)
    expect(row.locator(".gauge")).to_have_css("opacity", "0")
    row.hover()
    expect(row.locator(".gauge")).to_have_css("opacity", "1")
    page.locator(".result-link").nth(2).focus()
    expect(page.locator(".result").nth(2).locator(".thumbs")).to_have_css("opacity", "1")

    # What answers is the first result, and leaves the next one in sight of 720 pixels.
    page.goto("/?q=how+is+the+pool+of+connections+bounded")
    assert top(page, ".result .answer") <= 250
    assert top(page, ".result", 1) <= 640


def test_on_a_phone_two_results_are_in_sight_and_fingers_hit(
    open_page: OpenPage, reader: User
) -> None:
    page = open_page(LOOKUP, user=reader, width=390, has_touch=True, is_mobile=True)
    page.set_viewport_size({"width": 390, "height": 844})
    second = page.locator(".result").nth(1)
    assert second.locator(".snippet").first.evaluate(BOTTOM) <= 844
    # Nothing hovers on a phone: the gauge and the thumbs are with the reasons.
    expect(page.locator(".star").first).to_be_visible()
    page.locator(".why summary").first.click()
    expect(page.locator(".result").first.locator(".thumbs")).to_be_visible()
    ship = "collection=ship"
    for address in (LOOKUP, f"/library/?{ship}", f"/?q=barometer&{ship}&type=text%2Fmarkdown"):
        page.goto(address)
        assert page.evaluate(SMALL_TARGETS, TARGETS) == [], address
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address


def test_on_a_phone_the_whole_piece_answers(open_page: OpenPage) -> None:
    phone = {"width": 390, "has_touch": True, "is_mobile": True}
    page = open_page("/?q=how+is+the+pool+of+connections+bounded", **phone)
    page.set_viewport_size({"width": 390, "height": 844})
    assert top(page, ".result .answer") <= 300
    text = page.locator(".answer-text")
    assert text.evaluate("each => each.scrollHeight <= each.clientHeight + 1")  # nothing is cut off
    expect(page.get_by_text("Helpful?")).to_be_visible()
    assert page.evaluate(SMALL_TARGETS, ".opinion button") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_header_keeps_within_a_phone_for_staff(open_page: OpenPage) -> None:
    name = "a-rather-long-name-of-an-administrator"
    admin = User.objects.create_superuser(name, "a@example.org", "pw-administrator")
    page = open_page(LOOKUP, user=admin, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    nav = page.get_by_role("navigation", name="Site")
    expect(nav.get_by_role("link", name="Admin")).to_be_hidden()
    page.locator(".account summary").click()
    expect(nav.get_by_role("link", name="Admin")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_star_is_set_without_leaving_the_results(open_page: OpenPage, reader: User) -> None:
    page = open_page(LOOKUP, user=reader)
    stars = page.get_by_role("button", name="Favourite: The logbook")
    stars.first.focus()
    with page.expect_response(re.compile("/me/favourites/")) as sent:
        page.keyboard.press("Enter")
    assert sent.value.status == 302
    # Every row of the document shows it.
    for row in range(stars.count()):
        expect(stars.nth(row)).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("q=barometer"))
    page.goto(LOOKUP)
    expect(stars.first).to_have_attribute("aria-pressed", "true")
    with page.expect_response(re.compile("/me/favourites/")):
        stars.first.press("Enter")
    page.goto(LOOKUP)
    expect(stars.first).to_have_attribute("aria-pressed", "false")


def test_shortcuts_work_and_going_back_returns_to_the_result(open_page: OpenPage) -> None:
    page = open_page(LOOKUP)
    links = page.locator(".result-link")
    for key, place in (("j", 0), ("j", 1), ("ArrowDown", 2), ("k", 1), ("j", 2)):
        page.keyboard.press(key)
        expect(links.nth(place)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/documents/"))
    page.go_back()
    expect(links.nth(2)).to_be_focused()
    expect(links.nth(2)).to_be_in_viewport()
    # In the box, letters are letters.
    page.keyboard.press("/")
    page.keyboard.type("jk")
    expect(page.locator("#q")).to_have_value("jk")

    page.goto("/?q=barometer+of+the+connection")
    link = page.locator(".result", has_text="Handbook").locator(".result-link").first
    link.click()
    page.get_by_role("link", name="Results for").click()
    expect(link).to_be_focused()


def test_filters_apply_at_once_and_chips_take_them_off(open_page: OpenPage) -> None:
    page = open_page("/?q=connection")
    expect(page.get_by_role("button", name="Apply")).to_be_hidden()
    count = page.locator("label", has_text="Markdown").locator("small")
    before = int(count.inner_text())
    page.get_by_label("Handbook").check()
    expect(page).to_have_url(re.compile("collection=handbook"))
    expect(count).not_to_have_text(str(before))
    # The list was exchanged under the finger; the box that was ticked keeps the focus.
    expect(page.get_by_label("Handbook")).to_be_focused()
    page.go_back()
    expect(page.get_by_label("Handbook")).not_to_be_checked()
    page.go_forward()
    page.locator(".chips a", has_text="Handbook").click()
    expect(page).to_have_url(re.compile(r"/\?q=connection$"))
    expect(page.locator(".chips")).to_have_count(0)


def test_the_library_is_browsed_sorted_and_searched(open_page: OpenPage) -> None:
    page = open_page("/")
    page.get_by_role("link", name="Library", exact=True).click()
    titles = page.locator(".library tbody .title a")
    expect(titles).to_have_count(3)
    page.locator(".library thead").get_by_role("link", name="Title").click()
    expect(titles).to_have_text(["Cave regions", "Database connections", "The logbook"])
    expect(page.locator("th.title[aria-sort]")).to_have_attribute("aria-sort", "ascending")
    page.wait_for_load_state()
    page.get_by_label("Ship").check()
    expect(titles).to_have_text(["The logbook"])
    page.fill("#q", "barometer")
    expect(page.locator(".result-link").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"/\?q=barometer&collection=ship"))
    page.go_back()
    expect(titles).to_have_text(["The logbook"])


@pytest.mark.parametrize("width", [1280, 390])
def test_opening_the_weights_does_not_move_the_clicked_line(
    open_page: OpenPage, reader: User, width: int
) -> None:
    page = open_page("/?q=barometer", user=reader, width=width)
    lefts = page.locator(".line :is(a, summary)").evaluate_all("all => all.map(e => e.offsetLeft)")
    assert len(lefts) == 3
    assert width < 1280 or lefts == sorted(lefts)  # keys go the way that eyes go
    line = [".weighing > summary", ".order"]
    before = [page.locator(each).bounding_box() for each in line]
    page.locator(line[0]).click()
    card = page.locator(".weighing > section").evaluate(BOX)
    assert [page.locator(each).bounding_box() for each in line] == before

    # The card is as wide as the results, and covers none of them.
    results = page.locator(".results").evaluate(BOX)
    assert (card["x"], card["width"]) == (results["x"], results["width"])
    assert all(box and box["y"] + box["height"] <= card["y"] for box in before)
    assert card["y"] + card["height"] <= results["y"]
