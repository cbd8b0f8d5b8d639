"""Sections: the one around a result, and those that share a passage; on pages and in the API."""

from __future__ import annotations

import io
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion import services
from ingestion.documents import processing_steps
from ingestion.models import Chunk, Document, DocumentVersion, State, Visibility
from search.pipeline import search
from tests.samples import builders
from tests.support.factories import make_collection, make_document
from tests.support.shown_results import headings

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers", "clean_cache")]

ROPES = "Every halyard is spliced before the voyage begins, and the spare one lies below. "
TEXT = (
    "# Ship\n\n## Ropes\n\n" + "\n\n".join(f"Rope {n}. {ROPES * 3}" for n in range(8))
    + "\n\n## Pumps\n\nThe bilge pump is greased at noon.\n"
)  # fmt: skip
HTMX = {"HX-Request": "true"}


@pytest.fixture
def ship() -> Document:
    return make_document(make_collection("Ship", chunk_tokens=64, overlap_tokens=16), TEXT)


def chunk_of(document: Document, words: str) -> Chunk:
    return Chunk.objects.filter(version=document.current, text__contains=words).first()


def test_the_api_gives_the_section_around_a_result(
    ship: Document, django_assert_num_queries: Any
) -> None:
    (result, *_) = search("Rope 4", viewer=None).results
    asked = chunk_of(ship, "Rope 4").ordinal
    with django_assert_num_queries(2):
        found = APIClient().get(f"/api/v1/documents/{result.document_id}/sections/{asked}/").json()
    assert found["heading_path"] == ["Ship", "Ropes"]
    assert found["first"] <= asked <= found["last"]
    assert 64 < found["tokens"] <= 800
    assert "bilge" not in found["text"]
    # The text is the document's own, each sentence once, wherever chunks overlap.
    assert ship.current is not None
    own = ship.current.text[found["start"] : found["end"]]
    assert found["text"].split() == own.split()
    assert found["is_whole"]


def test_page_offers_and_shows_the_section(
    client: Client, ship: Document, django_assert_num_queries: Any
) -> None:
    asked = chunk_of(ship, "Rope 4").ordinal
    address = reverse("search:section", args=(ship.public_id, asked))
    page = client.get("/", {"q": "Rope 4"}).content.decode()
    shown = search("Rope 4", viewer=None).results[0].chunk
    assert reverse("search:section", args=(ship.public_id, shown)) in page
    with django_assert_num_queries(2):
        fragment = client.get(address, {"q": "Rope 4"}, headers=HTMX).content.decode()
    assert "<html" not in fragment
    assert "<mark>Rope</mark>" in fragment
    assert 'class="passage asked"' in fragment
    assert "<details open>" in fragment  # which its summary closes
    plain = client.get(address, {"q": "Rope 4"})
    assert plain["Location"] == f"{ship.get_absolute_url()}?chunk={asked}&q=Rope+4#chunk-{asked}"


def test_section_of_an_unreadable_document_is_not_found(client: Client, ship: Document) -> None:
    api = APIClient()
    address = f"/api/v1/documents/{ship.public_id}/sections/"
    assert api.get(f"{address}9999/").status_code == 404
    assert api.get(f"{address}99999999999999999999/").status_code == 404
    Chunk.objects.filter(version=ship.current, ordinal=1).update(searchable=False)
    assert api.get(f"{address}1/").status_code == 404
    ship.collection.visibility = Visibility.GROUPS
    ship.collection.save()
    assert api.get(f"{address}0/").status_code == 404
    page = reverse("search:section", args=(ship.public_id, 0))
    assert client.get(page, headers=HTMX).status_code == 404


# --- Parts in the API, on the page and in the admin ----------------------------------------------


@pytest.fixture
def whole() -> Document:
    members = {f"deck/{n}.md": f"# Rope {n}\n\nEvery halyard is spliced, {n}.\n" for n in range(3)}
    receipt = services.receive(
        make_collection("Ship"),
        io.BytesIO(builders.make_zip(members)),
        file_name="ship.zip",
        acting_user=None,
    )
    while version := DocumentVersion.objects.filter(state=State.QUEUED).first():
        assert processing_steps.advance(version.pk)
    return Document.objects.get(pk=receipt.document.pk)


@pytest.fixture
def part(whole: Document) -> Document:
    return whole.parts.get(part_path="deck/1.md")


def test_api_links_archive_and_members(
    whole: Document, part: Document, django_assert_num_queries: Any
) -> None:
    api = APIClient()
    shown = api.get(f"/api/v1/documents/{whole.public_id}/").json()
    assert (shown["parent"], shown["part_path"], shown["parts"]) == (None, "", 3)
    shown = api.get(f"/api/v1/documents/{part.public_id}/").json()
    assert (shown["parent"], shown["part_path"], shown["parts"]) == (
        str(whole.public_id),
        "deck/1.md",
        0,
    )
    with django_assert_num_queries(2):
        listed = api.get("/api/v1/documents/", {"parent": str(whole.public_id)}).json()
    assert {one["part_path"] for one in listed["results"]} == {f"deck/{n}.md" for n in range(3)}


def test_page_links_archive_and_members(
    client: Client, whole: Document, part: Document, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(5):
        page = client.get(whole.get_absolute_url()).content.decode()
    assert f'<a href="{part.get_absolute_url()}">deck/1.md</a>' in page
    with django_assert_num_queries(4):
        page = client.get(part.get_absolute_url()).content.decode()
    assert f'deck/1.md in <a href="{whole.get_absolute_url()}">ship</a>' in page


def test_members_are_hidden_with_their_archive(
    client: Client, whole: Document, part: Document
) -> None:
    whole.collection.visibility = Visibility.GROUPS
    whole.collection.save()
    assert client.get(part.get_absolute_url()).status_code == 404
    listed = APIClient().get("/api/v1/documents/", {"parent": str(whole.public_id)}).json()
    assert listed["results"] == []


def test_admin_distinguishes_members_from_uploads(
    client: Client, administrator: User, whole: Document, part: Document
) -> None:
    client.force_login(administrator)
    address = reverse("admin:ingestion_document_changelist")
    parts = client.get(address, {"origin": "part"}).content.decode()
    assert "Rope 1" in parts
    assert f'/document/{whole.pk}/change/"' not in parts
    uploads = client.get(address, {"origin": "upload"}).content.decode()
    assert "Rope 1" not in uploads
    page = client.get(reverse("admin:ingestion_document_change", args=(part.pk,))).content.decode()
    assert f'<a href="/admin/ingestion/document/{whole.pk}/change/">ship</a>, deck/1.md' in page
    page = client.get(reverse("admin:ingestion_document_change", args=(whole.pk,))).content.decode()
    assert f'?parent={whole.pk}">3 documents</a>' in page
    held = client.get(address, {"parent": whole.pk}).content.decode()
    assert "Rope 2" in held


# --- Sections that share a passage: named and opened one by one, on pages and over the API -------


SETTINGS = """# Settings

## Sessions

### SESSION_COOKIE_AGE

Default: 1209600. The age of session cookies in seconds.

### SESSION_COOKIE_DOMAIN

Default: None. The domain that browsers send the cookies to.
"""


@pytest.fixture
def cookies(db: None) -> Document:
    return make_document(make_collection(), SETTINGS, file_name="settings.md")


def test_a_result_names_and_opens_the_section_that_matched(
    client: Client, cookies: Document
) -> None:
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


def test_the_api_names_the_section(client: Client, cookies: Document) -> None:
    (found,) = client.get("/api/v1/search/", {"q": "domain of browsers"}).json()["results"]
    assert found["heading_path"] == ["Settings", "Sessions"]
    assert found["section"] == {
        "heading": "SESSION_COOKIE_DOMAIN",
        "anchor": "session_cookie_domain",
        "path": ["Settings", "Sessions", "SESSION_COOKIE_DOMAIN"],
    }
    assert found["document"]["url"].endswith("?chunk=0#section-session_cookie_domain")


PACKED = """# Settings

## Sessions

### SESSION_COOKIE_AGE

Default: 1209600. How long they last, in seconds, counted from the last change of what is stored.

### SESSION_CACHE_ALIAS

Default: 'default'. Which of the caches to use for session data. The default age of a cookie, of
the session cookie, too, is the default of its own setting, and of no cache at any age whatsoever.

### SESSION_PATHS

#### SESSION_FILE_PATH

Default: None. Where files go if a session is stored in files.
"""


@pytest.mark.parametrize(
    ("question", "heading", "quoted"),
    [
        ("SESSION_COOKIE_AGE default", "SESSION_COOKIE_AGE", "Default: 1209600"),
        ("default age of a session in the cache", "SESSION_CACHE_ALIAS", "Which of the"),
        ('"files go"', "SESSION_FILE_PATH", "Where files go"),
        ("SESSION_PATHS", "SESSION_PATHS", "Where files go"),
    ],
    ids=["named", "most words elsewhere", "exact words", "only a heading"],
)
def test_quoted_words_are_from_the_named_section(
    client: Client, db: None, settings: Any, question: str, heading: str, quoted: str
) -> None:
    settings.ANSWERS_AUTOMATIC = "no"  # a piece would stand in place of the snippet
    make_document(make_collection(), PACKED, file_name="settings.md")
    page = client.get("/", {"q": question}).content.decode()
    assert headings(page) == [heading]
    (shown,) = re.findall(r'<p class="snippet">(.+?)</p>', page)
    (found,) = client.get("/api/v1/search/", {"q": question}).json()["results"]
    assert found["section"]["heading"] == heading
    for snippet in (shown, found["snippet"]):
        plain = unescape(re.sub("<.*?>", "", snippet))
        assert quoted in plain
        assert plain.count("Default:") == 1
