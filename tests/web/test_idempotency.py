"""Uploads repeated under an Idempotency-Key."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from rest_framework.test import APIClient

from common.accounts.models import IdempotencyKey, User
from common.api import idempotency
from common.api.errors import Conflict
from ingestion import services, tasks
from ingestion.errors import NotStored
from ingestion.models import Collection, Document, Import, Visibility
from tests.support.admin_client import staff
from tests.support.factories import make_document

DOCUMENTS = "/api/v1/documents/"
IMPORTS = "/api/v1/imports/"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "shelf")]


def editor(name: str, *codenames: str) -> User:
    wanted = codenames or ("add_document", "change_document", "delete_document")
    return staff(name, *wanted, is_staff=False)


def file(name: str = "tides.md", content: bytes = b"# Tides\n\nHigh water.\n") -> Any:
    return SimpleUploadedFile(name, content)


def send(api: APIClient, address: str = DOCUMENTS, key: str | None = None, **fields: Any) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    body = {"collection": "shelf", **fields}
    return api.post(address, body, format="multipart", headers=headers)


class TestIdempotencyKeys:
    def test_a_repetition_gets_the_first_receipt(self, edit: APIClient) -> None:
        first = send(edit, key="a-1", file=file(), title="Tides")
        again = send(edit, key="a-1", file=file(), title="Tides")
        assert (first.status_code, again.status_code) == (202, 202)
        assert again.json() == first.json()
        assert again.json()["duplicate"] is False
        assert again.headers["Location"] == first.headers["Location"]
        assert again.headers["Idempotent-Replayed"] == "true"
        assert "Idempotent-Replayed" not in first.headers
        # Without a key the collection recognises the bytes alone.
        assert send(edit, file=file(), title="Tides").status_code == 200

    @pytest.mark.parametrize("kind", ["version", "import"])
    def test_keys_work_for_every_upload_address(
        self, edit: APIClient, shelf: Collection, kind: str
    ) -> None:
        document = make_document(shelf, "# A\n\nOne.\n")
        address, fields = {
            "version": (f"{DOCUMENTS}{document.public_id}/versions/", {"file": file()}),
            "import": (IMPORTS, {"manifest": file("m.csv", b"url,title\nhttps://a.b/c,C\n")}),
        }[kind]

        def answer() -> Any:
            for each in fields.values():
                if hasattr(each, "seek"):
                    each.seek(0)
            body = dict(fields) if kind == "version" else {"collection": "shelf", **fields}
            return edit.post(address, body, format="multipart", headers={"Idempotency-Key": "a-1"})

        first = answer()
        held = Document.objects.count(), document.versions.count(), Import.objects.count()
        again = answer()
        assert first.status_code == 202, first.json()
        assert (again.status_code, again.json()) == (first.status_code, first.json())
        assert again.headers.get("Location") == first.headers.get("Location")
        assert held == (Document.objects.count(), document.versions.count(), Import.objects.count())

    @pytest.mark.parametrize(
        "change",
        [
            {"file": file(content=b"# Other\n\nBytes.\n")},
            {"file": file("other.md")},
            {"title": "Ebb"},
        ],
        ids=["bytes", "name", "title"],
    )
    def test_different_request_with_the_same_key_is_refused(
        self, edit: APIClient, change: dict[str, Any]
    ) -> None:
        send(edit, key="a-1", file=file(), title="Tides")
        refused = send(edit, key="a-1", **{"file": file(), "title": "Tides", **change})
        assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
        assert Document.objects.count() == 1

    def test_a_key_is_its_users_own(self, edit: APIClient) -> None:
        send(edit, key="a-1", file=file())
        edit.force_authenticate(editor("second"))
        other = send(edit, key="a-1", file=file("b.md", b"# B\n\nTwo.\n"))
        assert other.status_code == 202
        assert Document.objects.count() == 2

    def test_refused_request_can_be_repeated(
        self, edit: APIClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*args: Any, **kwargs: Any) -> Any:
            raise NotStored("The disk is full.")

        with monkeypatch.context() as patched:
            patched.setattr(services, "receive", full)
            assert send(edit, key="a-1", file=file()).status_code == 507
        assert send(edit, key="a-2").status_code == 400
        assert send(edit, key="a-1", file=file()).status_code == 202
        assert IdempotencyKey.objects.count() == 1

    def test_repetition_during_processing_is_a_conflict(
        self, edit: APIClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        receive = services.receive
        inner = []

        def slowly(*args: Any, **kwargs: Any) -> Any:
            if not inner:
                inner.append(send(edit, key="a-1", file=file()))
            return receive(*args, **kwargs)

        monkeypatch.setattr(services, "receive", slowly)
        assert send(edit, key="a-1", file=file()).status_code == 202
        assert (inner[0].status_code, inner[0].json()["code"]) == (409, "conflict")
        assert Document.objects.count() == 1

    def test_user_without_upload_right_gets_no_stored_receipt(self, api: APIClient) -> None:
        Collection.objects.update(visibility=Visibility.GROUPS)
        user = editor("editor")
        user.groups.add(Group.objects.create(name="insiders"))
        Collection.objects.get().groups.set(user.groups.all())
        api.force_authenticate(user)
        assert send(api, key="a-1", file=file()).status_code == 202
        user.groups.clear()
        assert send(api, key="a-1", file=file()).status_code == 404
        user.user_permissions.clear()
        api.force_authenticate(User.objects.get(pk=user.pk))
        assert send(api, key="a-1", file=file()).status_code == 403

    @pytest.mark.parametrize("key", ["", "x" * 201, "kéy"], ids=["empty", "long", "accent"])
    def test_invalid_key_is_refused(self, edit: APIClient, key: str) -> None:
        refused = send(edit, key=key, file=file())
        assert (refused.status_code, list(refused.json()["details"])) == (400, ["Idempotency-Key"])
        assert not Document.objects.exists()

    def test_key_expires_after_a_day(self, edit: APIClient) -> None:
        send(edit, key="a-1", file=file())
        send(edit, key="a-2", file=file("b.md", b"# B\n\nTwo.\n"))
        old = IdempotencyKey.objects.get(key="a-2").created - timedelta(hours=24, minutes=1)
        IdempotencyKey.objects.filter(key="a-1").update(created=old)
        assert send(edit, key="a-1", file=file()).json()["duplicate"] is True
        IdempotencyKey.objects.filter(key="a-1").update(created=old)
        tasks.sweep()
        assert list(IdempotencyKey.objects.values_list("key", flat=True)) == ["a-2"]

    def test_key_of_a_dead_process_is_freed(self, administrator: User) -> None:
        row = idempotency.begin(administrator, "a-1", "f")
        with pytest.raises(Conflict):
            idempotency.begin(administrator, "a-1", "f")
        old = row.created - idempotency.ABANDONED - timedelta(seconds=1)
        IdempotencyKey.objects.update(created=old)
        assert idempotency.begin(administrator, "a-1", "f").pk != row.pk


@pytest.mark.django_db(transaction=True)
def test_one_of_simultaneous_requests_claims_the_key() -> None:
    user = User.objects.create_user("editor")
    barrier = Barrier(4)

    def claim() -> str:
        try:
            barrier.wait(60)
            return "claimed" if idempotency.begin(user, "a-1", "f").status is None else "answered"
        except Conflict:
            return "conflict"
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        told = sorted(future.result(30) for future in [pool.submit(claim) for _ in range(4)])
    assert told == ["claimed", "conflict", "conflict", "conflict"]
