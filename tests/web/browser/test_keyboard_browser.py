"""The admin by keyboard alone: what has the focus is seen, and the menu opens on a telephone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from common.accounts.models import User
from tests.web.browser.conftest import OpenPage

pytestmark = pytest.mark.django_db(transaction=True)

# Whether something else lies over the middle of what has the focus.
COVERED = """(() => {
    const focused = document.activeElement;
    const { x, y, width, height } = focused.getBoundingClientRect();
    const seen = document.elementFromPoint(x + width / 2, y + height / 2);
    return seen !== null && !focused.contains(seen) && !seen.contains(focused);
})()"""


@pytest.fixture
def admin(transactional_db: None) -> User:
    return User.objects.create_superuser("administrator", "a@example.org", "pw-administrator")


def test_no_field_hides_behind_the_bar_with_the_buttons(admin: User, open_page: OpenPage) -> None:
    page = open_page("/admin/search/classrule/add/", user=admin, width=1300)
    page.set_viewport_size({"width": 1300, "height": 500})
    page.locator("#id_name").focus()
    covered = []
    while not page.locator("[name=_save]").evaluate("e => e === document.activeElement"):
        page.keyboard.press("Tab")
        if page.evaluate(COVERED):
            covered.append(page.evaluate("document.activeElement.outerHTML"))
    assert covered == []


def test_a_switch_shows_that_it_has_the_focus(admin: User, open_page: OpenPage) -> None:
    page = open_page("/admin/search/pin/add/", user=admin)
    page.locator("#id_position").focus()
    page.keyboard.press("Tab")
    expect(page.locator("#id_enabled")).to_be_focused()
    expect(page.locator("#id_enabled")).to_have_css("outline-style", "solid")


def test_the_menu_opens_and_closes_on_a_narrow_screen(admin: User, open_page: OpenPage) -> None:
    page = open_page("/admin/", user=admin, width=400)
    menu = page.locator("#nav-sidebar-inner")
    expect(menu).to_be_hidden()

    page.keyboard.press("Tab")  # the skip link
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    expect(menu.get_by_role("link").first).to_be_focused()

    menu.get_by_role("button", name="Menu").focus()
    page.keyboard.press("Enter")
    expect(menu).to_be_hidden()
