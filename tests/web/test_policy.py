"""What every response carries: the Content-Security-Policy, and compression.

No template may contain what the policy stops.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.test import Client

from common.accounts.models import User
from kbsite.serving import refusals
from tests.support.factories import make_collection, make_document

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
def test_nonces_are_not_used_twice(client: Client) -> None:
    assert len({client.get("/")["Content-Security-Policy"] for _ in range(3)}) == 3


@pytest.mark.django_db
def test_the_admin_runs_no_inline_scripts(client: Client, administrator: User) -> None:
    client.force_login(administrator)
    policy = directives(client.get("/admin/"))
    assert "'unsafe-inline'" not in policy["script-src"]
    assert policy["script-src"][0] == "'self'"
    assert policy["default-src"] == ["'none'"]


@pytest.mark.django_db
def test_a_form_that_signs_in_may_lead_to_an_identity_provider(client: Client) -> None:
    assert "form-action" not in directives(client.get("/login/"))
    assert directives(client.get("/"))["form-action"] == ["'self'"]


@pytest.mark.django_db
def test_an_original_keeps_its_own_policy(client: Client) -> None:
    document = make_document(make_collection(), "Some text")
    response = client.get(f"/documents/{document.public_id}/original/")
    response.close()
    assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"


def test_pages_made_without_middleware_have_it_too() -> None:
    assert directives(refusals.busy("/", 1))["default-src"] == ["'none'"]


@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: str(path.relative_to(TEMPLATES)))
def test_no_public_template_has_what_the_policy_stops(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"""<style|\sstyle=["']|\son[a-z]+=["']|javascript:""", text)
    for tag in re.findall(r"<script\b[^>]*>", text):
        assert 'nonce="{{ csp_nonce }}"' in tag


def test_the_policy_is_one_dict() -> None:
    """Django 6 takes the same one."""
    assert set(site_settings.CONTENT_SECURITY_POLICY) == {"DIRECTIVES"}


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


@pytest.mark.django_db
def test_originals_are_not(client: Client) -> None:
    document = make_document(make_collection(), "Some text " * 100)
    address = f"/documents/{document.public_id}/original/"
    response = client.get(address, headers={"Accept-Encoding": "gzip"})
    response.close()
    assert "Content-Encoding" not in response
