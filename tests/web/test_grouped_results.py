"""Each document once, on the page and in the API: what is folded, and the ways to see the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse
from rest_framework import serializers
from rest_framework.test import APIClient

from search.api.results import FoldedSerializer
from search.pipeline import search
from tests.support.repeating_library import lasting_repeats
from tests.support.shown_results import results, text_of

pytestmark = pytest.mark.django_db

QUESTION = "handover of a shift"
SEARCH = "/api/v1/search/"


@pytest.fixture(scope="module")
def repeats(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    with lasting_repeats(django_db_blocker) as filled:
        yield filled


@pytest.fixture(autouse=True)
def _filled(repeats: SimpleNamespace) -> None:
    """Every test here is about a library that repeats itself."""


def ask(client: Client, **parameters: Any) -> str:
    response = client.get("/", {"q": QUESTION, **parameters})
    assert response.status_code == 200
    return response.content.decode()


# --- the page ----------------------------------------------------------------------------------


def test_two_sibling_sections_are_linked_and_the_rest_of_the_document(client: Client) -> None:
    manual = next(part for part in results(ask(client)) if ">Shift manual</span>" in part)
    siblings = manual.split('<p class="siblings">')[1].split("</p>")[0]

    links = re.findall(
        r'href="/documents/[0-9a-f-]{36}/\?chunk=(\d)&amp;q=[^"]*#chunk-(\d)">([^<]+)<', siblings
    )
    assert len(links) == 2
    assert all(chunk == anchor for chunk, anchor, _ in links)
    headings = {heading for *_, heading in links}
    assert len(headings) == 2
    assert headings < {"Furnace", "Conveyor", "Press", "Kiln", "Crane"}
    assert "All 5 passages of Shift manual" in text_of(manual)


def test_other_editions_are_named_under_the_best_one(client: Client) -> None:
    first = results(ask(client))[0]

    assert ">Old handover</a></h2>" in first
    also = text_of(first.split('<p class="copies">')[1].split("</p>")[0])
    assert also.startswith("Nearly the same text in:")
    assert re.findall(r"[:,] ([\w ]+) \(added \d+ \w+ \d{4}\)", also) == [
        "Rules of the founder",
        "Shift manual",
    ]


def test_count_and_copies_are_the_documents_of_the_filter(client: Client) -> None:
    response = client.get("/", {"q": QUESTION})
    said = re.search(
        r"(\d+) results \((\d+) cop(?:y|ies) folded\)", text_of(response.content.decode())
    )

    assert said is not None
    assert int(said[1]) + int(said[2]) == response.context["facets"].documents


def test_result_links_to_all_passages_of_its_document(
    client: Client, repeats: SimpleNamespace
) -> None:
    address = re.search(r'href="(/\?q=[^"]*&amp;document=[^"]+)"', ask(client))
    assert address is not None
    html = client.get(address[1].replace("&amp;", "&")).content.decode()

    assert len(results(html)) == repeats.manual.chunks.count()
    assert "Only in Shift manual . Search all documents" in text_of(html)
    assert f'name="document" value="{repeats.manual.public_id}"' in html
    assert "Results are grouped by document" not in html


def test_passage_list_links_to_every_passage_and_back(client: Client) -> None:
    together = ask(client)
    apart = ask(client, group="false")

    assert len(results(together)) == 3
    assert "3 results" in text_of(together)
    assert 'href="/?q=handover+of+a+shift&amp;group=false">Show all passages</a>' in together
    assert len(results(apart)) == 9
    assert re.search(r"\b9 passages", text_of(apart))
    assert 'class="siblings"' not in apart
    assert 'href="/?q=handover+of+a+shift">Group by document</a>' in apart
    assert 'name="group" value="false"' in apart


# --- the API -----------------------------------------------------------------------------------


def test_api_groups_and_counts_results(api: APIClient, repeats: SimpleNamespace) -> None:
    body = api.get(SEARCH, {"q": QUESTION}).json()

    assert (body["grouped"], body["total"], len(body["results"])) == (True, 3, 3)
    editions, manual, canteen = body["results"]
    assert (editions["folded_count"], manual["folded_count"]) == (2, 4)
    assert (canteen["folded"], canteen["folded_count"]) == ([], 0)
    assert {passage["document"]["title"] for passage in editions["folded"]} == {
        "Rules of the founder",
        "Shift manual",
    }
    assert len(manual["folded"]) == 3
    for passage in manual["folded"]:
        assert set(passage) == {
            "rank", "score", "document", "chunk", "heading_path", "section", "page", "snippet",
        }  # fmt: skip
        assert passage["document"]["id"] == manual["document"]["id"]
        number = passage["chunk"]
        assert passage["document"]["url"].endswith(f"?chunk={number}#chunk-{number}")
        assert passage["rank"] > manual["rank"]
    ranks = [
        passage["rank"] for result in body["results"] for passage in (result, *result["folded"])
    ]
    assert len(ranks) == len(set(ranks)) == 8


def test_grouped_passages_match_their_declared_fields(rf: RequestFactory) -> None:
    fields = FoldedSerializer(context={"request": rf.get("/")})
    found = search(QUESTION, viewer=None).results
    passages = [each for result in found for each in (*result.folded, *result.copies)]

    assert len(passages) == 5
    for passage in passages:
        by_field = serializers.Serializer.to_representation(fields, passage)
        written = fields.to_representation(passage)
        assert (written, list(written)) == (by_field, list(by_field))
        path = reverse("search:document", args=(passage.document_id,))
        url = rf.get("/").build_absolute_uri(f"{path}?chunk={passage.chunk}#{passage.fragment}")
        assert written["document"]["url"] == url
        assert written["document"]["date"] == passage.date.as_data()


def test_the_api_gives_every_passage_and_looks_into_documents(
    api: APIClient, repeats: SimpleNamespace
) -> None:
    body = api.get(SEARCH, {"q": QUESTION, "group": "false"}).json()

    assert (body["grouped"], body["total"]) == (False, 9)
    assert [result["rank"] for result in body["results"]] == list(range(1, 10))
    assert all((result["folded"], result["folded_count"]) == ([], 0) for result in body["results"])

    ids = [str(repeats.manual.public_id), str(repeats.hidden.public_id)]
    body = api.get(SEARCH, {"q": QUESTION, "document": ids, "group": "0"}).json()

    assert body["total"] == repeats.manual.chunks.count()
    assert {result["document"]["id"] for result in body["results"]} == {ids[0]}
