"""What programs rely on at every address: ETags, keys, lists, headers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from rest_framework.test import APIClient

from common.accounts import tokens
from common.accounts.models import IdempotencyKey, User
from ingestion import services
from ingestion.models import Collection, Document
from ingestion.webhooks.models import Webhook
from search.models import Synonym
from search.tuning.models import EvaluationRun
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]
V1 = "/api/v1"


@pytest.fixture
def root(api: APIClient, administrator: User) -> APIClient:
    api.force_authenticate(administrator)
    return api


@pytest.fixture
def shelf() -> Collection:
    return make_collection("Shelf")


def fill(shelf: Collection, count: int) -> list[Document]:
    return [make_document(shelf, f"# {n}\n\nText {n}.\n") for n in range(count)]


def crawl(api: APIClient, address: str, between: Any = None) -> list[Any]:
    """The rows of a list, by its links; `between` runs after each page."""
    rows: list[Any] = []
    while address:
        response = api.get(address)
        assert response.status_code == 200, response.json()
        rows += response.json()["results"]
        address = response.json()["next"] or ""
        assert response.headers.get("Link", "") == (f'<{address}>; rel="next"' if address else "")
        if between:
            between()
    return rows


class TestETags:
    def test_one_of_two_changes_of_the_same_reading_is_refused(
        self, root: APIClient, shelf: Collection
    ) -> None:
        address = f"{V1}/documents/{make_document(shelf, CONNECTIONS).public_id}/"
        tag = root.get(address).headers["ETag"]
        guard = {"If-Match": tag}
        first = root.patch(address, {"metadata": {"a": 1}}, headers=guard)
        assert first.status_code == 200, first.json()
        second = root.patch(address, {"metadata": {"b": 1}}, headers=guard)
        assert (second.status_code, second.json()["code"]) == (412, "precondition_failed")
        assert root.get(address).json()["metadata"] == {"a": 1}
        # The response to a change has the next tag.
        assert first.headers["ETag"] == root.get(address).headers["ETag"] != tag
        compressed = {"If-Match": f"W/{first.headers['ETag']}"}
        assert root.patch(address, {"state": "queued"}, headers=compressed).status_code == 202
        for stale in (guard, {"If-Match": ""}, {"If-Match": "nonsense"}):
            assert root.delete(address, headers=stale).status_code == 412
        assert root.delete(address, headers={"If-Match": "*"}).status_code == 204

    def test_a_row_that_is_known_is_not_sent_again(
        self, root: APIClient, shelf: Collection
    ) -> None:
        address = f"{V1}/collections/{shelf.slug}/"
        tag = root.get(address).headers["ETag"]
        again = root.get(address, headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")

    def test_a_passage_and_its_edit(self, root: APIClient, shelf: Collection) -> None:
        address = f"{V1}/documents/{make_document(shelf, CONNECTIONS).public_id}/chunks/0/"
        tag = root.get(address).headers["ETag"]
        for status in (200, 412):
            response = root.put(address, {"note": "n"}, headers={"If-Match": tag})
            assert response.status_code == status, response.json()

    def test_a_thread_and_its_answers(self, root: APIClient) -> None:
        address = root.post(f"{V1}/threads/", {"title": "T"}).headers["Location"]
        tag = root.get(address).headers["ETag"]
        for status in (200, 412):
            sent = {"title": "Other"}
            assert root.patch(address, sent, headers={"If-Match": tag}).status_code == status


class TestIdempotencyKeys:
    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            ("threads", {"title": "T"}),
            ("collections", {"name": "Other"}),
            ("synonyms", {"terms": ["ebb", "low water"]}),
            ("profiles", {"based_on": "default"}),
            ("runs", {"profile": "default"}),
            ("golden-queries", {"text": "how deep"}),
        ],
    )
    def test_what_is_made_is_made_once_and_has_an_address(
        self, root: APIClient, kind: str, body: dict[str, Any]
    ) -> None:
        address = f"{V1}/{kind}/"
        if kind == "runs":
            root.post(f"{V1}/golden-queries/", {"text": "how deep"})
        first, again = (
            root.post(address, body, headers={"Idempotency-Key": "k"}) for _ in range(2)
        )
        assert first.status_code in (201, 202), first.json()
        assert (again.status_code, again.json()) == (first.status_code, first.json())
        assert again.headers["Idempotent-Replayed"] == "true"
        assert again.headers["Location"] == first.headers["Location"]
        assert urlsplit(first.headers["Location"]).netloc == "testserver"
        made = root.get(first.headers["Location"])
        assert made.status_code == 200

    def test_an_answer_is_generated_once_and_kept_at_one_place(
        self, root: APIClient, shelf: Collection
    ) -> None:
        document = make_document(shelf, CONNECTIONS)
        sent = {"q": "How long is a connection timeout?"}
        first, again = (
            root.post(f"{V1}/answers/", sent, headers={"Idempotency-Key": "k"}) for _ in range(2)
        )
        assert first.status_code == again.status_code == 200, first.json()
        assert again.json()["id"] == first.json()["id"]
        assert IdempotencyKey.objects.get().answer is None
        services.delete([document], acting_user=None)
        third = root.post(f"{V1}/answers/", sent, headers={"Idempotency-Key": "k"}).json()
        assert third["withheld"] is bool(first.json()["sources"])
        sent["stream"] = True  # type: ignore[assignment]
        stream = root.post(f"{V1}/answers/", sent, headers={"Idempotency-Key": "other"})
        assert list(stream.json()["errors"]) == ["Idempotency-Key"]

    def test_a_visitor_has_no_keys_and_a_token_is_not_kept(self, api: APIClient) -> None:
        headers = {"Idempotency-Key": "k"}
        for address, body in (("answers", {"q": "x"}), ("auth/token", {"username": "a"})):
            refused = api.post(f"{V1}/{address}/", body, headers=headers)
            assert (refused.status_code, *refused.json()["errors"]) == (400, "Idempotency-Key")
        assert not IdempotencyKey.objects.exists()

    def test_what_was_deleted_since_is_not_repeated(self, root: APIClient) -> None:
        sent = {"terms": ["ebb", "low water"]}
        headers = {"Idempotency-Key": "k"}
        assert root.post(f"{V1}/synonyms/", sent, headers=headers).status_code == 201
        Synonym.objects.all().delete()
        assert root.post(f"{V1}/synonyms/", sent, headers=headers).status_code == 404


class TestLists:
    def test_a_cursor_meets_every_row_once_while_others_write_and_delete(
        self, root: APIClient, shelf: Collection
    ) -> None:
        documents = fill(shelf, 12)
        ids = {str(each.public_id) for each in documents}
        newest = iter(reversed(documents))

        def others() -> None:
            make_document(shelf, f"# New\n\n{timezone.now()}\n")
            services.delete([next(newest)], acting_user=None)

        met = [row["id"] for row in crawl(root, f"{V1}/documents/?page_size=4", others)]
        assert len(met) == len(set(met))
        assert ids <= set(met)

    @pytest.mark.parametrize("ordering", ["title", "-title", "updated", "-created"])
    def test_a_cursor_follows_the_order(
        self, root: APIClient, shelf: Collection, ordering: str
    ) -> None:
        fill(shelf, 5)
        Document.objects.filter(title__in=["1", "3"]).update(title="2")
        rows = crawl(root, f"{V1}/documents/?page_size=2&ordering={ordering}")
        column = ordering.removeprefix("-")
        values = [row[column] for row in rows]
        assert len({row["id"] for row in rows}) == 5
        assert values == sorted(values, reverse=ordering[0] == "-")

    @pytest.mark.parametrize(
        "kind", ["concepts", "profiles", "classifier-rules", "scope-profiles", "collections"]
    )
    def test_lists_in_any_order_have_links(self, root: APIClient, kind: str) -> None:
        for name in ("A", "B", "C"):
            fill(make_collection(name), 1)
        total = root.get(f"{V1}/{kind}/").json()["total"]
        assert len(crawl(root, f"{V1}/{kind}/?page_size=2")) == total

    def test_a_cursor_of_another_list_is_refused(self, root: APIClient, shelf: Collection) -> None:
        fill(shelf, 2)
        link = root.get(f"{V1}/documents/", {"page_size": 1}).json()["next"]
        for wrong, name in (
            (f"{link}&ordering=title", "cursor"),
            (link.replace("cursor=", "cursor=x"), "cursor"),
            (f"{link}&page=2", "page"),
        ):
            assert list(root.get(wrong).json()["errors"]) == [name]

    def test_changes_since_a_time(self, root: APIClient, shelf: Collection) -> None:
        one, two = fill(shelf, 2)
        now = timezone.now()
        Document.objects.update(created=now - timedelta(days=2), updated=now - timedelta(days=2))
        Document.objects.filter(pk=two.pk).update(updated=now)
        since = (now - timedelta(days=1)).isoformat()

        def found(name: str) -> list[str]:
            rows = root.get(f"{V1}/documents/", {name: since}).json()["results"]
            return [row["id"] for row in rows]

        assert (found("updated_after"), found("created_after")) == ([str(two.public_id)], [])
        assert one.pk != two.pk

    def test_documents_by_id_checksum_and_file_name(
        self, root: APIClient, shelf: Collection
    ) -> None:
        one, two, _ = fill(shelf, 3)
        first = root.get(f"{V1}/documents/{one.public_id}/").json()
        for query in (
            {"id": [str(one.public_id), str(two.public_id)]},
            {"checksum": [first["checksum"]]},
            {"file_name": "nothing.md"},
        ):
            rows = root.get(f"{V1}/documents/", query).json()["results"]
            expected = {"id": 2, "checksum": 1, "file_name": 0}[next(iter(query))]
            assert len(rows) == expected, query


class TestHeaders:
    @pytest.mark.parametrize("address", ["documents", "search", "threads", "auth/token", "runs"])
    def test_options_name_the_methods_to_everybody(self, api: APIClient, address: str) -> None:
        response = api.options(f"{V1}/{address}/")
        assert (response.status_code, response.content) == (204, b"")
        assert "GET" in response.headers["Allow"]

    def test_a_missing_scope_is_named(self, administrator: User) -> None:
        token = tokens.make(administrator, name="x", scopes=["read"])[1]
        api = APIClient(headers={"authorization": f"Bearer {token}"})
        refused = api.post(f"{V1}/collections/", {"name": "X"})
        challenge = 'Bearer error="insufficient_scope", scope="administer"'
        assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (403, challenge)

    def test_a_run_has_an_address(self, root: APIClient) -> None:
        root.post(f"{V1}/golden-queries/", {"text": "how deep"})
        response = root.post(f"{V1}/runs/", {"profile": "default"})
        pk = EvaluationRun.objects.get().pk
        assert response.headers["Location"] == f"http://testserver{V1}/runs/{pk}/"

    def test_other_sites_may_ask_and_never_change(self, api: APIClient, settings: Any) -> None:
        settings.CORS_ALLOWED_ORIGINS = ["https://intranet.example.org"]
        asked = {"access-control-request-method": "POST"}
        for origin, allowed in (("https://intranet.example.org", True), ("https://a.b", False)):
            headers = {"origin": origin}
            answers = (
                api.get(f"{V1}/collections/", headers=headers),
                api.options(f"{V1}/search/", headers={**headers, **asked}),
            )
            for response in answers:
                named = response.headers.get("Access-Control-Allow-Origin", "")
                assert named == (origin if allowed else "")
                assert "Access-Control-Allow-Credentials" not in response.headers
        methods = answers[1].headers.get("Access-Control-Allow-Methods", "")
        assert "DELETE" not in methods
        page = api.get("/library/", headers={"origin": "https://intranet.example.org"})
        assert "Access-Control-Allow-Origin" not in page.headers


class TestNames:
    @pytest.mark.parametrize(
        ("address", "old", "new"),
        [
            ("search", "q", "query"),
            ("documents", "q", "query"),
            ("suggestions", "q", "query"),
            ("concepts", "q", "query"),
            ("golden-queries", "q", "query"),
        ],
    )
    def test_a_name_of_0_2_is_obeyed_and_deprecated(
        self, root: APIClient, shelf: Collection, address: str, old: str, new: str
    ) -> None:
        fill(shelf, 1)
        past, present = (root.get(f"{V1}/{address}/", {name: "Text"}) for name in (old, new))
        assert past.status_code == present.status_code == 200
        assert past.headers["Deprecation"] == "@1795824000"
        assert "Deprecation" not in present.headers
        for each in (past, present):
            for name in ("search_id", "milliseconds", "next"):
                each.json().pop(name, None)
        assert past.json().get("total") == present.json().get("total")
        both = root.get(f"{V1}/{address}/", {old: "Text", new: "Text"})
        assert (both.status_code, list(both.json()["errors"])) == (400, [old])

    def test_a_golden_query_has_a_query(self, root: APIClient) -> None:
        past = root.post(f"{V1}/golden-queries/", {"text": "how deep"})
        assert (past.json()["query"], past.json()["text"]) == ("how deep", "how deep")
        assert past.headers["Deprecation"]
        wrong = root.patch(past.headers["Location"], {"query": ""})
        assert (wrong.status_code, list(wrong.json()["errors"])) == (400, ["query"])

    def test_weights_of_a_response_can_be_sent_back(
        self, root: APIClient, shelf: Collection
    ) -> None:
        fill(shelf, 1)
        shown = root.post(f"{V1}/search/", {"query": "deep text", "class": "general"}).json()
        weights = shown["weights"]
        noise = weights | {"vector": weights["vector"] + 1e-16}
        again = root.post(f"{V1}/search/", {"query": "deep text", "weights": noise})
        assert again.json()["weights"] == weights
        draft = root.post(f"{V1}/profiles/", {"weights": {"general": noise}})
        assert draft.json()["weights"]["general"] == weights
        assert root.get(f"{V1}/profiles/{draft.json()['key']}/").status_code == 200

    def test_one_address_processes_again_what_failed_and_what_did_not(
        self, root: APIClient, shelf: Collection
    ) -> None:
        good = make_document(shelf, "# A\n\nText.\n")
        torn = make_document(shelf, b"%PDF-1.4 torn", file_name="torn.pdf")
        again = {"state": "queued"}
        # 0.2 had an address of its own for what failed, which processes nothing else again.
        for each, status in ((good, 409), (torn, 202)):
            old = root.post(f"{V1}/documents/{each.public_id}/retry/")
            assert (old.status_code, old.headers["Deprecation"]) == (status, "@1795824000")
        assert root.patch(f"{V1}/documents/{torn.public_id}/", again).status_code == 409
        response = root.patch(f"{V1}/documents/{good.public_id}/", again)
        assert (response.status_code, response.json()["state"]) == (202, "queued")
        assert (good.versions.count(), torn.versions.count()) == (2, 1)


TRUE, FALSE = {"deleted": True}, {"deleted": False}


class TestBin:
    def test_a_collection_is_read_and_restored(self, root: APIClient, shelf: Collection) -> None:
        document = make_document(shelf, "# A\n\nText.\n")
        address = f"{V1}/collections/{shelf.slug}/"
        assert root.put(f"{V1}/sources/wiki/", {"collection": shelf.slug}).status_code == 201
        assert root.put(f"{V1}/sources/wiki/", {"collection": shelf.slug}).status_code == 200
        assert root.delete(address).status_code == 204
        assert root.get(address).status_code == 404
        assert root.get(address, {"deleted": "true"}).json()["deleted_at"]
        listed = root.get(f"{V1}/collections/", {"deleted": "true"}).json()["results"]
        assert [row["slug"] for row in listed] == [shelf.slug]
        assert root.get(f"{V1}/sources/wiki/").status_code == 200
        for body, status in (
            (TRUE, 400),
            ({**FALSE, "name": "X"}, 400),
            (FALSE, 200),
            (FALSE, 404),
        ):
            restored = root.patch(address, body)
            assert restored.status_code == status, restored.json()
            if status == 200:
                assert restored.json()["deleted_at"] is None
        assert root.get(f"{V1}/documents/{document.public_id}/").status_code == 200

    def test_a_source_of_a_binned_collection_can_be_forgotten(
        self, root: APIClient, shelf: Collection
    ) -> None:
        root.put(f"{V1}/sources/wiki/", {"collection": shelf.slug})
        root.delete(f"{V1}/collections/{shelf.slug}/")
        other = make_collection("Other")
        moved = root.put(f"{V1}/sources/wiki/", {"collection": other.slug})
        assert moved.status_code == 409
        assert root.delete(f"{V1}/sources/wiki/").status_code == 204
        assert root.put(f"{V1}/sources/wiki/", {"collection": other.slug}).status_code == 201

    def test_a_document_is_read_by_its_id(
        self,
        root: APIClient,
        api: APIClient,
        reader: User,
        administrator: User,
        shelf: Collection,
    ) -> None:
        document = make_document(shelf, "# A\n\nText.\n")
        services.delete([document], acting_user=None)
        address = f"{V1}/documents/{document.public_id}/"
        assert root.get(address).status_code == 404
        assert root.get(address, {"deleted": "true"}).json()["deleted_at"]
        api.force_authenticate(reader)
        assert api.get(address, {"deleted": "true"}).status_code == 403
        assert api.get(f"{V1}/collections/", {"deleted": "true"}).status_code == 403
        assert api.patch(address, FALSE).status_code == 403
        api.force_authenticate(administrator)
        assert root.patch(address, FALSE, headers={"If-Match": "nonsense"}).status_code == 412
        tag = root.get(address, {"deleted": "true"}).headers["ETag"]
        restored = root.patch(address, FALSE, headers={"If-Match": tag})
        assert (restored.status_code, restored.json()["searchable"]) == (200, True)


class TestOriginals:
    @pytest.mark.parametrize(
        ("header", "status", "part"),
        [
            ("", 200, slice(None)),
            ("bytes=2-5", 206, slice(2, 6)),
            ("bytes=6-", 206, slice(6, None)),
            ("bytes=-3", 206, slice(-3, None)),
            ("bytes=0-9999", 200, slice(None)),
            ("bytes=9999-", 416, slice(0, 0)),
            ("bytes=5-2", 416, slice(0, 0)),
            ("bytes=0-1,3-4", 200, slice(None)),
            ("bytes=-", 200, slice(None)),
        ],
    )
    def test_a_readers_token_downloads_any_part(
        self, reader: User, shelf: Collection, header: str, status: int, part: slice
    ) -> None:
        content = b"# A\n\nThe whole text.\n"
        document = make_document(shelf, content)
        token = tokens.make(reader, name="x", scopes=["read"])[1]
        api = APIClient(headers={"authorization": f"Bearer {token}"})
        address = api.get(f"{V1}/documents/{document.public_id}/").json()["original"]
        response = api.get(address, headers={"range": header} if header else {})
        received = response.getvalue()
        assert (response.status_code, received) == (status, content[part])
        if status < 300:
            assert response.headers["Content-Length"] == str(len(received))
            other = {"range": "bytes=1-2", "if-range": '"another"'}
            assert api.get(address, headers=other).getvalue() == content
        if status == 206:
            first = content.index(received)
            span = f"bytes {first}-{first + len(received) - 1}/{len(content)}"
            assert response.headers["Content-Range"] == span


class TestRest:
    def test_me(self, api: APIClient, reader: User, settings: Any) -> None:
        assert api.get(f"{V1}/me/").json() == {
            "username": None, "token": None, "permissions": [], "quotas": [],
        }  # fmt: skip
        settings.QUOTAS_USER = {"searches": 5}
        token = tokens.make(reader, name="robot", scopes=["upload"])[1]
        own = APIClient(headers={"authorization": f"Bearer {token}"}).get(f"{V1}/me/").json()
        assert (own["username"], own["token"]["scopes"]) == ("reader", ["upload"])
        assert own["quotas"] == [{"name": "searches", "used": 0, "limit": 5}]

    def test_a_judgement_is_taken_back_by_whoever_gave_it(
        self, root: APIClient, administrator: User, shelf: Collection
    ) -> None:
        document = make_document(shelf, "# A\n\nText.\n")
        sent = {"query": "text", "document": str(document.public_id), "grade": 3}
        made = root.post(f"{V1}/judgements/", sent).json()
        address = f"{V1}/judgements/{made['id']}/"
        golden = root.get(f"{V1}/judgements/", {"golden_query": made["golden_query"]})
        assert golden.json()["total"] == 1
        root.force_authenticate(User.objects.create_superuser("other"))
        assert root.delete(address).status_code == 404
        root.force_authenticate(administrator)
        assert root.delete(address).status_code == 204
        assert root.get(address).status_code == 404

    def test_a_limit_that_an_import_has_not_is_refused(
        self, root: APIClient, shelf: Collection, settings: Any
    ) -> None:
        settings.URL_IMPORT = True
        sent = {"collection": shelf.slug, "kind": "url", "origin": "https://a.b", "depth": 2}
        refused = root.post(f"{V1}/imports/", sent)
        assert (refused.status_code, list(refused.json()["errors"])) == (400, ["depth"])

    @pytest.mark.parametrize(
        ("address", "query"),
        [
            ("profile-changes", {"profile": "nope"}),
            ("documents", {"concept": "nope"}),
            ("suggestions", {"query": "te", "collection": "nope"}),
            ("curation/pin", {"document": "00000000-0000-4000-8000-000000000000"}),
            ("judgements", {"golden_query": "00000000-0000-4000-8000-000000000000"}),
        ],
    )
    def test_an_unknown_value_of_a_filter_is_refused(
        self, root: APIClient, address: str, query: dict[str, str]
    ) -> None:
        refused = root.get(f"{V1}/{address}/", query)
        assert (refused.status_code, list(refused.json()["errors"])) == (400, [list(query)[-1]])

    @pytest.mark.parametrize(
        ("name", "value", "note"),
        [
            ("meta", "nope:1", "metadata key nope"),
            ("document", "00000000-0000-4000-8000-000000000000", "A document that you named"),
            ("concept", "nope", "the concept that you named"),
        ],
    )
    def test_a_search_says_what_it_does_not_know(
        self, root: APIClient, shelf: Collection, name: str, value: str, note: str
    ) -> None:
        fill(shelf, 1)
        notes = root.get(f"{V1}/search/", {"query": "text", name: value}).json()["notes"]
        assert any(note in each for each in notes), notes

    def test_a_program_registers_its_webhook(self, root: APIClient, shelf: Collection) -> None:
        sent = {
            "name": "Wiki", "url": "https://example.org/hook", "events": ["document.ready"],
            "collections": [shelf.slug],
        }  # fmt: skip
        made = root.post(f"{V1}/webhooks/", sent)
        assert made.status_code == 201, made.json()
        webhook = Webhook.objects.get()
        assert made.json()["secret"] == webhook.secret
        assert webhook.acts_for == User.objects.get()
        address = made.headers["Location"]
        shown = root.get(address).json()
        assert (shown["secret"], shown["collections"]) == (None, [shelf.slug])
        assert root.patch(address, {"active": False}).json()["active"] is False
        for wrong, name in (
            ({"url": "http://127.0.0.1/"}, "url"),
            ({"events": ["nope"]}, "events"),
            ({"events": []}, "events"),
            ({"collections": ["nope"]}, "collections"),
        ):
            refused = root.patch(address, wrong)
            assert (refused.status_code, list(refused.json()["errors"])) == (400, [name])
        services.delete_collection(shelf, acting_user=None)
        assert root.get(address).json()["collections"] == []
        assert root.delete(address).status_code == 204

    def test_one_document_of_a_source_is_deleted(self, root: APIClient, shelf: Collection) -> None:
        root.put(f"{V1}/sources/wiki/", {"collection": shelf.slug})
        address = f"{V1}/sources/wiki/documents/?id="
        for key in ("a", "b"):
            sent = {"etag": "1", "file": SimpleUploadedFile("a.md", f"# {key}\n".encode())}
            assert root.put(f"{address}{key}", sent, format="multipart").status_code == 202
        assert root.delete(f"{address}a").status_code == 204
        assert root.delete(f"{address}a").status_code == 404
        rows = root.get(f"{V1}/sources/wiki/documents/").json()["results"]
        assert [row["id"] for row in rows] == ["b"]
        assert Document.objects.undeleted().count() == 1
