"""The admin in a browser: an upload becomes a result, sliders keep their sum, weights act."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from common.accounts.models import User
from ingestion.documents import steps
from ingestion.lexical import terms
from ingestion.models import Document, DocumentVersion, State
from search.models import SearchProfile
from tests.support.factories import make_collection, make_document, upload
from tests.web.browser.conftest import OpenPage

pytestmark = pytest.mark.django_db(transaction=True)

DOCUMENTS = "/admin/ingestion/document/"
PROFILES = "/admin/search/searchprofile/"
SIGNALS = ("vector", "keyword", "title")

# Found by its meaning alone, and by its words alone.
WORKSHOP = "# Workshop\n\nMechanics repair the motors of cars and trucks here every day.\n"
STAGE = (
    "# Stage\n\nFixing the curtain came last; the automobile in act two was painted cardboard, "
    "and the engines of drama did the rest.\n"
)
QUESTION = "/?q=mending+automobile+engines"
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")


@pytest.fixture
def admin(transactional_db: None) -> User:
    return User.objects.create_superuser("administrator", "a@example.org", "pw-administrator")


def process_all() -> None:
    """What a worker would do now."""
    for version in DocumentVersion.objects.filter(state=State.QUEUED):
        steps.advance(version.pk)
    terms.fold()


def figures(page: Page, query_class: str = "general") -> list[Decimal]:
    return [Decimal(figure(page, signal, query_class).input_value()) for signal in SIGNALS]


def figure(page: Page, signal: str, query_class: str = "general") -> Locator:
    return page.locator(f"[name=weight-{query_class}-{signal}]")


def slider(page: Page, signal: str, query_class: str = "general") -> Locator:
    return page.locator(f"[data-class={query_class}] .sy-share[data-signal={signal}] [type=range]")


def active_profile_page() -> str:
    active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
    return f"{PROFILES}{active.pk}/change/"


class TestUpload:
    @pytest.mark.parametrize("address", ["import/add/", "document/{}/change/"])
    def test_choosing_a_file_raises_nothing(
        self, admin: User, open_page: OpenPage, tmp_path: Path, address: str
    ) -> None:
        chosen = tmp_path / "note.md"
        chosen.write_text("# Note")
        document = make_document(make_collection("Handbook"), "# A\n\nText.")

        page = open_page(f"/admin/ingestion/{address.format(document.pk)}", user=admin)
        page.wait_for_load_state("load")
        # open_page fails the test for an error in any script.
        page.locator("#content [type=file]").set_input_files(chosen)

    def test_a_file_goes_from_the_admin_to_ready_to_found(
        self, admin: User, open_page: OpenPage, tmp_path: Path
    ) -> None:
        make_collection("Handbook")
        good, empty = tmp_path / "quorums.md", tmp_path / "empty.txt"
        good.write_text("# Quorums\n\nA quorum needs a majority of the nodes.\n")
        empty.touch()

        page = open_page(DOCUMENTS, user=admin)
        page.get_by_role("link", name="Upload files").first.click()
        page.get_by_label("Collection").select_option(label="Handbook")
        page.locator("#id_files").set_input_files([good, empty])
        expect(page.locator("#chosen")).to_contain_text("empty.txt, 0 bytes is empty")
        page.get_by_role("button", name="Upload").click()

        expect(page.locator(".sy-outcome-queued")).to_contain_text("quorums.md")
        expect(page.locator(".sy-outcome-refused")).to_contain_text("empty.txt")
        page.get_by_role("link", name="Show them").click()
        row = page.locator("tr", has_text="quorums")
        expect(row).to_contain_text("Queued")

        page.evaluate("window.stillTheSamePage = true")
        process_all()
        row = page.locator("tr", has_text="Quorums")
        expect(row).to_contain_text("Ready")
        expect(row.locator(".field-chunks_cell")).to_have_text("1")
        assert page.evaluate("window.stillTheSamePage")

        page.goto("/?q=majority+of+nodes")
        expect(page.locator(".result-link").first).to_have_text("Quorums")

        # Put in the bin by mistake, it comes back by one click.
        page.goto(DOCUMENTS)
        row.locator("input.action-select").check()
        page.locator("select[name=action]").select_option(label="Move to the bin")
        page.get_by_role("button", name="Run").click()
        page.get_by_role("button", name="Move to the bin").click()
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
        expect(row).to_have_count(0)
        page.get_by_role("button", name="Undo").click()
        expect(row).to_contain_text("Ready")

    def test_files_can_be_dropped(self, admin: User, open_page: OpenPage) -> None:
        make_collection("Handbook")
        page = open_page(f"{DOCUMENTS}add/", user=admin)
        page.evaluate("""() => {
          const files = new DataTransfer();
          files.items.add(new File(["# Dropped\\n\\nFrom a folder."], "dropped.md"));
          files.items.add(new File(["Plain words."], "plain.txt"));
          const event = {dataTransfer: files, bubbles: true, cancelable: true};
          document.querySelector(".sy-drop").dispatchEvent(new DragEvent("drop", event));
        }""")
        expect(page.locator("#chosen li")).to_have_count(2)
        page.get_by_role("button", name="Upload").click()
        rows = page.locator(".sy-outcome-queued")
        expect(rows).to_have_count(2)
        assert Document.objects.count() == 2

        # The rows go on by themselves, to what one uploads for.
        process_all()
        expect(rows.filter(has_text="Ready")).to_have_count(2)
        dropped = rows.filter(has_text="dropped.md")
        # Its text has given it a title meanwhile.
        expect(dropped).to_contain_text("Dropped · Read it · Search it")
        dropped.get_by_role("link", name="Search it").click()
        expect(page.locator("main")).to_contain_text("Dropped")

    def test_works_without_javascript(
        self, admin: User, open_page: OpenPage, tmp_path: Path
    ) -> None:
        make_collection("Handbook")
        good = tmp_path / "quorums.md"
        good.write_text("# Quorums\n\nA majority.\n")
        page = open_page(f"{DOCUMENTS}add/", user=admin, java_script_enabled=False)
        page.get_by_label("Collection").select_option(label="Handbook")
        page.locator("#id_files").set_input_files([good])
        page.get_by_role("button", name="Upload").click()
        expect(page.locator(".sy-outcome-queued")).to_contain_text("quorums.md")

    def test_the_page_of_a_document_follows_it_to_the_end(
        self, admin: User, open_page: OpenPage
    ) -> None:
        document = upload(make_collection(), "# Quorums\n\nA majority.\n").document
        page = open_page(f"{DOCUMENTS}{document.pk}/change/", user=admin)
        panel = page.locator("section[aria-label=State]")
        expect(panel).to_contain_text("is being processed")
        process_all()
        expect(panel).to_contain_text("1 passage is searchable")


class TestWeights:
    def test_a_slider_moves_and_the_others_share_the_rest_in_proportion(
        self, admin: User, open_page: OpenPage
    ) -> None:
        page = open_page(active_profile_page(), user=admin)
        assert figures(page) == [Decimal("0.67"), Decimal("0.28"), Decimal("0.05")]
        slider(page, "vector").fill("2000")
        assert figures(page) == [Decimal("0.2"), Decimal("0.68"), Decimal("0.12")]
        parts = page.locator("[data-class=general] .sy-beam-large > span")
        widths = [parts.nth(i).evaluate("part => part.style.width") for i in range(3)]
        assert widths == ["20%", "68%", "12%"]

    def test_the_sum_is_one_after_any_move(self, admin: User, open_page: OpenPage) -> None:
        page = open_page(active_profile_page(), user=admin)
        for signal, value in (
            ("vector", 10_000), ("title", 0), ("keyword", 3_300), ("vector", 700),
            ("title", 10_000), ("keyword", 100), ("vector", 0), ("title", 9_900),
        ):  # fmt: skip
            slider(page, signal).fill(str(value))
            moved = figures(page)
            assert sum(moved) == 1
            assert moved[SIGNALS.index(signal)] == Decimal(value) / 10_000
            assert all(0 <= share <= 1 for share in moved)

    def test_to_the_end_and_back_gives_the_others_what_they_had(
        self, admin: User, open_page: OpenPage
    ) -> None:
        page = open_page(active_profile_page(), user=admin)
        before = figures(page, "lookup")
        vector = slider(page, "vector", "lookup")
        vector.focus()
        page.keyboard.press("End")
        assert figures(page, "lookup") == [1, 0, 0]
        vector.evaluate("(input) => { input.value = 3000; "
                        "input.dispatchEvent(new Event('input', {bubbles: true})); }")  # fmt: skip
        assert figures(page, "lookup") == before

    def test_the_keyboard_is_enough(self, admin: User, open_page: OpenPage) -> None:
        page = open_page(active_profile_page(), user=admin)
        slider(page, "keyword").focus()
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        moved = figures(page)
        assert moved[1] == Decimal("0.33")
        assert sum(moved) == 1
        assert slider(page, "keyword").get_attribute("aria-valuetext") == "33 percent"
        assert slider(page, "keyword").get_attribute("aria-label") == "Keywords, General"

    def test_typed_figures_stand_while_the_next_is_typed(
        self, admin: User, open_page: OpenPage
    ) -> None:
        page = open_page(active_profile_page(), user=admin)
        for signal, typed in (("vector", "0.45"), ("keyword", "0.4125")):
            figure(page, signal).fill(typed)
            figure(page, signal).press("Tab")
        assert figures(page) == [Decimal("0.45"), Decimal("0.4125"), Decimal("0.1375")]

    def test_a_weight_change_is_saved_as_a_draft_published_and_reorders_results(
        self, admin: User, open_page: OpenPage
    ) -> None:
        handbook = make_collection("Handbook")
        make_document(handbook, WORKSHOP, file_name="workshop.md")
        make_document(handbook, STAGE, file_name="stage.md")
        page = open_page(active_profile_page(), user=admin)
        slider(page, "vector").fill("10000")
        page.get_by_role("button", name="Save as a new draft").click()
        expect(page.get_by_text("your edit was saved as the new draft default v4")).to_be_visible()
        expect(page.locator("section[aria-label=State]")).to_contain_text(
            "general, vector: 67% → 100%"
        )
        page.get_by_role("button", name="Save and publish").click()
        expect(page.get_by_text("default v4 is active from the next search.")).to_be_visible()

        page.goto(QUESTION)
        expect(page.locator(".result-link")).to_have_text(["Workshop", "Stage"])

        page.goto(active_profile_page())
        slider(page, "keyword").fill("10000")
        page.get_by_label("Reason").fill("Exact words first.")
        page.get_by_role("button", name="Save and publish").click()
        expect(page.get_by_text("default v5 is active from the next search.")).to_be_visible()

        page.goto(QUESTION)
        expect(page.locator(".result-link").first).to_have_text("Stage")
        page.goto("/admin/tuning/profilechange/")
        expect(page.locator("tr", has_text="Exact words first.").first).to_contain_text(
            "general, keyword: 0% → 100%"
        )

    def test_without_javascript_the_figures_are_typed_and_checked(
        self, admin: User, open_page: OpenPage
    ) -> None:
        page = open_page(active_profile_page(), user=admin, java_script_enabled=False)
        expect(page.locator("[type=range]")).to_have_count(0)
        figure(page, "vector").fill("0.9")
        page.get_by_role("button", name="Save as a new draft").click()
        expect(page.get_by_text("These sum to 1.23: 0.23 too much.")).to_be_visible()
        figure(page, "vector").fill("0.6")
        figure(page, "keyword").fill("0.2")
        figure(page, "title").fill("0.2")
        page.get_by_role("button", name="Save as a new draft").click()
        expect(page.get_by_text("your edit was saved as the new draft default v4")).to_be_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_no_page_is_wider_than_the_screen_or_asks_another_host(
    admin: User, open_page: OpenPage, scheme: Literal["light", "dark"], width: int
) -> None:
    """Loaded on one screen in one scheme, then shown on the other, and in the other scheme."""
    # That no other host is asked is what `open_page` checks at the end of every test.
    failed = make_document(make_collection(), b"%PDF-1.4\ntorn", file_name="torn.pdf")
    page = open_page("/admin/", user=admin, width=width, color_scheme=scheme)
    for address in (
        "/admin/", DOCUMENTS, f"{DOCUMENTS}add/", f"{DOCUMENTS}{failed.pk}/change/",
        f"{DOCUMENTS}{failed.pk}/delete/", "/admin/ingestion/collection/",
        "/admin/ingestion/collection/add/", "/admin/ingestion/identifierpattern/",
        "/admin/ingestion/embeddingspace/", PROFILES, active_profile_page(),
        "/admin/search/classrule/", "/admin/tuning/profilechange/", "/admin/knox/authtoken/",
        "/admin/accounts/user/", f"/admin/accounts/user/{admin.pk}/change/", "/admin/auth/group/",
    ):  # fmt: skip
        answer = page.goto(address)
        assert answer is not None
        assert answer.ok, address
        for shown_width in (width, 1280 + 390 - width):
            page.set_viewport_size({"width": shown_width, "height": 900})
            for shown_scheme in SCHEMES:
                page.emulate_media(color_scheme=shown_scheme)
                wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert wider <= 0, (address, shown_width, shown_scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)


def test_what_unfold_opens_by_a_click_opens_by_keyboard(admin: User, open_page: OpenPage) -> None:
    page = open_page(DOCUMENTS, user=admin)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    panel = page.locator("#changelist-filter")
    expect(panel).to_be_hidden()
    page.get_by_role("button", name="Filters").focus()
    page.keyboard.press("Enter")
    expect(panel).to_be_visible()
