"""Parts in the API, on the page and in the admin: where they came from, and what a whole holds."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion import services
from ingestion.documents import steps
from ingestion.models import Document, DocumentVersion, State, Visibility
from tests.samples import builders
from tests.support.factories import make_collection

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers", "clean_cache")]


@pytest.fixture
def whole() -> Document:
    members = {f"deck/{n}.md": f"# Rope {n}\n\nEvery halyard is spliced, {n}.\n" for n in range(3)}
    receipt = services.receive(
        make_collection("Ship"),
        io.BytesIO(builders.make_zip(members)),
        file_name="ship.zip",
        acting_user=None,
    )
    while version := DocumentVersion.objects.filter(state=State.QUEUED).first():
        assert steps.advance(version.pk)
    return Document.objects.get(pk=receipt.document.pk)


@pytest.fixture
def part(whole: Document) -> Document:
    return whole.parts.get(part_path="deck/1.md")


def test_the_api_names_whole_and_parts(
    whole: Document, part: Document, django_assert_num_queries: Any
) -> None:
    api = APIClient()
    shown = api.get(f"/api/v1/documents/{whole.public_id}/").json()
    assert (shown["parent"], shown["part_path"], shown["parts"]) == (None, "", 3)
    shown = api.get(f"/api/v1/documents/{part.public_id}/").json()
    assert (shown["parent"], shown["part_path"], shown["parts"]) == (
        str(whole.public_id),
        "deck/1.md",
        0,
    )
    with django_assert_num_queries(2):
        listed = api.get("/api/v1/documents/", {"parent": str(whole.public_id)}).json()
    assert {one["part_path"] for one in listed["results"]} == {f"deck/{n}.md" for n in range(3)}


def test_the_page_links_both_ways(
    client: Client, whole: Document, part: Document, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(5):
        page = client.get(whole.get_absolute_url()).content.decode()
    assert f'<a href="{part.get_absolute_url()}">deck/1.md</a>' in page
    with django_assert_num_queries(4):
        page = client.get(part.get_absolute_url()).content.decode()
    assert f'deck/1.md in <a href="{whole.get_absolute_url()}">ship</a>' in page


def test_parts_are_as_hidden_as_their_whole(
    client: Client, whole: Document, part: Document
) -> None:
    whole.collection.visibility = Visibility.GROUPS
    whole.collection.save()
    assert client.get(part.get_absolute_url()).status_code == 404
    listed = APIClient().get("/api/v1/documents/", {"parent": str(whole.public_id)}).json()
    assert listed["results"] == []


def test_the_admin_tells_parts_from_uploads(
    client: Client, administrator: User, whole: Document, part: Document
) -> None:
    client.force_login(administrator)
    address = reverse("admin:ingestion_document_changelist")
    parts = client.get(address, {"origin": "part"}).content.decode()
    assert "Rope 1" in parts
    assert f'/document/{whole.pk}/change/"' not in parts
    uploads = client.get(address, {"origin": "upload"}).content.decode()
    assert "Rope 1" not in uploads
    page = client.get(reverse("admin:ingestion_document_change", args=(part.pk,))).content.decode()
    assert f'<a href="/admin/ingestion/document/{whole.pk}/change/">ship</a>, deck/1.md' in page
    page = client.get(reverse("admin:ingestion_document_change", args=(whole.pk,))).content.decode()
    assert f'?parent={whole.pk}">3 documents</a>' in page
    held = client.get(address, {"parent": whole.pk}).content.decode()
    assert "Rope 2" in held
