"""What a token may do: its scopes, its collections, never more than its user."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from knox.models import AuthToken
from rest_framework.test import APIClient
from rest_framework.throttling import SimpleRateThrottle

from common.accounts import quotas, tokens
from common.accounts.models import ALL_SCOPES, Scope, TokenGrant, Usage, User
from ingestion.models import Collection, Document
from search.answers.models import Thread
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

V1 = "/api/v1"
# A request, and the scope that its token needs; "" for any. None of them exists or is complete, so
# that a request that is let through ends as 400, 404, 200 or 204, and never as 403.
NOBODY = "00000000-0000-4000-8000-000000000000"
REQUESTS = [
    ("get", f"{V1}/search/?q=pump", "read"), ("post", f"{V1}/search/", "read"),
    ("get", f"{V1}/collections/", "read"), ("get", f"{V1}/documents/", "read"),
    ("get", f"{V1}/documents/{NOBODY}/", "read"),
    ("get", f"{V1}/documents/{NOBODY}/sections/0/", "read"), ("get", f"{V1}/concepts/", "read"),
    ("get", f"{V1}/profiles/", "read"), ("get", f"{V1}/answers/", "read"),
    ("post", f"{V1}/answers/", "read"), ("get", f"{V1}/threads/", "read"),
    ("post", f"{V1}/threads/", "read"), ("patch", f"{V1}/threads/{NOBODY}/", "administer"),
    ("delete", f"{V1}/threads/{NOBODY}/", "administer"),
    ("post", f"{V1}/searches/{NOBODY}/interactions/", "read"),
    ("post", f"{V1}/documents/", "upload"), ("patch", f"{V1}/documents/{NOBODY}/", "upload"),
    ("delete", f"{V1}/documents/{NOBODY}/", "upload"),
    ("get", f"{V1}/documents/{NOBODY}/chunks/", "upload"), ("get", f"{V1}/imports/", "upload"),
    ("put", f"{V1}/sources/x/documents/", "upload"), ("post", f"{V1}/sources/x/keep/", "upload"),
    ("get", f"{V1}/golden-queries/", "tune"), ("post", f"{V1}/golden-queries/", "tune"),
    ("get", f"{V1}/pins/", "tune"), ("post", f"{V1}/synonyms/", "tune"),
    ("post", f"{V1}/rollback/", "tune"), ("post", f"{V1}/collections/", "administer"),
    ("delete", f"{V1}/collections/nothing/", "administer"),
    ("get", f"{V1}/auth/token/", "administer"),
    ("delete", f"{V1}/auth/token/0123456789abcde/", "administer"),
    ("delete", f"{V1}/auth/token/all/", "administer"), ("delete", f"{V1}/auth/token/self/", ""),
    ("post", f"{V1}/auth/logoutall/", "administer"), ("post", f"{V1}/auth/logout/", ""),
    ("get", "/v1/models", "read"), ("post", "/v1/chat/completions", "read"),
]  # fmt: skip


def with_token(token: str) -> APIClient:
    return APIClient(headers={"authorization": f"Token {token}"})


def holder(user: User, *scopes: str) -> APIClient:
    """A client with a new token of the user for the scopes."""
    return with_token(tokens.make(user, scopes=scopes)[1])


def sent(client: APIClient, method: str, address: str) -> Any:
    return getattr(client, method)(address, **({} if method == "get" else {"data": {}}))


def test_a_token_that_reads_starts_conversations_and_changes_none(reader: User) -> None:
    """A leaked one must not show a private conversation to others, nor delete it."""
    client = holder(reader, "read")
    started = client.post(f"{V1}/threads/", {"title": "Mine"})
    assert started.status_code == 201
    address = f"{V1}/threads/{started.json()['id']}/"
    assert client.patch(address, {"shared": True}).status_code == 403
    assert client.patch(address, {"title": "Other"}).status_code == 403
    assert client.delete(address).status_code == 403
    assert client.post(f"{V1}/threads/", {"title": "Shown", "shared": True}).status_code == 403
    assert not Thread.objects.filter(shared=True).exists()
    session = APIClient()
    session.force_authenticate(reader)
    assert session.patch(address, {"shared": True}).status_code == 200


@pytest.mark.parametrize("scope", ALL_SCOPES)
def test_a_token_does_only_what_its_scope_names(administrator: User, scope: str) -> None:
    for method, address, needed in REQUESTS:
        # One each: two of the requests end the token.
        response = sent(holder(administrator, scope), method, address)
        if needed in ("", scope):
            assert response.status_code not in (401, 403), (method, address, response.content)
            continue
        assert response.status_code == 403, (method, address)
        body = response.json()
        said = body["error"] if address.startswith("/v1/") else body
        assert said["code"] == "missing_scope", (method, address)
        assert f"“{needed}”" in said["message"]
        assert "/me/tokens/" in said["message"]


def test_a_token_never_allows_more_than_its_user(reader: User) -> None:
    collection = make_collection()
    client = holder(reader, *ALL_SCOPES)
    for method, address in (
        ("delete", f"{V1}/collections/{collection.slug}/"),
        ("post", f"{V1}/documents/"),
        ("get", f"{V1}/golden-queries/"),
    ):
        response = sent(client, method, address)
        assert (response.status_code, response.json()["code"]) == (403, "permission_denied")


def test_old_token_without_scopes_has_all_rights_of_its_user(administrator: User) -> None:
    _, old = AuthToken.objects.create(user=administrator)
    assert with_token(old).get(f"{V1}/pins/").status_code == 200
    (listed,) = with_token(old).get(f"{V1}/auth/token/").json()["results"]
    assert (listed["scopes"], listed["collections"]) == (list(ALL_SCOPES), None)


class TestCollections:
    @pytest.fixture
    def library(self) -> tuple[Collection, Collection]:
        one, other = make_collection("One"), make_collection("Other")
        make_document(one, "# Pump\n\nThe pump is greased at noon.\n")
        make_document(other, "# Pump\n\nThe pump of the other house is greased at night.\n")
        return one, other

    def test_a_limited_token_sees_its_collections_only_even_of_a_superuser(
        self, administrator: User, library: tuple[Collection, Collection]
    ) -> None:
        one, other = library
        hidden = Document.objects.get(collection=other)
        _, token = tokens.make(administrator, scopes=["read"], collections=[one.pk])
        client = with_token(token)
        found = client.get(f"{V1}/search/?q=pump+greased").json()
        listed = client.get(f"{V1}/collections/").json()
        assert {hit["collection"]["slug"] for hit in found["results"]} == {"one"}
        assert [row["slug"] for row in listed["results"]] == ["one"]
        assert client.get(f"{V1}/collections/other/").status_code == 404
        assert client.get(f"{V1}/documents/{hidden.public_id}/").status_code == 404
        assert client.get(f"{V1}/search/?q=collection:other+pump").json()["total"] == 0
        models = client.get("/v1/models").content.decode()
        assert "one" in models
        assert "other" not in models

    def test_a_limited_token_does_not_see_what_its_user_asked_about_others(
        self, reader: User, library: tuple[Collection, Collection]
    ) -> None:
        one, _ = library
        session = APIClient()
        session.force_authenticate(reader)
        ids, threads = {}, {}
        for slug in ("one", "other"):
            thread = session.post(f"{V1}/threads/", {"title": f"About {slug}"}).json()["id"]
            question = {"q": f"When is the pump of {slug} greased?", "collection": [slug]}
            said = session.post(f"{V1}/answers/", question | {"thread": thread}, format="json")
            assert said.status_code == 200, said.content
            assert said.json()["sources"]
            ids[slug], threads[slug] = said.json()["id"], thread
        _, token = tokens.make(reader, scopes=["read"], collections=[one.pk])
        client = with_token(token)
        answers = client.get(f"{V1}/answers/").json()["results"]
        titles = [row["title"] for row in client.get(f"{V1}/threads/").json()["results"]]
        assert [row["id"] for row in answers] == [ids["one"]]
        assert titles == ["About one"]
        for slug, status in (("one", 200), ("other", 404)):
            for address in (
                f"answers/{ids[slug]}/",
                f"threads/{threads[slug]}/",
                f"threads/{threads[slug]}/export/",
            ):
                assert client.get(f"{V1}/{address}").status_code == status, address
        assert len(session.get(f"{V1}/threads/").json()["results"]) == 2

    def test_a_limited_token_uploads_to_its_collections_only(
        self, administrator: User, library: tuple[Collection, Collection]
    ) -> None:
        one, _ = library
        _, token = tokens.make(administrator, scopes=["upload"], collections=[one.pk])
        statuses = [
            with_token(token)
            .post(
                f"{V1}/documents/",
                {"collection": slug, "file": SimpleUploadedFile("new.md", slug.encode())},
                format="multipart",
            )
            .status_code
            for slug in ("one", "other")
        ]
        assert statuses == [202, 400]

    def test_a_deleted_collection_opens_nothing(self, administrator: User) -> None:
        gone = make_collection("Gone")
        _, token = tokens.make(administrator, scopes=["read"], collections=[gone.pk])
        gone.delete()
        make_collection("Kept")
        assert with_token(token).get(f"{V1}/collections/").json()["total"] == 0

    @pytest.mark.parametrize("scope", ["tune", "administer"])
    def test_site_wide_scopes_cannot_be_limited_to_collections(
        self, administrator: User, scope: str
    ) -> None:
        collection = make_collection()
        with pytest.raises(tokens.InvalidToken, match="whole site"):
            tokens.make(administrator, scopes=[scope], collections=[collection.pk])
        row, _ = tokens.make(administrator, scopes=[scope])
        with pytest.raises(IntegrityError), transaction.atomic():
            TokenGrant.objects.filter(pk=row.pk).update(collections=[collection.pk])


class TestUse:
    def test_last_use_is_recorded_at_most_hourly(self, reader: User) -> None:
        row, token = tokens.make(reader, scopes=["read"])
        client = with_token(token)
        before = timezone.now()
        client.get(f"{V1}/collections/")
        with CaptureQueriesContext(connection) as again:
            client.get(f"{V1}/collections/")
        noted = TokenGrant.objects.get(pk=row.pk).last_used
        assert noted is not None
        assert before - timedelta(hours=1) <= noted <= timezone.now()
        assert (noted.minute, noted.second) == (0, 0)
        assert not [query for query in again.captured_queries if "UPDATE" in query["sql"]]
        tokens.admit(reader, row, now=before + timedelta(hours=3))
        noted = TokenGrant.objects.get(pk=row.pk).last_used
        assert noted is not None
        assert noted > before + timedelta(hours=1)


class TestMadeByPassword:
    def made(self, **fields: Any) -> Any:
        credentials = {"username": "reader", "password": "pw-reader"}
        return APIClient().post(f"{V1}/auth/token/", {**credentials, **fields})

    def test_token_has_the_requested_scopes_collections_and_expiry(self, reader: User) -> None:
        make_collection("One")
        body = self.made(name="Robot", scopes=["read"], collections=["one"], days=3).json()
        assert (body["name"], body["scopes"], body["collections"]) == ("Robot", ["read"], ["one"])
        expiry = AuthToken.objects.get().expiry
        assert timedelta(days=2) < expiry - timezone.now() <= timedelta(days=3)

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"scopes": ["fly"]}, "fly"),
            ({"scopes": []}, "at least one scope"),
            ({"collections": ["zanzibar"], "scopes": ["read"]}, "zanzibar"),
            ({"collections": ["one"]}, "whole site"),
            ({"days": 0}, "1"),
            ({"days": 10**9}, "3650"),
        ],
        ids=str,
    )
    def test_invalid_token_request_creates_no_token(
        self, reader: User, fields: dict[str, Any], said: str
    ) -> None:
        make_collection("One")
        make_collection("Zanzibar", visibility="groups", groups=["insiders"])
        response = self.made(**fields)
        assert response.status_code == 400
        assert said in json.dumps(response.json(), ensure_ascii=False)
        assert not AuthToken.objects.exists()


def test_staff_with_rights_use_them_through_a_scope(reader: User) -> None:
    reader.user_permissions.add(Permission.objects.get(codename="view_pin"))
    assert holder(reader, Scope.TUNE).get(f"{V1}/pins/").status_code == 200
    assert holder(reader, Scope.READ).get(f"{V1}/pins/").status_code == 403


class TestANewPassword:
    def is_alive(self, token: str) -> bool:
        return bool(with_token(token).get(f"{V1}/collections/").status_code == 200)

    def test_new_password_revokes_the_tokens(self, reader: User) -> None:
        """So does none at all."""
        changes = (lambda: reader.set_password("another-long-one-77"), reader.set_unusable_password)
        for change in changes:
            _, token = tokens.make(reader, scopes=["read"])
            assert self.is_alive(token)
            change()
            reader.save()
            assert not self.is_alive(token)

    def test_other_user_changes_keep_the_tokens(self, reader: User, settings: Any) -> None:
        _, token = tokens.make(reader, scopes=["read"])
        before = reader.password
        settings.PASSWORD_HASHERS = [
            "django.contrib.auth.hashers.ScryptPasswordHasher",
            *settings.PASSWORD_HASHERS,
        ]
        assert reader.check_password("pw-reader")
        assert reader.password != before
        assert self.is_alive(token)
        reader.first_name = "R"
        reader.save()
        assert self.is_alive(token)


# --- Tokens --------------------------------------------------------------------------------------

TOKEN = "/api/v1/auth/token/"


def login(api: APIClient, username: str = "reader", password: str = "pw-reader") -> Any:
    return api.post(TOKEN, {"username": username, "password": password})


@pytest.fixture
def token(api: APIClient, reader: User) -> str:
    made: str = login(api).json()["token"]
    return made


def test_a_password_makes_a_token_that_is_stored_hashed(api: APIClient, reader: User) -> None:
    response = login(api)
    body = response.json()
    kept = AuthToken.objects.get()
    assert response.status_code == 201
    assert body["token"].startswith(body["key"])
    assert body["token"] not in (kept.digest, kept.token_key)
    assert timedelta(days=89) < kept.expiry - timezone.now() <= timedelta(days=90)
    (listed,) = with_token(body["token"]).get(TOKEN).json()["results"]
    assert listed | {"last_used": None} == {name: body[name] for name in body if name != "token"}


@pytest.mark.parametrize(
    ("credentials", "status", "code"),
    [
        ({"username": "reader", "password": "wrong"}, 401, "authentication_failed"),
        ({"username": "nobody", "password": "pw-reader"}, 401, "authentication_failed"),
        ({"username": "reader"}, 400, "invalid"),
        ({"username": "nul\x00", "password": "x"}, 400, "invalid"),
        ({"username": {"a": 1}, "password": ["x"]}, 400, "invalid"),
        ([], 400, "invalid"),
    ],
    ids=str,
)
def test_wrong_credentials_create_no_token(
    api: APIClient, reader: User, credentials: Any, status: int, code: str
) -> None:
    response = api.post(TOKEN, credentials)
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert not AuthToken.objects.exists()


def test_an_inactive_user_neither_gets_nor_uses_a_token(token: str, reader: User) -> None:
    reader.is_active = False
    reader.save()
    assert login(APIClient()).status_code == 401
    assert with_token(token).get(TOKEN).status_code == 401


@pytest.mark.parametrize(
    "header",
    [
        "Token wrong", "Token " + "0" * 64, "Token \xff\xfe", "Token ab\x00", "Bearer wrong",
        "Token", "Token a b", "Bearer", "0" * 64, "Basic YWRhOnB3", "Digest a=b, c=d",
    ],
    ids=ascii,
)  # fmt: skip
def test_a_wrong_header_is_401(header: str, reader: User) -> None:
    response = APIClient(HTTP_AUTHORIZATION=header).get("/api/v1/collections/")
    assert response.status_code == 401
    assert response.json()["code"] == "authentication_failed"
    assert response["WWW-Authenticate"] == "Bearer"
    is_understood = len(header.split()) == 2 and "Basic" not in header
    assert is_understood or "`Authorization: Bearer TOKEN`" in response.json()["message"]
    browser = Client(headers={"authorization": header})
    browser.force_login(reader)  # through a proxy that passes its own header on
    assert browser.get("/api/v1/collections/").status_code == (401 if is_understood else 200)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "Token"])
def test_token_is_accepted_as_bearer_and_token(token: str, scheme: str) -> None:
    client = APIClient(headers={"authorization": f"{scheme} {token}"})
    assert client.get(TOKEN).json()["total"] == 1


def test_an_expired_token_is_401(token: str) -> None:
    AuthToken.objects.update(expiry=timezone.now() - timedelta(seconds=1))
    assert with_token(token).get("/api/v1/collections/").status_code == 401


def test_an_old_token_in_the_header_does_not_hinder_a_new_login(reader: User) -> None:
    assert login(with_token("0" * 64)).status_code == 201


def test_revoking_one_leaves_the_others(api: APIClient, token: str) -> None:
    other = login(api).json()
    client = with_token(token)
    assert client.delete(f"{TOKEN}{other['key']}/").status_code == 204
    assert with_token(other["token"]).get(TOKEN).status_code == 401
    assert client.get(TOKEN).json()["total"] == 1


def test_token_of_another_user_cannot_be_revoked(token: str, member: User) -> None:
    other = login(APIClient(), "member", "pw-member").json()
    response = with_token(token).delete(f"{TOKEN}{other['key']}/")
    assert response.status_code == 404
    assert with_token(other["token"]).get(TOKEN).status_code == 200


def test_self_ends_this_token_and_all_every_one(api: APIClient, token: str) -> None:
    second, third = (login(api).json()["token"] for _ in range(2))
    assert with_token(token).delete(f"{TOKEN}self/").status_code == 204
    assert [with_token(t).get(TOKEN).status_code for t in (token, second)] == [401, 200]
    assert with_token(second).delete(f"{TOKEN}all/").status_code == 204
    assert [with_token(t).get(TOKEN).status_code for t in (second, third)] == [401, 401]


def test_a_session_lists_tokens_and_has_none_to_log_out(reader: User) -> None:
    client = APIClient()
    client.force_login(reader)
    assert client.get(TOKEN).json()["total"] == 0
    assert client.delete(f"{TOKEN}self/").status_code == 400


def test_a_session_without_its_csrf_token_writes_nothing(administrator: User) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(administrator)
    response = client.delete(f"{TOKEN}all/")
    assert (response.status_code, response.json()["code"]) == (403, "permission_denied")
    assert "CSRF" in response.json()["message"]


def test_guessing_is_slowed_down(
    api: APIClient, reader: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "login", "2/min")
    answers = [login(api, password="wrong") for _ in range(2)]
    answers.append(login(api))
    assert [answer.status_code for answer in answers] == [401, 401, 429]
    assert answers[-1].json()["code"] == "throttled"
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 60
    assert api.get("/api/v1/collections/").status_code == 200


def test_tokens_are_for_signed_in_users(api: APIClient) -> None:
    for response in (
        api.get(TOKEN),
        api.delete(f"{TOKEN}0123456789abcde/"),
        api.delete(f"{TOKEN}self/"),
        api.post("/api/v1/auth/logout/"),
        api.post("/api/v1/auth/logoutall/"),
    ):
        assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")


# --- Quotas of users and tokens ------------------------------------------------------------------

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


class TestSearches:
    def test_searches_are_counted_over_page_and_api(self, reader: User, limit: Any) -> None:
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

    def test_quota_resets_each_day(self, reader: User, limit: Any) -> None:
        limit(searches=1)
        quotas.spend(reader, quotas.SEARCHES)
        Usage.objects.update(day=timezone.localdate() - timedelta(days=1))
        quotas.spend(reader, quotas.SEARCHES)
        with pytest.raises(quotas.QuotaExceeded):
            quotas.spend(reader, quotas.SEARCHES)

    def test_token_has_its_own_quota(self, reader: User, limit: Any) -> None:
        limit(token={"searches": 1})
        one, other = holder(reader, "read"), holder(reader, "read")
        assert one.get(f"{V1}/search/?q=rope").status_code == 200
        refused = one.get(f"{V1}/search/?q=rope")
        assert refused.status_code == 429
        assert "This token's daily quota" in refused.json()["message"]
        assert other.get(f"{V1}/search/?q=rope").status_code == 200
        assert as_user(reader).get(f"{V1}/search/?q=rope").status_code == 200

    def test_searches_of_agents_are_counted(self, reader: User, limit: Any) -> None:
        from search.mcp.tool_results import Caller, search

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

    def test_uploads_are_counted_if_something_is_stored(
        self, administrator: User, limit: Any
    ) -> None:
        make_collection("Handbook")
        limit(uploads=1)
        client = as_user(administrator)
        assert self.upload(client, "# One\n").status_code == 202
        assert self.upload(client, "# One\n").status_code in (200, 202)  # known: not stored again
        refused = self.upload(client, "# Two\n")
        assert refused.status_code == 429
        assert refused.json()["code"] == "quota_exceeded"
        assert Document.objects.count() == 1

    def test_upload_beyond_the_byte_quota_is_not_counted(
        self, administrator: User, limit: Any
    ) -> None:
        make_collection("Handbook")
        limit(bytes=30, uploads=9)
        client = as_user(administrator)
        assert self.upload(client, "# " + "x" * 100).status_code == 429
        assert not Usage.objects.filter(uploads__gt=0).exists()
        assert self.upload(client, "# Short\n").status_code == 202

    def test_admin_upload_respects_the_quota(self, desk: Client, limit: Any) -> None:
        collection = make_collection("Handbook")
        limit(bytes=1)
        response = desk.post(
            "/admin/ingestion/document/add/",
            {"collection": collection.pk, "files": SimpleUploadedFile("new.md", b"# Long\n")},
            follow=True,
        )
        assert response.status_code < 500
        assert "bytes uploaded is used up" in response.content.decode()


class TestDownloads:
    def test_downloads_count_by_size_everywhere(
        self, administrator: User, desk: Client, limit: Any
    ) -> None:
        document = make_document(make_collection("Handbook"), "# Rope\n\nRope is hemp.\n")
        assert document.current is not None
        size = document.current.size
        limit(downloaded=4 * size)
        api, browser = as_user(administrator), desk
        page = f"/documents/{document.public_id}/original/"
        versions = f"{V1}/documents/{document.public_id}/original/?version=1"
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


class TestAnswers:
    def test_answers_are_counted(self, reader: User, limit: Any) -> None:
        make_collection("Handbook")
        limit(answers=1)
        client = as_user(reader)
        assert client.post(f"{V1}/answers/", {"q": "What is rope?"}).status_code < 400
        refused = client.post(f"{V1}/answers/", {"q": "What is rope?"})
        page = client.post("/answers/", {"q": "What is rope?"}, format="multipart")
        assert (refused.status_code, page.status_code) == (429, 429)
        assert "daily quota of 1 answers is used up" in refused.json()["message"]


def test_used_quotas_are_shown_to_the_reader(reader: User, limit: Any) -> None:
    client = Client()
    client.force_login(reader)
    assert "Used today" not in client.get("/me/").content.decode()
    limit(searches=20)
    client.get("/", {"q": "rope"})
    page = client.get("/me/").content.decode()
    assert "Used today" in page
    assert "1 of 20" in page


def test_old_quota_counts_are_deleted(reader: User, limit: Any) -> None:
    limit(searches=5)
    quotas.spend(reader, quotas.SEARCHES)
    Usage.objects.create(user=reader, token="x", day=timezone.localdate() - timedelta(days=40))
    assert quotas.forget() == 1
