"""What stands around the pages: the header, signing in and out, and the error pages."""

from __future__ import annotations

import re

import pytest
from django.template import loader
from django.test import Client, RequestFactory
from django.views import defaults

from common.accounts.models import User

pytestmark = pytest.mark.django_db


def test_a_visitor_can_sign_in_and_comes_back(client: Client, reader: User) -> None:
    page = client.get("/", {"q": "a b"}).content.decode()
    assert 'href="/login/?next=%2F%3Fq%3Da%2Bb"' in page
    assert "/admin/" not in page

    response = client.post(
        "/login/", {"username": "reader", "password": "pw-reader", "next": "/?q=a+b"}
    )
    assert response.headers["Location"] == "/?q=a+b"
    page = client.get("/").content.decode()
    assert "Sign out" in page
    assert "/admin/" not in page

    assert client.post("/logout/").headers["Location"] == "/"
    assert "Sign in" in client.get("/").content.decode()


def test_staff_find_the_admin(client: Client, administrator: User) -> None:
    client.force_login(administrator)
    assert 'href="/admin/"' in client.get("/").content.decode()


def test_a_wrong_password_says_so_and_keeps_the_name(client: Client, reader: User) -> None:
    page = client.post("/login/", {"username": "reader", "password": "no"}).content.decode()

    assert 'role="alert"' in page
    assert 'value="reader"' in page
    assert "pw-" not in page


def test_no_other_site_is_led_to(client: Client, reader: User) -> None:
    credentials = {"username": "reader", "password": "pw-reader", "next": "https://evil.example/"}
    assert client.post("/login/", credentials).headers["Location"] == "/"


def test_a_wrong_address_keeps_the_frame(client: Client) -> None:
    response = client.get("/nothing/here/")

    assert response.status_code == 404
    assert "Page not found" in response.content.decode()
    assert 'class="brand"' in response.content.decode()


def test_an_expired_form_says_what_to_do(reader: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    response = strict.post("/login/", {"username": "reader", "password": "pw-reader"})

    assert response.status_code == 403
    assert "This form has expired" in response.content.decode()


@pytest.mark.parametrize(
    ("view", "status"), [(defaults.bad_request, 400), (defaults.permission_denied, 403)]
)
def test_refusals_have_the_frame(rf: RequestFactory, view: object, status: int) -> None:
    request = rf.get("/")
    response = view(request, Exception("inner words"))  # type: ignore[operator]

    assert response.status_code == status
    assert 'class="brand"' in response.content.decode()
    assert "inner words" not in response.content.decode()


def test_a_failure_has_a_page_that_needs_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("inner words")

    monkeypatch.setattr("search.pipeline.search", broken)
    client.raise_request_exception = False
    response = client.get("/", {"q": "x"})

    assert response.status_code == 500
    assert "Something went wrong" in response.content.decode()
    assert "inner words" not in response.content.decode()


@pytest.mark.parametrize("name", ["400.html", "500.html"])
def test_pages_of_last_resort_ask_nothing_of_the_database(name: str) -> None:
    html = loader.get_template(name).render()

    assert re.search(r'href="/static/search/base\.css"', html)


def test_an_empty_steelyard_tells_each_reader_what_to_do(
    client: Client, reader: User, administrator: User
) -> None:
    assert "There are no public documents." in client.get("/").content.decode()
    client.force_login(reader)
    assert "Ask an administrator" in client.get("/").content.decode()
    client.force_login(administrator)
    assert "Upload documents in the" in client.get("/").content.decode()
