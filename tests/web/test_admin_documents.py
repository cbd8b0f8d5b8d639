"""Documents in the admin: who sees which, how far they are, and what can be done about them."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from common.accounts.models import User
from ingestion import services, spaces
from ingestion.documents import processing_steps
from ingestion.lexical import bm25_weights
from ingestion.models import Chunk, Collection, Document, DocumentVersion, State
from search.pipeline import search
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import make_collection, make_document, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

LIST = "/admin/ingestion/document/"


def page(document: Document, what: str = "change") -> str:
    return f"{LIST}{document.pk}/{what}/"


@pytest.fixture
def secrets(db: None) -> Collection:
    return make_collection("Zugangsliste", visibility="groups", groups=["insiders"], language="de")


@pytest.fixture
def broken(handbook: Collection) -> Document:
    return make_document(handbook, b"%PDF-1.4\ntorn", file_name="Incident report.pdf")


def set_state(document: Document, state: State, **fields: Any) -> None:
    DocumentVersion.objects.filter(pk=document.latest_id).update(state=state, **fields)


class TestList:
    def test_list_shows_title_state_size_and_error(
        self, handbook: Collection, desk: Client, broken: Document
    ) -> None:
        text_of_35_bytes = "# Quorums\n\nA majority of the nodes."
        make_document(handbook, text_of_35_bytes)
        text = desk.get(LIST).content.decode()
        for shown in ("Quorums", "Handbook", "Ready", "35\xa0bytes"):
            assert shown in text

        assert "Failed" in text
        assert "This PDF is damaged and cannot be opened." in text

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("state=failed", {"Incident report"}), ("state=ready", {"Vacation"}),
            ("state=unfinished", {"halfway"}), ("state=embedding", {"halfway"}),
            ("collection=zugangsliste", {"Vacation"}), ("language=de", {"Vacation"}),
            ("type=application/pdf", {"Incident report"}), ("q=halfway", {"halfway"}),
        ],
    )  # fmt: skip
    def test_filters_and_searches(
        self, secrets: Collection, broken: Document, desk: Client, query: str, expected: set[str]
    ) -> None:
        make_document(secrets, "# Vacation\n\nDer Urlaub beginnt am Montag.\n")
        halfway = upload(broken.collection, "# x\n", file_name="halfway.md").document
        set_state(halfway, State.EMBEDDING)
        response = desk.get(f"{LIST}?{query}")
        assert {row.title for row in response.context["cl"].result_list} == expected


class TestPage:
    def test_page_of_a_failed_document_shows_its_error(
        self, broken: Document, desk: Client
    ) -> None:
        text = desk.get(page(broken)).content.decode()
        assert broken.latest is not None
        assert broken.latest.error in text
        assert "sy-panel-failed" in text
        assert page(broken, "retry") in text
        for what in ("retry", "reprocess"):  # a link alone does nothing
            assert desk.get(page(broken, what)).status_code == 405

    def test_page_of_a_waiting_document_says_for_what(self, broken: Document, desk: Client) -> None:
        space = spaces.writing_space()
        set_state(broken, State.PARSING)
        assert "vectors from" not in desk.get(page(broken)).content.decode()
        set_state(broken, State.EMBEDDING)
        text = desk.get(page(broken)).content.decode()
        assert f"It waits for its vectors from {space}." in text

    def test_failed_version_cannot_be_made_current(
        self, handbook: Collection, desk: Client
    ) -> None:
        document = make_document(handbook, "# Quorums\n\nA majority.\n", file_name="quorums.md")
        torn = SimpleUploadedFile("quorums.pdf", b"%PDF-1.4\ntorn")
        desk.post(page(document, "new-version"), {"file": torn})
        html = desk.get(page(document)).content.decode()
        assert ("<dd>quorums.md</dd>" in html, "<dd>quorums.pdf</dd>" in html) == (True, False)
        assert html.count('data-cell="state" data-unfinished') == 2  # both are kept up to date
        processing_steps.advance(document.versions.get(number=2).pk)
        failed, current = desk.get(page(document)).context["status"]["versions"]
        assert (failed.version.state, current.is_current) == (State.FAILED, True)
        assert not failed.can_come_back
        document.versions.filter(number=2).update(state=State.READY)
        read, _ = desk.get(page(document)).context["status"]["versions"]
        assert read.can_come_back

    def test_viewers_cannot_change_a_document(self, broken: Document) -> None:
        client = signed_in(staff("looker", "view_document"))
        response = client.get(page(broken))
        assert response.status_code == 200
        assert page(broken, "retry") not in response.content.decode()
        assert client.post(page(broken, "retry")).status_code == 403
        assert client.post(page(broken), {"title": "Mine"}).status_code == 403
        broken.refresh_from_db()
        assert broken.title == "Incident report"


class TestProgress:
    def test_is_refused_without_the_right_to_see_documents(self) -> None:
        assert signed_in(staff("nobody")).get(f"{LIST}progress/").status_code == 403


class TestActions:
    def test_retry_queues_what_failed_and_leaves_the_rest(
        self, handbook: Collection, broken: Document, desk: Client
    ) -> None:
        ready = make_document(handbook, "# Fine\n\nAll is well.\n")
        response = desk.post(
            LIST, {"action": "retry_selected", "_selected_action": [broken.pk, ready.pk]}
        )
        assert "1 document was queued again" in said(response)
        states = {d.title: d.latest.state for d in Document.objects.all() if d.latest}
        assert states == {"Incident report": State.QUEUED, "Fine": State.READY}

        assert "nothing to retry" in said(desk.post(page(ready, "retry")))

    def test_delete_asks_with_the_counts_and_removes_everything(
        self, handbook: Collection, administrator: User, desk: Client
    ) -> None:
        document = make_document(handbook, "# Gone\n\nSoon gone.\n")
        assert document.latest is not None
        stored = document.latest.file.name
        asked = desk.get(page(document, "delete"))
        assert asked.context["model_count"]
        assert dict(asked.context["model_count"])["chunks"] == 1
        desk.post(page(document, "delete"), {"post": "yes"})
        assert not Document.objects.undeleted().exists()
        assert not Chunk.objects.filter(searchable=True).exists()
        bm25_weights.fold()
        assert not search("soon gone", viewer=None).results
        entries = LogEntry.objects.filter(object_repr="Gone", user=administrator)
        assert [entry.change_message for entry in entries] == ["Put in the bin"]
        assert default_storage.exists(stored)  # until the transaction of this test would end

    def test_delete_needs_the_right(self, broken: Document) -> None:
        client = signed_in(staff("editor", "view_document", "change_document"))
        assert client.post(page(broken, "delete"), {"post": "yes"}).status_code == 403
        client.post(
            LIST, {"action": "delete_selected", "_selected_action": [broken.pk], "post": "yes"}
        )
        assert Document.objects.filter(pk=broken.pk).exists()


class TestTitleAndLanguage:
    def save(self, user: User, document: Document, **changes: str) -> Any:
        client = signed_in(user)
        data = form_data(client.get(page(document)), "document_form")
        response = client.post(page(document), {**data, **changes})
        document.refresh_from_db()
        return response

    def test_a_new_title_is_shown_at_once_and_found_once_processed(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = make_document(handbook, "# Notes\n\nA majority of the nodes.\n")
        self.save(administrator, document, title="Palaver")
        document.refresh_from_db()
        assert (document.title, document.title_given) == ("Palaver", True)
        assert document.latest_id != document.current_id
        assert not [r.title for r in search("palaver", viewer=None).results if not r.text]
        processing_steps.advance(document.latest_id)  # type: ignore[arg-type]
        bm25_weights.fold()
        assert [r.title for r in search("palaver", viewer=None).results] == ["Palaver"]

    def test_a_version_under_way_does_not_bring_the_old_title_back(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = upload(handbook, "# Notes\n\nA majority.\n").document
        first = document.latest_id
        self.save(administrator, document, title="Palaver")
        assert not processing_steps.advance(first)  # type: ignore[arg-type]
        document.refresh_from_db()
        processing_steps.advance(document.latest_id)  # type: ignore[arg-type]
        document.refresh_from_db()
        assert document.title == "Palaver"
        assert document.latest is not None
        assert document.latest.state == State.READY

    def test_an_empty_title_gives_the_files_own_back(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = make_document(handbook, "# Notes\n\nA majority.\n", title="Palaver")
        self.save(administrator, document, title="")
        document.refresh_from_db()
        assert (document.title, document.title_given) == ("note", False)
        processing_steps.advance(document.latest_id)  # type: ignore[arg-type]
        document.refresh_from_db()
        assert document.title == "Notes"

    def test_a_given_language_decides_how_words_match(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = make_document(handbook, "# Urlaub\n\nZwei Häuser am See.\n")
        self.save(administrator, document, language="de")
        document.refresh_from_db()
        processing_steps.advance(document.latest_id)  # type: ignore[arg-type]
        configs = Chunk.objects.filter(document=document, searchable=True)
        assert set(configs.values_list("text_config", flat=True)) == {"german"}

    def test_unchanged_document_is_not_reprocessed(
        self, handbook: Collection, administrator: User, desk: Client
    ) -> None:
        document = make_document(handbook, "# Notes\n\nA majority.\n")
        self.save(administrator, document)
        document.refresh_from_db()
        assert document.versions.count() == 1
        assert not document.title_given
        assert not document.language_given

        self.save(administrator, document, title="Palaver", language="de")
        text = desk.get(page(document, "history")).content.decode()
        assert text.count("Changed title and language") == 1


# --- Metadata in the forms of the admin ----------------------------------------------------------

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

    def test_document_form_stores_metadata_and_audits_the_user(
        self, document: Document, administrator: User
    ) -> None:
        self.save(administrator, document)
        document.refresh_from_db()
        assert document.metadata == {"year": "2024", "n": [":x"]}
        assert not LogEntry.objects.exists()

        self.save(administrator, document, metadata="department: R & D\r\nyear: 2025\r\n")
        document.refresh_from_db()
        assert document.metadata == {"department": "R & D", "year": 2025}
        assert document.versions.count() == 1
        [entry] = LogEntry.objects.all()
        assert (entry.user, entry.change_message) == (administrator, "Changed metadata")
        self.save(administrator, document, metadata="")
        document.refresh_from_db()
        assert document.metadata == {}

    def test_document_form_names_errors_and_keeps_the_input(
        self, document: Document, administrator: User
    ) -> None:
        response = self.save(administrator, document, metadata="Big Key: 1", title="Other")
        html = response.content.decode()
        assert "“Big Key” is not a valid key" in html
        assert "Big Key: 1</textarea>" in html
        document.refresh_from_db()
        assert (document.title, document.metadata["year"]) == ("Notes", "2024")


class TestCollectionForm:
    def test_collection_form_keeps_its_metadata_keys(self, desk: Client) -> None:
        collection = make_collection()
        client, page = desk, f"{COLLECTIONS}{collection.pk}/change/"
        data = form_data(client.get(page), "collection_form")
        client.post(page, {**data, "metadata_keys": "department\r\n part_number \r\n"})
        collection.refresh_from_db()
        assert collection.metadata_keys == ["department", "part_number"]
        assert form_data(client.get(page), "collection_form")["metadata_keys"].split() == [
            "department",
            "part_number",
        ]


class TestIntake:
    def file(self, name: str, content: bytes) -> io.BytesIO:
        file = io.BytesIO(content)
        file.name = name
        return file

    def test_upload_with_invalid_metadata_stores_no_file(self, desk: Client) -> None:
        data = {
            "collection": make_collection().pk,
            "files": [self.file("a.md", b"# A")],
            "metadata": "2024",
        }
        html = desk.post(f"{DOCUMENTS}add/", data).content.decode()
        assert "“2024” names no key" in html
        assert not Document.objects.exists()

        files = [self.file("a.md", b"# A"), self.file("b.md", b"# B")]
        data = {"collection": Collection.objects.get().pk, "files": files, "metadata": "year: 2024"}
        response = desk.post(f"{DOCUMENTS}add/", data)
        assert [one.metadata for one in Document.objects.all()] == [{"year": 2024}] * 2
        assert "year: 2024</textarea>" in response.content.decode()


# --- Documents moved and tagged in bulk in the admin, and the icons of collections ---------------

PUMPS = "# Pump maintenance\n\nThe bilge pump is greased every week, or it seizes.\n"


@pytest.fixture
def document() -> Document:
    return make_document(make_collection("Old"), PUMPS)


def act(user: User, action: str, *documents: Document, **fields: Any) -> Any:
    data = {"action": action, "_selected_action": [one.pk for one in documents], **fields}
    return signed_in(user).post(DOCUMENTS, data)


def test_an_action_asks_for_the_collection_and_moves(
    document: Document, administrator: User, desk: Client
) -> None:
    new = make_collection("New")
    page = act(administrator, "move_selected", document)
    assert page.status_code == 200
    data = form_data(page, "arrange") | {"to": new.pk, "apply": "1"}

    moved = desk.post(DOCUMENTS, data)

    document.refresh_from_db()
    assert document.collection == new
    assert "1 document was moved to “New”" in said(moved)


def test_hidden_collections_are_neither_offered_nor_moved_to(document: Document) -> None:
    keeper = staff("keeper", "view_document", "change_document", "add_document")
    hidden = make_collection("Hidden", visibility="groups", groups=["insiders"])
    page = act(keeper, "move_selected", document)
    assert "Hidden" not in page.content.decode()
    response = act(keeper, "move_selected", document, to=hidden.pk, apply="1")
    assert response.status_code == 200  # asked again
    document.refresh_from_db()
    assert document.collection.name == "Old"


def test_moving_needs_the_right_to_add_documents(document: Document) -> None:
    new = make_collection("New")
    keeper = staff("keeper", "view_document", "change_document")
    response = act(keeper, "move_selected", document, to=new.pk, apply="1")
    assert "may not move" in said(response)
    document.refresh_from_db()
    assert document.collection.name == "Old"


def test_tags_and_metadata_of_several_documents_are_changed_at_once(
    document: Document, administrator: User, desk: Client
) -> None:
    other = make_document(document.collection, "# Other\n\nThe bilge pump, again.\n")
    services.describe(other, metadata={"tags": ["old"], "due": "2026"}, acting_user=None)
    fields = {
        "add_tags": "pump, wet", "remove_tags": "old", "give": "owner: Ada", "drop": "due",
    }  # fmt: skip
    page = act(administrator, "annotate_selected", document, other)
    kept = {"_selected_action": [document.pk, other.pk], "apply": "1"}
    assert f'name="_selected_action" value="{other.pk}"' in page.content.decode()
    data = form_data(page, "arrange") | fields | kept

    assert "2 documents were changed" in said(desk.post(DOCUMENTS, data))

    for one in (document, other):
        one.refresh_from_db()
        assert one.metadata == {"tags": ["pump", "wet"], "owner": "Ada"}
    html = desk.get("/", {"q": "bilge", "meta": "tags:pump"}).content.decode()
    assert "Pump maintenance" in html
    assert 'value="tags:wet"' in html  # offered as a filter from now on
    listed = desk.get(DOCUMENTS, {"tag": "wet"}).context["cl"].result_count
    assert listed == 2


def test_a_collection_gets_an_icon_that_the_filters_show(document: Document, desk: Client) -> None:
    client, address = desk, "/admin/ingestion/collection/"
    address += f"{document.collection_id}/change/"
    data = form_data(client.get(address), "collection_form")
    client.post(address, {**data, "icon": "wrench", "description": "How to mend."})
    html = client.get("/", {"q": "bilge"}).content.decode()
    assert "icons.svg#wrench" in html
    assert 'title="How to mend."' in html
