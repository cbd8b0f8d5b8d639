"""Long names, long findings and long headings stay where they can be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from common.accounts.models import User
from search.models import SearchProfile
from search.tuning.models import GoldenQuery, ProfileChange
from tests.support.factories import make_collection
from tests.web.browser.conftest import OpenPage

pytestmark = pytest.mark.django_db(transaction=True)

FINDING = "nDCG@10 falls by 0.200 (95% interval -0.600 to +0.000), beyond the margin of 0.010."

# Cells whose content goes on behind their edge.
CLIPPED = """[...document.querySelectorAll("#result_list td, #result_list th")]
    .filter(cell => cell.scrollWidth > cell.clientWidth + 1).length"""
# How far the list is wider than the frame that it scrolls in.
HIDDEN = """(() => {
    let frame = document.querySelector("#result_list");
    const width = frame.scrollWidth;
    while (frame && getComputedStyle(frame).overflowX !== "auto") frame = frame.parentElement;
    return frame ? width - frame.clientWidth : 0;
})()"""


@pytest.fixture
def admin(transactional_db: None) -> User:
    return User.objects.create_superuser("administrator", "a@example.org", "pw-administrator")


@pytest.mark.parametrize(("width", "measured"), [(400, CLIPPED), (1300, HIDDEN)])
@pytest.mark.parametrize("address", ["profilechange/", "goldenquery/"])
def test_a_list_hides_nothing(
    admin: User, open_page: OpenPage, width: int, measured: str, address: str
) -> None:
    profile = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
    ProfileChange.objects.create(
        profile=profile,
        action=ProfileChange.Action.REFUSED,
        user=admin,
        reason="Readers ask in their own words.",
        differences=["general, keyword: 28% → 100%"],
        findings=[FINDING],
    )
    GoldenQuery.objects.create(text="what happens when a node fails")

    page = open_page(f"/admin/tuning/{address}", user=admin, width=width)

    expect(page.locator("#result_list")).to_be_visible()
    assert page.evaluate(measured) <= 0


def test_an_upload_with_a_long_name_stays_in_its_panel(
    admin: User, open_page: OpenPage, tmp_path: Path
) -> None:
    make_collection("Handbook")
    file = tmp_path / f"{'x' * 200}.txt"
    file.write_text("A note.")
    page = open_page("/admin/ingestion/document/add/", user=admin)
    page.get_by_label("Collection").select_option(label="Handbook")
    page.locator("#id_files").set_input_files(file)
    page.get_by_role("button", name="Upload").click()

    link = page.locator("#outcomes .text-link")
    expect(link).to_be_visible()
    assert _right(page, "#outcomes .text-link") <= _right(page, "#outcomes")


def _right(page: Page, selector: str) -> float:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["x"] + box["width"]
