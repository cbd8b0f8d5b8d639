"""Documents and collections over HTTP: upload, state, new versions, deletion, who may do what."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion import services
from ingestion.documents import processing_steps
from ingestion.intake import import_runner as runner
from ingestion.models import ChunkEdit, Collection, Document, Import, Visibility
from tests.samples.builders import make_zip
from tests.support.admin_client import staff
from tests.support.factories import make_collection, make_document, upload

DOCUMENTS = "/api/v1/documents/"
COLLECTIONS = "/api/v1/collections/"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "shelf")]

TEXT = b"# Tides\n\nHigh water comes twice a day.\n"


def file(content: bytes = TEXT, name: str = "tides.md") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def post_file(api: APIClient, address: str = DOCUMENTS, **fields: Any) -> Any:
    return api.post(address, {"file": file(), **fields}, format="multipart")


def test_an_upload_is_queued_and_becomes_ready(edit: APIClient) -> None:
    response = post_file(edit, collection="shelf", title="The tides", language="en-GB")

    queued = response.json()
    assert response.status_code == 202
    assert response.headers["Location"] == f"http://testserver{DOCUMENTS}{queued['id']}/"
    assert (queued["state"], queued["searchable"], queued["duplicate"]) == ("queued", False, False)
    assert (queued["title"], queued["language"]) == ("The tides", "en")
    assert (queued["file_name"], queued["media_type"]) == ("tides.md", "text/markdown")
    assert queued["size"] == len(TEXT)

    again = post_file(edit, collection="shelf", title="Ebb", metadata='{"by": "Ada"}').json()
    assert (again["id"], again["title"], again["duplicate"]) == (queued["id"], "The tides", True)
    assert (queued["ignored"], again["ignored"]) == ([], ["metadata", "title"])

    document = Document.objects.get(public_id=queued["id"])
    processing_steps.advance(document.latest_id or 0)
    ready = edit.get(response.headers["Location"]).json()
    assert (ready["state"], ready["progress"], ready["error"]) == ("ready", 1, None)
    assert ready["searchable"] is True
    assert [(v["number"], v["state"], v["chunk_count"]) for v in ready["versions"]] == [
        (1, "ready", 1)
    ]
    assert document.added_by is not None
    assert document.added_by.username == "editor"


def test_a_failure_is_shown_and_can_be_retried(edit: APIClient, shelf: Collection) -> None:
    document = make_document(shelf, b"%PDF-1.4 broken", file_name="broken.pdf")
    address = f"{DOCUMENTS}{document.public_id}/"

    failed = edit.get(address).json()
    assert failed["state"] == "failed"
    assert failed["error"]["code"]
    assert failed["error"]["message"].endswith(".")
    assert failed["versions"][0]["error"] == failed["error"]

    retried = edit.post(f"{address}retry/")
    assert retried.status_code == 202
    assert (retried.json()["state"], retried.json()["error"]) == ("queued", None)
    again = edit.post(f"{address}retry/")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


def test_reprocessing_makes_a_version_of_the_same_file(edit: APIClient, shelf: Collection) -> None:
    document = make_document(shelf, TEXT.decode(), file_name="tides.md")
    address, again = f"{DOCUMENTS}{document.public_id}/", {"state": "queued"}

    response = edit.patch(address, again)

    assert response.status_code == 202
    assert response.json()["state"] == "queued"
    assert document.versions.count() == 2
    assert edit.patch(address, again).status_code == 409
    assert edit.patch(address, {"state": "ready"}).status_code == 400


@pytest.mark.parametrize(
    ("content", "name", "status", "code"),
    [
        (b"", "empty.md", 400, "empty_file"),
        (b"GIF89a" + b"\0" * 20, "picture.gif", 400, "unsupported_type"),
        (b"%PDF-1.7 x", "really.docx", 400, "type_mismatch"),
        (b"a" * 1025, "large.txt", 413, "file_too_large"),
    ],
    ids=["empty", "unsupported", "mismatch", "large"],
)
def test_a_refused_file_leaves_nothing(
    edit: APIClient, settings: Any, content: bytes, name: str, status: int, code: str
) -> None:
    settings.MAX_UPLOAD_BYTES = 1024

    response = post_file(edit, collection="shelf", file=file(content, name))

    assert response.status_code == status
    assert response.json()["code"] == code
    assert len(response.json()["message"]) > 20
    assert not Document.objects.exists()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "collection"),
        ({"collection": "no-such"}, "collection"),
        ({"collection": "shelf", "file": "not a file"}, "file"),
        ({"collection": "shelf", "title": "x" * 501}, "title"),
        ({"collection": "shelf", "language": "klingon"}, "language"),
    ],
    ids=str,
)
def test_a_wrong_form_names_its_field(edit: APIClient, fields: dict[str, Any], field: str) -> None:
    response = post_file(edit, **fields)

    assert response.status_code == 400
    assert response.json()["code"] == "invalid"
    assert list(response.json()["details"]) == [field]
    assert not Document.objects.exists()


def test_a_hidden_collection_takes_no_upload_and_reads_as_missing(edit: APIClient) -> None:
    make_collection("Secret", visibility=Visibility.GROUPS, groups=["insiders"])

    hidden = post_file(edit, collection="secret").json()
    missing = post_file(edit, collection="absent").json()

    assert json.loads(json.dumps(missing).replace("absent", "secret")) == hidden


@pytest.mark.parametrize("signed_in", [False, True], ids=["anonymous", "reader"])
def test_writing_needs_permission(
    api: APIClient, shelf: Collection, reader: User, signed_in: bool
) -> None:
    document = make_document(shelf, TEXT.decode(), file_name="tides.md")
    address = f"{DOCUMENTS}{document.public_id}/"
    missing = f"{DOCUMENTS}00000000-0000-4000-8000-000000000000/"
    if signed_in:
        api.force_authenticate(reader)
    status, code = (403, "permission_denied") if signed_in else (401, "not_authenticated")

    answers = [post_file(api, collection="shelf")]
    for each in (address, missing):
        answers += [
            api.delete(each),
            api.patch(each, {"collection": "shelf"}, format="json"),
            api.patch(each, {"state": "queued"}, format="json"),
            api.post(f"{each}reprocess/"),
            api.post(f"{each}retry/"),
            post_file(api, f"{each}versions/"),
        ]
    chunk = f"{address}chunks/0/"
    answers += [api.put(chunk, {"note": "x"}), api.put(f"{chunk}edit/", {"note": "x"})]
    answers += [api.delete(f"{chunk}edit/"), api.post(f"{address}restore/")]
    answers += [api.patch(address, {"deleted": False}, format="json")]
    answers += [api.get(f"{address}original/?version=1")]
    answers += [api.get(f"{address}{part}/") for part in ("chunks", "edits")]
    answers += [api.post(f"{address}versions/1/make-current/")]

    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(status, code)}
    assert all(("WWW-Authenticate" in answer.headers) is not signed_in for answer in answers)
    for closed in (f"{address}versions/1/original/", f"{DOCUMENTS}?deleted=true"):
        assert api.get(closed).status_code in (401, 403)
    assert api.get(address).status_code == 200
    assert document.versions.count() == 1


@pytest.mark.parametrize("stored", ["NFC", "NFD"])
@pytest.mark.parametrize("typed", ["NFC", "NFD"])
def test_lists_know_the_file_name(
    api: APIClient, administrator: User, shelf: Collection, stored: str, typed: str
) -> None:
    """As typed in either normal form; Macs upload NFD, as did earlier releases."""
    name = "Prüfbericht März 2026.md"
    document = make_document(shelf, "# T\n\nText.", file_name=unicodedata.normalize("NFD", name))
    assert (document.latest.file_name, document.title) == (name, "T")
    document.versions.update(file_name=unicodedata.normalize(stored, name))
    asked = {"q": unicodedata.normalize(typed, "märz Prüfbericht")}
    found = api.get(DOCUMENTS, asked).json()["results"]
    assert [each["id"] for each in found] == [str(document.public_id)]
    desk = Client()
    desk.force_login(administrator)
    page = desk.get("/admin/ingestion/document/", asked)
    assert list(page.context["cl"].queryset) == [document]


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({}, ["b.md", "a.md", "tides.md"]), ({"collection": "shelf"}, ["tides.md"]),
        ({"collection": ["shelf", "other"]}, ["b.md", "a.md", "tides.md"]),
        ({"state": "queued"}, ["b.md", "a.md"]), ({"state": ["ready", "failed"]}, ["tides.md"]),
        ({"q": "TIDE"}, ["tides.md"]), ({"q": "%"}, []),
        ({"page": 2, "page_size": 2}, ["tides.md"]), ({"page": 1_000_000}, []),
    ],
    ids=str,
)  # fmt: skip
def test_lists_are_narrowed_by_parameters(
    api: APIClient, shelf: Collection, filters: dict[str, Any], names: list[str]
) -> None:
    make_document(shelf, TEXT.decode(), file_name="tides.md")
    other = make_collection("Other")
    for name in ("a.md", "b.md"):
        upload(other, f"Text of {name}", file_name=name)

    body = api.get(DOCUMENTS, filters).json()

    assert [document["file_name"] for document in body["results"]] == names


def test_collections_count_their_documents(api: APIClient, shelf: Collection, reader: User) -> None:
    make_collection("Staff", visibility=Visibility.SIGNED_IN)
    make_document(shelf, TEXT.decode(), file_name="tides.md")
    upload(shelf, "Not yet processed", file_name="waiting.md")

    body = api.get(COLLECTIONS).json()
    assert [row["slug"] for row in body["results"]] == ["shelf"]
    assert (body["results"][0]["documents"], body["results"][0]["searchable"]) == (2, 1)
    assert api.get(f"{COLLECTIONS}shelf/").json() == body["results"][0]
    assert api.get(f"{COLLECTIONS}staff/").status_code == 404

    api.force_authenticate(reader)
    assert [row["slug"] for row in api.get(COLLECTIONS).json()["results"]] == ["shelf", "staff"]


class TestMoving:
    def test_a_document_moves_with_the_title_it_is_given(
        self, edit: APIClient, shelf: Collection
    ) -> None:
        document = make_document(make_collection("Attic"), TEXT, file_name="tides.md")
        address = f"{DOCUMENTS}{document.public_id}/"

        moved = edit.patch(address, {"collection": "shelf", "metadata": {"a": 1}}, format="json")

        assert (moved.status_code, moved.json()["collection"]) == (200, "shelf")
        assert moved.json()["metadata"] == {"a": 1}
        document.refresh_from_db()
        assert document.collection == shelf
        assert edit.patch(address, {"collection": "shelf"}, format="json").status_code == 200
        half = {"collection": "attic", "supersedes": [str(document.public_id)]}
        assert edit.patch(address, half, format="json").status_code == 400
        document.refresh_from_db()
        assert document.collection == shelf  # nothing of what was refused in part


# --- Bin, versions and hand edits over HTTP, and who may do what ---------------------------------

TIDES = "# Tides\n\nHigh water comes twice a day.\n"
EBB = "# Ebb\n\nLow water comes twice a day, too.\n"


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

        restored = edit.patch(address(document), {"deleted": False})
        assert (restored.status_code, restored.json()["deleted_at"]) == (200, None)
        assert found(edit, "high water")
        assert edit.patch(address(document), {"deleted": False}).status_code == 404

    def test_the_bin_of_a_hidden_collection_is_hidden(self, edit: APIClient) -> None:
        closed = make_collection("Closed", visibility=Visibility.GROUPS, groups=["insiders"])
        hidden = make_document(closed, EBB)
        Document.objects.filter(pk=hidden.pk).update(deleted_at=hidden.created)
        assert edit.get(DOCUMENTS, {"deleted": "true"}).json()["total"] == 0
        assert edit.patch(address(hidden), {"deleted": False}).status_code == 404


class TestVersions:
    @pytest.fixture
    def twice(self, document: Document) -> Document:
        return make_document(document.collection, EBB, source="tides.md")

    def test_versions_are_listed_with_whether_they_can_be_restored(
        self, edit: APIClient, twice: Document, django_assert_num_queries: Any
    ) -> None:
        with django_assert_num_queries(3):
            body = edit.get(address(twice, "versions")).json()
        assert [(v["number"], v["state"], v["kept"]) for v in body["results"]] == [
            (2, "ready", True),
            (1, "superseded", True),
        ]

    def test_an_older_file_is_downloaded(self, edit: APIClient, twice: Document) -> None:
        response = edit.get(address(twice, "original"), {"version": 1})
        assert b"".join(response.streaming_content) == TIDES.encode()
        assert "attachment" in response["Content-Disposition"]
        assert edit.get(address(twice, "original"), {"version": 9}).status_code == 404

    def test_older_version_is_made_current(self, edit: APIClient, twice: Document) -> None:
        response = edit.patch(address(twice), {"version": 1})
        assert (response.status_code, response.json()["state"]) == (202, "queued")
        newest = edit.get(address(twice)).json()["versions"][0]
        assert (newest["number"], newest["restored_from"]) == (3, 1)
        twice.refresh_from_db()
        processing_steps.advance(twice.latest_id or 0)
        assert found(edit, "high water")[0]["document"]["title"] == "Tides"
        again = edit.patch(address(twice), {"version": 3})
        assert (again.status_code, again.json()["code"]) == (409, "conflict")
        old = edit.post(address(twice, "versions", 2, "make-current"))  # of 0.2
        assert (old.status_code, old.json()["number"], old.json()["restored_from"]) == (202, 4, 2)
        missing = edit.patch(address(twice), {"version": 9})
        assert (missing.status_code, [*missing.json()["errors"]]) == (400, ["version"])

    def test_receipt_states_the_outcome_of_the_upload(
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
        response = edit.put(address(document, "chunks", 0), wish)
        assert response.status_code == 200
        held = response.json()["edit"]
        assert {name: held[name] for name in wish} == wish
        assert (held["state"], held["chunk"]) == ("applied", 0)
        [result] = found(edit, "flood")
        assert (result["text"], result["edited"], result["note"]) == (wish["text"], True, "")

        undone = edit.put(address(document, "chunks", 0), {})
        assert (undone.status_code, undone.json()["edit"]) == (200, None)
        [result] = found(edit, "high water")
        assert result["edited"] is False
        assert not ChunkEdit.objects.exists()

    def test_disabled_passages_are_listed_too(
        self, edit: APIClient, document: Document, django_assert_num_queries: Any
    ) -> None:
        edit.put(address(document, "chunks", 0), {"disabled": True})
        assert found(edit, "high water") == []
        with django_assert_num_queries(3):  # the document, the count, the page
            [passage] = edit.get(address(document, "chunks")).json()["results"]
        assert (passage["searchable"], passage["edit"]["disabled"]) == (False, True)

    def test_impossible_edits_are_refused_with_a_reason(
        self, edit: APIClient, document: Document
    ) -> None:
        where = address(document, "chunks", 0)
        long = edit.put(where, {"text": "word " * 400})
        assert (long.status_code, long.json()["code"]) == (400, "refused_edit")
        assert edit.put(address(document, "chunks", 7), {"note": "x"}).status_code == 404


# --- Metadata over HTTP: set with files and by changes, shown, searched by -----------------------

SEARCH = "/api/v1/search/"
GIVEN = {"department": "Sales", "year": 2024, "draft": False, "tags": ["a", "b"]}


def editor(*codenames: str) -> User:
    return staff("editor", *codenames, is_staff=False)


def described(collection: Collection, title: str, **metadata: Any) -> Document:
    document = make_document(collection, f"# {title}\n\nA pump in the {title} hall.")
    return services.describe(document, metadata=metadata, acting_user=None)


def attached(name: str = "a.md", content: bytes = b"# A\n") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


HUGE = f'{{"n": {10**400}}}'


class TestDocuments:
    def upload(self, api: APIClient, metadata: str) -> Any:
        body = {"collection": "shelf", "file": attached(), "metadata": metadata}
        return api.post(DOCUMENTS, body, format="multipart")

    def test_upload_sets_metadata_as_json(self, edit: APIClient) -> None:
        response = self.upload(edit, json.dumps(GIVEN))
        assert response.status_code == 202
        assert response.json()["metadata"] == GIVEN
        assert edit.get(response.headers["Location"]).json()["metadata"] == GIVEN
        assert edit.get(DOCUMENTS).json()["results"][0]["metadata"] == GIVEN

    @pytest.mark.parametrize(
        ("metadata", "message"),
        [("{", "JSON"), ("[]", "JSON object"), ('{"Part": 1}', "key"), (HUGE, "beyond")],
    )
    def test_bad_metadata_is_refused_and_nothing_stored(
        self, edit: APIClient, metadata: str, message: str
    ) -> None:
        response = self.upload(edit, metadata)
        assert (response.status_code, response.json()["code"]) == (400, "invalid")
        assert message in response.json()["details"]["metadata"][0]
        assert not Document.objects.exists()

    def test_import_sets_metadata_for_all_documents(self, edit: APIClient) -> None:
        archive = SimpleUploadedFile("b.zip", make_zip({"in.md": "# In"}))
        body = {"collection": "shelf", "archive": archive, "metadata": '{"n": 2}'}
        assert edit.post("/api/v1/imports/", body, format="multipart").status_code == 202
        runner.run(Import.objects.get().pk)
        assert set(Document.objects.values_list("title", "metadata__n")) == {("in", 2)}

    def test_changed_metadata_replaces_the_old_without_processing(
        self, edit: APIClient, shelf: Collection
    ) -> None:
        document = described(shelf, "A", n=1, m=2)
        address = f"{DOCUMENTS}{document.public_id}/"
        response = edit.patch(address, {"metadata": GIVEN}, format="json")
        assert (response.status_code, response.json()["metadata"]) == (200, GIVEN)
        assert document.versions.count() == 1
        assert [one.change_message for one in LogEntry.objects.all()] == ["Changed metadata"]
        response = edit.patch(address, {"title": "New", "metadata": {}}, format="json")
        shown = response.json()
        assert (shown["title"], shown["metadata"], shown["state"]) == ("New", {}, "queued")

    def test_metadata_change_is_validated_and_needs_the_permission(
        self, api: APIClient, shelf: Collection
    ) -> None:
        document = described(shelf, "A", n=1)
        address = f"{DOCUMENTS}{document.public_id}/"
        body = {"metadata": {"n": 2}}
        assert api.patch(address, body, format="json").status_code == 401
        api.force_authenticate(editor("change_document"))
        for wrong in ({"metadata": {"A": 1}}, {"metadat": {}}, {"metadata": [1]}):
            assert api.patch(address, wrong, format="json").status_code == 400
        Collection.objects.update(visibility=Visibility.GROUPS)
        assert api.patch(address, body, format="json").status_code == 404
        api.force_authenticate(None)
        document.refresh_from_db()
        assert document.metadata == {"n": 1}

    def test_a_collection_names_the_keys_that_it_offers(self, api: APIClient) -> None:
        api.force_authenticate(editor("change_collection"))
        address = "/api/v1/collections/shelf/"
        response = api.patch(address, {"metadata_keys": ["department"]}, format="json")
        assert (response.status_code, response.json()["metadata_keys"]) == (200, ["department"])
        for wrong in (["Big Key"], [f"k{n}" for n in range(11)], "department"):
            response = api.patch(address, {"metadata_keys": wrong}, format="json")
            assert response.status_code == 400
            assert "metadata_keys" in response.json()["details"]


class TestSearch:
    @pytest.fixture(autouse=True)
    def library(self, shelf: Collection) -> None:
        described(shelf, "Alpha", **GIVEN)
        described(shelf, "Beta", department="Legal", year=2020)

    def titles(self, api: APIClient, **asked: Any) -> set[str]:
        response = api.get(SEARCH, {"q": "pump", **asked})
        assert response.status_code == 200
        return {result["document"]["title"] for result in response.json()["results"]}

    def test_results_have_metadata_and_conditions_narrow_them(
        self, api: APIClient, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        results = api.get(SEARCH, {"q": "pump alpha"}).json()["results"]
        assert [one["document"]["metadata"] for one in results] == [
            GIVEN,
            {"department": "Legal", "year": 2020},
        ]
        assert self.titles(api, meta=["department:Sales", "department:Legal"]) == {"Alpha", "Beta"}
        assert self.titles(api, q="pump -meta.draft:false", meta="year<2024") == {"Beta"}

    @pytest.mark.parametrize("meta", ["department", "year>soon", "", "a:\0", ["a:b"] * 51])
    def test_invalid_metadata_condition_is_refused(self, api: APIClient, meta: Any) -> None:
        response = api.get(SEARCH, {"q": "pump", "meta": meta})
        assert (response.status_code, response.json()["code"]) == (400, "invalid")
        assert "meta" in response.json()["details"]


@pytest.mark.parametrize("name", ["collection", "file", "title"])
def test_a_field_of_an_upload_that_stands_twice_is_refused(edit: APIClient, name: str) -> None:
    shelf, other = make_collection(), make_collection("Other")
    files = [SimpleUploadedFile(f"{each}.md", each.encode()) for each in ("tides", "winds")]
    form: dict[str, Any] = {"collection": [shelf.slug], "file": files[:1], "title": ["Tides"]}
    form[name] = [*form[name], {"collection": other.slug, "file": files[1], "title": "Winds"}[name]]
    response = edit.post(DOCUMENTS, form, format="multipart")
    assert response.status_code == 400
    assert response.json()["details"] == {name: ["Give it once."]}
    assert not Document.objects.exists()


def test_an_unknown_collection_in_a_list_is_refused_with_the_readable_ones(api: APIClient) -> None:
    shelf, _ = make_collection(), make_collection("Den", visibility=Visibility.GROUPS)
    for slug in ("no-such", "den"):
        response = api.get(DOCUMENTS, {"collection": [shelf.slug, slug]})
        assert response.status_code == 400
        (text,) = response.json()["details"]["collection"]
        said, _, readable = text.partition(" There are: ")
        assert said == f"There is no collection “{slug}” that you may read."
        assert shelf.slug in readable
        assert "den" not in readable
