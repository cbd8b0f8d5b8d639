"""The upload page of the admin: several files at once, and one bad file never stops the others."""

from __future__ import annotations

import io
import re
import shutil
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from common.accounts.models import User
from ingestion.documents import processing_steps
from ingestion.models import Collection, Document, DocumentVersion, State
from tests.support.admin_client import signed_in, staff
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "servers")]

UPLOAD = "/admin/ingestion/document/add/"
FROM_WEB = "/admin/ingestion/document/from-web/"


def named(name: str, content: bytes) -> io.BytesIO:
    file = io.BytesIO(content)
    file.name = name
    return file


def send(user: User, collection: Collection, *files: io.BytesIO, **data: Any) -> Any:
    return signed_in(user).post(UPLOAD, {"collection": collection.pk, "files": list(files), **data})


def test_every_file_gets_a_result_of_its_own(handbook: Collection, administrator: User) -> None:
    held = make_document(handbook, "# Held\n\nThe same bytes.\n", file_name="held.md")
    response = send(
        administrator,
        handbook,
        named("good.md", b"# Good\n\nText."),
        named("empty.txt", b""),
        named("same.md", b"# Held\n\nThe same bytes.\n"),
        named("photo.gif", b"GIF89a" + b"\0" * 40),
        named("lies.pdf", b"just words, no PDF"),
        named("twice.md", b"# Good\n\nText."),
        named("last.txt", b"The last one."),
    )
    outcomes = {outcome.file_name: outcome for outcome in response.context["outcomes"]}
    assert {name: outcome.kind for name, outcome in outcomes.items()} == {
        "good.md": "queued", "empty.txt": "refused", "same.md": "duplicate", "photo.gif": "refused",
        "lies.pdf": "refused", "twice.md": "duplicate", "last.txt": "queued",
    }  # fmt: skip
    assert outcomes["same.md"].document == held
    assert "is empty" in outcomes["empty.txt"].message
    assert "GIF" in outcomes["photo.gif"].message
    assert set(Document.objects.values_list("title", flat=True)) == {"Held", "good", "last"}
    text = response.content.decode()
    assert "2 of 7 files uploaded" in text
    assert re.search(r"The file is empty[^:]*</span>", text)
    assert "Show them in the list" in text
    refused = send(administrator, handbook, named("photo.gif", b"GIF89a")).content.decode()
    assert "Show them in the list" not in refused
    assert f"/admin/ingestion/document/{held.pk}/change/" in text
    for outcome in outcomes.values():
        assert outcome.file_name in text


def test_queued_upload_becomes_ready_and_links_to_the_search(
    handbook: Collection, administrator: User, desk: Client
) -> None:
    page = send(administrator, handbook, named("good.md", b"# Good\n\nSome text."), language="de")
    document = Document.objects.get()
    assert document.added_by == administrator
    assert (document.language, document.language_given) == ("de", True)
    html = page.content.decode()
    for cell in ("state", "links"):
        assert f'data-row="{document.pk}" data-cell="{cell}" data-unfinished' in html
    assert processing_steps.advance(document.latest_id or 0)
    progress = f"/admin/ingestion/document/progress/?id={document.pk}"
    cells = desk.get(progress).json()["rows"][0]["cells"]
    assert "Ready" in cells["state"]
    assert f'href="/?document={document.public_id}"' in cells["links"]
    assert "data-unfinished" not in cells["links"]


def test_failed_upload_shows_the_whole_reason(
    handbook: Collection, administrator: User, desk: Client
) -> None:
    send(administrator, handbook, named("good.md", b"# Good\n\nText."))
    reason = "The file cannot be read. " * 6 + "Upload it again."
    DocumentVersion.objects.update(state=State.FAILED, error=reason)
    progress = f"/admin/ingestion/document/progress/?id={Document.objects.get().pk}"
    cells = desk.get(progress).json()["rows"][0]["cells"]
    assert f">{reason}<" in cells["links"]
    assert f">{reason}<" not in cells["state"]


def test_uploader_without_view_right_sees_that_files_are_queued(handbook: Collection) -> None:
    page = send(staff("uploader", "add_document"), handbook, named("good.md", b"# Good\n\nText."))
    assert "queued" in page.content.decode()
    assert "data-row" not in page.content.decode()


def test_the_last_collection_is_preset(handbook: Collection, desk: Client, settings: Any) -> None:
    settings.URL_IMPORT = True
    make_collection("Annex")
    chosen = f'<option value="{handbook.pk}" selected>'
    pages = (UPLOAD, FROM_WEB, "/admin/ingestion/import/add/")
    assert chosen not in desk.get(UPLOAD).content.decode()
    desk.post(UPLOAD, {"collection": handbook.pk, "files": [named("a.md", b"# A\n\nText.")]})
    assert [page for page in pages if chosen not in desk.get(page).content.decode()] == []
    assert chosen not in signed_in(staff("other", "add_document")).get(UPLOAD).content.decode()


def test_a_new_collection_is_made_with_its_first_documents(
    handbook: Collection, desk: Client, administrator: User
) -> None:
    def upload(name: str, *files: str) -> Any:
        sent = [named(file, f"# {file}\n\nText.".encode()) for file in files]
        data = {"collection": "new", "new_collection": name, "files": sent}
        return desk.post(UPLOAD, data).content.decode()

    assert "This field cannot be blank" in upload("", "a.md")
    assert "Choose at least one file" in upload("Annex")
    assert not Collection.objects.filter(name="Annex").exists()
    page = upload("Annex", "a.md", "b.md")
    assert "2 files uploaded" in page
    annex = Collection.objects.get(name="Annex")
    assert annex.slug == "annex"
    assert f'<option value="{annex.pk}" selected>' in page
    (entry,) = LogEntry.objects.filter(content_type__model="collection")
    assert (entry.object_id, entry.user) == (str(annex.pk), administrator)
    upload("Annex", "c.md")
    assert [one.name for one in Collection.objects.all()] == ["Annex", handbook.name]
    assert annex.documents.count() == 3


def test_a_new_collection_needs_the_right_to_add_one(handbook: Collection) -> None:
    uploader = signed_in(staff("uploader", "add_document"))
    assert 'value="new"' not in uploader.get(UPLOAD).content.decode()
    data = {"collection": "new", "new_collection": "Annex", "files": [named("a.md", b"# A")]}
    assert "Select a valid choice" in uploader.post(UPLOAD, data).content.decode()
    assert Collection.objects.count() == 1
    make_collection("Cabin", visibility="groups", groups=["insiders"])
    maker = signed_in(staff("maker", "add_document", "add_collection"))
    data |= {"new_collection": "Cabin", "files": [named("a.md", b"# A")]}
    assert "A collection of this name already exists" in maker.post(UPLOAD, data).content.decode()
    assert not Document.objects.exists()


@pytest.mark.parametrize("is_on", [True, False])
def test_web_import_is_offered_only_if_switched_on(
    desk: Client, settings: Any, is_on: bool
) -> None:
    settings.URL_IMPORT = is_on
    for page in ("/admin/ingestion/document/", "/admin/ingestion/import/add/"):
        assert (FROM_WEB in desk.get(page).content.decode()) == is_on


def test_a_file_that_cannot_be_stored_does_not_stop_the_others(
    handbook: Collection, administrator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copyfileobj

    def full_disk(file: Any, stored: Any, length: int = 0) -> None:
        if file.size > 100:
            raise OSError(28, "No space left on device")
        copy(file, stored, length)

    monkeypatch.setattr(shutil, "copyfileobj", full_disk)
    response = send(
        administrator, handbook, named("large.txt", b"word " * 50), named("small.txt", b"small one")
    )
    large, small = response.context["outcomes"]
    assert (large.kind, small.kind) == ("refused", "queued")
    assert "No space left on device" in large.message


def test_without_a_collection_or_a_file_nothing_is_stored_and_the_page_says_so(
    handbook: Collection, desk: Client, administrator: User
) -> None:
    make_collection("Second")
    response = desk.post(UPLOAD, {"files": [named("a.md", b"# A\n")]})
    assert "This field is required" in response.content.decode()
    assert "Nothing was uploaded" in response.content.decode()
    assert not Document.objects.exists()

    assert "Choose at least one file" in send(administrator, handbook).content.decode()


def test_upload_needs_the_right_to_add_documents(handbook: Collection) -> None:
    user = staff("looker", "view_document", "change_document")
    assert signed_in(user).get(UPLOAD).status_code == 403
    assert send(user, handbook, named("a.md", b"# A\n")).status_code == 403
    assert not Document.objects.exists()
    assert UPLOAD not in signed_in(user).get("/admin/ingestion/document/").content.decode()
