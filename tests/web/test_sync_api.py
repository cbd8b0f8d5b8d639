"""The sync API: documents by the ids and etags of a source elsewhere, and what it no longer has."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from rest_framework.test import APIClient

from common.accounts import tokens
from common.accounts.models import User
from common.database import released
from ingestion import services
from ingestion.documents import processing_steps
from ingestion.documents.restricted_readers import Readers
from ingestion.errors import StateConflict
from ingestion.intake import mirroring
from ingestion.intake.watched_folder_scan import scan
from ingestion.models import Collection, Document, SyncItem, SyncSource, Visibility, WatchedFolder
from tests.support.admin_client import staff
from tests.support.factories import make_collection, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "shelf")]

SOURCES = "/api/v1/sources/"
WIKI = f"{SOURCES}wiki/"
RIGHTS = ("add_document", "delete_document")


@pytest.fixture
def program(api: APIClient) -> APIClient:
    """The client of a program with the source “wiki” of the shelf."""
    api.force_authenticate(staff("program", *RIGHTS, is_staff=False))
    made = api.put(WIKI, {"collection": "shelf"}, format="json")
    assert (made.status_code, made.json()["name"]) == (201, "wiki")
    return api


def put(client: APIClient, key: str, text: str, etag: str = "1", **fields: Any) -> Any:
    address = f"{fields.pop('source', WIKI)}documents/?id={quote(key)}"
    name = fields.pop("file_name", "page.md")
    file = SimpleUploadedFile(name, text.encode())
    return client.put(address, {"file": file, "etag": etag, **fields}, format="multipart")


def outcomes(client: APIClient, *texts: str, **fields: Any) -> list[str]:
    """What putting each text says, by ids a, b, c, ..."""
    keys = "abcdefgh"
    return [put(client, keys[i], text, **fields).json()["outcome"] for i, text in enumerate(texts)]


def keep(client: APIClient, *ids: str, source: str = WIKI, **fields: Any) -> Any:
    return client.post(f"{source}keep/", {"ids": ids, **fields}, format="json")


def listed(client: APIClient, source: str = WIKI, **query: Any) -> dict[str, Any]:
    found = client.get(f"{source}documents/", query).json()["results"]
    return {item["id"]: item for item in found}


def kept() -> list[str]:
    """The ids of the documents that are not in the bin."""
    sources = Document.objects.undeleted().values_list("source", flat=True)
    return sorted(source.rpartition("/")[2] for source in sources)


def test_a_document_is_added_left_alone_and_replaced(program: APIClient) -> None:
    key = "manuals/pump: a/b?&.md"
    first = put(program, key, "# Pump\n\nOil it.", title="The pump", metadata='{"year": 2026}')
    body = first.json()
    assert (first.status_code, body["outcome"], body["id"]) == (202, "added", key)
    assert first.headers["Location"] == f"http://testserver/api/v1/documents/{body['document']}/"
    document = Document.objects.get(public_id=body["document"])
    processing_steps.advance(document.latest_id or 0)
    shown = program.get(first.headers["Location"]).json()
    assert (shown["title"], shown["state"]) == ("The pump", "ready")
    assert shown["metadata"] == {"year": 2026}
    for text, etag in (("Other bytes under the same etag.", "1"), ("# Pump\n\nOil it.", "2")):
        same = put(program, key, text, etag)
        assert (same.status_code, same.json()["outcome"]) == (200, "unchanged")
    assert document.versions.count() == 1
    newer = put(program, key, "# Pump\n\nGrease it.", etag="3")
    assert (newer.status_code, newer.json()["outcome"]) == (202, "replaced")
    assert newer.json()["document"] == body["document"]
    assert document.versions.count() == 2
    assert {**listed(program)[key], "outcome": "replaced"} == newer.json()
    assert list(listed(program, id=key)) == [key]
    assert listed(program, id="other") == {}


def test_a_new_title_at_the_source_is_the_document_s(program: APIClient) -> None:
    put(program, "a", "Text.", title="Old name")
    put(program, "a", "Text.", etag="2", title="New name")
    put(program, "a", "Text, changed.", etag="3")
    assert Document.objects.get().title == "New name"


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"text": ""}, 400, "empty_file"),
        ({"file_name": "page.exe"}, 400, "unsupported_type"),
        ({"etag": ""}, 400, "invalid"),
        ({"key": ""}, 400, "invalid"),
        ({"key": "x" * 501}, 400, "invalid"),
        ({"pages": "3"}, 400, "invalid"),
        ({"source": f"{SOURCES}other/"}, 404, "not_found"),
    ],
)
def test_invalid_document_is_refused_with_a_reason(
    program: APIClient, fields: dict[str, Any], status: int, code: str
) -> None:
    response = put(
        program, **{"key": "a", "text": "\0MZ" if "file_name" in fields else "x"} | fields
    )
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert not SyncItem.objects.exists()
    assert not Document.objects.exists()


def test_missing_documents_of_a_source_are_deleted_and_restored(program: APIClient) -> None:
    assert outcomes(program, "One.", "Two.", "Three.") == ["added"] * 3
    before = Document.objects.get(source__endswith="/wiki/c")
    assert keep(program, "a", "b", "unheard-of").json() == {"deleted": 1, "missing": 0}
    assert list(listed(program)) == ["a", "b"]
    before.refresh_from_db()
    assert before.deleted_at is not None
    back = put(program, "c", "Three.")
    assert (back.status_code, back.json()["outcome"]) == (200, "restored")
    assert back.json()["document"] == str(before.public_id)
    assert before.versions.count() == 1
    keep(program, "a", "b")
    assert put(program, "c", "Three, revised.", etag="2").json()["outcome"] == "replaced"
    before.refresh_from_db()
    assert (before.deleted_at, before.versions.count()) == (None, 2)


def test_document_deleted_by_a_person_is_listed_as_deleted(
    program: APIClient, administrator: User
) -> None:
    put(program, "a", "One.")
    services.delete(Document.objects.all(), acting_user=administrator)
    assert (listed(program)["a"]["etag"], listed(program)["a"]["deleted"]) == ("1", True)
    assert put(program, "a", "One.").json()["outcome"] == "restored"
    services.delete(Document.objects.all(), acting_user=administrator)
    services.purge(Document.objects.all())
    assert listed(program)["a"]["document"] is None
    assert put(program, "a", "One.").json()["outcome"] == "added"


def test_large_deletion_needs_a_confirmed_number(
    program: APIClient,
) -> None:
    outcomes(program, "One.", "Two.", "Three.")
    for confirm in ({}, {"confirm": 3}):
        refused = keep(program, "a", **confirm)
        assert (refused.status_code, refused.json()["code"]) == (409, "many_missing")
        assert "2 of 3 documents are missing" in refused.json()["message"]
    held = program.get(WIKI).json()
    assert (held["documents"], held["missing"]) == (3, 2)
    assert held["message"] == refused.json()["message"]
    # What the source has after all is not missing.
    put(program, "b", "Two.")
    assert program.get(WIKI).json()["missing"] == 1
    assert keep(program, "a", confirm=2).json() == {"deleted": 2, "missing": 0}
    assert kept() == ["a"]
    after = program.get(WIKI).json()
    assert (after["documents"], after["missing"], after["message"]) == (1, 0, "")


def test_a_listing_that_breaks_off_earlier_each_time_is_stopped(
    program: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes(program, *(f"Text {number}." for number in range(8)))
    assert keep(program, *"abcde").json() == {"deleted": 3, "missing": 0}
    refused = keep(program, *"abc")
    assert refused.status_code == 409
    message = refused.json()["message"]
    assert message.startswith("2 of 5 documents are missing")
    assert message.endswith("3 more went to the bin within the last day.")
    assert kept() == list("abcde")
    assert keep(program, *"abc", confirm=2).json() == {"deleted": 2, "missing": 0}
    Document.objects.filter(deleted_at__isnull=False).update(
        deleted_at=timezone.now() - mirroring.GUARDED
    )
    assert keep(program, *"ab").json() == {"deleted": 1, "missing": 0}


def test_deletion_continues_over_several_requests(
    program: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "MOST_DELETED", 2)
    outcomes(program, "One.", "Two.", "Three.", "Four.", "Five.", "Six.")
    assert keep(program, confirm=6).json() == {"deleted": 2, "missing": 4}
    assert keep(program).json() == {"deleted": 2, "missing": 2}
    assert keep(program).json() == {"deleted": 2, "missing": 0}


def test_renaming_continues_over_several_requests(
    program: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "MOST_DELETED", 2)
    outcomes(program, "One.", "Two.", "Three.")
    for key, text in zip("xyz", ("One.", "Two.", "Three."), strict=True):
        assert put(program, key, text).json()["outcome"] == "duplicate"
    assert keep(program, *"xyz").json() == {"deleted": 0, "missing": 1}
    assert keep(program, *"xyz").json() == {"deleted": 0, "missing": 0}
    assert kept() == ["x", "y", "z"]


def test_uploads_cannot_replace_a_synced_document(program: APIClient, shelf: Collection) -> None:
    put(program, "a", "Truth.")
    other = staff("other", "add_document")
    with pytest.raises(StateConflict, match="Only names of synced sources"):
        upload(shelf, "Lies.", source=Document.objects.get().source, user=other)


def test_document_of_the_same_id_precedes_one_with_the_same_bytes(
    program: APIClient, shelf: Collection, administrator: User
) -> None:
    put(program, "a", "Same.")
    services.restrict(Document.objects.all(), Readers((), (administrator,)), acting_user=None)
    upload(shelf, "Same.", user=staff("other", "add_document"))  # who does not know the first
    assert put(program, "a", "Same.", etag="2").json()["outcome"] == "unchanged"
    assert Document.objects.undeleted().count() == 2


def test_the_ids_of_another_source_are_not_touched(program: APIClient) -> None:
    other = f"{SOURCES}tickets/"
    program.put(other, {"collection": "shelf"}, format="json")
    put(program, "a", "A page of the wiki.")
    put(program, "a", "A ticket.", source=other)
    assert kept() == ["a", "a"]
    assert keep(program, confirm=1).json()["deleted"] == 1
    assert list(listed(program, other)) == ["a"]
    assert Document.objects.undeleted().get().source.endswith("/tickets/a")
    stranger = APIClient()
    stranger.force_authenticate(staff("stranger", *RIGHTS, is_staff=False))
    for address in (other, f"{other}documents/"):
        assert stranger.get(address).status_code == 404
    assert stranger.get(SOURCES).json()["total"] == 0
    assert keep(stranger, source=other).status_code == 404
    # The name is free for everyone.
    assert stranger.put(other, {"collection": "shelf"}, format="json").status_code == 201
    assert put(stranger, "a", "Another ticket.", source=other).json()["outcome"] == "added"
    assert kept() == ["a", "a"]


def test_the_same_bytes_are_one_document_that_the_last_id_keeps(program: APIClient) -> None:
    assert outcomes(program, "Same.", "Same.", "Other.") == ["added", "duplicate", "added"]
    assert keep(program, "b", "c").json() == {"deleted": 0, "missing": 0}
    assert kept() == ["b", "c"]
    assert listed(program)["b"]["etag"] == "1"
    # A change of one leaves the others without their bytes: they are asked for again.
    put(program, "a", "Same.")
    put(program, "b", "Changed.", etag="2")
    assert listed(program)["a"]["etag"] == ""
    assert put(program, "a", "Same.").json()["outcome"] == "added"


def test_a_person_s_document_outlives_the_source_that_has_its_bytes(
    program: APIClient, shelf: Collection, administrator: User
) -> None:
    mine = upload(shelf, "Mine.", user=administrator).document
    assert put(program, "a", "Mine.").json()["outcome"] == "duplicate"
    assert keep(program, confirm=1).json() == {"deleted": 0, "missing": 0}
    put(program, "a", "Mine.")
    services.delete([mine], acting_user=administrator)
    assert listed(program)["a"]["etag"] == ""
    assert put(program, "a", "Mine.").json()["outcome"] == "added"


def test_a_watched_file_and_a_source_share_a_document(
    program: APIClient, shelf: Collection, tmp_path: Any
) -> None:
    (tmp_path / "a.md").write_text("Shared.")
    (tmp_path / "b.md").write_text("Its own.")
    folder = WatchedFolder.objects.create(collection=shelf, path=str(tmp_path))
    scan(folder.pk)
    scan(folder.pk)
    assert put(program, "page", "Shared.").json()["outcome"] == "duplicate"
    (tmp_path / "a.md").unlink()
    scan(folder.pk)
    assert Document.objects.undeleted().count() == 2
    assert SyncItem.objects.get().is_own
    ours = Document.objects.filter(sync_items__isnull=False)
    moved = services.move(ours, make_collection("Else"), acting_user=User.objects.get())
    assert "the source “wiki”" in moved.refused[0]


def test_syncing_needs_scope_rights_and_a_readable_collection(
    program: APIClient, shelf: Collection
) -> None:
    user = User.objects.get(username="program")
    reads, uploads = (
        APIClient(headers={"authorization": f"Bearer {tokens.make(user, scopes=[scope])[1]}"})
        for scope in ("read", "upload")
    )
    assert put(reads, "a", "One.").json()["code"] == "missing_scope"
    assert put(uploads, "a", "One.").status_code == 202
    assert keep(reads).json()["code"] == "missing_scope"
    user.user_permissions.remove(user.user_permissions.get(codename="delete_document"))
    assert keep(uploads, "a").json()["code"] == "permission_denied"
    Collection.objects.update(visibility=Visibility.GROUPS)
    assert put(uploads, "b", "Two.").status_code == 404
    assert uploads.get(f"{WIKI}documents/").status_code == 404
    assert uploads.put(WIKI, {"collection": "shelf"}, format="json").status_code == 400


def test_syncing_counts_for_quotas_and_is_audited(program: APIClient, settings: Any) -> None:
    settings.QUOTAS_USER = {**settings.QUOTAS_USER, "uploads": 2}
    outcomes(program, "One.", "Two.")
    assert put(program, "a", "One.").json()["outcome"] == "unchanged"
    spent = put(program, "c", "Three.")
    assert (spent.status_code, spent.json()["code"]) == (429, "quota_exceeded")
    keep(program, "a", confirm=1)
    program.delete(WIKI)
    assert Document.objects.undeleted().count() == 1
    rows = LogEntry.objects.filter(user__username="program").order_by("pk")
    assert list(rows.values_list("change_message", flat=True)) == [
        "Syncs into Shelf", "Uploaded: page.md", "Uploaded: page.md",
        "Confirmed the deletion of 1 document(s)", "Put in the bin",
        "Forgotten; its documents stay",
    ]  # fmt: skip


def test_a_source_made_anew_finds_its_documents(program: APIClient) -> None:
    make_collection("Other")
    refused = program.put(WIKI, {"collection": "other"}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    put(program, "a", "One.")
    assert program.delete(WIKI).status_code == 204
    program.put(WIKI, {"collection": "shelf"}, format="json")
    assert outcomes(program, "One, changed.") == ["replaced"]
    long = program.put(f"{SOURCES}{'x' * 81}/", {"collection": "shelf"}, format="json")
    assert (long.status_code, list(long.json()["details"])) == (400, ["name"])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("texts", [["Same."] * 10, [f"Text {i}." for i in range(10)]])
def test_the_same_id_put_ten_times_at_once_is_one_document(
    program: APIClient, texts: list[str]
) -> None:
    user = User.objects.get(username="program")

    def send(text: str) -> str:
        client = APIClient()
        client.force_authenticate(user)
        return released(lambda: str(put(client, "a", text).json()["outcome"]))

    with ThreadPoolExecutor(10) as pool:
        said = Counter(pool.map(send, texts))
    assert said == {"added": 1, "unchanged": 9}
    assert Document.objects.get().versions.count() == 1
    assert SyncSource.objects.get().items.count() == 1
