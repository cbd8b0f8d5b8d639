"""What the page and the API say of how sure an answer is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from ingestion.models import EmbeddingSpace
from search.models import SearchProfile
from tests.support.library import lasting_library

pytestmark = pytest.mark.django_db

SEARCH = "/api/v1/search/"
NOTICE = "Probably nothing here about"
PERHAPS = "These results may not answer your question."
KNOWN, UNKNOWN = "connection timeouts", "how do I train a parrot to whistle"


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    with lasting_library(django_db_blocker) as filled:
        yield filled


@pytest.fixture(autouse=True)
def _filled(library: SimpleNamespace) -> None:
    """Every test here is about a library with books in it."""


@pytest.fixture
def threshold() -> Any:
    def change(value: float) -> None:
        active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        active.confidence_threshold = value
        active.save()

    return change


def page(client: Client, query: str, **parameters: Any) -> str:
    response = client.get("/", {"q": query, **parameters})
    assert response.status_code == 200
    return response.content.decode()


def body(api: APIClient, query: str, **parameters: Any) -> dict[str, Any]:
    response = api.get(SEARCH, {"q": query, **parameters})
    assert response.status_code == 200, response.json()
    found: dict[str, Any] = response.json()
    return found


def test_the_api_names_the_words_that_no_document_contains(api: APIClient) -> None:
    assert body(api, UNKNOWN)["unknown_words"] == ["train", "parrot", "whistle"]
    assert body(api, KNOWN)["unknown_words"] == []


# --- the page ----------------------------------------------------------------------------------


def test_an_unsure_page_says_so_and_what_to_do(client: Client, threshold: Any) -> None:
    threshold(0.2)
    html = page(client, UNKNOWN)
    notice = re.search(r'<div class="panel nothing" role="note">.*?</div>', html, re.DOTALL)
    assert notice is not None
    assert NOTICE in notice[0]
    assert "Rephrase the question" in notice[0]
    assert "filter" not in notice[0]
    assert "Probably nothing here about “train”, “parrot”, “whistle”" in notice[0]
    assert "contains any of these words" in notice[0]
    # Before the nearest passages, which are folded, and without an answer that nobody asked for.
    folded = html.index('<details class="nearest-passages">')
    assert html.index(NOTICE) < folded < html.index('<li class="result">')
    assert "data-auto" not in html


def test_it_offers_the_search_without_filters(client: Client, threshold: Any) -> None:
    threshold(0.9)
    html = page(client, "a dry gallery", collection="handbook")
    assert "Search without the filter</a>" in html


def test_a_sure_page_says_nothing(client: Client, threshold: Any) -> None:
    threshold(0.2)
    assert NOTICE not in page(client, KNOWN)


def test_without_a_threshold_no_page_says_anything(client: Client, threshold: Any) -> None:
    threshold(0)
    assert NOTICE not in page(client, UNKNOWN)


def test_a_further_page_does_not_speak_of_the_first(client: Client, threshold: Any) -> None:
    threshold(1)
    entries = {"q": "what was written on the day of the barometer", "group": "false"}
    assert PERHAPS in page(client, **_asked(entries))
    assert PERHAPS not in page(client, **_asked(entries | {"page": 2}))


def _asked(parameters: dict[str, Any]) -> dict[str, Any]:
    return {"query": parameters["q"], **{k: v for k, v in parameters.items() if k != "q"}}


# --- the API -----------------------------------------------------------------------------------


def test_the_api_tells_the_answers_confidence_from_the_classs(api: APIClient) -> None:
    known, unknown = body(api, KNOWN), body(api, UNKNOWN)
    assert 0 <= unknown["answer_confidence"] < 0.2 < known["answer_confidence"] <= 1
    assert known["confidence"] == body(api, KNOWN, page_size=1)["confidence"]


@pytest.mark.parametrize("query", [KNOWN, UNKNOWN, "barometer"])
def test_no_page_changes_it(api: APIClient, query: str, threshold: Any) -> None:
    threshold(0.95)
    asked = [body(api, query, page=n, page_size=size) for n, size in ((1, 1), (1, 50), (2, 2))]
    assert len({each["answer_confidence"] for each in asked}) == 1


def test_low_is_what_the_profile_says_it_is(api: APIClient, threshold: Any) -> None:
    value = body(api, UNKNOWN, weights="vector:0.5,keyword:0.5")["answer_confidence"]
    for line, low in ((0, False), (value / 2, False), (value + 0.01, True)):
        threshold(line)
        assert body(api, UNKNOWN, weights="vector:0.5,keyword:0.5")["low_confidence"] is low


def test_one_identifier_is_answered_by_what_holds_it(api: APIClient) -> None:
    assert body(api, "D-40")["answer_confidence"] == 0.95  # and not a float's sum beside it
    assert body(api, "D-4711")["answer_confidence"] < 0.1


def test_weights_that_a_caller_forces_stand(api: APIClient, threshold: Any) -> None:
    threshold(1)
    for query in (KNOWN, UNKNOWN):
        found = body(api, query, weights="vector:0.8,keyword:0.2")
        assert found["weights"]["vector"] == 0.8
        assert found["low_confidence"]


def test_it_is_null_while_the_model_has_no_calibration(api: APIClient, threshold: Any) -> None:
    threshold(1)
    space = EmbeddingSpace.objects.get(state=EmbeddingSpace.State.ACTIVE)
    space.fingerprint = "another-model-r1"
    space.save()
    found = body(api, KNOWN)
    assert (found["answer_confidence"], found["low_confidence"]) == (None, False)
