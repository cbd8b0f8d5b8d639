"""Imports, watched folders and exports over HTTP and in the admin: who may, what is shown."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.intake import import_runner as runner
from ingestion.intake.watched_folder_scan import scan
from ingestion.models import Collection, Import, ImportItem, Visibility, WatchedFolder
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import make_collection, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

IMPORTS = "/api/v1/imports/"


def packed(count: int = 3, damage: bytes = b"") -> SimpleUploadedFile:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for number in range(count):
            archive.writestr(f"pages/{number}.md", f"# Page {number}\n\nText {number}.")
        archive.writestr("not-what-it-says.pdf", "just words, no PDF")
    return SimpleUploadedFile("pages.zip", data.getvalue())


def start(api: APIClient, **fields: Any) -> Any:
    return api.post(IMPORTS, {"collection": "shelf", **fields}, format="multipart")


def test_archive_import_is_reported_by_the_api(
    edit: APIClient, shelf: Collection, django_assert_num_queries: Any
) -> None:
    answer = start(edit, archive=packed())
    assert answer.status_code == 202
    assert answer.json()["state"] == "queued"
    address = answer["Location"]
    runner.run(answer.json()["id"])

    with django_assert_num_queries(2):  # the import; its counts
        shown = edit.get(address).json()
    assert (shown["state"], shown["progress"], shown["origin"]) == ("done", 1.0, "pages.zip")
    assert shown["counts"] == {
        "waiting": 0, "added": 3, "replaced": 0, "duplicate": 0, "skipped": 0, "failed": 1,
        "processing": 3, "incomplete": 0,
    }  # fmt: skip
    with django_assert_num_queries(3):  # the import, the count, the page
        items = edit.get(f"{address}items/").json()
    assert items["total"] == 4
    assert items["results"][0]["reference"] == "pages/0.md"
    assert items["results"][0]["document"]
    failed = edit.get(f"{address}items/?state=failed").json()["results"]
    assert [item["reference"] for item in failed] == ["not-what-it-says.pdf"]
    assert failed[0]["message"]
    with django_assert_num_queries(3):
        assert edit.get(IMPORTS).json()["total"] == 1


def test_an_import_is_stopped_resumed_and_retried(edit: APIClient, shelf: Collection) -> None:
    address = start(edit, archive=packed())["Location"]
    stop, go_on = {"state": "cancelled"}, {"state": "queued"}

    def change(body: dict[str, str]) -> Any:
        return edit.patch(address, body, format="json")

    assert change(go_on).status_code == 409
    assert change({"state": "done"}).status_code == 400
    assert change(stop).json()["state"] == "cancelled"
    assert change(stop).status_code == 409
    assert change(go_on).json()["state"] == "queued"
    runner.run(Import.objects.get().pk)
    answer = change(go_on)
    assert (answer.status_code, answer.json()["counts"]["waiting"]) == (202, 1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "Give one of"),
        ({"origin": "/srv"}, "Required with `origin`"),
        ({"kind": "folder", "origin": "/srv"}, "Only superusers"),
        ({"kind": "url", "origin": "https://example.org/"}, "disabled"),
        ({"kind": "archive", "origin": "x"}, "not a valid choice. Use one of: folder, "),
    ],
)
def test_invalid_import_is_refused(
    fields: dict[str, str], message: str, edit: APIClient, shelf: Collection
) -> None:
    answer = edit.post(IMPORTS, {"collection": "shelf", **fields}, format="json")
    assert answer.status_code == 400
    assert message in answer.content.decode()
    assert not Import.objects.exists()


def test_imports_of_unreadable_collections_are_not_found(edit: APIClient, api: APIClient) -> None:
    hidden = make_collection("Hidden", visibility=Visibility.GROUPS, groups=["insiders"])
    of = Import.objects.create(collection=hidden, kind="archive", origin="secret.zip")
    assert edit.get(IMPORTS).json()["total"] == 0
    for address in ("", "items/"):
        assert edit.get(f"{IMPORTS}{of.pk}/{address}").status_code == 404
    for action in ("cancel", "resume", "retry"):
        assert edit.post(f"{IMPORTS}{of.pk}/{action}/").status_code == 404
    assert edit.patch(f"{IMPORTS}{of.pk}/", {"state": "queued"}).status_code == 404
    answer = edit.post(IMPORTS, {"collection": "hidden", "archive": packed()}, format="multipart")
    assert answer.status_code == 400
    api.force_authenticate(None)
    assert api.get(IMPORTS).status_code == 401


def test_import_needs_the_right_to_upload(api: APIClient, reader: User, shelf: Collection) -> None:
    api.force_authenticate(reader)
    assert api.get(IMPORTS).status_code == 403
    assert start(api, archive=packed()).status_code == 403


# --- the admin -----------------------------------------------------------------------------------


def test_the_admin_starts_shows_and_stops_an_import(desk: Client, shelf: Collection) -> None:
    answer = desk.post(
        "/admin/ingestion/import/add/", {"collection": shelf.pk, "file": packed(), "language": ""}
    )
    of = Import.objects.get()
    page = f"/admin/ingestion/import/{of.pk}/change/"
    assert answer["Location"] == page
    assert "Stop" in desk.get(page).content.decode()
    part = f"/admin/ingestion/import/{of.pk}/status/"
    assert f'data-live="{part}"' in desk.get(page).content.decode()
    assert "/stop/" in desk.get(part).content.decode()
    desk.post(f"/admin/ingestion/import/{of.pk}/stop/")
    ended = desk.get(part).content.decode()
    assert "<html" not in ended
    assert ("/stop/" in ended, "/resume/" in ended, "data-live" in ended) == (False, True, False)
    desk.post(f"/admin/ingestion/import/{of.pk}/resume/")
    runner.run(of.pk)
    shown = desk.get(page).content.decode()
    assert "3 added, 1 failed" in shown
    assert "not-what-it-says.pdf" in shown
    rows = desk.get(f"/admin/ingestion/import/progress/?id={of.pk}").json()["rows"]
    assert "3 added, 1 failed" in rows[0]["cells"]["counts"]
    assert "Done" in desk.get("/admin/ingestion/import/").content.decode()
    assert "The import was resumed" in said(desk.post(f"/admin/ingestion/import/{of.pk}/resume/"))
    of.refresh_from_db()
    desk.post(f"/admin/ingestion/import/{of.pk}/delete/", {"post": "yes"})
    assert not Import.objects.exists()
    assert not ImportItem.objects.exists()
    assert shelf.documents.count() == 3


@pytest.fixture
def folder(shelf: Collection, tmp_path: Path) -> WatchedFolder:
    root = tmp_path / "share"
    root.mkdir()
    for name in ("a", "b", "c"):
        (root / f"{name}.md").write_text(f"# {name}\n\nText of {name}.")
    made = WatchedFolder.objects.create(collection=shelf, path=str(root))
    scan(made.pk)
    scan(made.pk)
    return made


def test_a_large_deletion_is_confirmed_in_the_admin(desk: Client, folder: WatchedFolder) -> None:
    for name in ("a", "b"):
        Path(folder.path, f"{name}.md").unlink()
    scan(folder.pk)
    page = f"/admin/ingestion/watchedfolder/{folder.pk}/change/"
    helper = staff("helper", "view_watchedfolder", "change_watchedfolder")
    confirm = f"/admin/ingestion/watchedfolder/{folder.pk}/confirm/"
    assert "delete_sweep" not in signed_in(helper).get(page).content.decode()
    assert signed_in(helper).post(confirm).status_code == 403

    shown = desk.get(page).content.decode()
    assert "2 of 3 files are missing" in shown
    assert "delete 2 documents" in shown
    part = f"/admin/ingestion/watchedfolder/{folder.pk}/status/"
    assert f'data-live="{part}"' in shown
    assert "delete 2 documents" in desk.get(part).content.decode()
    assert "delete_sweep" not in signed_in(helper).get(part).content.decode()
    assert signed_in(staff("other")).get(part).status_code in (403, 404)
    desk.post(confirm)
    scan(folder.pk)
    assert folder.collection.documents.undeleted().count() == 1
    folder.refresh_from_db()
    assert (folder.state, folder.message) == ("ok", "")


def test_watched_folders_are_managed_over_http(
    api: APIClient, reader: User, folder: WatchedFolder
) -> None:
    api.force_authenticate(reader)
    assert api.get("/api/v1/watched-folders/").status_code == 403
    reader.user_permissions.set(Permission.objects.filter(codename="view_watchedfolder"))
    api.force_authenticate(User.objects.get(pk=reader.pk))
    shown = api.get("/api/v1/watched-folders/").json()["results"][0]
    assert (shown["state"], shown["counts"]) == ("ok", {"added": 3})
    assert api.get(f"/api/v1/watched-folders/{folder.pk}/").json() == shown


# --- exports -------------------------------------------------------------------------------------


def test_export_needs_the_right_to_change_readable_documents(
    api: APIClient, member: User, administrator: User, desk: Client
) -> None:
    inner = make_collection("Inner", visibility=Visibility.GROUPS, groups=["insiders"])
    upload(inner, "# Note\n\nText.")
    address = "/api/v1/collections/inner/export/"
    outsider = staff("outsider", "change_collection")
    for user, expected in ((None, 401), (member, 403), (outsider, 404)):
        api.force_authenticate(user)
        assert api.get(address).status_code == expected
    api.force_authenticate(administrator)
    answer = api.get(address)
    assert answer["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
        assert archive.testzip() is None
        assert "documents.jsonl" in archive.namelist()
    chosen = {"action": "export_selected", "_selected_action": [inner.pk]}
    answer = desk.post("/admin/ingestion/collection/", chosen)
    assert answer["Content-Disposition"].startswith('attachment; filename="inner-')


# --- Import from the web for administrators and programs -----------------------------------------

PAGE = "/admin/ingestion/document/from-web/"


@pytest.fixture
def switched_on(settings: Any) -> None:
    settings.URL_IMPORT = True


def send(client: Client, collection: Collection, **data: Any) -> Any:
    given = {"address": "https://example.org/", "kind": "url", "collection": collection.pk, **data}
    return client.post(PAGE, given)


@pytest.mark.usefixtures("switched_on")
def test_site_import_is_queued_with_its_options(
    handbook: Collection, administrator: User, desk: Client
) -> None:
    data = form_data(desk.get(PAGE), "from-web")
    assert data["max_pages"] == "100"
    response = desk.post(
        PAGE,
        {**data, "address": " https://example.org/docs ", "kind": "site", "depth": 2}
        | {"collection": handbook.pk, "language": "de"},
    )
    assert response.status_code == 302
    assert "https://example.org/docs into Handbook is queued" in said(response)
    made = Import.objects.get()
    assert (made.kind, made.origin, made.language) == ("site", "https://example.org/docs", "de")
    assert made.options == {"depth": 2, "max_pages": 100}
    assert made.added_by == administrator
    assert response["Location"] == made.get_absolute_url()
    assert "https://example.org/docs" in desk.get(response["Location"]).content.decode()


@pytest.mark.usefixtures("switched_on")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"address": "http://127.0.0.1/"}, "internal address"),
        ({"address": "javascript:alert(1)"}, "begins with https://"),
        ({"kind": "site", "max_pages": 5_000}, "less than or equal to 1000"),
    ],
)
def test_form_error_is_shown_at_its_field(
    handbook: Collection, desk: Client, data: dict[str, Any], message: str
) -> None:
    response = send(desk, handbook, **data)
    assert response.status_code == 200
    assert message in response.content.decode()
    assert not Import.objects.exists()


@pytest.mark.usefixtures("switched_on")
def test_web_import_needs_the_right_to_add(handbook: Collection, administrator: User) -> None:
    hidden = make_collection("Board", visibility=Visibility.GROUPS, groups=["board"])
    reading = signed_in(staff("reading", "view_document"))
    assert reading.get(PAGE).status_code == 403
    assert send(reading, handbook).status_code == 403
    adding = signed_in(staff("adding", "view_document", "add_document"))
    assert "Board" not in adding.get(PAGE).content.decode()
    assert "Select a valid choice" in send(adding, hidden).content.decode()
    assert send(adding, handbook).status_code == 302
    assert Client().get(PAGE).status_code == 302


# --- the API -----------------------------------------------------------------------------------

API = "/api/v1/imports/"


def ask(api: APIClient, user: User, **data: Any) -> Any:
    api.force_authenticate(user)
    given = {"kind": "url", "origin": "https://example.org/", "collection": "handbook", **data}
    return api.post(API, given, format="json")


@pytest.mark.usefixtures("switched_on")
@pytest.mark.parametrize("kind", ["url", "site", "sitemap"])
def test_web_import_is_started_by_the_api(
    api: APIClient, handbook: Collection, administrator: User, kind: str
) -> None:
    limits = {"site": {"depth": 2, "max_pages": 7}, "sitemap": {"max_pages": 7}}.get(kind, {})
    answer = ask(api, administrator, kind=kind, **limits)
    assert answer.status_code == 202
    made = Import.objects.get()
    assert (made.kind, {name: made.options[name] for name in limits}) == (kind, limits)


@pytest.mark.usefixtures("switched_on")
@pytest.mark.parametrize(
    ("data", "code"),
    [
        ({"origin": "http://127.0.0.1/"}, "address_refused"),
        ({"kind": "site", "max_pages": 99_999}, "import_refused"),
        ({"collection": "board"}, "invalid"),
    ],
)
def test_invalid_web_import_is_refused_by_the_api(
    api: APIClient, handbook: Collection, data: dict[str, Any], code: str
) -> None:
    make_collection("Board", visibility=Visibility.GROUPS, groups=["board"])
    answer = ask(api, staff("adding", "add_document"), **data)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert not Import.objects.exists()


def test_web_import_switched_off_is_refused_by_the_api(
    api: APIClient, handbook: Collection, administrator: User, reader: User
) -> None:
    answer = ask(api, administrator)
    assert (answer.status_code, answer.json()["code"]) == (400, "import_refused")
    assert "URL_IMPORT=1" in answer.json()["message"]
    assert ask(api, reader).status_code == 403
