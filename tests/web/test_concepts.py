"""Concepts on the reader's pages and in the API: the list, the documents about one, the filter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from common.accounts.models import User
from ingestion.documents import deletion
from ingestion.models import Visibility
from search.parts.concepts.models import Concept
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "library")]

TOWER = "The cooling tower is greased. A cooling tower is quiet, and {more}."


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    with lasting(django_db_blocker):
        public = make_collection("Handbook")
        hidden = make_collection("Vault", visibility=Visibility.GROUPS, groups=["insiders"])
        yield SimpleNamespace(
            north=make_document(public, f"# North\n\n{TOWER.format(more='the harbour is near')}"),
            south=make_document(public, f"# South\n\n{TOWER.format(more='the desert is dry')}"),
            cats=make_document(
                public, "# Cats\n\nThe cats sleep, and a tower is no place for cats."
            ),
            secret=make_document(hidden, f"# Secret\n\n{TOWER.format(more='zanzibar, zanzibar')}"),
        )


def html_of(client: Client, path: str, **parameters: Any) -> str:
    return client.get(path, parameters).content.decode()


class TestPage:
    def test_lists_the_concepts_of_readable_documents_with_counts(
        self, client: Client, member: User
    ) -> None:
        html = html_of(client, "/concepts/")
        assert re.search(r'about=cool%20tower">cooling tower <small>2</small>', html)
        assert "zanzibar" not in html
        assert html.index(">cats sleep <") < html.index(">greased <")  # phrases before words
        client.force_login(member)
        html = html_of(client, "/concepts/")
        assert re.search(r'about=cool%20tower">cooling tower <small>3</small>', html)
        assert "zanzibar" in html

    def test_finds_a_concept_by_a_part_of_it(self, client: Client) -> None:
        html = html_of(client, "/concepts/", q="COOL")
        assert "cooling tower" in html
        assert "harbour" not in html
        assert "No concept contains “xyz”" in html_of(client, "/concepts/", q="xyz")

    def test_documents_about_a_concept_are_readable_ones_only(
        self, client: Client, member: User
    ) -> None:
        html = html_of(client, "/concepts/", about="cool tower")
        assert "Documents about “cooling tower”" in html
        assert ">North</a>" in html
        assert ">South</a>" in html
        assert "Secret" not in html
        assert "Cats" not in html
        client.force_login(member)
        assert ">Secret</a>" in html_of(client, "/concepts/", about="cool tower")

    def test_hidden_concept_is_not_found(self, client: Client) -> None:
        hidden = client.get("/concepts/", {"about": "zanzibar"})
        assert hidden.status_code == client.get("/concepts/", {"about": "nothing"}).status_code
        assert hidden.status_code == 404

    def test_deleted_documents_have_no_concepts(
        self, client: Client, library: SimpleNamespace
    ) -> None:
        deletion.delete([library.north], acting_user=None)
        assert ">North</a>" not in html_of(client, "/concepts/", about="cool tower")
        assert "harbour" not in html_of(client, "/concepts/")

    def test_a_document_names_its_concepts(self, client: Client, library: SimpleNamespace) -> None:
        html = html_of(client, library.north.get_absolute_url())
        assert re.search(r'/concepts/\?about=cool%20tower">cooling tower</a>', html)

    def test_pages_take_as_many_queries_for_any_number(
        self, client: Client, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        with django_assert_num_queries(1):  # the count is of its rows
            client.get("/concepts/")
        with django_assert_num_queries(3):  # its label, the count and the page
            client.get("/concepts/", {"about": "cool tower"})


class TestFacet:
    def test_concept_facet_offers_common_concepts_of_the_results(self, client: Client) -> None:
        html = html_of(client, "/", q="tower")
        assert re.search(r"concept=cool\+tower\">cooling tower <small>2<", html)
        assert "zanzibar" not in html

    def test_concept_facet_narrows_and_can_be_removed(self, client: Client) -> None:
        html = html_of(client, "/", q="tower", concept="cool tower")
        assert set(re.findall(r'class="result-link"[^>]*>([^<]*)<', html)) == {"North", "South"}
        assert 'name="concept" value="cool tower" checked> <span>cooling tower</span>' in html
        # One that the reader may not know of keeps the name that the address gave it.
        html = html_of(client, "/", q="tower", concept="zanzibar")
        assert 'value="zanzibar" checked> <span>zanzibar</span>' in html


class TestApi:
    def test_api_lists_concepts_with_counts(self, client: Client) -> None:
        body = client.get("/api/v1/concepts/", {"q": "cooling"}).json()
        (row,) = [each for each in body["results"] if each["key"] == "cool tower"]
        assert row == {
            "key": "cool tower",
            "name": "cooling tower",
            "documents": 2,
            "occurrences": 4,
        }

    def test_api_lists_concepts_of_one_document(
        self, client: Client, library: SimpleNamespace
    ) -> None:
        hidden = client.get("/api/v1/concepts/", {"document": str(library.secret.public_id)})
        assert (hidden.status_code, list(hidden.json()["errors"])) == (400, ["document"])
        found = client.get("/api/v1/concepts/", {"document": str(library.cats.public_id)}).json()
        assert {"key": "cat", "name": "cats", "documents": 1, "occurrences": 3} in found["results"]

    def test_filters_do_not_change_the_counts(
        self, client: Client, library: SimpleNamespace
    ) -> None:
        Concept.objects.filter(document=library.south, key="cool tower").update(label="Cool towers")
        for asked in ({"document": str(library.north.public_id)}, {"q": "cooling"}):
            rows = client.get("/api/v1/concepts/", asked).json()["results"]
            (row,) = [each for each in rows if each["key"] == "cool tower"]
            assert (row["documents"], row["occurrences"]) == (2, 4)
            assert "desert" not in {each["key"] for each in rows}

    def test_documents_and_searches_are_filtered_by_concept(self, client: Client) -> None:
        body = client.get("/api/v1/documents/", {"concept": "cool tower"}).json()
        assert {each["title"] for each in body["results"]} == {"North", "South"}

        body = client.get("/api/v1/search/", {"q": "tower", "concept": "desert"}).json()
        assert [each["document"]["title"] for each in body["results"]] == ["South"]
