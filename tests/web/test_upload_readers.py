"""The readers that an upload names: applied or refused at each door, and never dropped."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models.signals import post_save
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion import services
from ingestion.documents import processing_steps
from ingestion.documents.restricted_readers import Readers
from ingestion.intake import import_runner
from ingestion.lexical import bm25_weights
from ingestion.models import Collection, Document, DocumentVersion, Import
from search import pipeline
from tests.support.admin_client import signed_in, staff
from tests.support.factories import upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "shelf")]

KB = "/api/v1/"
SECRET = "# The log\n\nThe mutiny began at eight bells.\n"
EDITOR = {"groups": [], "people": ["editor"]}
Door = Callable[..., Any]


def archive(text: str = SECRET) -> SimpleUploadedFile:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as members:
        members.writestr("log.md", text)
    return SimpleUploadedFile("logs.zip", data.getvalue())


def file(text: str = SECRET) -> SimpleUploadedFile:
    return SimpleUploadedFile("log.md", text.encode())


def to_documents(client: APIClient, **fields: Any) -> Any:
    form = {"collection": "shelf", "file": file(), **fields}
    return client.post(f"{KB}documents/", form, format="multipart")


def draft() -> Document:
    return upload(Collection.objects.get(), "Nothing yet.", title="Draft").document


def to_versions(client: APIClient, **fields: Any) -> Any:
    document = Document.objects.filter(title="Draft").first()
    document = document or draft()
    address = f"{KB}documents/{document.public_id}/versions/"
    return client.post(address, {"file": file(), **fields}, format="multipart")


def to_source(client: APIClient, **fields: Any) -> Any:
    client.put(f"{KB}sources/wiki/", {"collection": "shelf"}, format="json")
    form = {"file": file(), "etag": "1", **fields}
    return client.put(f"{KB}sources/wiki/documents/?id=a", form, format="multipart")


def to_imports(client: APIClient, **fields: Any) -> Any:
    form = {"collection": "shelf", "archive": archive(), **fields}
    response = client.post(f"{KB}imports/", form, format="multipart")
    if response.status_code == 202:
        import_runner.run(response.json()["id"])
    return response


DOORS = (to_documents, to_versions, to_source, to_imports)
doors = pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)

APPLIED = {
    "JSON": ({"readers": '{"people": ["editor"]}'}, EDITOR),
    "JSON of a generated client": ({"readers": '{"people": ["editor"], "groups": []}'}, EDITOR),
    "JSON of both": (
        {"readers": '{"groups": ["crew"], "people": ["editor"]}'},
        {"groups": ["crew"], "people": ["editor"]},
    ),
    "fields": ({"readers.people": "editor"}, EDITOR),
    "fields of both": (
        {"readers.people": ["editor", "mate"], "readers.groups": "crew"},
        {"groups": ["crew"], "people": ["editor", "mate"]},
    ),
}
JSON = {"readers": json.dumps(EDITOR)}
REFUSED = {
    "a name": ({"readers": "crew"}, "Send one JSON object"),
    "a list of names": ({"readers": '["editor"]'}, "Send one JSON object"),
    "a JSON text": ({"readers": '"editor"'}, "Send one JSON object"),
    "a sign": ({"readers": ";"}, "Send one JSON object"),
    "a blank": ({"readers": ""}, "Send one JSON object"),
    "broken JSON": ({"readers": '{"people": ["editor"'}, "Send one JSON object"),
    "deep JSON": ({"readers": "[" * 100_000}, "Send one JSON object"),
    "a number": ({"readers": "1"}, "Send one JSON object"),
    "two": ({"readers": [JSON["readers"], '{"people": ["mate"]}']}, "Give it once"),
    "both forms": (JSON | {"readers.people": "mate"}, "Send one JSON object"),
    "null": ({"readers": "null"}, "Leave it out"),
    "nobody": ({"readers": "{}"}, "Name a group or a person"),
    "empty lists": ({"readers": '{"people": [], "groups": []}'}, "Name a group or a person"),
    "no list": ({"readers": '{"people": "editor"}'}, "Send a list"),
    "an unknown key": ({"readers": '{"people": ["editor"], "foo": []}'}, "There is no such field"),
    "an unknown field": ({"readers.people": "editor", "readers.foo": "x"}, "readers.foo"),
    "an unknown field alone": ({"readers.foo": "x"}, "readers.foo"),
    "brackets": ({"readers[people]": "editor"}, "readers[people]"),
    "an index": ({"readers.people[0]": "editor"}, "readers.people[0]"),
    "a blank name": ({"readers.people": ""}, "blank"),
    "an unknown person": ({"readers": '{"people": ["editor", "nemo"]}'}, "nemo"),
    "an unknown group": ({"readers.groups": "nemo"}, "nemo"),
}


@pytest.fixture(autouse=True)
def crew() -> None:
    User.objects.create_user("mate").groups.add(Group.objects.create(name="crew"))


def answer(client: APIClient, document: Document) -> dict[str, Any]:
    body: dict[str, Any] = client.get(f"{KB}documents/{document.public_id}/").json()
    return body


def is_readable(user: User, document: Document) -> bool:
    return signed_in(user).get(f"{KB}documents/{document.public_id}/").status_code == 200


def is_found(user: User) -> bool:
    return bool(pipeline.search("mutiny eight bells", viewer=user).results)


@contextmanager
def never_open() -> Iterator[None]:
    """Assert that each version is made of a document that has readers of its own by then."""

    def check(instance: DocumentVersion, created: bool, **_: Any) -> None:
        assert Document.objects.get(pk=instance.document_id).audience_id is not None

    post_save.connect(check, sender=DocumentVersion)
    try:
        yield
    finally:
        post_save.disconnect(check, sender=DocumentVersion)


@doors
@pytest.mark.parametrize(("form", "readers"), APPLIED.values(), ids=APPLIED)
def test_readers_of_an_upload_alone_can_read_it(
    edit: APIClient, reader: User, door: Door, form: dict[str, Any], readers: dict[str, Any]
) -> None:
    if door is to_versions:
        draft()
    with never_open():
        response = door(edit, **form)
    assert response.status_code == 202, response.content
    document = Document.objects.get()
    assert not is_readable(reader, document)
    processing_steps.advance(document.latest_id or 0)
    bm25_weights.fold()
    assert answer(edit, document)["state"] == "ready"
    assert answer(edit, document)["readers"] == readers
    assert not is_readable(reader, document)
    assert not is_found(reader)
    assert is_found(User.objects.get(username="editor"))


@doors
@pytest.mark.parametrize(("form", "message"), REFUSED.values(), ids=REFUSED)
def test_readers_that_cannot_be_read_refuse_the_upload(
    edit: APIClient, door: Door, form: dict[str, Any], message: str
) -> None:
    response = door(edit, **form)
    assert response.status_code == 400, response.content
    assert message in json.dumps(response.json())
    assert not DocumentVersion.objects.exclude(document__title="Draft").exists()
    assert list(DocumentVersion.objects.values_list("number", flat=True)) in ([], [1])
    assert not Import.objects.exists()


@doors
def test_readers_without_the_uploader_refuse_the_upload(edit: APIClient, door: Door) -> None:
    response = door(edit, readers='{"groups": ["crew"]}')
    assert response.status_code == 409
    assert "You are not among these readers" in response.json()["message"]
    assert not Document.objects.exclude(title="Draft").exists()
    assert not Document.objects.exclude(audience=None).exists()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"readers.people": ["editor"]}, "There is no such field"),
        ({"readers": "crew"}, "Send one JSON object"),
        ({"readers": {}}, "PATCH takes null"),
        ({"readers": EDITOR | {"foo": []}}, "There is no such field"),
    ],
)
def test_a_body_of_json_drops_no_readers_either(
    edit: APIClient, body: dict[str, Any], message: str
) -> None:
    document = upload(Collection.objects.get(), SECRET).document
    services.restrict([document], Readers.named([], ["editor", "mate"]), acting_user=None)
    address = f"{KB}documents/{document.public_id}/"
    changed = edit.patch(address, body, format="json")
    assert (changed.status_code, message in changed.json()["message"]) == (400, True)
    assert answer(edit, document)["readers"]["people"] == ["editor", "mate"]
    origin = {"collection": "shelf", "kind": "folder", "origin": "/srv"}
    started = edit.post(f"{KB}imports/", origin | body, format="json")
    assert (started.status_code, message in started.json()["message"]) == (400, True)


@pytest.mark.parametrize("door", [to_source, to_imports], ids=lambda door: door.__name__)
def test_a_repeated_upload_applies_readers_and_keeps_those_it_does_not_name(
    edit: APIClient, door: Door
) -> None:
    """The same file under the same etag, and a new one."""
    door(edit)
    document = Document.objects.get()
    assert answer(edit, document)["readers"] is None  # as after an upload to 0.2.0
    door(edit, **JSON)
    assert answer(edit, document)["readers"] == EDITOR
    door(edit)
    assert answer(edit, document)["readers"] == EDITOR
    newer = {"file": file("Newer."), "etag": "2"}
    if door is to_imports:
        newer = {"archive": archive("Newer.")}
    door(edit, **newer)
    assert answer(edit, document)["readers"] == EDITOR
    newest = {"file": file("Newest."), "etag": "3"}
    if door is to_imports:
        newest = {"archive": archive("Newest.")}
    door(edit, readers='{"people": ["editor", "mate"]}', **newest)
    assert answer(edit, document)["readers"]["people"] == ["editor", "mate"]
    assert document.versions.filter(sha256=Document.objects.get().content_hash).exists()


def test_a_document_back_from_the_bin_has_the_readers_that_are_named(edit: APIClient) -> None:
    to_source(edit)
    services.delete([document := Document.objects.get()], acting_user=None)
    back = to_source(edit, **JSON)
    assert (back.status_code, back.json()["outcome"]) == (200, "restored")
    assert answer(edit, document)["readers"] == EDITOR


@pytest.mark.parametrize("door", [to_documents, to_source], ids=lambda door: door.__name__)
def test_a_file_that_others_may_read_already_is_refused(edit: APIClient, door: Door) -> None:
    others = upload(Collection.objects.get(), SECRET).document
    response = door(edit, **JSON)
    assert response.status_code == 409
    assert "already, as “note”, with other readers" in response.json()["message"]
    assert Document.objects.get().pk == others.pk
    services.restrict([others], Readers.named(**EDITOR), acting_user=None)
    assert door(edit, **JSON).json()["outcome"] == "duplicate"


def test_an_imported_file_that_others_may_read_already_fails(edit: APIClient) -> None:
    upload(Collection.objects.get(), SECRET)
    address = to_imports(edit, **JSON)["Location"]
    (item,) = edit.get(f"{address}items/").json()["results"]
    assert (item["state"], item["document"]) == ("failed", None)
    assert "with other readers" in item["message"]


def test_who_may_not_read_a_document_cannot_change_its_readers(api: APIClient) -> None:
    """Not even its program, once somebody took the document from it."""
    program = staff("editor", "add_document", is_staff=False)
    api.force_authenticate(program)
    assert to_source(api, **JSON).status_code == 202
    document = Document.objects.get()
    services.restrict([document], Readers.named([], ["mate"]), acting_user=None)
    for etag in ("1", "2"):
        assert to_source(api, etag=etag, **JSON).status_code == 409
    assert not is_readable(program, document)


def test_an_import_with_readers_is_theirs_alone(edit: APIClient, administrator: User) -> None:
    """Its items name files, even those that became no document."""
    address = to_imports(edit, **JSON)["Location"]
    assert edit.get(address).json()["readers"] == EDITOR
    other = staff("other", "add_document", "view_import")
    assert signed_in(other).get(address).status_code == 404
    assert signed_in(other).get(f"{address}items/").status_code == 404
    page = f"/admin/ingestion/import/{Import.objects.get().pk}/change/"
    assert signed_in(other).get(page).status_code == 302
    assert signed_in(administrator).get(page).status_code == 200


def test_an_import_whose_readers_are_gone_adds_nothing(edit: APIClient) -> None:
    form = {"collection": "shelf", "archive": archive(), "readers.groups": "crew"}
    User.objects.get(username="editor").groups.add(Group.objects.get(name="crew"))
    started = edit.post(f"{KB}imports/", form, format="multipart")
    assert started.status_code == 202
    Group.objects.all().delete()
    import_runner.run(started.json()["id"])
    assert not Document.objects.exists()
    (item,) = Import.objects.get().items.all()
    assert (item.state, "not among these readers" in item.message) == ("failed", True)


@pytest.mark.parametrize(
    "manifest", ['{"path": "/srv/log.md", "readers": ["mate"]}', "path,Readers\n/srv/log.md,mate"]
)
def test_readers_in_a_line_of_a_manifest_fail_it(edit: APIClient, manifest: str) -> None:
    form = {"collection": "shelf", "manifest": SimpleUploadedFile("m.csv", manifest.encode())}
    started = edit.post(f"{KB}imports/", form, format="multipart")
    import_runner.run(started.json()["id"])
    (item,) = Import.objects.get().items.all()
    assert (item.state, "for a whole import" in item.message) == ("failed", True)


def test_whoever_uploads_sees_the_readers_of_the_document(api: APIClient) -> None:
    api.force_authenticate(staff("editor", "add_document", is_staff=False))
    assert to_documents(api, **JSON).json()["readers"] == EDITOR
