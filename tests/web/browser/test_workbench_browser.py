"""The workbench in a browser: sliders, keys, drafts. test_tutorial_browser.py has the whole way."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from common.accounts.models import User
from ingestion.lexical import bm25_weights
from search.engine import configuration
from search.models import SearchProfile
from search.tuning import judging
from search.tuning.candidate_pool_building import build
from search.tuning.candidate_pools import Width
from search.tuning.models import Judgement
from tests.support.factories import make_collection, make_document
from tests.web.browser.conftest import OpenPage

pytestmark = pytest.mark.django_db(transaction=True)

WORKBENCH = "/admin/search/workbench/"
TEXTS = {
    "Workshop": "Mechanics repair the motors of cars and trucks here every day.",
    "Stage": "Fixing the curtain came last; the automobile in act two was painted cardboard, and "
    "the engines of drama did the rest.",
    "Fire brigade": "Two ladders stand in the yard; the hoses are dried in winter.",
    "Garden": "Roses are cut back in spring, before the first leaves are out.",
}
# Its words stand in “Stage”, its meaning in “Workshop”: the weights decide.
CONTESTED = "mending automobile engines"


def to_the_end(page: Page, signal: str) -> None:
    """Gives the signal all of the weight, by keyboard."""
    shown = page.locator(".wb-class:not([hidden])")
    shown.locator(f".sy-share[data-signal={signal}] [type=range]").focus()
    page.keyboard.press("End")
    expect(shown.locator(f"[data-signal={signal}] input.sy-figure")).to_have_value("1")


def save(
    page: Page, reason: str, field: str = "Reason for the change", button: str = "Save draft"
) -> None:
    page.get_by_label(field).fill(reason)
    page.get_by_role("button", name=button).click()
    expect(page.get_by_role("button", name=button)).to_be_disabled()
    expect(page).to_have_url(re.compile(r"profile=\d+"))
    page.wait_for_load_state()


@pytest.fixture
def expert(transactional_db: None, clean_cache: None) -> User:
    """Has judged three questions on the first four texts, and has their candidates."""
    user = User.objects.create_superuser("tuner", "t@example.org", "pw-tuner")
    shelf = make_collection("Shelf")
    documents = {
        title: make_document(shelf, f"# {title}\n\n{text}\n", file_name=f"{title.lower()}.md")
        for title, text in TEXTS.items()
    }
    bm25_weights.fold()
    judging.judge(CONTESTED, [], documents["Workshop"], 3, acting_user=user)
    judging.judge("when are roses cut", [], documents["Garden"], 3, acting_user=user)
    judging.judge("hoses of the fire brigade", [], documents["Fire brigade"], 2, acting_user=user)
    build(Width.of(configuration.current().profile()))
    return user


def titles(page: Page, column: str) -> list[str]:
    return page.locator(f".wb-column-{column} .wb-title strong").all_inner_texts()


def test_a_slider_moves_ranks_and_figures_and_keys_judge(
    open_page: OpenPage, expert: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(f"{WORKBENCH}?q={CONTESTED}", user=expert, width=1440)
    draft = page.locator(".wb-column-draft")
    expect(draft.locator(".wb-hit")).to_have_count(4)
    expect(page.locator("#wb-measures")).to_contain_text("All 3 golden queries")
    for width in (400, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("w => document.documentElement.scrollWidth <= w", arg=width)
    before = titles(page, "active")

    # From the sliders of the class in sight: keywords alone, then meaning alone.
    to_the_end(page, "keyword")
    expect(draft.locator(".wb-title strong").first).to_have_text("Stage")
    to_the_end(page, "vector")
    expect(draft.locator(".wb-title strong").first).to_have_text("Workshop")
    expect(draft.locator(".wb-move").first).to_be_visible()
    assert titles(page, "active") == before

    # The leading figure stays in sight in the bar, and what moved is told beside the questions.
    expect(page.locator("#wb-summary")).to_contain_text("nDCG@10")
    expect(page.locator("#wb-summary")).to_contain_text("must-be-first kept")

    # One step back at a time, and pushing a slider to the end and back keeps the others' shares.
    shares = page.locator(".wb-class:not([hidden]) input.sy-figure")
    page.keyboard.press("Control+z")
    expect(shares.nth(1)).to_have_value("1")
    expect(page.locator("#wb-queries .wb-delta.wb-worse").first).to_be_visible()
    page.keyboard.press("Control+z")
    first = [shares.nth(place).input_value() for place in range(3)]
    assert "1" not in first
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    to_the_end(page, "vector")
    page.locator("#wb-text").focus()
    slider = page.locator(".wb-class:not([hidden]) .sy-share[data-signal=vector] [type=range]")
    slider.focus()
    slider.evaluate("(it, to) => { it.value = to; it.dispatchEvent(new Event('input')) }", "4000")
    kept = [float(shares.nth(place).input_value()) for place in (1, 2)]
    ratio = float(first[1]) / float(first[2])
    assert kept[0] / kept[1] == pytest.approx(ratio, abs=0.5)
    # That title was first before: only the answer says that the ranking will not change again.
    with page.expect_response(lambda response: "/preview/" in response.url):
        to_the_end(page, "vector")
    expect(page.locator("#wb-rankings")).to_have_attribute("aria-busy", "false")
    expect(draft.locator(".wb-title strong").first).to_have_text("Workshop")

    hit = draft.locator(".wb-hit").nth(1)
    title = hit.locator(".wb-title strong").inner_text()
    hit.focus()
    page.keyboard.press("0")
    expect(draft.locator(".wb-hit").nth(1).locator("[aria-pressed=true]")).to_have_text("0")
    expect(page.locator("#wb-toast")).to_contain_text(f"No answer: {title}")
    assert Judgement.objects.filter(title=title, judge=expert, grade=0).exists()
    page.keyboard.press("z")
    expect(page.locator("#wb-toast")).to_contain_text("was removed")
    expect(draft.locator("[aria-pressed=true]", has_text="0")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(draft.locator(".wb-why[open] .figures")).to_contain_text("Meaning")

    save(page, "Meaning alone.")
    saved = SearchProfile.objects.get(state=SearchProfile.State.DRAFT)
    page.get_by_role("link", name="Test with real searches").click()
    expect(page.locator("select[name=profile]")).to_have_value(str(saved.pk))


def test_weights_for_short_questions_are_shown(open_page: OpenPage, expert: User) -> None:
    page = open_page(f"{WORKBENCH}?q={CONTESTED}", user=expert, width=1440)
    shown = page.locator(".wb-class:not([hidden])")
    short = shown.locator(".sy-short")
    # General: .67 and .28; a lean of .8 moves .224 of the keywords to meaning.
    expect(short).to_contain_text(re.compile(r"Meaning 89%, Keywords 6%"))
    page.locator("[data-field=short_lean] [type=range]").focus()
    page.keyboard.press("Home")
    expect(short).to_be_hidden()
    page.locator("[data-field=short_lean] [type=range]").press("End")
    expect(short).to_contain_text(re.compile(r"Meaning 95%, Keywords 0%"))
    expect(page.locator("#tab-lookup")).to_be_hidden()
    page.get_by_label("Different weights by kind of question").check()
    asked = page.locator(".wb-asked")  # the class of the question is the one in sight
    expect(asked).to_have_attribute("aria-selected", "true")
    page.locator("#tab-lookup").click()
    expect(page.locator("#class-lookup")).to_be_visible()
    expect(page.locator("#class-lookup .sy-short")).to_have_count(0)
    page.get_by_label("Different weights by kind of question").uncheck()
    expect(page.locator("#class-lookup")).to_be_hidden()
    expect(page.locator("#class-general")).to_be_visible()


def test_publishing_saves_what_was_moved_and_refuses_weights_that_are_none(
    open_page: OpenPage, expert: User
) -> None:
    page = open_page(f"{WORKBENCH}?q={CONTESTED}", user=expert, width=1440)
    title = page.locator(".wb-class:not([hidden]) .sy-share[data-signal=title] input.sy-figure")
    before = title.input_value()
    expect(page.locator("#wb-publish")).to_be_hidden()
    title.fill("2")
    title.press("Tab")
    expect(page.get_by_role("alert").filter(has_text="2 is not from 0 to 1")).to_be_visible()
    expect(title).to_have_value(before)

    to_the_end(page, "keyword")
    page.locator("#wb-publish").click()
    expect(page.locator("#publish_form")).to_be_visible()
    draft = SearchProfile.objects.get(state=SearchProfile.State.DRAFT)
    expect(page.locator("#publish_form")).to_contain_text(str(draft))
