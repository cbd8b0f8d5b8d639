"""Quotas of users and tokens: counted a day, refused with the reason and the end, shown on /me/."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from common.accounts import quotas, tokens
from common.accounts.models import Usage, User
from ingestion.models import Document
from tests.support.admin_client import signed_in
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

V1 = "/api/v1"
NONE = {"searches": 0, "answers": 0, "uploads": 0, "bytes": 0, "downloaded": 0}


@pytest.fixture
def limit(settings: Any) -> Any:
    def to(*, token: dict[str, int] | None = None, **user: int) -> None:
        settings.QUOTAS_USER = {**NONE, **user}
        settings.QUOTAS_TOKEN = {**NONE, **(token or {})}

    return to


def as_user(user: User) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


def with_token(user: User, *scopes: str) -> APIClient:
    client = APIClient()
    key = tokens.make(user, scopes=scopes or ["read"])[1]
    client.credentials(HTTP_AUTHORIZATION=f"Token {key}")
    return client


class TestSearches:
    def test_are_counted_over_the_page_and_the_api(self, reader: User, limit: Any) -> None:
        limit(searches=2)
        client = as_user(reader)
        assert client.get("/", {"q": "rope"}).status_code == 200
        assert client.get(f"{V1}/search/?q=rope").status_code == 200
        api, page = client.get(f"{V1}/search/?q=rope"), client.get("/", {"q": "rope"})

        assert (api.status_code, page.status_code) == (429, 429)
        assert api.json()["code"] == "quota_exceeded"
        assert "daily quota of 2 searches is used up" in api.json()["message"]
        left = int(api.headers["Retry-After"])
        assert 0 < left <= 24 * 3600
        assert abs(left - int(page.headers["Retry-After"])) < 5
        assert "daily quota of 2 searches is used up" in page.content.decode()

    def test_another_day_is_another_count(self, reader: User, limit: Any) -> None:
        limit(searches=1)
        quotas.spend(reader, quotas.SEARCHES)
        Usage.objects.update(day=timezone.localdate() - timedelta(days=1))
        quotas.spend(reader, quotas.SEARCHES)
        with pytest.raises(quotas.QuotaExceeded):
            quotas.spend(reader, quotas.SEARCHES)

    def test_a_token_has_its_own(self, reader: User, limit: Any) -> None:
        limit(token={"searches": 1})
        one, other = with_token(reader), with_token(reader)
        assert one.get(f"{V1}/search/?q=rope").status_code == 200
        refused = one.get(f"{V1}/search/?q=rope")
        assert refused.status_code == 429
        assert "This token's daily quota" in refused.json()["message"]
        assert other.get(f"{V1}/search/?q=rope").status_code == 200
        assert as_user(reader).get(f"{V1}/search/?q=rope").status_code == 200

    def test_agents_are_counted(self, reader: User, limit: Any) -> None:
        from search.mcp.tools import Caller, search

        limit(searches=1)
        search("rope", Caller(reader, "http://testserver/"))
        with pytest.raises(quotas.QuotaExceeded):
            search("rope", Caller(reader, "http://testserver/"))

    def test_without_a_limit_nothing_is_counted(self, reader: User) -> None:
        with CaptureQueriesContext(connection) as queries:
            quotas.spend(reader, quotas.SEARCHES)
            quotas.spend(None, quotas.SEARCHES)
        assert not queries.captured_queries


class TestUploads:
    def upload(self, client: APIClient, text: str) -> Any:
        file = SimpleUploadedFile("new.md", text.encode())
        data = {"collection": "handbook", "file": file}
        return client.post(f"{V1}/documents/", data, format="multipart")

    def test_are_counted_if_something_is_stored(self, administrator: User, limit: Any) -> None:
        make_collection("Handbook")
        limit(uploads=1)
        client = as_user(administrator)
        assert self.upload(client, "# One\n").status_code == 202
        assert self.upload(client, "# One\n").status_code in (200, 202)  # known: not stored again
        refused = self.upload(client, "# Two\n")
        assert refused.status_code == 429
        assert refused.json()["code"] == "quota_exceeded"
        assert Document.objects.count() == 1

    def test_their_size_counts_whole_or_not_at_all(self, administrator: User, limit: Any) -> None:
        make_collection("Handbook")
        limit(bytes=30, uploads=9)
        client = as_user(administrator)
        assert self.upload(client, "# " + "x" * 100).status_code == 429
        assert not Usage.objects.filter(uploads__gt=0).exists()
        assert self.upload(client, "# Short\n").status_code == 202

    def test_the_admin_says_so_too(self, administrator: User, limit: Any) -> None:
        collection = make_collection("Handbook")
        limit(bytes=1)
        response = signed_in(administrator).post(
            "/admin/ingestion/document/add/",
            {"collection": collection.pk, "files": SimpleUploadedFile("new.md", b"# Long\n")},
            follow=True,
        )
        assert response.status_code < 500
        assert "bytes uploaded is used up" in response.content.decode()


class TestDownloads:
    def test_count_by_their_size_over_pages_api_admin_and_exports(
        self, administrator: User, limit: Any
    ) -> None:
        document = make_document(make_collection("Handbook"), "# Rope\n\nRope is hemp.\n")
        assert document.current is not None
        size = document.current.size
        limit(downloaded=4 * size)
        api, browser = as_user(administrator), signed_in(administrator)
        page = f"/documents/{document.public_id}/original/"
        versions = f"{V1}/documents/{document.public_id}/versions/1/original/"
        export = f"{V1}/collections/handbook/export/"
        assert b"".join(browser.get(page)).startswith(b"# Rope")
        for address in (versions, export):
            assert b"".join(api.get(address))
        number = Usage.objects.values_list("downloaded", flat=True)
        assert list(number) == [3 * size]

        limit(downloaded=3 * size)
        refused = browser.get(page)
        assert (refused.status_code, "bytes downloaded is used up" in refused.text) == (429, True)
        assert 0 < int(refused.headers["Retry-After"]) <= 24 * 3600
        for address in (versions, export):
            found = api.get(address)
            assert (found.status_code, found.json()["code"]) == (429, "quota_exceeded")
        at = f"/admin/ingestion/document/{document.pk}/versions/1/file/"
        assert browser.get(at).status_code == 429
        assert list(number) == [3 * size]

    def test_a_token_has_its_own(self, administrator: User, limit: Any) -> None:
        document = make_document(make_collection("Open", visibility="public"), "# Rope\n\nHemp.\n")
        assert document.current is not None
        limit(token={"downloaded": document.current.size})
        address = f"{V1}/documents/{document.public_id}/versions/1/original/"
        one, other = (with_token(administrator, "read", "upload") for _ in range(2))
        answers = [each.get(address) for each in (one, one, other)]
        for answer in answers:
            answer.close()  # type: ignore[no-untyped-call]
        assert [answer.status_code for answer in answers] == [200, 429, 200]


class TestAnswers:
    def test_are_counted(self, reader: User, limit: Any) -> None:
        make_collection("Handbook")
        limit(answers=1)
        client = as_user(reader)
        assert client.post(f"{V1}/answers/", {"q": "What is rope?"}).status_code < 400
        refused = client.post(f"{V1}/answers/", {"q": "What is rope?"})
        page = client.post("/answers/", {"q": "What is rope?"}, format="multipart")
        assert (refused.status_code, page.status_code) == (429, 429)
        assert "daily quota of 1 answers is used up" in refused.json()["message"]


def test_a_readers_page_shows_them(reader: User, limit: Any) -> None:
    client = Client()
    client.force_login(reader)
    assert "Used today" not in client.get("/me/").content.decode()
    limit(searches=20)
    client.get("/", {"q": "rope"})
    page = client.get("/me/").content.decode()
    assert "Used today" in page
    assert "1 of 20" in page


def test_old_counts_are_forgotten(reader: User, limit: Any) -> None:
    limit(searches=5)
    quotas.spend(reader, quotas.SEARCHES)
    Usage.objects.create(user=reader, token="x", day=timezone.localdate() - timedelta(days=40))
    assert quotas.forget() == 1
