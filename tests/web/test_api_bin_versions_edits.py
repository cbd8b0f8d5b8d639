"""Bin, versions and hand edits over HTTP, and who may do what."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.documents import steps
from ingestion.models import Chunk, ChunkEdit, Document, Visibility
from tests.support.factories import make_collection, make_document

DOCUMENTS = "/api/v1/documents/"
TIDES = "# Tides\n\nHigh water comes twice a day.\n"
EBB = "# Ebb\n\nLow water comes twice a day, too.\n"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


@pytest.fixture
def edit(api: APIClient) -> APIClient:
    user = User.objects.create_user("editor", password="pw-editor")
    wanted = ("add_document", "change_document", "delete_document")
    user.user_permissions.set(Permission.objects.filter(codename__in=wanted))
    api.force_authenticate(user)
    return api


@pytest.fixture
def document(db: None) -> Document:
    return make_document(make_collection("Handbook"), TIDES, source="tides.md")


def address(document: Document, *further: object) -> str:
    return DOCUMENTS + "".join(f"{part}/" for part in (document.public_id, *further))


def found(client: APIClient, question: str) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = client.get("/api/v1/search/", {"q": question}).json()["results"]
    return results


class TestBin:
    def test_a_deleted_document_is_gone_until_it_is_restored(
        self, edit: APIClient, document: Document
    ) -> None:
        assert edit.delete(address(document)).status_code == 204
        assert edit.get(address(document)).status_code == 404
        assert edit.get(DOCUMENTS).json()["total"] == 0
        assert found(edit, "high water") == []
        [held] = edit.get(DOCUMENTS, {"deleted": "true"}).json()["results"]
        assert held["id"] == str(document.public_id)
        assert held["deleted_at"]

        restored = edit.post(address(document, "restore"))
        assert (restored.status_code, restored.json()["deleted_at"]) == (200, None)
        assert found(edit, "high water")
        assert edit.post(address(document, "restore")).status_code == 404

    def test_one_whose_file_came_again_conflicts(self, edit: APIClient, document: Document) -> None:
        edit.delete(address(document))
        make_document(document.collection, TIDES)
        response = edit.post(address(document, "restore"))
        assert (response.status_code, response.json()["code"]) == (409, "conflict")
        assert "uploaded again" in response.json()["message"]

    def test_readers_see_no_bin(
        self, edit: APIClient, document: Document, reader: User, member: User
    ) -> None:
        edit.delete(address(document))
        for user in (reader, None):
            edit.force_authenticate(user)
            assert edit.get(DOCUMENTS, {"deleted": "true"}).status_code in (401, 403)
            assert edit.post(address(document, "restore")).status_code in (401, 403)

    def test_the_bin_of_a_hidden_collection_is_hidden(self, edit: APIClient) -> None:
        closed = make_collection("Closed", visibility=Visibility.GROUPS, groups=["insiders"])
        hidden = make_document(closed, EBB)
        Document.objects.filter(pk=hidden.pk).update(deleted_at=hidden.created)
        assert edit.get(DOCUMENTS, {"deleted": "true"}).json()["total"] == 0
        assert edit.post(address(hidden, "restore")).status_code == 404

    def test_it_costs_no_query_a_document(
        self, edit: APIClient, document: Document, django_assert_num_queries: Any
    ) -> None:
        edit.delete(address(document))
        with django_assert_num_queries(2):  # the count and the page
            edit.get(DOCUMENTS, {"deleted": "true"})


class TestVersions:
    @pytest.fixture
    def twice(self, document: Document) -> Document:
        return make_document(document.collection, EBB, source="tides.md")

    def test_they_are_listed_with_what_can_come_back(
        self, edit: APIClient, twice: Document, django_assert_num_queries: Any
    ) -> None:
        with django_assert_num_queries(3):
            body = edit.get(address(twice, "versions")).json()
        assert [(v["number"], v["state"], v["kept"]) for v in body["results"]] == [
            (2, "ready", True),
            (1, "superseded", True),
        ]

    def test_an_older_file_is_downloaded(self, edit: APIClient, twice: Document) -> None:
        response = edit.get(address(twice, "versions", 1, "original"))
        assert b"".join(response.streaming_content) == TIDES.encode()
        assert "attachment" in response["Content-Disposition"]
        assert edit.get(address(twice, "versions", 9, "original")).status_code == 404

    def test_an_older_one_is_made_current(self, edit: APIClient, twice: Document) -> None:
        response = edit.post(address(twice, "versions", 1, "make-current"))
        assert response.status_code == 202
        assert (response.json()["number"], response.json()["restored_from"]) == (3, 1)
        twice.refresh_from_db()
        steps.advance(twice.latest_id or 0)
        assert found(edit, "high water")[0]["document"]["title"] == "Tides"
        again = edit.post(address(twice, "versions", 3, "make-current"))
        assert (again.status_code, again.json()["code"]) == (409, "conflict")

    def test_readers_do_neither(self, api: APIClient, twice: Document, reader: User) -> None:
        api.force_authenticate(reader)
        assert api.get(address(twice, "versions", 1, "original")).status_code == 403
        assert api.post(address(twice, "versions", 1, "make-current")).status_code == 403
        assert api.get(address(twice, "versions")).status_code == 200

    def test_a_receipt_says_what_became_of_the_file(
        self, edit: APIClient, document: Document
    ) -> None:
        def outcome(content: str, **form: object) -> str:
            file = SimpleUploadedFile("t.md", content.encode())
            where = address(document, "versions") if not form else DOCUMENTS
            response = edit.post(where, {"file": file, **form}, format="multipart")
            said: str = response.json()["outcome"]
            return said

        assert outcome(TIDES) == "unchanged"
        assert outcome(EBB) == "replaced"
        assert outcome(EBB, collection="handbook") == "duplicate"
        assert outcome(TIDES, collection="handbook") == "added"


class TestEdits:
    def test_a_passage_is_edited_and_undone(self, edit: APIClient, document: Document) -> None:
        wish = {
            "text": "High water comes thrice a day.",
            "note": "Measured",
            "questions": ["flood"],
        }
        response = edit.put(address(document, "chunks", 0, "edit"), wish)
        assert response.status_code == 200
        held = response.json()["edit"]
        assert {name: held[name] for name in wish} == wish
        assert (held["state"], held["chunk"]) == ("applied", 0)
        [result] = found(edit, "flood")
        assert (result["text"], result["edited"], result["note"]) == (wish["text"], True, "")

        assert edit.delete(address(document, "chunks", 0, "edit")).status_code == 204
        [result] = found(edit, "high water")
        assert result["edited"] is False
        assert not ChunkEdit.objects.exists()

    def test_disabled_passages_are_listed_too(
        self, edit: APIClient, document: Document, django_assert_num_queries: Any
    ) -> None:
        edit.put(address(document, "chunks", 0, "edit"), {"disabled": True})
        assert found(edit, "high water") == []
        with django_assert_num_queries(3):  # the document, the count, the page
            [passage] = edit.get(address(document, "chunks")).json()["results"]
        assert (passage["searchable"], passage["edit"]["disabled"]) == (False, True)

    def test_one_without_a_place_is_deleted(self, edit: APIClient, document: Document) -> None:
        wish = {"text": "High water comes thrice a day.", "note": "Measured"}
        edit.put(address(document, "chunks", 0, "edit"), wish)
        make_document(document.collection, "# Fog\n\nNobody sees it.\n", source="tides.md")
        [held] = edit.get(address(document, "edits")).json()["results"]
        assert (held["state"], held["text"]) == ("homeless", wish["text"])
        assert "No passage is similar enough" in held["reason"]
        assert edit.delete(address(document, "edits", held["id"])).status_code == 204
        assert "Nobody sees it" in Chunk.objects.get().text

    def test_what_cannot_be_is_said(self, edit: APIClient, document: Document) -> None:
        where = address(document, "chunks", 0, "edit")
        long = edit.put(where, {"text": "word " * 400})
        assert (long.status_code, long.json()["code"]) == (400, "refused_edit")
        assert edit.put(address(document, "chunks", 7, "edit"), {"note": "x"}).status_code == 404

    def test_readers_do_none_of_it(self, api: APIClient, document: Document, reader: User) -> None:
        api.force_authenticate(reader)
        where = address(document, "chunks", 0, "edit")
        assert api.put(where, {"note": "x"}).status_code == 403
        assert api.delete(where).status_code == 403
        assert api.get(address(document, "chunks")).status_code == 403
        assert api.get(address(document, "edits")).status_code == 403
