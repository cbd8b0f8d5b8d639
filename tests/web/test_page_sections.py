"""Sections that share a passage: named and opened one by one, on pages, over the API and MCP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from ingestion.models import Chunk
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.shown_results import headings

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

SETTINGS = """# Settings

## Sessions

### SESSION_COOKIE_AGE

Default: 1209600. The age of session cookies in seconds.

### SESSION_COOKIE_DOMAIN

Default: None. The domain that browsers send the cookies to.
"""


@pytest.fixture(scope="module", autouse=True)
def _documents(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with lasting(django_db_blocker):
        make_document(make_collection(), SETTINGS, file_name="settings.md")
        yield


def test_a_result_names_and_opens_the_section_that_matched(client: Client) -> None:
    html = client.get("/", {"q": "SESSION_COOKIE_DOMAIN"}).content.decode()
    assert headings(html) == ["SESSION_COOKIE_DOMAIN"]
    assert "First because it defines SESSION_COOKIE_DOMAIN" in html
    assert '<span class="crumb">Sessions</span>' in html
    (address,) = re.findall(r'class="result-link" href="([^"]+)"', html)
    assert address.endswith("#section-session_cookie_domain")
    page = client.get(address.replace("&amp;", "&")).content.decode()
    assert 'id="section-session_cookie_domain"' in page
    assert re.findall(r'<li class="level-(\d)"><a href="#([^"]+)"', page) == [
        ("1", "section-sessions"),
        ("2", "section-session_cookie_age"),
        ("2", "section-session_cookie_domain"),
    ]


def test_the_api_names_the_section(client: Client) -> None:
    (found,) = client.get("/api/v1/search/", {"q": "domain of browsers"}).json()["results"]
    assert found["heading_path"] == ["Settings", "Sessions"]
    assert found["section"] == {
        "heading": "SESSION_COOKIE_DOMAIN",
        "anchor": "session_cookie_domain",
        "path": ["Settings", "Sessions", "SESSION_COOKIE_DOMAIN"],
    }
    assert found["document"]["url"].endswith("?chunk=0#section-session_cookie_domain")


def test_passages_of_the_old_shape_have_the_headings_above_them(client: Client) -> None:
    Chunk.objects.update(sections=[], section_terms=None)
    html = client.get("/", {"q": "age of cookies"}).content.decode()
    assert headings(html) == ["Sessions"]
    (found,) = client.get("/api/v1/search/", {"q": "age of cookies"}).json()["results"]
    assert found["section"] == {
        "heading": "Sessions", "anchor": "", "path": ["Settings", "Sessions"],
    }  # fmt: skip
