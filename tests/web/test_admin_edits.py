"""Passages and hand edits in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from common.accounts.models import User
from ingestion import services
from ingestion.models import Chunk, ChunkEdit, Document, Visibility
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers")]

EDITS = "/admin/ingestion/chunkedit/"
TIDES = "# Tides\n\nHigh water comes twice a day.\n"


@pytest.fixture
def document(db: None) -> Document:
    return make_document(make_collection("Handbook"), TIDES, source="tides.md")


def passage(chunk: Chunk, name: str = "passage") -> str:
    return reverse(f"admin:ingestion_document_{name}", args=(chunk.document_id, chunk.pk))


class TestPassages:
    def test_are_listed_and_edited(self, administrator: User, document: Document) -> None:
        client = signed_in(administrator)
        chunk = Chunk.objects.get()
        listed = client.get(reverse("admin:ingestion_document_passages", args=(document.pk,)))
        assert passage(chunk) in listed.content.decode()

        data = form_data(client.get(passage(chunk)), "passage")
        data |= {"text": "High water comes thrice.", "questions": "flood\nebb", "note": "Seen"}
        assert "saved" in said(client.post(passage(chunk), data))
        edit = ChunkEdit.objects.get()
        assert (edit.text, edit.questions, edit.note) == (data["text"], ["flood", "ebb"], "Seen")
        assert edit.added_by == administrator
        page = client.get(passage(chunk)).content.decode()
        assert "High water comes twice a day." in page
        edited = client.get(f"{listed.request['PATH_INFO']}?edited=1").content.decode()
        assert "Note: Seen" in edited

        assert "parsed text was restored" in said(client.post(passage(chunk, "passage_undo")))
        assert not ChunkEdit.objects.exists()

    def test_what_somebody_else_changed_meanwhile_is_not_lost(
        self, administrator: User, document: Document
    ) -> None:
        client = signed_in(administrator)
        chunk = Chunk.objects.get()
        data = form_data(client.get(passage(chunk)), "passage") | {"text": "Mine."}
        services.edit_chunk(chunk, services.Wish("Theirs."), acting_user=None)
        page = client.post(passage(chunk), data).content.decode()
        assert "meanwhile" in page
        assert "Mine." in page
        assert Chunk.objects.get().text == "Theirs."

    def test_tokens_are_counted(self, administrator: User, document: Document) -> None:
        counted = signed_in(administrator).post(
            passage(Chunk.objects.get(), "tokens"), {"text": "one two three"}
        )
        assert counted.json()["tokens"] == 3
        assert 200 < counted.json()["most"] < 256

    def test_cost_no_query_each(
        self, administrator: User, django_assert_max_num_queries: Any
    ) -> None:
        text = "\n\n".join(
            f"## Day {n}\n\n{'The pump is greased at noon. ' * 30}" for n in range(9)
        )
        document = make_document(make_collection("Log"), f"# Log\n\n{text}")
        for chunk in document.chunks.all()[:4]:
            services.edit_chunk(chunk, services.Wish(note="n"), acting_user=administrator)
        client = signed_in(administrator)
        with django_assert_max_num_queries(7):
            client.get(reverse("admin:ingestion_document_passages", args=(document.pk,)))

    def test_are_for_who_may_change_what_they_may_read(self, document: Document) -> None:
        where = reverse("admin:ingestion_document_passages", args=(document.pk,))
        assert signed_in(staff("viewer", "view_document")).get(where).status_code == 403
        document.collection.visibility = Visibility.GROUPS
        document.collection.save()
        editor = signed_in(staff("editor", "change_document"))
        assert editor.get(where).status_code == 404
        assert editor.get(passage(Chunk.objects.get())).status_code == 404
        assert "Tides" not in editor.get(EDITS).content.decode()


class TestEditsWithoutPlace:
    @pytest.fixture
    def edit(self, administrator: User, document: Document) -> ChunkEdit:
        wish = services.Wish("High water comes thrice a day.", note="Measured")
        made = services.edit_chunk(Chunk.objects.get(), wish, acting_user=administrator)
        assert made is not None
        make_document(document.collection, "# Fog\n\nNobody sees it.\n", source="tides.md")
        made.refresh_from_db()
        return made

    def test_are_listed_and_shown_with_the_reason(
        self, administrator: User, document: Document, edit: ChunkEdit
    ) -> None:
        client = signed_in(administrator)
        assert "Unplaced" in client.get(f"{EDITS}?state__exact=homeless").content.decode()
        own = client.get(f"/admin/ingestion/document/{document.pk}/change/").content.decode()
        assert "1 edit without a matching passage" in own
        page = client.get(f"{EDITS}{edit.pk}/change/").content.decode()
        for words in ("twice a day", "thrice a day", "No passage is similar", "Measured"):
            assert words in page

    def test_are_discarded(self, administrator: User, edit: ChunkEdit) -> None:
        client = signed_in(administrator)
        data = {"action": "undo_selected", "_selected_action": [edit.pk]}
        assert "1 edit was undone" in said(client.post(EDITS, data))
        assert not ChunkEdit.objects.exists()
        assert "Nobody sees it" in Chunk.objects.get().text

    def test_are_not_for_who_may_only_view(self, edit: ChunkEdit) -> None:
        viewer = signed_in(staff("viewer", "view_document"))
        assert viewer.get(EDITS).status_code == 403
        assert viewer.get(f"{EDITS}{edit.pk}/change/").status_code == 403
