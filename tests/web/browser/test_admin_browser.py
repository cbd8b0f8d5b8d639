"""The admin in a browser: an upload becomes a result, sliders keep their sum, weights act."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from common.accounts.models import User
from ingestion import services
from ingestion.documents import processing_steps
from ingestion.lexical import bm25_weights
from ingestion.models import (
    Chunk,
    ChunkEdit,
    Document,
    DocumentVersion,
    EmbeddingSpace,
    Import,
    State,
)
from ingestion.parsing.ocr import NOT_INSTALLED
from search.models import SearchProfile
from search.tuning.models import GoldenQuery, ProfileChange
from tests.support.factories import make_collection, make_document, upload
from tests.web.browser.conftest import OpenPage

pytestmark = pytest.mark.django_db(transaction=True)

DOCUMENTS = "/admin/ingestion/document/"
PROFILES = "/admin/search/searchprofile/"
SIGNALS = ("vector", "keyword", "title")


def process_all() -> None:
    """What a worker would do now."""
    for version in DocumentVersion.objects.filter(state=State.QUEUED):
        processing_steps.advance(version.pk)
    bm25_weights.fold()


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
    def test_choosing_a_file_causes_no_error(
        self, admin: User, open_page: OpenPage, tmp_path: Path
    ) -> None:
        chosen = tmp_path / "note.md"
        chosen.write_text("# Note")
        document = make_document(make_collection("Handbook"), "# A\n\nText.")
        page = open_page("/admin/", user=admin)
        for address in ("import/add/", f"document/{document.pk}/change/"):
            page.goto(f"/admin/ingestion/{address}")
            # open_page fails the test for an error in any script.
            page.locator("#content [type=file]").set_input_files(chosen)

    def test_uploaded_file_becomes_ready_and_searchable(
        self, admin: User, open_page: OpenPage, tmp_path: Path, settings: Any
    ) -> None:
        make_collection("Handbook")
        good, empty, large = (tmp_path / name for name in ("quorums.md", "empty.txt", "large.txt"))
        good.write_text("# Quorums\n\nA quorum needs a majority of the nodes.\n")
        empty.touch()
        large.write_bytes(b"large " * 200_000)
        settings.MAX_UPLOAD_BYTES = 2**20

        page = open_page(DOCUMENTS, user=admin)
        page.get_by_role("link", name="Upload files").first.click()
        page.locator("#id_collection").select_option(label="Handbook")
        page.locator("#id_files").set_input_files([large])
        expect(page.get_by_role("button", name="Upload")).to_be_disabled()
        page.locator("#id_files").set_input_files([good, empty, large])
        expect(page.locator("#chosen")).to_contain_text("empty.txt, 0 kB is empty")
        expect(page.locator("#chosen")).to_contain_text("is too large, and will not be sent")
        page.get_by_role("button", name="Upload").click()

        expect(page.locator(".sy-outcome-queued")).to_contain_text("quorums.md")
        expect(page.locator(".sy-outcome-refused")).to_contain_text("empty.txt")
        expect(page.locator(".sy-outcome")).to_have_count(2)
        page.get_by_role("link", name="Show them").click()
        row = page.locator("tr", has_text="quorums")
        expect(row).to_contain_text("Waiting")

        page.evaluate("window.stillTheSamePage = true")
        process_all()
        row = page.locator("tr", has_text="Quorums")
        expect(row).to_contain_text("Ready")
        expect(row.locator(".field-chunks_cell")).to_have_text("1")
        assert page.evaluate("window.stillTheSamePage")

        page.goto("/?q=majority+of+nodes")
        expect(page.locator(".result-link").first).to_have_text("Quorums")

        # Put in the bin by mistake, it comes back from there.
        page.goto(DOCUMENTS)
        row.locator("input.action-select").check()
        page.locator("select[name=action]").select_option(label="Move to the bin")
        page.get_by_role("button", name="Run").click()
        page.get_by_role("button", name="Move to the bin").click()
        expect(page.get_by_text("moved to the bin, restorable for 30 days.")).to_be_visible()
        expect(row).to_have_count(0)
        page.goto("/admin/ingestion/deleteddocument/")
        row.locator("input.action-select").check()
        page.locator("select[name=action]").select_option(label="Restore")
        page.get_by_role("button", name="Run").click()
        page.goto(DOCUMENTS)
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

    def test_chosen_files_stay_while_the_server_does_not_answer(
        self, admin: User, open_page: OpenPage, tmp_path: Path
    ) -> None:
        make_collection("Handbook")
        note = tmp_path / "note.md"
        note.write_text("# Note\n\nOf a stopped server.\n")
        page = open_page(f"{DOCUMENTS}add/", user=admin)
        page.locator("#id_files").set_input_files(note)
        page.route("**/add/", lambda route: route.abort("connectionrefused"))
        page.get_by_role("button", name="Upload").click()
        expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
        page.unroute("**/add/")
        # No collection was chosen: with the error, too.
        page.locator("#id_collection").evaluate("e => { e.value = ''; e.required = false; }")
        page.get_by_role("button", name="Upload").click()
        expect(page.locator(".sy-upload")).to_contain_text("This field is required")
        expect(page.locator("#chosen")).to_contain_text("note.md")
        page.locator("#id_collection").select_option(label="Handbook")
        page.get_by_role("button", name="Upload").click()
        expect(page.locator(".sy-outcome-queued")).to_contain_text("note.md")
        expect(page.get_by_role("heading", name="1 file uploaded")).to_be_focused()

    def test_results_have_a_sum_and_failed_ones_are_retried(
        self, admin: User, open_page: OpenPage, tmp_path: Path
    ) -> None:
        make_collection("Handbook")
        files = [tmp_path / f"{name}.md" for name in ("one", "two", "three")]
        for file in files:
            file.write_text(f"# {file.stem}\n\nA page.\n")
        page = open_page(f"{DOCUMENTS}add/", user=admin)
        page.locator("#id_collection").select_option(label="Handbook")
        page.locator("#id_files").set_input_files(files)
        page.get_by_role("button", name="Upload").click()
        tally, retry = page.locator(".sy-tally"), page.get_by_role("button", name="Retry failed")
        expect(tally).to_contain_text("0 of 3 ready")
        expect(retry).to_be_hidden()

        processing_steps.advance(_version("one"))
        failed = DocumentVersion.objects.exclude(file_name="one.md")
        failed.update(state=State.FAILED, error_code="no_text", error=f"A scan. {NOT_INSTALLED}.")
        expect(tally).to_contain_text("1 of 3 ready, 2 failed")
        expect(tally).to_contain_text("need text recognition (OCR): 2. On the server: sudo apt-get")
        rows = page.locator(".sy-outcomes")
        expect(rows).not_to_contain_text("apt-get", use_inner_text=True)
        assert Axe().run(page).response["violations"] == []
        retry.click()
        said = tally.get_by_role("status")
        expect(said).to_have_text("1 of 3 ready")
        expect(tally).not_to_contain_text("OCR", use_inner_text=True)
        process_all()
        expect(said).to_have_text("3 of 3 ready")
        expect(retry).to_be_hidden()


def _version(stem: str) -> int:
    return DocumentVersion.objects.get(file_name=f"{stem}.md").pk


class TestWeights:
    def test_a_slider_moves_by_mouse_and_keys_and_the_sum_stays_one(
        self, admin: User, open_page: OpenPage
    ) -> None:
        page = open_page(active_profile_page(), user=admin)
        assert figures(page) == [Decimal("0.67"), Decimal("0.28"), Decimal("0.05")]
        slider(page, "vector").fill("2000")
        assert figures(page) == [Decimal("0.2"), Decimal("0.68"), Decimal("0.12")]
        parts = page.locator("[data-class=general] .sy-beam-large > span")
        widths = [parts.nth(i).evaluate("part => part.style.width") for i in range(3)]
        assert widths == ["20%", "68%", "12%"]

        page.goto(active_profile_page())
        slider(page, "keyword").focus()
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        moved = figures(page)
        assert moved[1] == Decimal("0.33")
        assert sum(moved) == 1
        assert slider(page, "keyword").get_attribute("aria-valuetext") == "33 percent"
        assert slider(page, "keyword").get_attribute("aria-label") == "Keywords, General"

        page.goto(active_profile_page())
        for signal, typed in (("vector", "0.45"), ("keyword", "0.4125")):
            figure(page, signal).fill(typed)
            figure(page, signal).press("Tab")
        assert figures(page) == [Decimal("0.45"), Decimal("0.4125"), Decimal("0.1375")]

        for signal, value in (
            ("vector", 10_000), ("title", 0), ("keyword", 3_300), ("vector", 700),
            ("title", 10_000), ("keyword", 100), ("vector", 0), ("title", 9_900),
        ):  # fmt: skip
            slider(page, signal).fill(str(value))
            moved = figures(page)
            assert sum(moved) == 1
            assert moved[SIGNALS.index(signal)] == Decimal(value) / 10_000
            assert all(0 <= share <= 1 for share in moved)

        expect(slider(page, "vector", "lookup")).to_be_hidden()
        page.get_by_label("Different weights by kind of question").check()
        before = figures(page, "lookup")
        vector = slider(page, "vector", "lookup")
        vector.focus()
        page.keyboard.press("End")
        assert figures(page, "lookup") == [1, 0, 0]
        vector.evaluate("(input) => { input.value = 6700; "
                        "input.dispatchEvent(new Event('input', {bubbles: true})); }")  # fmt: skip
        assert figures(page, "lookup") == before


def test_no_page_is_wider_than_the_screen_or_asks_another_host(
    admin: User, open_page: OpenPage
) -> None:
    """Loaded on a phone in the dark, then shown on a wide screen and in the light."""
    # That no other host is asked is what `open_page` checks at the end of every test.
    failed = make_document(make_collection(), b"%PDF-1.4\ntorn", file_name="torn.pdf")
    page = open_page("/admin/", user=admin, width=390, color_scheme="dark")
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
        for scheme, width in (("dark", 390), ("light", 1280), ("dark", 390)):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": 900})
            wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wider <= 0, (address, width)


def test_admin_panels_open_by_keyboard(admin: User, open_page: OpenPage) -> None:
    page = open_page(DOCUMENTS, user=admin)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    panel = page.locator("#changelist-filter")
    expect(panel).to_be_hidden()
    page.get_by_role("button", name="Filters").focus()
    page.keyboard.press("Enter")
    expect(panel).to_be_visible()


# --- The admin by keyboard alone -----------------------------------------------------------------

# Whether something else lies over the middle of what has the focus.
COVERED = """(() => {
    const focused = document.activeElement;
    const { x, y, width, height } = focused.getBoundingClientRect();
    const seen = document.elementFromPoint(x + width / 2, y + height / 2);
    return seen !== null && !focused.contains(seen) && !seen.contains(focused);
})()"""


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


def test_focused_switch_is_visible(admin: User, open_page: OpenPage) -> None:
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


# --- Long names, long findings and long headings stay where they can be read ---------------------

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


@pytest.mark.parametrize("address", ["profilechange/", "goldenquery/"])
def test_list_hides_no_column(admin: User, open_page: OpenPage, address: str) -> None:
    profile = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
    ProfileChange.objects.create(
        profile=profile,
        action=ProfileChange.Action.REFUSED,
        user=admin,
        reason="Readers ask in their own words.",
        differences=["general, keywords: 28% → 100%"],
        findings=[FINDING],
    )
    GoldenQuery.objects.create(text="what happens when a node fails")

    page = open_page(f"/admin/tuning/{address}", user=admin, width=1300)

    expect(page.locator("#result_list")).to_be_visible()
    assert page.evaluate(HIDDEN) <= 0
    page.set_viewport_size({"width": 400, "height": 900})
    assert page.evaluate(CLIPPED) <= 0


def test_an_upload_with_a_long_name_stays_in_its_panel(
    admin: User, open_page: OpenPage, tmp_path: Path
) -> None:
    make_collection("Handbook")
    file = tmp_path / f"{'x' * 200}.txt"
    file.write_text("A note.")
    page = open_page("/admin/ingestion/document/add/", user=admin)
    page.locator("#id_collection").select_option(label="Handbook")
    page.locator("#id_files").set_input_files(file)
    page.get_by_role("button", name="Upload").click()

    link = page.locator("#outcomes .text-link")
    expect(link).to_be_visible()
    assert _right(page, "#outcomes .text-link") <= _right(page, "#outcomes")


def _right(page: Page, selector: str) -> float:
    return float(page.locator(selector).evaluate("e => e.getBoundingClientRect().right"))


# --- What is under way in the admin, in a browser ------------------------------------------------

ADMIN = "/admin/ingestion/"


@pytest.fixture
def filling(transactional_db: None) -> EmbeddingSpace:
    """A space that the workers fill, half done."""
    make_document(make_collection(), "# One\n\nA chunk.\n")
    return EmbeddingSpace.objects.create(
        name="New model", fingerprint="new@nowhere/4", dimensions=4, max_tokens=512,
        chunks_total=200, chunks_filled=100,
        config={"kind": "openai", "model": "new", "base_url": "http://127.0.0.1:9/v1"},
    )  # fmt: skip


def mark(page: Page) -> None:
    """Makes it known whether the page was loaded again."""
    page.evaluate("window.stillTheSamePage = true")


def test_import_progress_is_updated_in_the_list(admin: User, open_page: OpenPage) -> None:
    shelf = make_collection("Shelf")
    of = Import.objects.create(collection=shelf, kind=Import.Kind.ARCHIVE, origin="pages.zip")
    page = open_page(f"{ADMIN}import/", user=admin)
    row = page.locator("tr", has_text="pages.zip")
    expect(row).to_contain_text("Queued")
    mark(page)
    of.items.create(position=0, reference="a.md", state="added")
    of.items.create(position=1, reference="b.md")
    Import.objects.update(state=Import.State.RUNNING)
    expect(row).to_contain_text("50%")
    expect(row).to_contain_text("1 waiting, 1 added")
    of.items.update(state="added")
    Import.objects.update(state=Import.State.DONE)
    expect(row).to_contain_text("2 added")
    expect(row).to_contain_text("Done")
    expect(page.locator("[data-unfinished]")).to_have_count(0)
    assert page.evaluate("window.stillTheSamePage")


def test_space_progress_is_updated_and_its_page_reloads_at_the_end(
    admin: User, open_page: OpenPage, filling: EmbeddingSpace
) -> None:
    page = open_page(f"{ADMIN}embeddingspace/", user=admin)
    row = page.locator("tr", has_text="New model")
    expect(row).to_contain_text("50%")
    mark(page)
    EmbeddingSpace.objects.filter(pk=filling.pk).update(chunks_filled=150)
    expect(row).to_contain_text("75%")
    expect(row).to_contain_text("150 of 200")
    assert page.evaluate("window.stillTheSamePage")

    page.goto(f"{ADMIN}embeddingspace/{filling.pk}/change/")
    mark(page)
    EmbeddingSpace.objects.filter(pk=filling.pk).update(paused=True)
    expect(page.locator(".sy-panel-state")).to_contain_text("Not started")
    page.wait_for_function("!window.stillTheSamePage")


def test_page_with_unsaved_text_is_not_reloaded(admin: User, open_page: OpenPage) -> None:
    document = upload(make_collection(), "# Quorums\n\nA majority.\n").document
    page = open_page(f"{ADMIN}document/{document.pk}/change/", user=admin)
    page.get_by_label("Title").fill("Half a ti")
    processing_steps.advance(document.latest_id)  # type: ignore[arg-type]
    expect(page.locator("[data-unfinished]")).to_have_count(0)
    expect(page.get_by_label("Title")).to_have_value("Half a ti")


def test_deleted_rows_are_not_polled(admin: User, open_page: OpenPage) -> None:
    shelf = make_collection("Shelf")
    Import.objects.create(collection=shelf, kind=Import.Kind.ARCHIVE, origin="pages.zip")
    page = open_page(f"{ADMIN}import/", user=admin)
    expect(page.locator("[data-unfinished]")).to_have_count(2)
    Import.objects.all().delete()
    expect(page.locator("[data-unfinished]")).to_have_count(0)
    expect(page.locator("tr", has_text="pages.zip")).to_contain_text("Queued")


# --- Hand edits and the bin in a browser ---------------------------------------------------------

TIDES = "# Tides\n\n" + "\n\n".join(
    f"## Port {n}\n\n" + "High water comes twice a day, and later every day. " * 20
    for n in range(3)
)


def fits(page: Page, name: str) -> None:
    """No page scrolls sideways on a phone."""
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400, name
    page.set_viewport_size({"width": 1280, "height": 900})


def test_passage_is_edited_and_document_deleted_and_restored(open_page: OpenPage) -> None:
    admin = User.objects.create_superuser("administrator", "a@example.org", "pw-administrator")
    document = make_document(make_collection(), TIDES, source="tides.md")
    page = open_page(reverse("admin:ingestion_document_passages", args=(document.pk,)), user=admin)
    fits(page, "passages")
    page.get_by_role("link", name="Edit passage 1").click()
    tokens = page.locator("[data-tokens]")
    page.wait_for_load_state()
    page.locator("[name=text]").fill("one two three")
    expect(tokens).to_contain_text("3 of")
    page.locator("[name=text]").fill("word " * 400)
    expect(tokens).to_have_class("sy-tokens sy-error-text")
    page.locator("[name=text]").fill("High water comes thrice a day.")
    page.locator("[name=note]").fill("Measured in May")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The edit was saved.")).to_be_visible()
    fits(page, "passage")
    assert Chunk.objects.filter(text="High water comes thrice a day.").count() == 1

    make_document(document.collection, "# Fog\n\nNobody sees it.\n", source="tides.md")
    edit = ChunkEdit.objects.get()
    page.goto(page.url.split("/admin/")[0] + f"/admin/ingestion/chunkedit/{edit.pk}/change/")
    fits(page, "homeless")
    page.goto(page.url.split("/admin/")[0] + f"/admin/ingestion/document/{document.pk}/change/")
    fits(page, "document")
    services.delete([document], acting_user=admin)
    page.goto(page.url.split("/admin/")[0] + "/admin/ingestion/deleteddocument/")
    expect(page.get_by_text("30 days")).to_be_visible()
    fits(page, "bin")


def test_a_list_shows_what_has_a_value_and_acts_where_rows_are_chosen(
    admin: User, open_page: OpenPage
) -> None:
    make_document(make_collection("Handbook"), "# Tides\n\nHigh water.\n", file_name="low.md")
    page = open_page(DOCUMENTS, user=admin, width=1280)
    heads = page.locator("#result_list thead th:visible")
    assert [one.strip() for one in heads.all_inner_texts() if one.strip()][:3] == [
        "Title",
        "Collection",
        "State",
    ]
    expect(page.get_by_role("columnheader", name="Missing")).to_be_hidden()
    page.locator("tbody .action-select").check()
    bar, head = page.locator("#changelist-actions").bounding_box(), heads.first.bounding_box()
    assert bar
    assert head
    assert abs(bar["y"] - head["y"]) < 8

    page.set_viewport_size({"width": 390, "height": 844})
    # Two lines, once the page has drawn its narrow form.
    page.wait_for_function(
        "document.querySelector('#result_list .data-row').getBoundingClientRect().height < 80"
    )
