"""The tutorial of docs/tuning.md, step by step, on the sample documents of `make demo`.

Questions, titles, names of buttons and figures are read from the page: where it says what the site
does not, a step fails.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from benchmarks.judged import demo
from common.accounts.models import User
from ingestion.lexical import bm25_weights
from kbsite.demo import documents, examples
from kbsite.demo.site import ADMINISTRATOR
from search.engine import configuration
from search.tuning.candidate_pool_building import build
from search.tuning.candidate_pools import Width
from search.tuning.evaluation import golden_set
from search.tuning.models import GoldenQuery, Judgement, PublishGate
from tests.support.factories import make_collection, make_document
from tests.web.browser.conftest import OpenPage
from tests.web.browser.test_workbench_browser import save

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = (Path(__file__).parents[3] / "docs" / "tuning.md").read_text()
TUTORIAL = PAGE.split("## From the first login to the first rollback")[1].split("\n## ")[0]
INTRODUCTION, *STEPS = (" ".join(part.split()) for part in re.split(r"(?m)^\d+\. ", TUTORIAL))
PASSWORD = "pw-admin"
# The gate searches while the page waits, and the machine may have more to do.
MEASURED_WITHIN = 60_000


class Steps:
    """The steps of the page, one after the other: what each calls by its name, in italics."""

    def __init__(self) -> None:
        self._left = iter(STEPS)
        self.text = ""

    def next(self, beginning: str) -> list[str]:
        self.text = next(self._left)
        assert self.text.startswith(f"**{beginning}"), (
            f"The steps of the page have changed: {self.text}"
        )
        return re.findall(r"\*([^*]+)\*", self.text.replace("**", ""))


@pytest.fixture
def admin(transactional_db: None, clean_cache: None, monkeypatch: pytest.MonkeyPatch) -> User:
    """The demo's administrator, its samples, and those of its judged questions that are of them."""
    # How long a search takes is no step: a busy machine must not have a publication refused.
    monkeypatch.setattr(golden_set, "LATENCY_ROUNDS", 1)
    PublishGate.objects.update_or_create(pk=1, defaults={"latency_floor_ms": 60_000})
    samples = make_collection(documents.SAMPLES)
    for file in documents.samples():
        if not file.file_name.endswith(".pdf"):  # no step is about them
            make_document(samples, file.content, file_name=file.file_name, source=file.source)
    bm25_weights.fold()
    examples.load_golden_queries(print)
    return User.objects.create_superuser(ADMINISTRATOR, password=PASSWORD)


def follow(page: Page, path: str) -> None:
    """Click an entry of the sidebar, and then one of its tabs, if the path goes on: `Entry → Tab`.

    The name of its icon is part of what an entry is called.
    """
    entry, *tabs = path.split(" → ")
    page.get_by_role("link", name=re.compile(rf"^\w+ {entry}$")).click()
    for tab in tabs:
        page.locator("#tabs-items").get_by_role("link", name=tab, exact=True).click()


def rankings_of(page: Page, question: str) -> Locator:
    """The hits of the active ranking, once they are those of the question."""
    expect(page.locator("#wb-text")).to_have_attribute("data-shown", question)
    expect(page.locator("#wb-rankings")).to_have_attribute("aria-busy", "false")
    return page.locator(".wb-column-active .wb-hit")


def pick(page: Page, question: str, tab: str = "Golden") -> Locator:
    page.get_by_role("tab", name=tab).click()
    expect(page.locator("#wb-queries")).to_have_attribute("aria-busy", "false")
    page.locator("#wb-queries .wb-query", has_text=question).click()
    return rankings_of(page, question)


def down_to(page: Page, hit: Locator) -> None:
    """Press ↓ until the hit has the frame."""
    for _ in range(10):
        page.keyboard.press("ArrowDown")
        if hit.evaluate("it => it === document.activeElement"):
            return
    pytest.fail("It was not reached by ten arrows.")


def pull(page: Page, signal: str, to: str) -> None:
    """Give the signal of this name, of the class in sight, this weight."""
    share = page.locator(".wb-class:not([hidden]) .sy-share", has_text=signal)
    share.locator("input.sy-figure").fill(to)
    share.locator("input.sy-figure").press("Tab")
    expect(share.locator("input.sy-figure")).to_have_value(to)


def publish(page: Page, reason: str) -> None:
    page.get_by_role("link", name="Publish…").click()
    page.get_by_label("Reason").fill(reason)


def profile_of_readers(page: Page) -> str:
    found = page.request.get("/api/v1/search/?q=submarine+monsters").json()["profile"]
    return f"{found['name']} v{found['version']}"


def audited(page: Page, action: str, *said: str) -> None:
    """Some row of the audit has all of this, and names who did it."""
    row = page.locator("tbody tr").filter(has_text=action)
    for text in (ADMINISTRATOR, *said):
        row = row.filter(has_text=text)
    expect(row.first).to_be_visible()


def test_every_step_of_the_tutorial_works(open_page: OpenPage, admin: User) -> None:
    shipped, steps = demo.collection(), Steps()
    count = len(shipped.queries) + len(shipped.without_answer)
    assert f"{count} judged questions" in INTRODUCTION

    steps.next("Sign in")
    address, name = re.findall("`([^`]+)`", steps.text)[:2]
    page = open_page(address, width=1440)
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()

    workbench, active, tab = steps.next("Open")
    follow(page, workbench)
    expect(page.locator("#wb-profile option:checked")).to_have_text(active)
    assert active == f"{profile_of_readers(page)} (active)"

    question, _, wordy, right = steps.next("Read before you judge.")
    hits = pick(page, question, tab)
    expect(hits.filter(has_text=wordy).first).to_be_visible()
    grade = re.search(r"grade (\d)", steps.text)
    assert grade
    expect(hits.filter(has_text=right).first).to_contain_text(f"Grade {grade[1]}")

    question, right = steps.next("Judge a question of your own.")
    page.keyboard.press("/")
    page.keyboard.type(question)
    page.keyboard.press("Enter")
    hit = rankings_of(page, question).filter(has_text=right).first
    down_to(page, hit)
    page.keyboard.press("3")
    expect(page.locator("#wb-toast")).to_have_text(f"Answers in full: {right}")
    assert Judgement.objects.get(judge=admin).query.text == question
    page.keyboard.press("z")
    expect(page.locator("#wb-toast")).to_contain_text("was removed")
    page.keyboard.press("3")
    expect(page.locator("#wb-toast")).to_have_text(f"Answers in full: {right}")

    (first,) = steps.next("Mark a document that must be first.")
    hits = pick(page, first)
    down_to(page, hits.first)
    page.keyboard.press("f")
    expect(hits.first.locator(".wb-tag")).to_have_text("must be first")
    assert GoldenQuery.objects.get(must_be_first__isnull=False).text == first

    heading, button = steps.next("Measure.")
    measures = page.locator("section.wb-panel", has_text=heading)
    measures.get_by_role("button", name=button).click()
    expect(measures.locator("#wb-measures progress")).to_be_visible()
    build(Width.of(configuration.current().profile()))  # as a worker does
    expect(measures).to_contain_text(f"All {GoldenQuery.objects.count()} golden queries")
    expect(measures.locator(".wb-figure").first).to_contain_text("nDCG@10")

    _, signal = steps.next("Move a slider.")
    expect(page.get_by_role("tab", name="General")).to_be_hidden()
    pull(page, signal, "1")
    expect(page.locator(".wb-column-draft .wb-hit")).to_have_count(0)
    expect(page.locator(".wb-figure .wb-worse").first).to_be_visible()
    expect(page.locator(".wb-broken")).to_contain_text(first)

    field, button, draft = steps.next("Save draft.")
    save(page, "Exact words first.", field, button)
    expect(page.locator("#wb-profile option:checked")).to_have_text(draft)

    change, heading, _ = steps.next("Publish…")
    publish(page, "Codes must be found.")
    expect(page.get_by_text(change)).to_be_visible()
    page.get_by_role("button", name="Measure and publish").click()
    refused = page.locator("section[aria-label=State]")
    expect(refused).to_contain_text(heading, timeout=MEASURED_WITHIN)
    expect(refused).to_contain_text(f"not first for 1 golden query: “{first}”")
    assert f"{profile_of_readers(page)} (active)" == active

    link, signal, new = steps.next("Fix it.")
    page.get_by_role("link", name=link).click()
    # It begins with the first golden query.
    expect(page.locator("#wb-text")).to_have_attribute("data-shown", re.compile("."))
    pick(page, first)
    weight = re.search(rf"\*{signal}\* to ([\d.]+\d)", steps.text)
    assert weight
    pull(page, signal, weight[1])
    expect(page.locator(".wb-broken")).to_have_count(0)
    save(page, "Meaning instead.", field, button)
    publish(page, "Readers ask in their own words.")
    page.get_by_role("button", name="Measure and publish").click()
    done = page.get_by_text("is active from the next search.")
    expect(done).to_be_visible(timeout=MEASURED_WITHIN)
    assert profile_of_readers(page) == new

    listed, back = steps.next("Roll back.")
    follow(page, listed)
    page.get_by_label("Reason for the rollback").fill("As it was.")
    page.get_by_role("button", name=back).click()
    expect(page.get_by_text("is active again")).to_be_visible()
    assert f"{profile_of_readers(page)} (active)" == active

    (audit,) = steps.next("Read the audit")
    follow(page, audit)
    audited(page, "Edited", "Exact words first.", "keywords: ")
    audited(page, "Refused", "Codes must be found.", first)
    audited(page, "Edited", "Meaning instead.", "meaning: ")
    audited(page, "Published", "Readers ask in their own words.")
    audited(page, "Rolled back", "As it was.")
    assert next(steps._left, None) is None
