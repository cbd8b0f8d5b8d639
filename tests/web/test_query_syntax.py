"""The operators of a query on their way through the page, the API and a document's page."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from tests.support.library import lasting_library

pytestmark = pytest.mark.django_db

QUERY = '"connection pool" -firewall type:md'


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    with lasting_library(django_db_blocker) as filled:
        yield filled


@pytest.fixture(autouse=True)
def _filled(library: SimpleNamespace) -> None:
    """Every test here is about a library with books in it."""


def test_the_api_binds_them_and_repeats_what_was_typed(api: APIClient) -> None:
    answer = api.get("/api/v1/search/", {"q": QUERY}).json()
    assert answer["query"] == QUERY
    texts = [result["text"].casefold() for result in answer["results"]]
    assert texts
    assert all("pool" in text and "firewall" not in text for text in texts)


@pytest.mark.parametrize(
    ("query", "code"), [("type:md", "nothing_asked"), ("pool after:soon", "invalid_filter")]
)
def test_the_api_says_what_is_wrong(api: APIClient, query: str, code: str) -> None:
    response = api.get("/api/v1/search/", {"q": query})
    assert (response.status_code, response.json()["code"]) == (400, code)


def test_the_page_says_what_is_wrong(client: Client) -> None:
    response = client.get("/", {"q": "pool after:soon"})
    assert response.status_code == 400
    assert "is not a date" in response.content.decode()


def test_the_page_says_which_words_did_not_bind_and_links_to_insisting(client: Client) -> None:
    query = '"pool of sharks" connection'
    html = client.get("/", {"q": query}).content.decode()
    assert "No passage holds the exact words “pool of sharks”; ranked without insisting." in html
    assert 'href="/?q=%22pool+of+sharks%22+connection&amp;insist=1"' in html
    insisting = client.get("/", {"q": query, "insist": "1"}).content.decode()
    assert "No results for" in insisting
    assert 'href="/?q=%22pool+of+sharks%22+connection"' in insisting
    assert "Search without insisting" in insisting


def test_the_api_says_so_in_its_notes(api: APIClient) -> None:
    asked = {"q": '"pool of sharks" connection'}
    answer = api.get("/api/v1/search/", asked).json()
    assert answer["total"]
    assert answer["notes"][0].startswith("No passage holds the exact words “pool of sharks”")
    insisting = api.get("/api/v1/search/", {**asked, "insist": "1"}).json()
    assert (insisting["total"], insisting["notes"]) == (0, [])


def test_a_question_longer_than_the_model_reads_says_so(api: APIClient) -> None:
    whole = api.post("/api/v1/search/", {"q": "connection pool " * 240}).json()
    assert not any("left out" in note for note in whole["notes"])
    cut = api.post("/api/v1/search/", {"q": "水" * 3000 + " the end of it"}).json()
    assert "Too long for matching by meaning: the last" in " ".join(cut["notes"])


def test_a_document_marks_the_words_and_leads_back_to_the_query(
    client: Client, library: SimpleNamespace
) -> None:
    address = library.connections.get_absolute_url()
    text = client.get(address, {"q": "pool -firewall title:database"}).content.decode()
    assert "<mark>pool</mark>" in text
    assert "<mark>firewall</mark>" not in text
    assert "q=pool%20-firewall%20title%3Adatabase" in text


def test_a_result_leads_to_its_document_with_the_query(client: Client) -> None:
    text = client.get("/", {"q": QUERY}).content.decode()
    assert "q=%22connection%20pool%22%20-firewall%20type%3Amd" in text
