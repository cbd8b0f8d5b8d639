"""Answers in a real browser: tokens as they come, chips, stop, copy, keyboard, hostile text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from common.accounts.models import User
from search.answers.models import Answer, AnswerFeedback, Thread
from tests.support.factories import make_collection, make_document
from tests.support.fake_chat import FakeChat, Pause, says, status
from tests.support.library import CONNECTIONS
from tests.support.live_site import live_site
from tests.web.browser.conftest import MadeOnce, OpenPage, pages_of

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "/?q=What+is+the+timeout+of+a+connection%3F"
HOSTILE = (
    "Set the timeout to five seconds [1]. A connection that is refused fails at once [1]. "
    "<img src=https://evil.example/a.png onerror=alert(1)> "
    "![x](https://evil.example/b.png) [more](https://evil.example/) [9]."
)
FITS_WITH_LONG_CODE = """(text) => {
  text.insertAdjacentHTML("beforeend", `<pre>${"long_".repeat(99)}</pre>`);
  const fits = text.offsetWidth < text.closest(".answer").offsetWidth;
  text.lastElementChild.remove();
  return fits;
}"""


@pytest.fixture
def open_page(
    made_once: MadeOnce, clean_cache: None, browser: Browser, settings: Any
) -> Iterator[OpenPage]:
    """Pages of a site that streams, with one document."""
    made_once(handbook)
    settings.ALLOWED_HOSTS = ["*"]
    with live_site() as address, pages_of(browser, address) as opened:
        yield opened


def handbook() -> None:
    make_document(make_collection("Handbook"), CONNECTIONS, file_name="connections.md")


@pytest.fixture
def chat(settings: Any) -> Iterator[FakeChat]:
    with FakeChat() as server:
        settings.ANSWERS_GENERATED = True
        settings.ANSWERS_AUTOMATIC = "model"
        settings.ANSWER_BASE_URL = server.base_url
        settings.ANSWER_API_KEY = "key"
        settings.ANSWER_MODEL = "fake-chat"
        yield server


def asks_of(page: Page) -> list[str]:
    """The requests for answers that the page has sent, as they come."""
    asked: list[str] = []
    page.on(
        "request",
        lambda request: (
            asked.append(request.post_data or "")
            if request.url.endswith("/answers/stream/")
            else None
        ),
    )
    return asked


def test_answer_streams_above_the_results_until_stopped(
    open_page: OpenPage, chat: FakeChat
) -> None:
    """S5-17. Stopping ends the request to the model."""
    chat.then(says("Refused connections ", "fail at once [1].", Pause()))
    page = open_page(QUESTION)
    running = page.locator("article.running")
    expect(running.locator(".answer-text")).to_have_text("Refused connections fail at once 1.")
    expect(running.locator(".cite")).to_have_text("1")
    expect(page.locator(".result-link").first).to_be_visible()
    running.get_by_role("button", name="Stop").click()
    expect(page.locator("article.answer")).to_contain_text("Stopped. This part was not checked.")
    expect(page.locator("#answer-status")).to_have_text("Stopped. This part was not checked.")
    chat.wait_for(lambda server: server.disconnects == 1)
    page.get_by_role("button", name="Answer this").click()
    expect(page.locator("article.answer .making")).to_be_visible()
    expect(page.locator("article.answer")).to_contain_text("written by fake-chat")


STRUCTURE = """place => [...place.querySelectorAll("p, ol, li, pre, code, strong, em, h3, th, td")]
    .map(each => each.tagName + each.textContent.replace(/not (verified|supported)|\\s/g, ""))"""


def test_streamed_markdown_is_rendered_without_a_jump_at_the_end(
    open_page: OpenPage, chat: FakeChat
) -> None:
    pieces = (
        "**Set", " the timeout** to `fi", "ve` *seconds* [3].\n\n#", "### Do\n\n1", ". Open **it",
        "** [3].\n2. Turn on keepalives [3].\n   - At *once*\n\n``", "`python\nconnect(",
        "a)\n\n# x\n```\n\n| a |", " b |\n|---|---|\n| **1** | 2 |\n\nThe fire", "wall [3].",
    )  # fmt: skip
    chat.then(says(*pieces, Pause(3.0)))
    page = open_page(QUESTION)
    text = page.locator("article.running .answer-text")
    expect(text).to_contain_text("The firewall")
    before, top = text.evaluate(STRUCTURE), text.evaluate("each => each.getBoundingClientRect().y")
    expect(page.locator("article.answer:not(.running)")).to_be_visible()
    after = page.locator(".answer-text")
    assert before == after.evaluate(STRUCTURE)
    assert {"STRONGit", "PREconnect(a)#x", "LIOpenit3."} <= set(before)
    assert abs(after.evaluate("each => each.getBoundingClientRect().y") - top) < 1
    expect(page.locator(".solved")).to_be_hidden()
    expect(page.locator(".making dl")).to_have_count(0)  # figures are for staff


def test_hostile_text_of_a_model_loads_nothing(open_page: OpenPage, chat: FakeChat) -> None:
    """While it streams, and afterwards; `open_page` fails for a request to another host."""
    # Playwright looks each second at last: the text must stand longer before quotes replace it.
    chat.then(says(HOSTILE, Pause(3.0)))
    page = open_page(QUESTION)
    expect(page.locator(".answer-text")).to_contain_text("< img src=https://evil.example/a.png")
    expect(page.locator("article.answer:not(.running)")).to_be_visible()
    text = page.locator(".answer-text")
    expect(text.locator("img, script, a:not(.cite, [href^='/documents/'])")).to_have_count(0)


def test_a_chip_opens_its_passage_by_keyboard(open_page: OpenPage, chat: FakeChat) -> None:
    """S5-18, S5-19: the quoted words are marked; Escape leads back."""
    page = open_page(QUESTION, permissions=["clipboard-read", "clipboard-write"])
    expect(page.locator("#answer-status")).to_have_text("The answer is ready.")
    chip = page.locator("a.cite").first
    assert page.locator(".answer-text").evaluate(FITS_WITH_LONG_CODE)
    chip.focus()
    page.keyboard.press("Enter")
    source = page.locator("details.source[open]")
    expect(source.locator(".source-text")).to_be_focused()
    expect(source.locator("mark.current")).not_to_be_empty()
    page.keyboard.press("Escape")
    expect(chip).to_be_focused()
    expect(page.locator("details.source[open]")).to_have_count(0)

    page.get_by_role("button", name="Copy as Markdown").press("Enter")
    expect(page.locator(".said")).to_have_text("Copied.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "/documents/" in copied


def test_only_a_submitted_question_is_answered(open_page: OpenPage) -> None:
    """The piece comes with the page: nothing moves, and nothing else is asked for."""
    page = open_page("/")
    asked = asks_of(page)
    box, piece = page.locator("#q"), page.locator("article.answer")
    box.press_sequentially("what is the timeout of a connection", delay=5)
    expect(page.get_by_role("button", name="Answer this")).to_be_visible()
    box.press_sequentially(" here")
    box.press("Enter")  # before the search of the last letters has begun
    expect(piece).to_have_count(1)
    expect(piece.locator(".result-link")).to_be_visible()  # it is the first result
    box.press_sequentially(" now")
    expect(piece).to_have_count(0)
    page.get_by_role("button", name="Answer this").press("Enter")
    expect(piece).to_have_count(1)
    assert asked == []

    piece.get_by_role("button", name="No", exact=True).press("Enter")
    page.get_by_label("What is wrong with it?").select_option("incomplete")
    page.get_by_role("button", name="Send").press("Enter")
    expect(page.locator("form[data-why]")).to_be_hidden()
    assert AnswerFeedback.objects.get().reason == "incomplete"


SHIFTS = """() => new Promise(done => {
  const moved = [];
  const name = ({ node }) => (node?.tagName ? node : node?.parentElement)?.outerHTML.slice(0, 80);
  const isLower = each => each.previousRect.y !== each.currentRect.y;
  new PerformanceObserver(list => list.getEntries()
    .forEach(each => moved.push(...each.sources.filter(isLower).map(name))))
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(moved), 100);
})"""


def test_a_models_answer_replaces_the_quote_and_moves_nothing(
    open_page: OpenPage, chat: FakeChat
) -> None:
    """Above the results it has one height from its beginning on, until it is opened."""
    chat.then(says(Pause(1.0), "Refused connections fail at once [1].", Pause(1.0)))
    page = open_page(QUESTION)
    link = page.locator(".result-link").first
    running = page.locator("article.running .answer-text")
    expect(running).to_contain_text("five seconds")  # the quote
    expect(page.locator("article.running h2")).not_to_be_empty()
    before = link.evaluate("each => each.getBoundingClientRect().y")
    expect(running).to_have_text("Refused connections fail at once 1.")
    assert link.evaluate("each => each.getBoundingClientRect().y") == before
    expect(page.locator("article.answer:not(.running)")).to_contain_text("written by fake-chat")
    assert link.evaluate("each => each.getBoundingClientRect().y") == before
    expect(page.locator("article.answer h2")).to_have_text("Answer")
    sources = page.locator(".folded .sources:not(.read-too *)")
    expect(sources.locator("summary")).to_be_in_viewport(ratio=1)
    assert page.evaluate(SHIFTS) == []
    expect(page.get_by_text("Helpful?")).to_be_hidden()
    sources.locator("summary").click()
    expect(page.locator(".folded")).to_have_count(0)
    expect(page.locator(".source-text").first).to_be_visible()
    expect(page.get_by_text("Helpful?")).to_be_visible()
    assert Answer.objects.count() == 1


@pytest.mark.parametrize("case", ["stopped", "failing", "no scripts"])
def test_quote_stays_without_a_models_text(open_page: OpenPage, chat: FakeChat, case: str) -> None:
    chat.then(*[status(400, "down")] * 3 if case == "failing" else [says(Pause())])
    page = open_page(QUESTION, java_script_enabled=case != "no scripts")
    answer = page.locator("article.answer")
    if case == "stopped":
        page.get_by_role("button", name="Stop").click()
        expect(answer.get_by_text("Stopped.")).to_be_visible()
    expect(page.locator("article.running")).to_have_count(0)
    expect(answer.locator(".answer-text")).to_contain_text("five seconds")
    if case == "failing":
        page.get_by_role("button", name="Show all").click()
        expect(answer.get_by_text("quoted from the sources instead")).to_be_visible()
    else:
        expect(answer.get_by_role("button", name="Write an answer")).to_be_visible()


def test_follow_up_opens_a_thread(open_page: OpenPage, reader: User) -> None:
    page = open_page(QUESTION, user=reader)
    further = page.get_by_role("textbox", name="Ask a follow-up question")
    further.fill("And how large is the pool?")
    further.press("Enter")
    expect(page.locator("article.answer:not(.running)")).to_have_count(2)
    expect(page.get_by_role("heading", name="And how large is the pool?")).to_be_visible()
    page.get_by_role("link", name="Open the thread").click()
    expect(page.locator("article.answer")).to_have_count(2)
    further.fill("And the keepalives?")
    further.press("Enter")
    expect(page.locator("article.answer:not(.running)")).to_have_count(3)
    expect(further).to_have_count(1)
    assert Thread.objects.get().answers.count() == Answer.objects.count() == 3
