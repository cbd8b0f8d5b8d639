"""The bin and a document's versions in the admin: listed, brought back, gone for ever."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse

from common.accounts.models import User
from ingestion import services
from ingestion.documents import processing_steps, purging
from ingestion.errors import StateConflict
from ingestion.lexical import bm25_weights
from ingestion.models import Chunk, ChunkEdit, Collection, Document, Purge, Visibility
from search.pipeline import search
from tests.faults.harness import assert_statistics_equal_a_recount
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import empty_bin, make_collection, make_document, make_long_document
from tests.support.shown_results import titles

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

    def test_deletion_moves_to_the_bin_and_says_so(self, administrator: User) -> None:
        document = make_document(make_collection("Handbook"), TIDES)
        page = self.delete(administrator, document).content.decode()
        assert "“Tides” moved to the bin, restorable for 30 days." in page
        assert not search("high water", viewer=None).results

    def test_several_documents_and_a_collection_are_deleted(self, desk: Client) -> None:
        shelf = make_collection("Handbook")
        both = [make_document(shelf, TIDES), make_document(shelf, EBB)]
        chosen = {"action": "delete_selected", "_selected_action": [row.pk for row in both]}
        asked = desk.post(DOCUMENTS, chosen).content.decode()
        assert "Move to the bin?" in asked
        assert "You can restore it" in asked
        filtered = f"{DOCUMENTS}?collection=handbook&o=1"
        done = desk.post(filtered, chosen | {"post": "yes"})
        assert done["Location"] == filtered
        assert "2 documents moved to the bin" in said(done)
        assert not Document.objects.undeleted().exists()

        collections = "/admin/ingestion/collection/"
        gone = desk.post(f"{collections}{shelf.pk}/delete/", {"post": "yes"}, follow=True)
        assert "“Handbook” moved to the bin" in gone.content.decode()

    def test_deletion_without_a_bin_is_announced_as_final(
        self, desk: Client, settings: Any
    ) -> None:
        settings.DELETION_GRACE_DAYS = 0
        document = make_document(make_collection("Handbook"), TIDES)
        client, page = desk, f"{DOCUMENTS}{document.pk}/delete/"
        assert "Delete permanently?" in client.get(page).content.decode()
        done = client.post(page, {"post": "yes"}, follow=True).content.decode()
        assert "“Tides” deleted." in done


class TestBin:
    def test_bin_lists_what_was_deleted_by_whom_and_until_when(
        self, desk: Client, deleted: Document, administrator: User
    ) -> None:
        page = desk.get(BIN).content.decode()
        assert "Tides" in page
        assert "administrator" in page
        assert "30 days" in page
        assert "Tides" not in desk.get(DOCUMENTS).content.decode()

        assert " 1 document " in " ".join(desk.get(BIN).content.decode().split())
        services.delete([make_document(make_collection("Log"), EBB)], acting_user=administrator)
        assert " 2 documents " in " ".join(desk.get(BIN).content.decode().split())
        assert "0 documents" in " ".join(desk.get(f"{BIN}?q=zzz").content.decode().split())

    def test_permanent_removal_needs_the_right_to_delete(
        self, administrator: User, deleted: Document
    ) -> None:
        editor = staff("editor", "change_document")
        act(editor, "purge_selected", deleted)
        assert Document.objects.filter(pk=deleted.pk).exists()
        assert "deleted permanently" in said(act(administrator, "purge_selected", deleted))
        empty_bin()
        assert not Document.objects.filter(pk=deleted.pk).exists()

    def test_bin_needs_the_right_to_change_and_lists_readable_documents(
        self, deleted: Document
    ) -> None:
        assert signed_in(staff("viewer", "view_document")).get(BIN).status_code == 403
        Collection.objects.update(visibility=Visibility.GROUPS)
        editor = staff("editor", "change_document")
        assert "Tides" not in signed_in(editor).get(BIN).content.decode()

    def test_collections_are_restored_and_removed(
        self, administrator: User, desk: Client, deleted: Document
    ) -> None:
        collection = deleted.collection
        desk.post(f"/admin/ingestion/collection/{collection.pk}/delete/", {"post": "yes"})
        assert not Collection.objects.undeleted().exists()
        assert "Handbook" in desk.get(BIN).content.decode()
        assert "Handbook" not in desk.get("/admin/ingestion/collection/").content.decode()
        desk.post(f"{BIN}collections/{collection.pk}/restore/")
        assert Collection.objects.undeleted().exists()

        services.delete_collection(collection, acting_user=administrator)
        editor = signed_in(staff("editor", "change_document"))
        purge = f"{BIN}collections/{collection.pk}/purge/"
        assert editor.post(purge).status_code == 403
        assert "being deleted permanently" in said(desk.post(purge))
        empty_bin()
        assert not Collection.objects.exists()


class TestVersions:
    @pytest.fixture
    def document(self, administrator: User) -> Document:
        collection = make_collection("Handbook")
        make_document(collection, TIDES, source="tides.md")
        return make_document(collection, EBB, source="tides.md")

    def page(self, user: User, document: Document) -> str:
        return signed_in(user).get(f"{DOCUMENTS}{document.pk}/change/").content.decode()

    def test_older_version_is_downloaded_and_made_current(
        self, administrator: User, desk: Client, document: Document
    ) -> None:
        file = desk.get(reverse("admin:ingestion_document_version_file", args=(document.pk, 1)))
        assert b"".join(file.streaming_content) == TIDES.encode()  # type: ignore[attr-defined]
        where = reverse("admin:ingestion_document_make_current", args=(document.pk, 1))
        assert where in self.page(administrator, document)
        assert "queued as version 3" in said(desk.post(where))
        document.refresh_from_db()
        processing_steps.advance(document.latest_id or 0)
        assert "from 1" in self.page(administrator, document)
        assert search("high water", viewer=None).results[0].title == "Tides"

    def test_new_version_is_uploaded(self, desk: Client, document: Document) -> None:
        where = reverse("admin:ingestion_document_new_version", args=(document.pk,))

        def upload(content: bytes) -> str:
            file = SimpleUploadedFile("new.md", content)
            return said(desk.post(where, {"file": file}))

        assert "Version 3 is queued" in upload(b"# Neap\n\nThe neap tide is small.\n")
        assert "already has this file" in upload(b"# Neap\n\nThe neap tide is small.\n")
        assert "empty" in upload(b"")
        assert "Choose a file first" in said(desk.post(where))

    def test_viewers_cannot_change_versions(self, document: Document) -> None:
        viewer = staff("viewer", "view_document")
        client = signed_in(viewer)
        for name, args in (("make_current", (1,)), ("new_version", ())):
            where = reverse(f"admin:ingestion_document_{name}", args=(document.pk, *args))
            assert client.post(where).status_code == 403
            assert where not in self.page(viewer, document)
        file = reverse("admin:ingestion_document_version_file", args=(document.pk, 1))
        assert client.get(file).status_code == 403


# --- Passages and hand edits in the admin --------------------------------------------------------

EDITS = "/admin/ingestion/chunkedit/"


@pytest.fixture
def document(db: None) -> Document:
    return make_document(make_collection("Handbook"), TIDES, source="tides.md")


def passage(chunk: Chunk, name: str = "passage") -> str:
    return reverse(f"admin:ingestion_document_{name}", args=(chunk.document_id, chunk.pk))


class TestPassages:
    def test_passages_are_listed_and_edited(
        self, administrator: User, desk: Client, document: Document
    ) -> None:
        chunk = Chunk.objects.get()
        counted = desk.post(passage(chunk, "tokens"), {"text": "one two three"}).json()
        assert (counted["tokens"], 200 < counted["most"] < 256) == (3, True)
        listed = desk.get(reverse("admin:ingestion_document_passages", args=(document.pk,)))
        assert passage(chunk) in listed.content.decode()

        data = form_data(desk.get(passage(chunk)), "passage")
        data |= {"text": "High water comes thrice.", "questions": "flood\nebb", "note": "Seen"}
        assert "saved" in said(desk.post(passage(chunk), data))
        edit = ChunkEdit.objects.get()
        assert (edit.text, edit.questions, edit.note) == (data["text"], ["flood", "ebb"], "Seen")
        assert edit.added_by == administrator
        page = desk.get(passage(chunk)).content.decode()
        assert "High water comes twice a day." in page
        edited = desk.get(f"{listed.request['PATH_INFO']}?edited=1").content.decode()
        assert "Note: Seen" in edited

        assert "parsed text was restored" in said(desk.post(passage(chunk, "passage_undo")))
        assert not ChunkEdit.objects.exists()

    def test_edit_of_a_passage_changed_meanwhile_is_refused(
        self, desk: Client, document: Document
    ) -> None:
        chunk = Chunk.objects.get()
        data = form_data(desk.get(passage(chunk)), "passage") | {"text": "Mine."}
        services.edit_chunk(chunk, services.Wish("Theirs."), acting_user=None)
        page = desk.post(passage(chunk), data).content.decode()
        assert "meanwhile" in page
        assert "Mine." in page
        assert Chunk.objects.get().text == "Theirs."

    def test_passages_need_the_right_to_change_a_readable_document(
        self, document: Document
    ) -> None:
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

    def test_unplaced_edits_are_listed_with_the_reason(
        self, desk: Client, document: Document, edit: ChunkEdit
    ) -> None:
        assert "Unplaced" in desk.get(f"{EDITS}?state__exact=homeless").content.decode()
        own = desk.get(f"/admin/ingestion/document/{document.pk}/change/").content.decode()
        assert "1 edit without a matching passage" in own
        page = desk.get(f"{EDITS}{edit.pk}/change/").content.decode()
        for words in ("twice a day", "thrice a day", "No passage is similar", "Measured"):
            assert words in page

    def test_unplaced_edits_can_be_discarded(self, desk: Client, edit: ChunkEdit) -> None:
        data = {"action": "undo_selected", "_selected_action": [edit.pk]}
        assert "1 edit was undone" in said(desk.post(EDITS, data))
        assert not ChunkEdit.objects.exists()
        assert "Nobody sees it" in Chunk.objects.get().text

    def test_viewers_cannot_see_unplaced_edits(self, edit: ChunkEdit) -> None:
        viewer = signed_in(staff("viewer", "view_document"))
        assert viewer.get(EDITS).status_code == 403
        assert viewer.get(f"{EDITS}{edit.pk}/change/").status_code == 403


# --- Purges --------------------------------------------------------------------------------------

LEDGER = "# Ledger\n\nThe harbour master enters every ship by name and tonnage."
TIDES_TWICE = "# Tides\n\nHigh water comes twice a day."
PASSAGES, AT_ONCE = 250, 100


class Died(BaseException):
    """The end of a worker."""


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> Collection:
    """A collection of a short document, and of one that is long for the batches of here."""
    monkeypatch.setattr(purging, "AT_ONCE", AT_ONCE)
    collection = make_collection("Archive")
    make_document(collection, "# Crew\n\nThe crew of the harbour office.", file_name="crew.md")
    make_long_document(collection, LEDGER, PASSAGES)
    return collection


def assert_counted() -> None:
    bm25_weights.fold()
    assert_statistics_equal_a_recount()


def test_long_document_is_purged_in_batches_that_survive_a_crash(archive: Collection) -> None:
    make_document(make_collection("Log"), TIDES_TWICE, file_name="tides.md")
    ledger = Document.objects.get(title="Ledger")
    assert titles("harbour master ship tonnage")[:1] == ["Ledger"]
    seen: list[tuple[list[str], list[str]]] = []

    def look(passages: int) -> None:
        assert passages <= AT_ONCE
        seen.append((titles("harbour master ship tonnage"), titles("high water")))
        if len(seen) == 2:
            raise Died

    with pytest.raises(Died):
        purging.purge([ledger], erased=look)
    assert all("Ledger" not in found and water[:1] == ["Tides"] for found, water in seen)
    assert Chunk.objects.filter(document=ledger).count() == PASSAGES - AT_ONCE
    assert_counted()
    with pytest.raises(StateConflict, match="being deleted permanently"):
        services.restore([ledger], acting_user=None)

    empty_bin()
    assert set(Document.objects.values_list("title", flat=True)) == {"Crew", "Tides"}
    assert not Chunk.objects.filter(document=ledger).exists()
    assert_counted()


def test_collection_is_purged_in_slices_shown_in_the_bin(
    archive: Collection, administrator: User, desk: Client
) -> None:
    services.delete_collection(archive, acting_user=administrator)
    services.purge_collection_later(archive, acting_user=administrator)
    assert titles("harbour") == []
    purge = Purge.objects.get()
    slices, shown = 0, []
    while not purging.advance(purge.pk, seconds=0):
        slices += 1
        page = " ".join(desk.get(BIN).content.decode().split())
        shown.append(next((n for n in (1, 101, 201, 251) if f"({n} of 251" in page), None))
    assert shown == [1, 101, 201, 251]
    assert not Purge.objects.exists()
    assert not Collection.objects.exists()
    assert not Chunk.objects.exists()
    assert_counted()


def test_collection_restored_during_its_purge_keeps_the_rest(archive: Collection) -> None:
    services.delete_collection(archive, acting_user=None)
    services.purge_collection_later(archive, acting_user=None)
    purging.advance(Purge.objects.get().pk, seconds=0)
    purging.advance(Purge.objects.get().pk, seconds=0)
    assert Chunk.objects.count() == PASSAGES - AT_ONCE

    services.restore_collection(archive, acting_user=None)
    assert titles("harbour") == []
    assert_counted()
    (half,) = Purge.objects.all()
    assert half.collection is None
    while not purging.advance(half.pk, seconds=0):
        pass
    assert not Document.objects.exists()
    assert Collection.objects.get() == archive


def test_collection_restored_during_its_purge_keeps_a_long_document(
    archive: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker has the list of documents, and is about to take the long one out of search."""
    services.purge([Document.objects.get(title="Crew")])
    services.delete_collection(archive, acting_user=None)
    services.purge_collection_later(archive, acting_user=None)
    inside = purging._inside

    def restored_meanwhile(collection: Collection | None) -> QuerySet[Document]:
        if collection is not None:
            services.restore_collection(archive, acting_user=None)
        return inside(collection)

    with monkeypatch.context() as patched:
        patched.setattr(purging, "_inside", restored_meanwhile)
        assert not purging.advance(Purge.objects.get().pk)
    assert not Purge.objects.exists()
    assert Document.objects.get().deleted_at is None
    assert titles("harbour master ship tonnage") == ["Ledger"]
    assert Chunk.objects.count() == PASSAGES
    assert_counted()


def test_purge_is_left_to_a_worker(archive: Collection, administrator: User, desk: Client) -> None:
    services.delete(Document.objects.all(), acting_user=administrator)
    chosen = [str(pk) for pk in Document.objects.values_list("pk", flat=True)]
    answer = desk.post(
        BIN, {"action": "purge_selected", "_selected_action": chosen}, follow=True
    ).content.decode()
    assert "2 documents are being deleted permanently" in answer
    assert "0% erased" in answer
    assert Document.objects.count() == 2
    empty_bin()
    assert not Document.objects.exists()
    assert "erased" not in desk.get(BIN).content.decode()


def test_crashed_purge_is_reported_and_retried(archive: Collection) -> None:
    services.delete_collection(archive, acting_user=None)
    services.purge_collection_later(archive, acting_user=None)
    Purge.objects.update(attempts=9)
    assert not purging.advance(Purge.objects.get().pk)
    assert "stopped unexpectedly" in Purge.objects.get().error
    empty_bin()
    assert not Collection.objects.exists()
