"""The home page's examples: made of headings, tried, and only of what the reader may find."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from common.accounts.models import User
from ingestion.models import Collection, Document, Visibility
from search.models import Hide
from search.readers import examples
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


@pytest.fixture
def library() -> None:
    text = "# Ships\n\n## v2.1\n\nNew.\n\n## How are the ropes stored?\n\nCoiled, on dry ropes.\n"
    make_document(make_collection("Handbook"), text, file_name="ships.md")
    board = make_collection("Board", visibility=Visibility.SIGNED_IN)
    secret = "# Board\n\n## When is the harbour sold?\n\nThe harbour is sold in May.\n"
    make_document(board, secret, file_name="board.md")
    User.objects.create_superuser("root")


def offered(client: Client) -> list[str]:
    page = client.get("/").content.decode()
    return re.findall(r'<li><a href="/\?q=[^"]+">([^<]+)</a>', page)


@pytest.mark.usefixtures("library")
def test_examples_come_from_documents_that_the_reader_may_find(
    client: Client, reader: User, django_assert_num_queries: Callable[[int], Any]
) -> None:
    assert offered(client) == []
    assert examples.refresh() == 2

    assert offered(client) == ["How are the ropes stored?"]
    signed_in = Client()
    signed_in.force_login(reader)
    assert {*offered(signed_in)} == {"How are the ropes stored?", "When is the harbour sold?"}
    with django_assert_num_queries(1):
        examples.examples_of(None, 3)
    Hide.objects.create(document=Document.objects.get(title="Ships"))
    assert offered(client) == []


@pytest.mark.usefixtures("library")
def test_examples_are_made_anew_once_the_library_has_changed(
    django_assert_num_queries: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    examples.refresh()
    with django_assert_num_queries(1):
        assert examples.refresh() == 2
    monkeypatch.setattr(examples, "MOST_OFTEN_SECONDS", -1)
    Document.objects.get(title="Board").delete()
    assert examples.refresh() == 1


@pytest.mark.usefixtures("library")
def test_a_heading_whose_search_finds_another_document_first_is_no_example() -> None:
    better = "# How are the ropes stored?\n\nHow the ropes are stored: ropes stored coiled.\n"
    make_document(Collection.objects.get(name="Handbook"), better, file_name="better.md")
    examples.refresh()

    _, _, made = cache.get(examples.KEY)
    ropes = [pk for text, pk in made if text == "How are the ropes stored?"]
    assert ropes == [Document.objects.get(title="How are the ropes stored?").pk]


@pytest.mark.usefixtures("library")
def test_searches_for_examples_are_not_counted_as_those_of_readers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted: list[object] = []
    monkeypatch.setattr("common.metrics.count_search", lambda *search, **_: counted.append(search))
    assert examples.refresh() == 2
    assert not counted
