"""Metadata over HTTP: set with files and by changes, shown, searched by."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion import services
from ingestion.intake.importing import runner
from ingestion.models import Collection, Document, Import, Visibility
from tests.samples.builders import make_zip
from tests.support.factories import make_collection, make_document

DOCUMENTS = "/api/v1/documents/"
SEARCH = "/api/v1/search/"
GIVEN = {"department": "Sales", "year": 2024, "draft": False, "tags": ["a", "b"]}
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


def editor(*codenames: str) -> User:
    user = User.objects.create_user("editor", password="pw")
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return user


@pytest.fixture
def edit(api: APIClient) -> APIClient:
    api.force_authenticate(editor("add_document", "change_document", "change_collection"))
    return api


@pytest.fixture
def shelf(db: None) -> Collection:
    return make_collection("Shelf")


def described(collection: Collection, title: str, **metadata: Any) -> Document:
    document = make_document(collection, f"# {title}\n\nA pump in the {title} hall.")
    return services.describe(document, metadata=metadata, acting_user=None)


def file(name: str = "a.md", content: bytes = b"# A\n") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


class TestDocuments:
    def upload(self, api: APIClient, metadata: str) -> Any:
        body = {"collection": "shelf", "file": file(), "metadata": metadata}
        return api.post(DOCUMENTS, body, format="multipart")

    def test_an_upload_sets_it_as_json(self, edit: APIClient, shelf: Collection) -> None:
        response = self.upload(edit, json.dumps(GIVEN))
        assert response.status_code == 202
        assert response.json()["metadata"] == GIVEN
        assert edit.get(response.headers["Location"]).json()["metadata"] == GIVEN
        assert edit.get(DOCUMENTS).json()["results"][0]["metadata"] == GIVEN

    @pytest.mark.parametrize(
        ("metadata", "message"),
        [
            ("{", "valid JSON"),
            ("[" * 5000, "valid JSON"),
            ("[]", "JSON object"),
            ('{"Part": 1}', "not a valid key"),
            ('{"a": null}', "has no value"),
            ('{"a": NaN}', "valid JSON"),
        ],
    )
    def test_bad_metadata_is_refused_and_nothing_stored(
        self, edit: APIClient, shelf: Collection, metadata: str, message: str
    ) -> None:
        response = self.upload(edit, metadata)
        assert (response.status_code, response.json()["code"]) == (400, "invalid")
        assert message in response.json()["details"]["metadata"][0]
        assert not Document.objects.exists()

    def test_a_batch_and_an_import_have_it_for_all(
        self, edit: APIClient, shelf: Collection
    ) -> None:
        body = {"collection": "shelf", "files": [file()], "metadata": '{"n": 1}'}
        assert edit.post(f"{DOCUMENTS}batch/", body, format="multipart").status_code == 207
        archive = SimpleUploadedFile("b.zip", make_zip({"in.md": "# In"}))
        body = {"collection": "shelf", "archive": archive, "metadata": '{"n": 2}'}
        assert edit.post("/api/v1/imports/", body, format="multipart").status_code == 202
        runner.run(Import.objects.get().pk)
        assert set(Document.objects.values_list("title", "metadata__n")) == {("a", 1), ("in", 2)}

    def test_a_new_version_keeps_it_unless_it_brings_its_own(
        self, edit: APIClient, shelf: Collection
    ) -> None:
        document = described(shelf, "A", n=1)
        address = f"{DOCUMENTS}{document.public_id}/versions/"
        response = edit.post(address, {"file": file("b.md", b"# B")}, format="multipart")
        assert response.json()["metadata"] == {"n": 1}
        body = {"file": file("c.md", b"# C"), "metadata": '{"n": 2}'}
        assert edit.post(address, body, format="multipart").json()["metadata"] == {"n": 2}

    def test_a_change_replaces_it_and_processes_nothing(
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

    def test_a_change_is_checked_and_needs_the_permission(
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

    def test_a_collection_names_the_keys_that_it_offers(
        self, edit: APIClient, shelf: Collection
    ) -> None:
        address = "/api/v1/collections/shelf/"
        response = edit.patch(address, {"metadata_keys": ["department"]}, format="json")
        assert (response.status_code, response.json()["metadata_keys"]) == (200, ["department"])
        for wrong in (["Big Key"], [f"k{n}" for n in range(11)], "department"):
            response = edit.patch(address, {"metadata_keys": wrong}, format="json")
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

    def test_every_hit_brings_it(
        self, api: APIClient, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        results = api.get(SEARCH, {"q": "pump alpha"}).json()["results"]
        assert [one["document"]["metadata"] for one in results] == [
            GIVEN,
            {"department": "Legal", "year": 2020},
        ]

    def test_conditions_narrow(self, api: APIClient) -> None:
        assert self.titles(api, meta="department:Sales") == {"Alpha"}
        assert self.titles(api, meta=["department:Sales", "department:Legal"]) == {"Alpha", "Beta"}
        assert self.titles(api, meta=["department:Sales", "year<2024"]) == set()
        assert self.titles(api, meta="year>=2020") == {"Alpha", "Beta"}
        assert self.titles(api, q="pump meta.year>2020") == {"Alpha"}
        assert self.titles(api, q="pump -meta.draft:false") == {"Beta"}

    @pytest.mark.parametrize("meta", ["department", "year>soon", "", "a:\0", ["a:b"] * 51])
    def test_what_is_no_condition_is_refused(self, api: APIClient, meta: Any) -> None:
        response = api.get(SEARCH, {"q": "pump", "meta": meta})
        assert (response.status_code, response.json()["code"]) == (400, "invalid")
        assert "meta" in response.json()["details"]

    def test_a_comparison_in_the_query_says_what_is_wrong(self, api: APIClient) -> None:
        response = api.get(SEARCH, {"q": "pump meta.year>soon"})
        assert (response.status_code, response.json()["code"]) == (400, "invalid_filter")
