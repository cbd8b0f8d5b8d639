"""Tokens: made from a password, hashed, shown once, expiring, listed and revoked by their owner."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from knox.models import AuthToken
from rest_framework.test import APIClient
from rest_framework.throttling import SimpleRateThrottle

from common.accounts.models import User

TOKEN = "/api/v1/auth/token/"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


def login(api: APIClient, username: str = "reader", password: str = "pw-reader") -> Any:
    return api.post(TOKEN, {"username": username, "password": password})


def with_token(token: str) -> APIClient:
    return APIClient(headers={"authorization": f"Token {token}"})


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
def test_wrong_credentials_make_none(
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
    ["Token", "Token a b", "Token wrong", "Token " + "0" * 64, "Token \xff\xfe", "Token ab\x00"],
    ids=ascii,
)
def test_a_wrong_header_is_401(header: str) -> None:
    response = APIClient(HTTP_AUTHORIZATION=header).get("/api/v1/collections/")

    assert response.status_code == 401
    assert response.json()["code"] == "authentication_failed"


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


def test_nobody_revokes_the_token_of_another(token: str, member: User) -> None:
    other = login(APIClient(), "member", "pw-member").json()

    response = with_token(token).delete(f"{TOKEN}{other['key']}/")

    assert response.status_code == 404
    assert with_token(other["token"]).get(TOKEN).status_code == 200


def test_logout_ends_this_token_and_logoutall_every_one(api: APIClient, token: str) -> None:
    second, third = (login(api).json()["token"] for _ in range(2))

    assert with_token(token).post("/api/v1/auth/logout/").status_code == 204
    assert [with_token(t).get(TOKEN).status_code for t in (token, second)] == [401, 200]
    assert with_token(second).post("/api/v1/auth/logoutall/").status_code == 204
    assert [with_token(t).get(TOKEN).status_code for t in (second, third)] == [401, 401]


def test_a_session_lists_tokens_and_has_none_to_log_out(reader: User) -> None:
    client = APIClient()
    client.force_login(reader)

    assert client.get(TOKEN).json()["total"] == 0
    assert client.post("/api/v1/auth/logout/").status_code == 400


def test_a_session_without_its_csrf_token_writes_nothing(administrator: User) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(administrator)

    response = client.post("/api/v1/auth/logoutall/")

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
        api.post("/api/v1/auth/logout/"),
        api.post("/api/v1/auth/logoutall/"),
    ):
        assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")
