"""What is under way in the admin, in a browser: cells follow the workers, and pages end it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from common.accounts.models import User
from ingestion.documents import steps
from ingestion.models import EmbeddingSpace, Import, WatchedFolder
from tests.support.factories import make_collection, make_document, upload
from tests.web.browser.conftest import OpenPage

pytestmark = pytest.mark.django_db(transaction=True)

ADMIN = "/admin/ingestion/"


@pytest.fixture
def admin(transactional_db: None) -> User:
    return User.objects.create_superuser("administrator", "a@example.org", "pw-administrator")


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


def test_an_import_is_followed_in_the_list_to_its_end(admin: User, open_page: OpenPage) -> None:
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


def test_a_watched_folder_is_followed_on_its_page(admin: User, open_page: OpenPage) -> None:
    folder = WatchedFolder.objects.create(collection=make_collection("Shelf"), path="/nowhere")
    page = open_page(f"{ADMIN}watchedfolder/{folder.pk}/change/", user=admin)
    panel = page.locator("section[aria-label=State]")
    expect(panel).to_contain_text("Not scanned yet")
    mark(page)
    WatchedFolder.objects.update(
        state=WatchedFolder.State.MISSING, message="It was moved.", last_counts={"missing": 2}
    )
    expect(panel).to_contain_text("Folder is missing")
    expect(panel).to_contain_text("It was moved.")
    expect(panel).to_contain_text("2 missing")
    assert page.evaluate("window.stillTheSamePage")


def test_a_space_is_followed_in_the_list_and_its_page_is_loaded_again_at_the_end(
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
    expect(page.get_by_role("link", name="Fill…")).to_be_visible()
    assert not page.evaluate("window.stillTheSamePage")


def test_a_page_with_unsaved_words_is_not_loaded_again(admin: User, open_page: OpenPage) -> None:
    document = upload(make_collection(), "# Quorums\n\nA majority.\n").document
    page = open_page(f"{ADMIN}document/{document.pk}/change/", user=admin)
    page.get_by_label("Title").fill("Half a ti")
    steps.advance(document.latest_id)  # type: ignore[arg-type]
    expect(page.locator("[data-unfinished]")).to_have_count(0)
    expect(page.get_by_label("Title")).to_have_value("Half a ti")


def test_what_was_deleted_is_asked_for_no_more(admin: User, open_page: OpenPage) -> None:
    shelf = make_collection("Shelf")
    Import.objects.create(collection=shelf, kind=Import.Kind.ARCHIVE, origin="pages.zip")
    page = open_page(f"{ADMIN}import/", user=admin)
    expect(page.locator("[data-unfinished]")).to_have_count(2)
    Import.objects.all().delete()
    expect(page.locator("[data-unfinished]")).to_have_count(0)
    expect(page.locator("tr", has_text="pages.zip")).to_contain_text("Queued")
