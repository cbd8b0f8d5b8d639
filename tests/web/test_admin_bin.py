"""The bin and a document's versions in the admin: listed, brought back, gone for ever."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from common.accounts.models import User
from ingestion import services
from ingestion.documents import steps
from ingestion.models import Collection, Document, Visibility
from search.pipeline import search
from tests.support.admin_client import said, signed_in, staff
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers")]

BIN = "/admin/ingestion/deleteddocument/"
DOCUMENTS = "/admin/ingestion/document/"
TIDES = "# Tides\n\nHigh water comes twice a day.\n"
EBB = "# Ebb\n\nLow water comes twice a day, too.\n"


def act(user: User, action: str, *documents: Document) -> Any:
    data = {"action": action, "_selected_action": [document.pk for document in documents]}
    return signed_in(user).post(BIN, data)


@pytest.fixture
def deleted(administrator: User) -> Document:
    document = make_document(make_collection("Handbook"), TIDES, source="tides.md")
    services.delete([document], acting_user=administrator)
    return document


class TestDeletion:
    def delete(self, user: User, document: Document) -> Any:
        client = signed_in(user)
        page = f"{DOCUMENTS}{document.pk}/delete/"
        assert "Move to the bin?" in client.get(page).content.decode()
        return client.post(page, {"post": "yes"}, follow=True)

    def test_says_that_it_goes_to_the_bin_and_undoes_it(self, administrator: User) -> None:
        document = make_document(make_collection("Handbook"), TIDES)
        page = self.delete(administrator, document).content.decode()
        assert "“Tides” moved to the bin, restorable for 30 days." in page
        assert not search("high water", viewer=None).results
        undo = f"{DOCUMENTS}put-back/"
        assert f'action="{undo}"' in page
        assert f'name="id" value="{document.pk}"' in page

        back = signed_in(administrator).post(undo, {"id": [document.pk, "x"]})
        assert said(back) == "1 restored."
        assert search("high water", viewer=None).results[0].title == "Tides"
        again = signed_in(administrator).post(undo, {"id": [document.pk]})
        assert said(again) == "Nothing was restored: it is no longer in the bin."

    def test_several_at_once_and_a_collection(self, administrator: User) -> None:
        shelf = make_collection("Handbook")
        both = [make_document(shelf, TIDES), make_document(shelf, EBB)]
        client = signed_in(administrator)
        chosen = {"action": "delete_selected", "_selected_action": [row.pk for row in both]}
        asked = client.post(DOCUMENTS, chosen).content.decode()
        assert "Move to the bin?" in asked
        assert "restores it as it was" in asked
        done = client.post(DOCUMENTS, chosen | {"post": "yes"}, follow=True).content.decode()
        assert "2 documents moved to the bin" in done
        client.post(f"{DOCUMENTS}put-back/", {"id": [row.pk for row in both]})
        assert Document.objects.kept().count() == 2

        collections = "/admin/ingestion/collection/"
        gone = client.post(f"{collections}{shelf.pk}/delete/", {"post": "yes"}, follow=True)
        assert "“Handbook” moved to the bin" in gone.content.decode()
        assert said(client.post(f"{collections}put-back/", {"id": shelf.pk})) == "1 restored."
        assert search("high water", viewer=None).results

    def test_undo_is_for_who_may_change_and_restores_nothing_hidden(
        self, administrator: User
    ) -> None:
        document = make_document(make_collection("Handbook"), TIDES)
        cleaner = staff("cleaner", "view_document", "delete_document")
        page = self.delete(cleaner, document).content.decode()
        assert "moved to the bin" in page
        assert "put-back" not in page
        undo = f"{DOCUMENTS}put-back/"
        assert signed_in(cleaner).post(undo, {"id": document.pk}).status_code == 403

        cabin = make_collection("Cabin", visibility="groups", groups=["insiders"])
        hidden = make_document(cabin, EBB)
        services.delete([hidden], acting_user=administrator)
        editor = staff("editor", "view_document", "change_document")
        assert "Nothing was restored" in said(signed_in(editor).post(undo, {"id": hidden.pk}))
        assert signed_in(editor).get(undo).status_code == 405

    def test_without_a_bin_says_that_it_is_final(self, administrator: User, settings: Any) -> None:
        settings.DELETION_GRACE_DAYS = 0
        document = make_document(make_collection("Handbook"), TIDES)
        client, page = signed_in(administrator), f"{DOCUMENTS}{document.pk}/delete/"
        assert "Delete permanently?" in client.get(page).content.decode()
        done = client.post(page, {"post": "yes"}, follow=True).content.decode()
        assert "“Tides” deleted." in done
        assert "put-back" not in done


class TestBin:
    def test_says_what_was_deleted_by_whom_and_for_how_long(
        self, administrator: User, deleted: Document
    ) -> None:
        page = signed_in(administrator).get(BIN).content.decode()
        assert "Tides" in page
        assert "administrator" in page
        assert "30 days" in page
        assert "Tides" not in signed_in(administrator).get(DOCUMENTS).content.decode()

    @pytest.mark.parametrize(("others", "counted"), [(0, "1 document"), (1, "2 documents")])
    def test_counts_documents(
        self, administrator: User, deleted: Document, others: int, counted: str
    ) -> None:
        for _ in range(others):
            services.delete([make_document(make_collection("Log"), EBB)], acting_user=administrator)
        page = signed_in(administrator).get(BIN).content.decode()
        assert f" {counted} " in " ".join(page.split())
        assert "0 documents" in " ".join(
            signed_in(administrator).get(f"{BIN}?q=zzz").content.decode().split()
        )

    def test_restores(self, administrator: User, deleted: Document) -> None:
        response = act(administrator, "restore_selected", deleted)
        assert "1 document was restored." in said(response)
        assert search("high water", viewer=None).results[0].title == "Tides"

    def test_says_why_one_cannot_come_back(self, administrator: User, deleted: Document) -> None:
        make_document(deleted.collection, TIDES)
        assert "uploaded again" in said(act(administrator, "restore_selected", deleted))

    def test_removes_for_ever_for_who_may_delete(
        self, administrator: User, deleted: Document
    ) -> None:
        editor = staff("editor", "change_document")
        act(editor, "purge_selected", deleted)
        assert Document.objects.filter(pk=deleted.pk).exists()
        assert "deleted permanently" in said(act(administrator, "purge_selected", deleted))
        assert not Document.objects.filter(pk=deleted.pk).exists()

    def test_is_for_who_may_change_documents_and_holds_what_they_may_read(
        self, deleted: Document
    ) -> None:
        assert signed_in(staff("viewer", "view_document")).get(BIN).status_code == 403
        Collection.objects.update(visibility=Visibility.GROUPS)
        editor = staff("editor", "change_document")
        assert "Tides" not in signed_in(editor).get(BIN).content.decode()

    def test_costs_no_query_a_document(
        self, administrator: User, deleted: Document, django_assert_max_num_queries: Any
    ) -> None:
        for number in range(4):
            more = make_document(deleted.collection, TIDES + str(number))
            services.delete([more], acting_user=administrator)
        client = signed_in(administrator)
        with django_assert_max_num_queries(11):
            client.get(BIN)

    def test_collections_come_back_and_go(self, administrator: User, deleted: Document) -> None:
        collection = deleted.collection
        client = signed_in(administrator)
        client.post(f"/admin/ingestion/collection/{collection.pk}/delete/", {"post": "yes"})
        assert not Collection.objects.kept().exists()
        assert "Handbook" in client.get(BIN).content.decode()
        assert "Handbook" not in client.get("/admin/ingestion/collection/").content.decode()
        client.post(reverse("admin:ingestion_bin_restore", args=(collection.pk,)))
        assert Collection.objects.kept().exists()

        services.delete_collection(collection, acting_user=administrator)
        editor = signed_in(staff("editor", "change_document"))
        purge = reverse("admin:ingestion_bin_purge", args=(collection.pk,))
        assert editor.post(purge).status_code == 403
        assert "being deleted permanently" in said(client.post(purge))
        services.purge_bin()
        assert not Collection.objects.exists()


class TestVersions:
    @pytest.fixture
    def document(self, administrator: User) -> Document:
        collection = make_collection("Handbook")
        make_document(collection, TIDES, source="tides.md")
        return make_document(collection, EBB, source="tides.md")

    def page(self, user: User, document: Document) -> str:
        return signed_in(user).get(f"{DOCUMENTS}{document.pk}/change/").content.decode()

    def test_an_older_one_is_downloaded_and_made_current(
        self, administrator: User, document: Document
    ) -> None:
        client = signed_in(administrator)
        file = client.get(reverse("admin:ingestion_document_version_file", args=(document.pk, 1)))
        assert b"".join(file.streaming_content) == TIDES.encode()  # type: ignore[attr-defined]
        where = reverse("admin:ingestion_document_make_current", args=(document.pk, 1))
        assert where in self.page(administrator, document)
        assert "queued as version 3" in said(client.post(where))
        document.refresh_from_db()
        steps.advance(document.latest_id or 0)
        assert "from 1" in self.page(administrator, document)
        assert search("high water", viewer=None).results[0].title == "Tides"

    def test_a_new_one_is_uploaded(self, administrator: User, document: Document) -> None:
        client = signed_in(administrator)
        where = reverse("admin:ingestion_document_new_version", args=(document.pk,))

        def upload(content: bytes) -> str:
            file = SimpleUploadedFile("new.md", content)
            return said(client.post(where, {"file": file}))

        assert "Version 3 is queued" in upload(b"# Neap\n\nThe neap tide is small.\n")
        assert "already has this file" in upload(b"# Neap\n\nThe neap tide is small.\n")
        assert "empty" in upload(b"")
        assert "Choose a file first" in said(client.post(where))

    def test_who_may_only_view_does_nothing(self, document: Document) -> None:
        viewer = staff("viewer", "view_document")
        client = signed_in(viewer)
        for name, args in (("make_current", (1,)), ("new_version", ())):
            where = reverse(f"admin:ingestion_document_{name}", args=(document.pk, *args))
            assert client.post(where).status_code == 403
            assert where not in self.page(viewer, document)
        file = reverse("admin:ingestion_document_version_file", args=(document.pk, 1))
        assert client.get(file).status_code == 403
