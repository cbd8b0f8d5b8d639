"""What stands around the pages: the header, signing in and out, and the error pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.template import loader
from django.test import Client, RequestFactory
from django.views import defaults

from common.accounts.models import User
from ingestion.models import State
from kbsite.serving import refusals
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


def test_a_visitor_can_sign_in_and_comes_back_to_no_other_site(
    client: Client, reader: User
) -> None:
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

    credentials = {"username": "reader", "password": "pw-reader", "next": "https://evil.example/"}
    assert client.post("/login/", credentials).headers["Location"] == "/"


def test_a_wrong_password_says_so_and_keeps_the_name(client: Client, reader: User) -> None:
    page = client.post("/login/", {"username": "reader", "password": "no"}).content.decode()

    assert 'role="alert"' in page
    assert 'value="reader"' in page
    assert "pw-" not in page


def test_not_found_page_has_the_frame(client: Client) -> None:
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
def test_error_pages_have_the_frame(rf: RequestFactory, view: object, status: int) -> None:
    request = rf.get("/")
    response = view(request, Exception("inner words"))  # type: ignore[operator]

    assert response.status_code == status
    assert 'class="brand"' in response.content.decode()
    assert "inner words" not in response.content.decode()


def test_server_error_page_needs_no_database(
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
def test_static_error_pages_make_no_query(name: str) -> None:
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


# --- Scripts and event handlers of uploaded pages never reach a page of ours, nor do file names ---


def test_injected_scripts_are_escaped(desk: Client) -> None:
    page = (
        "<!doctype html><title><script>alert(1)</script></title>"
        "<h1 onclick=alert(2)>Beam <img src=x onerror=alert(3)></h1><script>alert(4)</script>"
        "<p>The long arm &lt;script&gt;alert(5)&lt;/script&gt; <a href='javascript:alert(6)'>on"
        "</a><svg onload=alert(7)></svg><iframe srcdoc='<script>alert(8)</script>'></iframe></p>"
    )
    document = make_document(
        make_collection(), page, file_name='<img src=x onerror="alert(9)">.html'
    )
    assert document.latest is not None
    assert document.latest.state == State.READY, document.latest.error
    admin = f"/admin/ingestion/document/{document.pk}/change/"
    urls = {document.get_absolute_url(): Client(), "/?q=long+arm": Client()}
    for url, client in (urls | {admin: desk}).items():
        shown = client.get(url).content.decode()
        assert "long" in shown or url == admin
        for hostile_text in ("<script>alert", "onerror=alert", "onclick=", "onload=", "<iframe"):
            assert hostile_text not in shown
        assert "javascript:alert" not in shown
        assert 'onerror="alert(9)"' not in shown


# --- What every response carries: the Content-Security-Policy, and compression -------------------

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
PUBLIC = [path for path in TEMPLATES.rglob("*.html") if "admin" not in path.parts]


def directives(response: Any) -> dict[str, list[str]]:
    header = response["Content-Security-Policy"]
    found = {}
    for part in header.split(";"):
        name, *sources = part.split()
        found[name] = sources
    return found


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path", ["/", "/library/", "/api/docs/", "/nowhere/", "/login/", "/api/v1/"]
)
def test_public_pages_run_only_scripts_with_the_nonce_of_the_response(
    client: Client, path: str
) -> None:
    response = client.get(path)
    policy = directives(response)
    nonces = {f"'nonce-{each}'" for each in re.findall(r'nonce="([^"]+)"', response.text)}
    assert set(policy["script-src"]) == nonces
    assert policy["default-src"] == policy["base-uri"] == ["'none'"]
    assert policy["frame-ancestors"] == ["'none'"]
    assert policy["style-src"] == ["'self'"]
    tags = re.findall(r"<script\b[^>]*>", response.text)
    assert all('nonce="' in tag for tag in tags)
    assert len(nonces) == bool(tags)


@pytest.mark.django_db
def test_nonces_are_not_used_twice_and_a_form_may_lead_to_an_identity_provider(
    client: Client,
) -> None:
    assert len({client.get("/")["Content-Security-Policy"] for _ in range(3)}) == 3

    assert "form-action" not in directives(client.get("/login/"))
    assert directives(client.get("/"))["form-action"] == ["'self'"]


@pytest.mark.django_db
def test_the_admin_runs_no_inline_scripts(client: Client, administrator: User) -> None:
    client.force_login(administrator)
    policy = directives(client.get("/admin/"))
    assert "'unsafe-inline'" not in policy["script-src"]
    assert policy["script-src"][0] == "'self'"
    assert policy["default-src"] == ["'none'"]


@pytest.mark.django_db
def test_an_original_keeps_its_own_policy_and_is_not_compressed(client: Client) -> None:
    document = make_document(make_collection(), "Some text " * 100)
    address = f"/documents/{document.public_id}/original/"
    response = client.get(address, headers={"Accept-Encoding": "gzip"})
    response.close()
    assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert "Content-Encoding" not in response


def test_pages_without_middleware_have_the_policy() -> None:
    page = refusals.busy("/", 1, is_search=True, method="GET")
    assert directives(page)["default-src"] == ["'none'"]


def test_public_templates_comply_with_the_policy() -> None:
    for path in PUBLIC:
        text = path.read_text()
        stopped = re.search(r"""<style|\sstyle=["']|\son[a-z]+=["']|javascript:""", text)
        assert not stopped, path
        for tag in re.findall(r"<script\b[^>]*>", text):
            assert 'nonce="{{ csp_nonce }}"' in tag, path


@pytest.mark.django_db
def test_pages_and_json_are_compressed(client: Client) -> None:
    packed = {"Accept-Encoding": "gzip"}
    for address in ("/", "/api/schema/"):
        response = client.get(address, headers=packed)
        assert response["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in response["Vary"]
    # Of equal content, so that lengths say nothing.
    lengths = {len(client.get("/login/", headers=packed).content) for _ in range(8)}
    assert len(lengths) > 1


def test_a_reader_chooses_theme_and_language_and_returns_to_the_page(client: Client) -> None:
    def choose(address: str = "/?q=a", **chosen: str) -> str:
        response = client.post("/appearance/", chosen, headers={"referer": address})
        return response.headers["Location"]

    assert "data-theme" not in client.get("/").content.decode()
    assert choose("http://testserver/?q=a", theme="dark") == "http://testserver/?q=a"
    assert '<html lang="en" data-theme="dark">' in client.get("/").content.decode()
    choose(language="de")
    assert '<html lang="de" data-theme="dark">' in client.get("/").content.decode()

    choose(theme="x\"onload='")
    choose(theme="")
    assert '<html lang="de">' in client.get("/").content.decode()
    assert choose("https://evil.example/", theme="light") == "/"
    assert client.get("/appearance/").status_code == 405
