"""Documents and collections over HTTP: upload, state, new versions, deletion, who may do what."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.documents import steps
from ingestion.errors import DamagedFile
from ingestion.models import Collection, Document, State, Visibility
from tests.support.factories import make_collection, make_document, upload

DOCUMENTS = "/api/v1/documents/"
COLLECTIONS = "/api/v1/collections/"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

TEXT = b"# Tides\n\nHigh water comes twice a day.\n"


@pytest.fixture
def editor(db: None) -> User:
    """A user with every permission on documents, who is no superuser."""
    user = User.objects.create_user("editor", password="pw-editor")
    wanted = ("add_document", "change_document", "delete_document")
    user.user_permissions.set(Permission.objects.filter(codename__in=wanted))
    return user


@pytest.fixture
def edit(api: APIClient, editor: User) -> APIClient:
    api.force_authenticate(editor)
    return api


@pytest.fixture
def shelf(db: None) -> Collection:
    return make_collection("Shelf")


def file(content: bytes = TEXT, name: str = "tides.md") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def post_file(api: APIClient, address: str = DOCUMENTS, **fields: Any) -> Any:
    return api.post(address, {"file": file(), **fields}, format="multipart")


def test_an_upload_is_queued_and_becomes_ready(edit: APIClient, shelf: Collection) -> None:
    response = post_file(edit, collection="shelf", title="The tides", language="en-GB")

    queued = response.json()
    assert response.status_code == 202
    assert response.headers["Location"] == f"{DOCUMENTS}{queued['id']}/"
    assert (queued["state"], queued["searchable"], queued["duplicate"]) == ("queued", False, False)
    assert (queued["title"], queued["language"]) == ("The tides", "en")
    assert (queued["file_name"], queued["media_type"]) == ("tides.md", "text/markdown")
    assert queued["size"] == len(TEXT)

    document = Document.objects.get(public_id=queued["id"])
    steps.advance(document.latest_id or 0)
    ready = edit.get(response.headers["Location"]).json()
    assert (ready["state"], ready["progress"], ready["error"]) == ("ready", 1, None)
    assert ready["searchable"] is True
    assert [(v["number"], v["state"], v["chunk_count"]) for v in ready["versions"]] == [
        (1, "ready", 1)
    ]
    assert document.added_by is not None
    assert document.added_by.username == "editor"


def test_the_same_bytes_are_one_document(edit: APIClient, shelf: Collection) -> None:
    first = post_file(edit, collection="shelf").json()

    again = post_file(edit, collection="shelf", title="Another name")

    assert again.status_code == 200
    assert again.json() == {**first, "duplicate": True, "outcome": "duplicate"}
    assert Document.objects.count() == 1


def test_a_new_version_keeps_the_present_one_searchable(edit: APIClient, shelf: Collection) -> None:
    document = make_document(shelf, TEXT.decode(), file_name="tides.md")
    address = f"{DOCUMENTS}{document.public_id}/versions/"
    changed = file(TEXT + b"\nAnd low water twice.\n")

    response = edit.post(address, {"file": changed}, format="multipart")

    body = response.json()
    assert response.status_code == 202
    assert (body["id"], body["state"]) == (str(document.public_id), "queued")
    assert body["searchable"] is True
    versions = edit.get(f"{DOCUMENTS}{document.public_id}/").json()["versions"]
    assert [(v["number"], v["state"]) for v in versions] == [(2, "queued"), (1, "ready")]


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
    address = f"{DOCUMENTS}{document.public_id}/reprocess/"

    response = edit.post(address)

    assert response.status_code == 202
    assert response.json()["state"] == "queued"
    assert document.versions.count() == 2
    assert edit.post(address).status_code == 409


def test_deleting_leaves_nothing(edit: APIClient, shelf: Collection) -> None:
    document = make_document(shelf, TEXT.decode(), file_name="tides.md")
    address = f"{DOCUMENTS}{document.public_id}/"

    assert edit.delete(address).status_code == 204

    assert edit.get(address).status_code == 404
    assert edit.delete(address).status_code == 404
    assert edit.get("/api/v1/search/", {"q": "tides"}).json()["total"] == 0


def test_deleting_while_a_worker_reads_ends_the_work(
    edit: APIClient, shelf: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = upload(shelf, TEXT, file_name="tides.md")

    def deleted_meanwhile(*arguments: Any, **options: Any) -> Any:
        edit.delete(f"{DOCUMENTS}{receipt.document.public_id}/")
        raise DamagedFile("The file went away.")

    monkeypatch.setattr(steps, "open_file", deleted_meanwhile)

    assert steps.advance(receipt.version.pk) is False
    assert not Document.objects.kept().exists()


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
    edit: APIClient, shelf: Collection, settings: Any,
    content: bytes, name: str, status: int, code: str,
) -> None:  # fmt: skip
    settings.MAX_UPLOAD_BYTES = 1024

    response = post_file(edit, collection="shelf", file=file(content, name))

    assert response.status_code == status
    assert response.json()["code"] == code
    assert len(response.json()["message"]) > 20
    assert not Document.objects.exists()


def test_a_body_far_over_the_limit_is_refused_unread(
    edit: APIClient, shelf: Collection, settings: Any
) -> None:
    settings.MAX_UPLOAD_BYTES = 1024
    body = b"x" * (2 * 1024 * 1024)

    response = edit.generic("POST", DOCUMENTS, body, content_type="multipart/form-data; boundary=b")

    assert (response.status_code, response.json()["code"]) == (413, "file_too_large")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "collection"),
        ({"collection": "no-such"}, "collection"),
        ({"collection": "nul\x00"}, "collection"),
        ({"collection": "shelf", "file": "not a file"}, "file"),
        ({"collection": "shelf", "title": "x" * 501}, "title"),
        ({"collection": "shelf", "title": "nul\x00"}, "title"),
        ({"collection": "shelf", "language": "klingon"}, "language"),
    ],
    ids=str,
)
def test_a_wrong_form_names_its_field(
    edit: APIClient, shelf: Collection, fields: dict[str, Any], field: str
) -> None:
    response = post_file(edit, **fields)

    assert response.status_code == 400
    assert response.json()["code"] == "invalid"
    assert list(response.json()["details"]) == [field]
    assert not Document.objects.exists()


def test_a_hidden_collection_takes_no_upload_and_reads_as_missing(
    edit: APIClient, shelf: Collection
) -> None:
    make_collection("Secret", visibility=Visibility.GROUPS, groups=["insiders"])

    hidden = post_file(edit, collection="secret").json()
    missing = post_file(edit, collection="absent").json()

    assert hidden == {
        **missing,
        "message": missing["message"].replace("absent", "secret"),
        "details": {
            "collection": [missing["details"]["collection"][0].replace("absent", "secret")]
        },
    }


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
            api.post(f"{each}reprocess/"),
            api.post(f"{each}retry/"),
            post_file(api, f"{each}versions/"),
        ]

    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(status, code)}
    assert all(("WWW-Authenticate" in answer.headers) is not signed_in for answer in answers)
    assert api.get(address).status_code == 200
    assert document.versions.count() == 1


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({}, ["b.md", "a.md", "tides.md"]),
        ({"collection": "shelf"}, ["tides.md"]),
        ({"collection": ["shelf", "other"]}, ["b.md", "a.md", "tides.md"]),
        ({"state": "queued"}, ["b.md", "a.md"]),
        ({"state": ["ready", "failed"]}, ["tides.md"]),
        ({"q": "TIDE"}, ["tides.md"]),
        ({"q": "%"}, []),
        ({"collection": "no-such"}, []),
        ({"page": 2, "page_size": 2}, ["tides.md"]),
        ({"page": 1_000_000}, []),
    ],
    ids=str,
)
def test_lists_narrow(
    api: APIClient, shelf: Collection, filters: dict[str, Any], names: list[str]
) -> None:
    make_document(shelf, TEXT.decode(), file_name="tides.md")
    other = make_collection("Other")
    for name in ("a.md", "b.md"):
        upload(other, f"Text of {name}", file_name=name)

    body = api.get(DOCUMENTS, filters).json()

    assert [document["file_name"] for document in body["results"]] == names


@pytest.mark.parametrize(
    "parameters",
    [
        {"page": "abc"}, {"page": "-1"}, {"page": "1000001"}, {"page_size": "101"},
        {"state": "lost"}, {"q": "a\x00"}, {"collection": "a\x00"}, {"sort": "title"},
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_parameter_is_named(api: APIClient, parameters: dict[str, Any]) -> None:
    response = api.get(DOCUMENTS, parameters)

    assert response.status_code == 400
    assert response.json()["code"] == "invalid"
    assert set(response.json()["details"]) == set(parameters)


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


@pytest.mark.parametrize(
    ("address", "queries"), [(DOCUMENTS, 2), (COLLECTIONS, 2)], ids=["documents", "collections"]
)
def test_a_list_costs_two_queries_whatever_its_length(
    api: APIClient, shelf: Collection, django_assert_num_queries: Any, address: str, queries: int
) -> None:
    for number in range(5):
        upload(shelf, f"Text {number}", file_name=f"{number}.md")
        make_collection(f"Collection {number}")

    with django_assert_num_queries(queries):
        assert len(api.get(address).json()["results"]) >= 5


def test_a_document_costs_two_queries(
    api: APIClient, shelf: Collection, django_assert_num_queries: Any
) -> None:
    document = make_document(shelf, TEXT.decode(), file_name="tides.md")

    with django_assert_num_queries(2):
        body = api.get(f"{DOCUMENTS}{document.public_id}/").json()

    assert body["state"] == State.READY


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
        again = edit.patch(address, {"collection": "shelf"}, format="json")
        assert again.status_code == 200

    def test_what_cannot_move_stays_and_says_why(self, edit: APIClient, shelf: Collection) -> None:
        make_document(shelf, TEXT, file_name="tides.md")
        document = make_document(make_collection("Attic"), TEXT, file_name="tides.md")
        make_collection("Vault", visibility=Visibility.GROUPS, groups=["insiders"])
        address = f"{DOCUMENTS}{document.public_id}/"

        same = edit.patch(address, {"collection": "shelf"}, format="json")
        hidden = edit.patch(address, {"collection": "vault"}, format="json")

        assert (same.status_code, "same file" in same.content.decode()) == (409, True)
        assert hidden.status_code == 400
        document.refresh_from_db()
        assert document.collection.name == "Attic"

    def test_readers_may_not_move(self, api: APIClient, reader: User, shelf: Collection) -> None:
        document = make_document(make_collection("Attic"), TEXT, file_name="tides.md")
        api.force_authenticate(reader)
        address = f"{DOCUMENTS}{document.public_id}/"
        assert api.patch(address, {"collection": "shelf"}, format="json").status_code == 403
