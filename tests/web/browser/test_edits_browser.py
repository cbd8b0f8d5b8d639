"""Hand edits and the bin in a browser: the tokens count while one writes, the pages fit a phone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from common.accounts.models import User
from ingestion import services
from ingestion.models import Chunk, ChunkEdit
from tests.support.factories import make_collection, make_document
from tests.web.browser.conftest import OpenPage

pytestmark = pytest.mark.django_db(transaction=True)

TIDES = "# Tides\n\n" + "\n\n".join(
    f"## Port {n}\n\n" + "High water comes twice a day, and later every day. " * 20
    for n in range(3)
)


def fits(page: Page, name: str) -> None:
    """No page scrolls sideways on a phone. With SHOTS set, also a picture of it, light and dark."""
    page.set_viewport_size({"width": 400, "height": 800})
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 400, name
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=Path(folder) / f"{name}-400.png", full_page=True)
        page.set_viewport_size({"width": 1280, "height": 900})
        for scheme in ("light", "dark"):
            page.evaluate(
                "s => document.documentElement.classList.toggle('dark', s)", scheme == "dark"
            )
            page.screenshot(path=Path(folder) / f"{name}-{scheme}.png", full_page=True)
        page.evaluate("document.documentElement.classList.remove('dark')")
    page.set_viewport_size({"width": 1280, "height": 900})


def test_a_passage_is_edited_and_the_document_goes_and_comes_back(open_page: OpenPage) -> None:
    admin = User.objects.create_superuser("administrator", "a@example.org", "pw-administrator")
    document = make_document(make_collection(), TIDES, source="tides.md")
    page = open_page(reverse("admin:ingestion_document_passages", args=(document.pk,)), user=admin)
    fits(page, "passages")
    page.get_by_role("link", name="Edit passage 1").click()
    tokens = page.locator("[data-tokens]")
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
