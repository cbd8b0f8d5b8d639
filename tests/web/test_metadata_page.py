"""Metadata on the reader's pages: the filters of the search, the facts about a document."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from common.accounts.models import User
from ingestion import services
from ingestion.models import Collection
from tests.support.library import lasting_library
from tests.support.shown_results import documents

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


def titles(html: str) -> set[str]:
    return set(documents(html))


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    with lasting_library(django_db_blocker) as filled:
        yield filled


@pytest.fixture(autouse=True)
def described(library: SimpleNamespace) -> SimpleNamespace:
    """The library with metadata on some of its documents."""
    Collection.objects.update(metadata_keys=["team_name", "code"])
    for document, metadata in (
        (library.connections, {"team_name": "Core & Data", "year": 2024, "tags": ["a", "b"]}),
        (library.regions, {"team_name": "Caves", "year": 2020, "note": "<b>wet</b>"}),
        (library.secret, {"team_name": "Harbour", "code": "zz-9"}),
    ):
        services.describe(document, metadata=metadata, acting_user=None)
    return library


def test_offers_the_values_that_the_reader_may_see(client: Client, member: User) -> None:
    html = client.get("/").content.decode()
    assert "<legend>Team name</legend>" in html
    assert 'name="meta" value="team_name:Core &amp; Data">' in html
    assert "Harbour" not in html
    assert "zz-9" not in html
    assert "<legend>Code</legend>" not in html

    client.force_login(member)
    html = client.get("/").content.decode()
    assert 'value="team_name:Harbour"' in html
    assert 'value="code:zz-9"' in html


def test_narrows_by_what_is_ticked_and_keeps_it(client: Client) -> None:
    asked = {"q": "region", "meta": ["team_name:Caves", "team_name:Core & Data"]}
    html = client.get("/", asked).content.decode()
    assert titles(html) == {"Cave regions", "Database connections"}
    assert 'value="team_name:Caves" checked' in html
    assert ">2<span" in html.split('id="narrowed"')[1][:60]
    html = client.get("/", {**asked, "meta": "team_name:Caves"}).content.decode()
    assert titles(html) == {"Cave regions"}


def test_shows_a_condition_that_no_facet_offers(client: Client) -> None:
    html = client.get("/", {"q": "region", "meta": "year>=2024"}).content.decode()
    assert titles(html) == {"Database connections"}
    assert 'name="meta" value="year&gt;=2024" checked' in html
    assert "Clear filters" in html


def test_understands_the_query_too(client: Client) -> None:
    html = client.get("/", {"q": "region meta.year<2024 -meta.tags:a"}).content.decode()
    assert titles(html) == {"Cave regions"}


def test_finds_nothing_by_what_is_hidden_or_nowhere(client: Client) -> None:
    for condition in ("team_name:Harbour", "team_name:Nobody", "nothing:x"):
        response = client.get("/", {"q": "zanzibar lighthouse", "meta": condition})
        assert response.status_code == 200
        assert not titles(response.content.decode())


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("year", "“year” is not a condition on metadata."),
        ("year>soon", "must compare with a number or a date"),
        (["a:b"] * 51, "at most 50 conditions"),
    ],
)
def test_says_what_is_wrong(client: Client, condition: Any, sentence: str) -> None:
    response = client.get("/", {"q": "region", "meta": condition})
    assert response.status_code == 400
    assert sentence in response.content.decode()


@pytest.mark.parametrize("odd", ["", "\0", "a:\0", "a:%s", "a:{}", "a:'\"", "a:" + "x" * 9000])
def test_odd_conditions_are_no_error(client: Client, odd: str) -> None:
    assert client.get("/", {"q": "region", "meta": odd}).status_code in (200, 400)


def test_costs_one_query_more_where_a_key_is_named(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.get("/", {"q": "warm"})
    with django_assert_num_queries(8):  # of all documents, and of those found
        client.get("/", {"q": "region", "meta": "team_name:Caves"})
    Collection.objects.update(metadata_keys=[])
    with django_assert_num_queries(6):
        client.get("/", {"q": "region", "meta": "team_name:Caves"})


def test_a_document_shows_it_with_the_way_to_all_like_it(
    client: Client, described: SimpleNamespace
) -> None:
    html = client.get(described.connections.get_absolute_url()).content.decode()
    assert (
        '<dt>Team name</dt><dd><a href="/?meta=team_name%3ACore%20%26%20Data">'
        "Core &amp; Data</a></dd>"
    ) in html
    assert '<a href="/?meta=tags%3Aa">a</a>, <a href="/?meta=tags%3Ab">b</a>' in html
    assert '<a href="/?meta=year%3A2024">2024</a>' in html
    html = client.get(described.regions.get_absolute_url()).content.decode()
    assert "&lt;b&gt;wet&lt;/b&gt;" in html
    assert "<b>wet" not in html
