"""Metadata in the forms of the admin: of a document, a collection, an upload and an import."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from common.accounts.models import User
from ingestion import services
from ingestion.intake.importing import runner
from ingestion.models import Document, Import
from tests.samples.builders import make_zip
from tests.support.admin_client import form_data, signed_in, staff
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

DOCUMENTS = "/admin/ingestion/document/"
COLLECTIONS = "/admin/ingestion/collection/"


class TestDocumentForm:
    @pytest.fixture
    def document(self) -> Document:
        document = make_document(make_collection(), "# Notes\n\nA majority.\n")
        services.describe(document, metadata={"year": "2024", "n": [":x"]}, acting_user=None)
        return document

    def save(self, user: User, document: Document, **changes: str) -> Any:
        client, page = signed_in(user), f"{DOCUMENTS}{document.pk}/change/"
        return client.post(page, {**form_data(client.get(page), "document_form"), **changes})

    def test_shows_lines_that_mean_what_is_stored(
        self, document: Document, administrator: User
    ) -> None:
        self.save(administrator, document)
        document.refresh_from_db()
        assert document.metadata == {"year": "2024", "n": [":x"]}
        assert not LogEntry.objects.exists()

    def test_stores_what_is_typed_and_notes_who_did(
        self, document: Document, administrator: User
    ) -> None:
        self.save(administrator, document, metadata="department: R & D\r\nyear: 2025\r\n")
        document.refresh_from_db()
        assert document.metadata == {"department": "R & D", "year": 2025}
        assert document.versions.count() == 1
        [entry] = LogEntry.objects.all()
        assert (entry.user, entry.change_message) == (administrator, "Changed metadata")
        self.save(administrator, document, metadata="")
        document.refresh_from_db()
        assert document.metadata == {}

    def test_says_what_to_correct_and_keeps_what_was_typed(
        self, document: Document, administrator: User
    ) -> None:
        response = self.save(administrator, document, metadata="Big Key: 1", title="Other")
        html = response.content.decode()
        assert "“Big Key” is not a valid key" in html
        assert "Big Key: 1</textarea>" in html
        document.refresh_from_db()
        assert (document.title, document.metadata["year"]) == ("Notes", "2024")

    def test_needs_the_right_to_change_documents(self, document: Document) -> None:
        reader = signed_in(staff("reader2", "view_document"))
        page = f"{DOCUMENTS}{document.pk}/change/"
        assert "2024" in reader.get(page).content.decode()
        assert reader.post(page, {"title": "x", "metadata": "a: 1"}).status_code == 403


class TestCollectionForm:
    def test_keeps_the_keys_that_it_offers(self, administrator: User) -> None:
        collection = make_collection()
        client, page = signed_in(administrator), f"{COLLECTIONS}{collection.pk}/change/"
        data = form_data(client.get(page), "collection_form")
        client.post(page, {**data, "metadata_keys": "department\r\n part_number \r\n"})
        collection.refresh_from_db()
        assert collection.metadata_keys == ["department", "part_number"]
        assert form_data(client.get(page), "collection_form")["metadata_keys"].split() == [
            "department",
            "part_number",
        ]

    @pytest.mark.parametrize(
        ("keys", "message"),
        [("part number", "is not a valid key"), ("\n".join("abcdefghijk"), "no more than 10")],
    )
    def test_refuses_keys_that_cannot_be(
        self, administrator: User, keys: str, message: str
    ) -> None:
        collection = make_collection()
        client, page = signed_in(administrator), f"{COLLECTIONS}{collection.pk}/change/"
        data = form_data(client.get(page), "collection_form")
        response = client.post(page, {**data, "metadata_keys": keys})
        assert message in str(response.context["adminform"].form.errors["metadata_keys"])


class TestIntake:
    def file(self, name: str, content: bytes) -> io.BytesIO:
        file = io.BytesIO(content)
        file.name = name
        return file

    def test_an_upload_has_it_for_all_files(self, administrator: User) -> None:
        files = [self.file("a.md", b"# A"), self.file("b.md", b"# B")]
        data = {"collection": make_collection().pk, "files": files, "metadata": "year: 2024"}
        response = signed_in(administrator).post(f"{DOCUMENTS}add/", data)
        assert [one.metadata for one in Document.objects.all()] == [{"year": 2024}] * 2
        assert "year: 2024</textarea>" in response.content.decode()

    def test_an_upload_with_a_bad_line_stores_nothing(self, administrator: User) -> None:
        data = {
            "collection": make_collection().pk,
            "files": [self.file("a.md", b"# A")],
            "metadata": "2024",
        }
        html = signed_in(administrator).post(f"{DOCUMENTS}add/", data).content.decode()
        assert "“2024” names no key" in html
        assert not Document.objects.exists()

    def test_an_import_has_it_for_all_its_documents(self, administrator: User) -> None:
        data = {
            "collection": make_collection().pk,
            "file": self.file("a.zip", make_zip({"in.md": "# In"})),
            "metadata": "client: ACME",
        }
        response = signed_in(administrator).post("/admin/ingestion/import/add/", data)
        assert response.status_code == 302
        runner.run(Import.objects.get().pk)
        assert Document.objects.get().metadata == {"client": "ACME"}
