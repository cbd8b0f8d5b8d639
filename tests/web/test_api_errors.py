"""Every error of the API has one shape, and only what nobody foresaw is a 500."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from redis.exceptions import ConnectionError as CacheIsAway
from rest_framework.test import APIClient
from rest_framework.throttling import SimpleRateThrottle

from common.accounts.models import User
from search import pipeline
from tests.support.factories import make_collection

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


def assert_shape(response: Any, status: int, code: str) -> dict[str, Any]:
    body: dict[str, Any] = response.json()
    assert response.status_code == status, body
    assert response.headers["Content-Type"] == "application/problem+json"
    assert (body["type"], body["status"], body["code"]) == ("about:blank", status, code)
    assert body["title"] == HTTPStatus(status).phrase
    assert body["detail"].endswith((".", "!", "?"))
    assert isinstance(body["errors"], dict)
    # What programs of 0.2 read.
    assert body["message"] == body["detail"]
    known = {"type", "title", "status", "detail", "code", "errors", "message", "details"}
    assert body["details"] == body["errors"] | {name: body[name] for name in body.keys() - known}
    return body


@pytest.mark.parametrize(
    "address",
    [
        "/api/v1/nothing/",
        "/api/v1/documents/not-a-uuid/",
        "/api/v1/documents/00000000-0000-4000-8000-000000000000/",
        "/api/v1/collections/no-such/",
        "/api/v1/profiles/no-such/",
        f"/api/v1/profiles/default@{'9' * 40}/",
        f"/api/v1/profiles/default@{'9' * 5000}/",
        "/api/v1/profiles/a%00b/",
        f"/api/v1/imports/{'9' * 5000}/",
    ],
)
def test_missing_and_hidden_rows_give_the_same_404(api: APIClient, address: str) -> None:
    body = assert_shape(api.get(address), 404, "not_found")

    assert body["detail"] == "Not found, or not visible to you."
    assert not body["details"]


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
@pytest.mark.parametrize(
    "address",
    ["/api/v1/threads/%C2%A2%0A/", "/api/v1/imports/%F2%B3%A0%93%0A/resume/", "/api/%0A/"],
)
def test_path_that_no_converter_matches_is_a_404(api: APIClient, method: str, address: str) -> None:
    assert_shape(getattr(api, method)(address), 404, "not_found")


def test_missing_slash_is_redirected_for_reading(api: APIClient) -> None:
    response = api.get("/api/v1/search?q=x")
    assert (response.status_code, response.headers["Location"]) == (301, "/api/v1/search/?q=x")
    posted = api.post("/api/v1/auth/token", {})
    assert_shape(posted, 404, "not_found")
    assert "/api/v1/auth/token/" in posted.json()["message"]


@pytest.mark.parametrize(
    ("method", "address"),
    [
        *((method, "/api/v1/search/") for method in ("put", "patch", "delete")),
        ("post", "/api/schema/"),
        ("delete", "/api/docs/"),
    ],
)
def test_unknown_method_is_a_405(api: APIClient, method: str, address: str) -> None:
    response = getattr(api, method)(address)

    assert_shape(response, 405, "method_not_allowed")
    assert "GET" in response.headers["Allow"]


@pytest.mark.parametrize(
    ("method", "address", "sent", "said"),
    [
        ("put", "/api/v1/search/", {}, "Use GET or POST."),
        ("post", "/api/v1/search/", {"data": "q=x", "content_type": "text/x"}, "application/json,"),
        ("post", "/api/v1/documents/", {"data": {"file": "a.md"}, "format": "multipart"}, "file=@"),
        ("post", "/api/v1/imports/", {"data": {"collection": "nope"}}, "There are: handbook."),
        ("post", "/v1/completions", {}, "/v1/chat/completions"),
    ],
)
def test_validation_error_names_the_expected_value(
    api: APIClient, administrator: User, method: str, address: str, sent: Any, said: str
) -> None:
    make_collection()
    api.force_authenticate(administrator)
    assert said in getattr(api, method)(address, **sent).content.decode()


def test_api_root_lists_links(api: APIClient, administrator: User) -> None:
    api.force_authenticate(administrator)
    links = api.get(api.get("/api/").json()["api"]).json()
    assert {"search", "documents", "collections", "answers", "profiles", "schema"} <= links.keys()
    assert {api.get(link).status_code for link in links.values()} <= {200, 400, 405}


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        (b'{"username": "\\u0000", "password": "x"}', "application/json", 400, "invalid"),
        (b'{"username": 1e999}', "application/json", 400, "invalid"),
        (b'{"username": %s}' % (b"9" * 5000), "application/json", 400, "parse_error"),
        (b'{"username": NaN}', "application/json", 400, "parse_error"),
        (b"<a/>", "application/xml", 415, "unsupported_media_type"),
        (b" " * (3 * 1024 * 1024), "application/json", 413, "body_too_large"),
    ],
    ids=["nul", "infinite", "digits", "nan", "xml", "large"],
)
def test_unreadable_body_is_a_400(
    api: APIClient, body: bytes, content_type: str, status: int, code: str
) -> None:
    """Others, as lists and torn ones, are sent to every address by test_api_fuzz.py."""
    response = api.generic("POST", "/api/v1/auth/token/", body, content_type=content_type)

    assert_shape(response, status, code)


@pytest.mark.parametrize(
    "body",
    [b"", b"--b\r\n", b"--b\r\nContent-Disposition: form-data; name=\r\n\r\nx\r\n--b--\r\n"],
    ids=["empty", "torn", "nameless"],
)
def test_a_torn_form_is_a_400(api: APIClient, administrator: User, body: bytes) -> None:
    api.force_authenticate(administrator)

    response = api.generic(
        "POST", "/api/v1/documents/", body, content_type="multipart/form-data; boundary=b"
    )

    assert_shape(response, 400, "invalid")


def test_too_many_form_fields_are_a_400(api: APIClient, administrator: User) -> None:
    api.force_authenticate(administrator)
    fields = {f"field{number}": "x" for number in range(1001)}

    response = api.post("/api/v1/documents/", fields, format="multipart")

    assert_shape(response, 400, "bad_request")


def test_unsupported_format_is_a_406(api: APIClient) -> None:
    response = api.get("/api/v1/search/", {"q": "x"}, headers={"accept": "text/html"})

    assert_shape(response, 406, "not_acceptable")


@pytest.mark.parametrize("scope", ["anon", "user"])
def test_too_many_requests_say_when_to_come_back(
    api: APIClient, reader: User, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, scope, "1/min")
    if scope == "user":
        api.force_authenticate(reader)
    assert api.get("/api/v1/collections/").status_code == 200

    response = api.get("/api/v1/collections/")

    body = assert_shape(response, 429, "throttled")
    assert body["wait_seconds"] == int(response.headers["Retry-After"])
    assert f" {response.headers['Retry-After']} s" in body["detail"]


def test_searches_on_the_page_count_with_those_of_the_api(
    api: APIClient, client: Client, reader: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "anon", "2/min")
    # The limit of users is not one of visitors, though DRF's own would count them, too.
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "user", "1/min")
    question = {"q": "slam"}
    assert client.get("/", question).status_code == 200
    assert api.get("/api/v1/search/", question).status_code == 200
    refused = client.get("/", question)
    assert refused.status_code == 429
    assert f"Search again in {refused['Retry-After']} s." in refused.text
    assert client.get("/").status_code == 200  # nothing is searched
    fragment = client.get("/", question, headers={"HX-Request": "true"})
    assert "Too many searches." in fragment.text

    client.force_login(reader)
    assert [client.get("/", question).status_code for _ in range(2)] == [200, 429]


@pytest.mark.usefixtures("clean_cache")
def test_requests_are_counted_from_the_first_of_a_period() -> None:
    counter: Any = cache
    assert [counter.count("asked", 60) for _ in range(2)] == [(1, 60), (2, 60)]
    cache.touch("asked", 5)
    counted, left = counter.count("asked", 60)
    assert (counted, left <= 5) == (3, True)
    cache.touch("asked", None)  # as if it had ended between two commands
    assert counter.count("asked", 60) == (4, 60)
    assert counter.count("asked", 60)[1] <= 60
    cache.delete("asked")
    assert counter.count("asked", 60) == (1, 60)


def test_without_the_cache_reading_works_and_sign_in_is_refused(
    api: APIClient, reader: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: Any, **kwargs: Any) -> Any:
        raise CacheIsAway("connection refused")

    for name in ("get", "count"):
        monkeypatch.setattr(type(cache._connections["default"]), name, away)  # type: ignore[attr-defined]

    assert api.get("/api/v1/collections/").status_code == 200
    credentials = {"username": "reader", "password": "pw-reader"}
    refused = api.post("/api/v1/auth/token/", credentials)
    assert_shape(refused, 503, "unavailable")
    assert int(refused.headers["Retry-After"])


def test_unexpected_error_is_not_swallowed(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError("a fault in the program")

    monkeypatch.setattr(pipeline, "search", broken)

    with pytest.raises(ZeroDivisionError):
        api.get("/api/v1/search/", {"q": "x"})
