"""The preview page: chunks of a file under chosen sizes, and nothing stored."""

from __future__ import annotations

import io
from itertools import count
from types import SimpleNamespace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from common.accounts.models import User
from ingestion.models import Document
from tests.samples import builders
from tests.support.factories import make_collection

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers")]

SENTENCE = "Every halyard is spliced before the voyage begins. "
ADDRESS = "/admin/ingestion/document/preview/"


@pytest.fixture
def admin(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


def shown(client: Client, content: str | bytes, name: str, **fields: object) -> str:
    data = content.encode() if isinstance(content, str) else content
    file = SimpleUploadedFile(name, data)
    return client.post(ADDRESS, {"file": file, **fields}).content.decode()


def test_chunks_follow_the_sizes(admin: Client) -> None:
    text = f"# Ropes\n\n## Halyards\n\n{SENTENCE * 20}"
    wide = shown(admin, text, "ropes.md", chunk_tokens=2000, overlap_tokens=0)
    narrow = shown(admin, text, "ropes.md", chunk_tokens=40, overlap_tokens=5)
    assert 0 < wide.count("sy-preview-text") < narrow.count("sy-preview-text")
    assert "<span>Halyards</span>" in narrow
    assert not Document.objects.exists()


def test_a_collection_gives_its_sizes(admin: Client) -> None:
    shelf = make_collection("Ropes", chunk_tokens=40, overlap_tokens=5, language="de")
    page = shown(admin, SENTENCE * 20, "ropes.md", collection=shelf.pk)
    assert "at most 40 tokens" in page
    assert "German" in page
    page = shown(admin, SENTENCE * 20, "ropes.md", collection=shelf.pk, chunk_tokens=64)
    assert "at most 64 tokens" in page


@pytest.mark.parametrize(
    ("content", "name", "fields", "problem"),
    [
        ("", "a.md", {}, "submitted file is empty|is empty"),
        (b"GIF89a", "a.gif", {}, "a GIF image"),
        (builders.make_docx()[:800], "a.docx", {}, "damaged"),
        ("text", "a.md", {"chunk_tokens": 40, "overlap_tokens": 30}, "less than half"),
    ],
    ids=["empty", "unsupported", "damaged", "sizes"],
)
def test_problems_are_told(
    admin: Client, content: str | bytes, name: str, fields: dict[str, int], problem: str
) -> None:
    page = shown(admin, content, name, **fields)
    assert any(words in page for words in problem.split("|"))
    assert "sy-preview-text" not in page


def test_hostile_text_is_text(admin: Client) -> None:
    page = shown(admin, "<script>alert(1)</script> and more", "a.txt")
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page


def test_parts_are_named(admin: Client) -> None:
    page = shown(admin, builders.make_zip({"deck/pumps.md": "# Pumps\n\nText."}), "ship.zip")
    assert "<li>deck/pumps.md</li>" in page


def test_it_needs_the_permission_to_upload(client: Client, reader: User) -> None:
    reader.is_staff = True
    reader.save()
    client.force_login(reader)
    assert client.get(ADDRESS).status_code == 403
    file = io.BytesIO(b"text")
    assert client.post(ADDRESS, {"file": file}).status_code == 403


def test_the_upload_page_and_the_collection_page_lead_here(admin: Client) -> None:
    assert reverse("admin:ingestion_document_preview") == ADDRESS
    assert ADDRESS in admin.get(reverse("admin:ingestion_document_add")).content.decode()
    assert ADDRESS in admin.get(reverse("admin:ingestion_collection_add")).content.decode()


def test_a_large_file_shows_its_beginning(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of the web server does not cut all of it into passages."""
    clock = count(0, 0.5)
    monkeypatch.setattr(
        "ingestion.documents.previewing.time", SimpleNamespace(monotonic=lambda: next(clock))
    )
    page = shown(admin, SENTENCE * 200, "ropes.md", chunk_tokens=40, overlap_tokens=0)
    assert page.count("sy-preview-text") == 2
    assert "only its beginning was cut into passages" in page


def test_a_file_that_takes_long_is_refused(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingestion.admin.passages.WEB_SECONDS", 0.001)
    page = shown(admin, SENTENCE * 20_000, "ropes.html")
    assert "took longer than 0.001 seconds" in page
    assert "An upload reads it in the background" in page
