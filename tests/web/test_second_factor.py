"""Second factors: asked for after the password, required of staff by a setting, kept secret."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.test import Client
from rest_framework.test import APIClient

from common.accounts.models import User
from tests.support.admin_client import signed_in, staff

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
RIGHT = {"username": "reader", "password": "pw-reader"}


def code() -> str:
    return code_of(SECRET)


def code_of(secret: str) -> str:
    counter = next(iter(totp.yield_hotp_counters_from_time()))
    return str(totp.format_hotp_value(totp.hotp_value(secret, counter)))


@pytest.fixture
def secured(reader: User) -> User:
    totp.TOTP.activate(reader, SECRET)
    return reader


class TestSigningIn:
    def test_asks_for_the_code_after_the_password(self, secured: User) -> None:
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

    def test_a_superuser_removes_a_lost_one(self, secured: User, administrator: User) -> None:
        admin = signed_in(administrator)
        row = Authenticator.objects.get(type="totp")
        address = "/admin/mfa/authenticator/"
        assert SECRET not in admin.get(address).content.decode()
        admin.post(f"{address}{row.pk}/delete/", {"post": "yes"})
        assert Client().post("/login/", RIGHT).headers["Location"] == "/"

    def test_other_staff_do_not(self, secured: User) -> None:
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

    def test_codes(self, client: Client, reader: User) -> None:
        page = client.get("/accounts/2fa/totp/activate/")
        assert "<svg" in page.content.decode()
        assert "data:" not in page.content.decode()
        given = code_of(page.context["form"].secret)
        client.post("/accounts/2fa/totp/activate/", {"code": given})
        assert Authenticator.objects.filter(user=reader, type="totp").exists()

    @pytest.mark.parametrize(
        "address",
        [
            "/accounts/2fa/",
            "/accounts/2fa/webauthn/add/",
            "/accounts/2fa/webauthn/",
            "/accounts/password/",
            "/accounts/sign-on/",
            "/accounts/inactive/",
        ],
    )
    def test_the_pages_have_the_frame(self, client: Client, address: str) -> None:
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

    def test_the_admin_leads_to_the_page_that_adds_one(self, keeper: User) -> None:
        client = signed_in(keeper)
        response = client.get("/admin/", follow=True)
        assert response.redirect_chain[-1][0] == "/accounts/2fa/"
        assert client.get("/").status_code == 200

    def test_so_does_their_api(self, keeper: User) -> None:
        client = APIClient()
        client.force_login(keeper)
        response = client.get("/api/v1/pins/")
        assert response.status_code == 403
        assert "/accounts/2fa/" in response.json()["message"]

    def test_and_no_token_goes_round_it(self, keeper: User) -> None:
        made = signed_in(keeper).post("/me/tokens/", {"name": "x", "scopes": ["read"], "days": "7"})
        assert made.status_code == 400
        given = {"username": "keeper", "password": "pw-keeper"}
        assert APIClient().post("/api/v1/auth/token/", given).status_code == 403

    def test_with_one_they_work(self, keeper: User) -> None:
        totp.TOTP.activate(keeper, SECRET)
        assert signed_in(keeper).get("/admin/").status_code == 200

    def test_readers_need_none(self, keeper: User, reader: User) -> None:
        assert signed_in(reader).get("/me/tokens/").status_code == 200
        assert APIClient().post("/api/v1/auth/token/", RIGHT).status_code == 201

    @pytest.mark.parametrize(("rule", "status"), [("password", 200), ("all", 302)])
    def test_a_sign_on_counts_by_setting(
        self, keeper: User, settings: Any, rule: str, status: int
    ) -> None:
        settings.STAFF_SECOND_FACTOR = rule
        client = signed_in(keeper)
        session = client.session
        session["account_authentication_methods"] = [{"method": "socialaccount", "at": 1}]
        session["account_authentication_methods_user"] = str(keeper.pk)
        session.save()
        assert client.get("/admin/").status_code == status
