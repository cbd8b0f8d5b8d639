"""A document that some of its collection's readers may read (ADR 120): set, kept, told, undone."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import AnonymousUser, Group
from django.core.files.uploadedfile import SimpleUploadedFile

from common.accounts.models import User
from ingestion import services
from ingestion.documents import processing_steps
from ingestion.documents.restricted_readers import Readers
from ingestion.exporting import restoring, writing
from ingestion.models import Chunk, Collection, Document
from search import pipeline
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.database import statements
from tests.support.factories import make_collection, make_document, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

LOG = "# The log\n\nThe mutiny began at eight bells.\n"
INSIDERS = {"groups": ["insiders"], "people": []}


@pytest.fixture
def shelf(db: None) -> Collection:
    make_document(collection := make_collection(), "# Weather\n\nCalm.\n", file_name="w.md")
    return collection


@pytest.fixture
def log(shelf: Collection, member: User) -> Document:
    return restricted(make_document(shelf, LOG, file_name="log.md"))


def restricted(document: Document) -> Document:
    assert services.restrict([document], Readers.named(**INSIDERS), acting_user=None).count == 1
    return Document.objects.get(pk=document.pk)


def found(viewer: Any) -> list[str]:
    return [each.title for each in pipeline.search("mutiny bells", viewer=viewer).results]


def test_restricted_document_is_found_by_its_readers_only(
    shelf: Collection, member: User, reader: User, administrator: User
) -> None:
    found(reader)  # settings are read once
    before = statements(lambda: found(reader))
    log = restricted(make_document(shelf, LOG, source="/log.md"))
    assert found(member)[0] == found(administrator)[0] == "The log"
    assert found(reader) == found(AnonymousUser()) == ["Weather"]
    assert statements(lambda: found(member)) == before
    assert statements(lambda: found(reader)) == before
    # Nor do they learn of it by uploading its file: theirs is another one, until both are for all.
    own = upload(shelf, LOG, user=reader, source="/log.md")
    assert (own.outcome, upload(shelf, LOG, user=member).outcome) == ("added", "duplicate")
    refused = services.restrict([log], None, acting_user=member).refused
    assert "already contains the same file" in refused[0]
    # Nor does theirs get at what its readers and whoever added it bring later.
    later = upload(shelf, f"{LOG}\nIt ended at nine.\n", user=member, source="/log.md")
    assert later.document == log


def test_restricted_document_keeps_its_readers(
    log: Document, member: User, administrator: User
) -> None:
    services.replace(log, io.BytesIO(b"# The log\n\nBells."), file_name="l.md", acting_user=None)
    processing_steps.advance(Document.objects.get(pk=log.pk).latest_id or 0)
    closed = make_collection("Closed", visibility="groups", groups=["officers"])
    assert found(member)[0] == "The log"
    assert services.move([log], closed, acting_user=administrator).count == 1
    assert found(member) == ["Weather"]  # a reader of the document, and none of the collection
    member.groups.add(Group.objects.get(name="officers"))
    assert found(member)[0] == "The log"
    Group.objects.get(name="insiders").delete()
    assert found(member) == ["Weather"]
    assert found(administrator)[0] == "The log"


def test_restricting_a_document_in_progress_restarts_its_processing(
    shelf: Collection, member: User, reader: User
) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("log.md", LOG)
    receipt = upload(shelf, file.getvalue(), file_name="logs.zip")
    log = restricted(receipt.document)
    processing_steps.advance(receipt.version.pk)
    assert not Chunk.objects.exclude(document__title="Weather").exists()
    processing_steps.advance(log.latest_id or 0)
    part = log.parts.get()
    processing_steps.advance(part.latest_id or 0)
    assert "The log" in found(member)
    assert found(reader) == ["Weather"]
    done = services.restrict([part], None, acting_user=member)
    assert "part of another" in done.refused[0]


def test_exports_contain_readable_documents_only(
    log: Document, shelf: Collection, member: User, reader: User, tmp_path: Path
) -> None:
    assert LOG.encode() not in b"".join(writing.streamed(shelf, reader))  # stored, not packed
    (path := tmp_path / "shelf.zip").write_bytes(b"".join(writing.streamed(shelf, member)))
    public_id, readers = log.public_id, Readers.of(log)
    shelf.delete()
    restoring.restore(path)
    assert Readers.of(Document.objects.get(public_id=public_id)) == readers


def test_api_sets_readers_that_include_the_caller(log: Document, shelf: Collection) -> None:
    client = signed_in(staff("clerk", "change_document", "add_document", groups=("insiders",)))
    address = f"/api/v1/documents/{log.public_id}/"

    def patch(readers: Any) -> tuple[int, Any]:
        response = client.patch(address, {"readers": readers}, content_type="application/json")
        return response.status_code, response.json().get("readers")

    assert client.get(address).json()["readers"] == INSIDERS
    Group.objects.create(name="others")
    assert patch({"groups": ["others"]})[0] == 409
    assert patch({"groups": ["nobody's"]})[0] == 400
    own = {"groups": ["others"], "people": ["clerk"]}
    assert patch(own) == (200, own)
    assert patch(None) == (200, None)
    file = SimpleUploadedFile("bells.md", b"Bells.")
    form = {"collection": shelf.slug, "file": file, "readers.people": "clerk"}
    made = client.post("/api/v1/documents/", form).json()["readers"]
    assert made == {"groups": [], "people": ["clerk"]}


def test_admin_sets_and_shows_the_readers(log: Document, member: User) -> None:
    clerk = staff("clerk", "change_document", "view_document", groups=("insiders",))
    client, pages = signed_in(clerk), "/admin/ingestion/document/"
    form = form_data(client.get(f"{pages}{log.pk}/change/"), "document_form")
    client.post(f"{pages}{log.pk}/change/", form | {"reader_people": "member, clerk"})
    assert "insiders, clerk, member" in client.get(log.get_absolute_url()).content.decode()
    assert "insiders" not in signed_in(member).get(log.get_absolute_url()).content.decode()
    assert "The log" in client.get(pages, {"readers": "own"}).content.decode()
    assert "The log" not in client.get(pages, {"readers": "all"}).content.decode()
    action = {"action": "restrict_selected", "_selected_action": log.pk}
    assert "Set readers" in client.post(pages, action).content.decode()
    refused = client.post(pages, action | {"apply": "1", "reader_people": "member"})
    assert "not among these readers" in refused.content.decode()
    with mock.patch("ingestion.admin.bulk_changes.MOST_MOVED", 0):  # as in a selection of all rows
        assert "at most 0 documents" in said(client.post(pages, action | {"apply": "1"}))
    client.post(pages, action | {"apply": "1"})
    assert Readers.of(Document.objects.get(pk=log.pk)) is None
