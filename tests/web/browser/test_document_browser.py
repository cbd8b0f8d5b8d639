"""What only a browser shows of a document: where one is, what stays in sight, links, keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from ingestion.models import Document
from tests.samples import builders
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS, logbook
from tests.web.browser.conftest import MadeOnce, OpenPage
from tests.web.test_page_pictures import PAGES

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.forks]
BOX = "element => element.getBoundingClientRect().toJSON()"


@pytest.fixture
def address(made_once: MadeOnce) -> str:
    made_once(ship)
    return Document.objects.get().get_absolute_url()


def ship() -> None:
    make_document(make_collection("Ship"), logbook(), file_name="log.md")


def test_scrolling_updates_the_current_contents_entry(open_page: OpenPage, address: str) -> None:
    page = open_page(f"{address}?q=barometer&chunk=20#chunk-20")
    here = page.locator(".contents [aria-current]")
    title = page.locator(".reading-title")
    expect(here).to_be_visible()
    expect(title).to_be_in_viewport()
    before = here.inner_text()
    page.locator("#chunk-30").evaluate("(passage) => passage.scrollIntoView()")
    expect(here).not_to_have_text(before)
    heading = page.locator("#chunk-30 .heading").inner_text()
    expect(here).to_have_text(heading)

    # Keys go from hit to hit; the passage is then in sight below the bar, and marked.
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile(r"chunk=21&q=barometer#chunk-21$"))
    expect(page.locator("#chunk-21.asked")).to_be_in_viewport()
    page.wait_for_load_state()
    bar = page.locator(".reading-bar")
    assert page.locator("#chunk-21").evaluate(BOX)["top"] >= bar.evaluate(BOX)["bottom"] - 1
    page.keyboard.press("p")
    expect(page).to_have_url(re.compile("chunk=20&"))


def test_a_link_to_a_passage_is_copied_and_opens_at_it(open_page: OpenPage, address: str) -> None:
    page = open_page(f"{address}?q=barometer", permissions=["clipboard-read", "clipboard-write"])
    page.evaluate("window.setTimeout = () => 0")  # its words would go after two seconds
    page.locator("#chunk-7 .permalink").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="Link copied")).to_be_attached()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.endswith(f"{address}?chunk=7#chunk-7")
    page.goto(copied)
    expect(page.locator("#chunk-7.asked")).to_be_in_viewport()


def test_on_a_phone_the_contents_fold_above_the_text(open_page: OpenPage) -> None:
    document = make_document(make_collection(), CONNECTIONS, file_name="connections.md")
    page = open_page(f"{document.get_absolute_url()}?q=timeout", width=390, has_touch=True)
    contents = page.locator(".contents")
    expect(contents).not_to_have_attribute("open", "")
    contents.locator("summary").click()
    contents.get_by_role("link", name="Connection timeouts").click()
    expect(page).to_have_url(re.compile(r"#chunk-\d$"))
    assert page.locator(".hits a").first.bounding_box()["width"] >= 44  # type: ignore[index]
    # At one moment: the page may still be scrolling to the passage.
    tops = "names => names.map(n => document.querySelector(n).getBoundingClientRect().top)"
    order = page.evaluate(tops, [".contents", ".text", ".facts"])
    assert order == sorted(order)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_register_of_eight_columns_shows_the_last(open_page: OpenPage) -> None:
    rows = "No.,Maker,Model,Serial,Year,Place,Value CHF,State\n" + "".join(
        f"HV-{number},Steinway,Model O,217{number},1923,Solothurn workshop,54000,playable\n"
        for number in range(100, 112)
    )
    document = make_document(make_collection(), rows, file_name="register.csv")
    table = open_page(document.get_absolute_url()).locator(".scrolls").first
    assert table.evaluate("it => it.scrollWidth - it.clientWidth") == 0


@pytest.fixture
def handbook(settings: Any, tmp_path: Path) -> Document:
    settings.MEDIA_ROOT = tmp_path
    return make_document(make_collection(), builders.make_pdf(PAGES), file_name="beam.pdf")


def test_page_picture_is_beside_the_text_with_the_passage_marked(
    open_page: OpenPage, handbook: Document
) -> None:
    assert handbook.current is not None
    ordinal = handbook.current.chunks.filter(page=2).first().ordinal  # type: ignore[union-attr]
    page = open_page(f"{handbook.get_absolute_url()}?q=hook&chunk={ordinal}#chunk-{ordinal}")
    page.get_by_role("link", name="Original", exact=True).click()
    picture = page.get_by_role("img", name="Page 2 of the original")
    passage = page.locator(f"#chunk-{ordinal}")
    expect(picture).to_be_in_viewport()
    expect(passage).to_be_in_viewport()
    for image in (picture, page.locator(".place").first):
        # Where the site is busy, the page asks again.
        drawn = "(image) => image.naturalWidth > 0"
        page.wait_for_function(drawn, arg=image.element_handle(), timeout=60_000)
    assert passage.evaluate(BOX)["right"] <= picture.evaluate(BOX)["left"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.get_by_role("link", name="Text only").click()
    expect(picture).to_have_count(0)
    expect(page.locator(f"#chunk-{ordinal}.asked")).to_be_in_viewport()


def test_page_picture_is_above_its_text_on_a_phone(open_page: OpenPage, handbook: Document) -> None:
    page = open_page(f"{handbook.get_absolute_url()}?view=original", width=390)
    leaf = page.locator(".leafed").nth(1)
    leaf.scroll_into_view_if_needed()
    above, below = (leaf.locator(name).evaluate(BOX) for name in (".sheets", ".beside"))
    assert above["bottom"] <= below["top"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_page_that_cannot_be_drawn_says_so_in_its_place(
    open_page: OpenPage, handbook: Document, settings: Any
) -> None:
    settings.PAGE_PICTURES_SECONDS = 0.001
    page = open_page(f"{handbook.get_absolute_url()}?view=original")
    reason = page.locator(".sheet .notice").first
    expect(reason).to_contain_text("Page 1 cannot be shown as a picture")
    expect(page.locator("#chunk-0")).to_be_visible()
