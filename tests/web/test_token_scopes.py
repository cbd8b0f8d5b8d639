"""What a token may do: its scopes, its collections, never more than its user."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from knox.models import AuthToken
from rest_framework.test import APIClient

from common.accounts import tokens
from common.accounts.models import ALL_SCOPES, Scope, TokenGrant, User
from ingestion.models import Collection, Document
from search.answers.models import Thread
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

V1 = "/api/v1"
# A request, and the scope that its token needs; "" for any. None of them exists or is complete, so
# that a request that is let through ends as 400, 404, 200 or 204, and never as 403.
NOBODY = "00000000-0000-4000-8000-000000000000"
REQUESTS = [
    ("get", f"{V1}/search/?q=pump", "read"),
    ("post", f"{V1}/search/", "read"),
    ("get", f"{V1}/collections/", "read"),
    ("get", f"{V1}/documents/", "read"),
    ("get", f"{V1}/documents/{NOBODY}/", "read"),
    ("get", f"{V1}/documents/{NOBODY}/sections/0/", "read"),
    ("get", f"{V1}/concepts/", "read"),
    ("get", f"{V1}/profiles/", "read"),
    ("get", f"{V1}/answers/", "read"),
    ("post", f"{V1}/answers/", "read"),
    ("get", f"{V1}/threads/", "read"),
    ("post", f"{V1}/threads/", "read"),
    ("patch", f"{V1}/threads/{NOBODY}/", "administer"),
    ("delete", f"{V1}/threads/{NOBODY}/", "administer"),
    ("post", f"{V1}/searches/{NOBODY}/interactions/", "read"),
    ("post", f"{V1}/documents/", "upload"),
    ("patch", f"{V1}/documents/{NOBODY}/", "upload"),
    ("delete", f"{V1}/documents/{NOBODY}/", "upload"),
    ("get", f"{V1}/documents/{NOBODY}/chunks/", "upload"),
    ("get", f"{V1}/imports/", "upload"),
    ("get", f"{V1}/golden-queries/", "tune"),
    ("post", f"{V1}/golden-queries/", "tune"),
    ("get", f"{V1}/pins/", "tune"),
    ("post", f"{V1}/synonyms/", "tune"),
    ("post", f"{V1}/rollback/", "tune"),
    ("post", f"{V1}/collections/", "administer"),
    ("delete", f"{V1}/collections/nothing/", "administer"),
    ("get", f"{V1}/auth/token/", "administer"),
    ("delete", f"{V1}/auth/token/0123456789abcde/", "administer"),
    ("post", f"{V1}/auth/logoutall/", "administer"),
    ("post", f"{V1}/auth/logout/", ""),
    ("get", "/v1/models", "read"),
    ("post", "/v1/embeddings", "read"),
    ("post", "/v1/chat/completions", "read"),
]


def with_token(token: str) -> APIClient:
    return APIClient(headers={"authorization": f"Token {token}"})


def sent(client: APIClient, method: str, address: str) -> Any:
    return getattr(client, method)(address, **({} if method == "get" else {"data": {}}))


def test_a_token_that_reads_starts_conversations_and_changes_none(reader: User) -> None:
    """A leaked one must not show a private conversation to others, nor delete it."""
    client = with_token(tokens.make(reader, scopes=["read"])[1])
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
@pytest.mark.parametrize(("method", "address", "needed"), REQUESTS)
def test_a_token_does_only_what_its_scope_names(
    administrator: User, scope: str, method: str, address: str, needed: str
) -> None:
    _, token = tokens.make(administrator, scopes=[scope])

    response = sent(with_token(token), method, address)

    if needed in ("", scope):
        assert response.status_code not in (401, 403), response.content
    else:
        assert response.status_code == 403
        body = response.json()
        said = body["error"] if address.startswith("/v1/") else body
        assert said["code"] == "missing_scope"
        assert f"“{needed}”" in said["message"]
        assert "/me/tokens/" in said["message"]


def test_a_token_never_allows_more_than_its_user(reader: User) -> None:
    collection = make_collection()
    client = with_token(tokens.make(reader, scopes=ALL_SCOPES)[1])

    for method, address in (
        ("delete", f"{V1}/collections/{collection.slug}/"),
        ("post", f"{V1}/documents/"),
        ("get", f"{V1}/golden-queries/"),
    ):
        response = sent(client, method, address)
        assert (response.status_code, response.json()["code"]) == (403, "permission_denied")


def test_a_token_without_a_grant_may_all_that_its_user_may(administrator: User) -> None:
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
                {"collection": slug, "file": _file(f"# New in {slug}\n")},
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
    def test_what_concerns_the_whole_site_has_no_limit(
        self, administrator: User, scope: str
    ) -> None:
        collection = make_collection()
        with pytest.raises(tokens.InvalidToken, match="whole site"):
            tokens.make(administrator, scopes=[scope], collections=[collection.pk])
        row, _ = tokens.make(administrator, scopes=[scope])
        with pytest.raises(IntegrityError), transaction.atomic():
            TokenGrant.objects.filter(pk=row.pk).update(collections=[collection.pk])


def _file(text: str) -> Any:
    from django.core.files.uploadedfile import SimpleUploadedFile

    return SimpleUploadedFile("new.md", text.encode())


class TestUse:
    def test_it_is_noted_to_the_hour_and_not_for_every_request(self, reader: User) -> None:
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

    def test_it_is_noted_again_in_another_hour(self, reader: User) -> None:
        row, _ = tokens.make(reader, scopes=["read"])
        now = timezone.now()
        tokens.admit(reader, row, now=now)
        tokens.admit(reader, row, now=now + timedelta(hours=3))

        noted = TokenGrant.objects.get(pk=row.pk).last_used
        assert noted is not None
        assert noted > now + timedelta(hours=1)


class TestMadeByPassword:
    def made(self, **fields: Any) -> Any:
        credentials = {"username": "reader", "password": "pw-reader"}
        return APIClient().post(f"{V1}/auth/token/", {**credentials, **fields})

    def test_with_scopes_collections_and_an_expiry(self, reader: User) -> None:
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
    def test_what_cannot_be_is_refused_and_makes_none(
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

    statuses = [
        with_token(tokens.make(reader, scopes=[scope])[1]).get(f"{V1}/pins/").status_code
        for scope in (Scope.TUNE, Scope.READ)
    ]

    assert statuses == [200, 403]


class TestANewPassword:
    def is_alive(self, token: str) -> bool:
        return bool(with_token(token).get(f"{V1}/collections/").status_code == 200)

    def test_ends_the_tokens(self, reader: User) -> None:
        _, token = tokens.make(reader, scopes=["read"])
        assert self.is_alive(token)
        reader.set_password("another-long-one-77")
        reader.save()
        assert not self.is_alive(token)

    def test_none_at_all_ends_them_too(self, reader: User) -> None:
        _, token = tokens.make(reader, scopes=["read"])
        reader.set_unusable_password()
        reader.save()
        assert not self.is_alive(token)

    def test_a_renewed_hash_of_the_same_password_does_not(
        self, reader: User, settings: Any
    ) -> None:
        _, token = tokens.make(reader, scopes=["read"])
        before = reader.password
        settings.PASSWORD_HASHERS = [
            "django.contrib.auth.hashers.ScryptPasswordHasher",
            *settings.PASSWORD_HASHERS,
        ]
        assert reader.check_password("pw-reader")
        assert reader.password != before
        assert self.is_alive(token)

    def test_other_changes_do_not(self, reader: User) -> None:
        _, token = tokens.make(reader, scopes=["read"])
        reader.first_name = "R"
        reader.save()
        assert self.is_alive(token)

    def test_the_page_says_so(self, reader: User) -> None:
        client = Client()
        client.force_login(reader)
        assert "A new password ends all tokens" in client.get("/me/tokens/").content.decode()
