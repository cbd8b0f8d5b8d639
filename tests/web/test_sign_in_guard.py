"""Guessed passwords: refused by address and by name, with the time to wait."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.contrib.auth import authenticate
from django.core.cache.backends.redis import RedisCacheClient
from django.core.management import CommandError, call_command
from django.test import Client
from rest_framework.test import APIClient
from rest_framework.throttling import SimpleRateThrottle

from common.accounts.models import User
from tests.support.admin_client import signed_in, staff

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

TOKEN = "/api/v1/auth/token/"
RIGHT = {"username": "reader", "password": "pw-reader"}


@pytest.fixture(autouse=True)
def three_failures(settings: Any, reader: User, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    settings.AXES_COOLOFF_TIME = timedelta(minutes=10)
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "login", "1000/min")


def guess(times: int, *, name: str = "reader", **meta: str) -> list[int]:
    wrong = {"username": name, "password": "guessed"}
    return [Client(**meta).post("/login/", wrong).status_code for _ in range(times)]  # type: ignore[arg-type]


class TestTheSignInPage:
    def test_sign_in_is_locked_after_failures_with_the_longest_wait(self) -> None:
        assert guess(3) == [200, 200, 429]
        response = Client().post("/login/", RIGHT)

        assert response.status_code == 429
        assert "10 minutes" in response.content.decode()
        assert response.headers["Retry-After"] == "600"
        assert not response.wsgi_request.user.is_authenticated

    def test_counter_that_expires_during_an_increment_restarts(self, monkeypatch: Any) -> None:
        guess(2)
        client = RedisCacheClient
        raised = client.incr

        def ended(self: Any, key: str, delta: int) -> Any:
            monkeypatch.setattr(client, "incr", raised)
            self.delete(key)
            return raised(self, key, delta)

        monkeypatch.setattr(client, "incr", ended)
        assert guess(1) == [429]  # the other count goes on

    def test_failures_are_counted_by_address(self) -> None:
        for name in ("a", "b", "c"):
            guess(1, name=name)

        assert Client().post("/login/", RIGHT).status_code == 429
        elsewhere = Client(REMOTE_ADDR="198.51.100.7")
        assert elsewhere.post("/login/", RIGHT).status_code == 302

    def test_failures_are_counted_by_name(self) -> None:
        for last in range(3):
            guess(1, REMOTE_ADDR=f"198.51.100.{last}")

        assert Client().post("/login/", RIGHT).status_code == 429
        other = User.objects.create_user("other", password="pw-other")
        wanted = {"username": other.username, "password": "pw-other"}
        assert Client().post("/login/", wanted).status_code == 302

    def test_commands_unlock_the_sign_in(self) -> None:
        guess(3)
        call_command("axes_reset_username", "reader", stdout=StringIO())
        assert Client().post("/login/", RIGHT).status_code == 429
        call_command("axes_reset_ip", "127.0.0.1", stdout=StringIO())
        assert Client().post("/login/", RIGHT).status_code == 302

    def test_the_command_that_resets_all_says_what_to_do(self) -> None:
        with pytest.raises(CommandError, match="axes_reset_username NAME"):
            call_command("axes_reset", stdout=StringIO())

    def test_a_name_that_looks_like_an_address_locks_no_address(self) -> None:
        for last in range(3):
            guess(1, name="127.0.0.1/", REMOTE_ADDR=f"198.51.100.{last}")
        assert Client().post("/login/", RIGHT).status_code == 302

    def test_successful_sign_in_resets_the_count(self) -> None:
        guess(2)
        assert Client().post("/login/", RIGHT).status_code == 302
        assert guess(2) == [200, 200]

    def test_the_admin_checks_no_password_of_its_own(self, administrator: User) -> None:
        given = {"username": "administrator", "password": "pw-administrator"}
        response = Client().post("/admin/login/", given)
        assert response.headers["Location"].startswith("/login/")
        assert not response.wsgi_request.user.is_authenticated


class TestBehindProxies:
    def forwarded(self, chain: str, **fields: str) -> int:
        client = Client(REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=chain)
        return client.post("/login/", {**RIGHT, **fields}).status_code

    def test_failures_are_counted_by_the_address_seen_by_the_nearest_proxy(
        self, settings: Any
    ) -> None:
        settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": 1}
        for made_up in ("1.1.1.1", "2.2.2.2", "3.3.3.3"):
            self.forwarded(f"{made_up}, 203.0.113.5", username=made_up)

        assert self.forwarded("4.4.4.4, 203.0.113.5") == 429
        assert self.forwarded("4.4.4.4, 203.0.113.6") == 302

    def test_forwarded_header_is_ignored_without_proxies(self) -> None:
        for made_up in ("1.1.1.1", "2.2.2.2", "3.3.3.3"):
            self.forwarded(made_up, username=made_up)
        assert self.forwarded("4.4.4.4") == 429

    def test_ipv6_addresses_are_counted_by_network(self) -> None:
        for last in range(3):
            guess(1, name=str(last), REMOTE_ADDR=f"2001:db8::{last}")
        assert Client(REMOTE_ADDR="2001:db8::ffff").post("/login/", RIGHT).status_code == 429


class TestTheApi:
    def test_api_shares_the_count_and_states_the_longest_wait(self) -> None:
        guess(3)
        response = APIClient().post(TOKEN, RIGHT)

        assert response.status_code == 429
        assert response.json()["code"] == "throttled"
        assert response.json()["details"]["wait_seconds"] == 600
        assert "10 minutes" in response.json()["message"]

    def test_failures_of_the_api_are_counted(self) -> None:
        for _ in range(3):
            APIClient().post(TOKEN, {**RIGHT, "password": "guessed"})
        assert Client().post("/login/", RIGHT).status_code == 429


class TestABrowserThatSignedInBefore:
    def known(self, **meta: Any) -> Client:
        client = Client(**meta)
        assert client.post("/login/", RIGHT).status_code == 302
        client.post("/logout/")
        return client

    def test_known_browser_is_not_locked_out_by_strangers(self) -> None:
        client = self.known()
        for last in range(3):
            guess(1, REMOTE_ADDR=f"198.51.100.{last}")

        assert Client().post("/login/", RIGHT).status_code == 429
        assert client.post("/login/", RIGHT).status_code == 302

    def test_known_browser_is_not_locked_out_by_its_network(self) -> None:
        client = self.known()
        for name in ("a", "b", "c"):
            guess(1, name=name)

        assert client.post("/login/", RIGHT).status_code == 302

    def test_known_browser_has_the_same_number_of_attempts(self) -> None:
        client = self.known()
        wrong = {**RIGHT, "password": "guessed"}
        assert [client.post("/login/", wrong).status_code for _ in range(4)][2:] == [429, 429]
        assert client.post("/login/", RIGHT).status_code == 429
        assert Client(REMOTE_ADDR="198.51.100.7").post("/login/", RIGHT).status_code == 302

    def test_known_browser_is_known_for_one_name_only(self) -> None:
        client = self.known()
        User.objects.create_user("other", password="pw-other")
        for last in range(3):
            guess(1, name="other", REMOTE_ADDR=f"198.51.100.{last}")

        right = {"username": "other", "password": "pw-other"}
        assert client.post("/login/", right).status_code == 429

    @pytest.mark.parametrize("cookie", ["forged", "", "a:b:c"])
    def test_forged_device_cookie_is_ignored(self, cookie: str) -> None:
        client = Client()
        client.cookies["steelyard_device"] = cookie
        for last in range(3):
            guess(1, REMOTE_ADDR=f"198.51.100.{last}")
        assert client.post("/login/", RIGHT).status_code == 429


def test_commands_authenticate_without_an_address(reader: User) -> None:
    assert authenticate(username="reader", password="pw-reader") == reader


# --- Second factors ------------------------------------------------------------------------------

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def code() -> str:
    return code_of(SECRET)


def code_of(secret: str) -> str:
    # Of now: that of the half minute before, the first one, may be too old when it is sent.
    _, counter, _ = totp.yield_hotp_counters_from_time()
    return str(totp.format_hotp_value(totp.hotp_value(secret, counter)))


@pytest.fixture
def secured(reader: User) -> User:
    totp.TOTP.activate(reader, SECRET)
    return reader


class TestSigningIn:
    def test_sign_in_asks_for_the_code_after_the_password(self, secured: User) -> None:
        client = Client()
        response = client.post("/login/", {**RIGHT, "next": "/library/"})
        assert response.headers["Location"].startswith("/accounts/2fa/authenticate/")
        assert "_auth_user_id" not in client.session

        page = client.get("/accounts/2fa/authenticate/").content.decode()
        assert 'class="brand"' in page
        wrong = client.post("/accounts/2fa/authenticate/", {"code": "000000"})
        assert "Incorrect code" in wrong.content.decode()
        done = client.post("/accounts/2fa/authenticate/", {"code": code()})
        assert done.headers["Location"] == "/library/"
        assert int(client.session["_auth_user_id"]) == secured.pk

    def test_a_password_alone_makes_no_token(self, secured: User) -> None:
        response = APIClient().post("/api/v1/auth/token/", RIGHT)
        assert response.status_code == 403
        assert "/me/tokens/" in response.json()["message"]

    def test_the_secret_is_not_readable_in_the_database(self, secured: User) -> None:
        stored = Authenticator.objects.get(type="totp")
        assert SECRET not in str(stored.data)
        assert stored.wrap().validate_code(code())

    def test_superuser_removes_a_lost_second_factor(self, secured: User, desk: Client) -> None:
        row = Authenticator.objects.get(type="totp")
        address = "/admin/mfa/authenticator/"
        assert SECRET not in desk.get(address).content.decode()
        desk.post(f"{address}{row.pk}/delete/", {"post": "yes"})
        assert Client().post("/login/", RIGHT).headers["Location"] == "/"

    def test_staff_cannot_remove_a_second_factor(self, secured: User) -> None:
        row = Authenticator.objects.get(type="totp")
        warden = staff("warden", "view_authenticator", "delete_authenticator")
        address = f"/admin/mfa/authenticator/{row.pk}/delete/"
        assert signed_in(warden).post(address, {"post": "yes"}).status_code == 403


class TestSettingOneUp:
    @pytest.fixture
    def client(self, reader: User) -> Client:
        client = Client()
        client.post("/login/", RIGHT)
        client.post("/accounts/reauthenticate/", {"password": "pw-reader"})
        return client

    def test_second_factor_is_set_up_by_a_code(self, client: Client, reader: User) -> None:
        page = client.get("/accounts/2fa/totp/activate/")
        assert "<svg" in page.content.decode()
        assert "data:" not in page.content.decode()
        given = code_of(page.context["form"].secret)
        client.post("/accounts/2fa/totp/activate/", {"code": given})
        assert Authenticator.objects.filter(user=reader, type="totp").exists()

    @pytest.mark.parametrize(
        "address",
        [
            "/accounts/2fa/", "/accounts/2fa/webauthn/add/", "/accounts/2fa/webauthn/",
            "/accounts/password/", "/accounts/sign-on/", "/accounts/inactive/",
        ],
    )  # fmt: skip
    def test_second_factor_pages_have_the_frame(self, client: Client, address: str) -> None:
        page = client.get(address).content.decode()
        assert 'class="brand"' in page
        assert "<script>" not in page

    def test_a_password_is_changed_and_ends_tokens(self, client: Client, reader: User) -> None:
        new = {"password1": "a-long-enough-one-77", "password2": "a-long-enough-one-77"}
        response = client.post("/accounts/password/", {"oldpassword": "pw-reader", **new})
        assert response.headers["Location"] == "/me/"
        reader.refresh_from_db()
        assert reader.check_password("a-long-enough-one-77")
        assert client.get("/me/").status_code == 200


class TestRequiredOfStaff:
    @pytest.fixture
    def keeper(self, settings: Any) -> User:
        settings.STAFF_SECOND_FACTOR = "all"
        return staff("keeper", "view_pin", "view_document")

    def test_admin_redirects_staff_without_second_factor(self, keeper: User) -> None:
        client = signed_in(keeper)
        response = client.get("/admin/", follow=True)
        assert response.redirect_chain[-1][0] == "/accounts/2fa/"
        assert client.get("/").status_code == 200

    def test_api_refuses_staff_without_second_factor(self, keeper: User) -> None:
        client = APIClient()
        client.force_login(keeper)
        response = client.get("/api/v1/pins/")
        assert response.status_code == 403
        assert "/accounts/2fa/" in response.json()["message"]

    def test_tokens_of_staff_without_second_factor_are_refused(self, keeper: User) -> None:
        made = signed_in(keeper).post("/me/tokens/", {"name": "x", "scopes": ["read"], "days": "7"})
        assert made.status_code == 400
        given = {"username": "keeper", "password": "pw-keeper"}
        assert APIClient().post("/api/v1/auth/token/", given).status_code == 403

    def test_staff_with_second_factor_enter_the_admin(self, keeper: User) -> None:
        totp.TOTP.activate(keeper, SECRET)
        assert signed_in(keeper).get("/admin/").status_code == 200

    def test_readers_need_no_second_factor(self, keeper: User, reader: User) -> None:
        assert signed_in(reader).get("/me/tokens/").status_code == 200
        assert APIClient().post("/api/v1/auth/token/", RIGHT).status_code == 201

    @pytest.mark.parametrize(("rule", "status"), [("password", 200), ("all", 302)])
    def test_sign_on_counts_as_second_factor_by_setting(
        self, keeper: User, settings: Any, rule: str, status: int
    ) -> None:
        settings.STAFF_SECOND_FACTOR = rule
        client = signed_in(keeper)
        session = client.session
        session["account_authentication_methods"] = [{"method": "socialaccount", "at": 1}]
        session["account_authentication_methods_user"] = str(keeper.pk)
        session.save()
        assert client.get("/admin/").status_code == status
