"""GET /api/v1/search/: what it answers, under which profile, and that it explains itself."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.handlers.base import BaseHandler
from django.test import RequestFactory
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.models import Collection
from search.domain import OPTIONAL, Signal
from search.models import SearchProfile
from search.pipeline import SearchResponse
from search.tuning import drafts
from tests.support.database import lasting
from tests.support.explanations import recomputed_json
from tests.support.factories import make_collection, make_document

SEARCH = "/api/v1/search/"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "library")]

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(api: APIClient) -> Ask:
    def ask(**parameters: Any) -> dict[str, Any]:
        response = api.get(SEARCH, parameters)
        assert response.status_code == 200, response.json()
        body: dict[str, Any] = response.json()
        return body

    return ask


@pytest.fixture(scope="module")
def handbook(django_db_setup: None, django_db_blocker: Any) -> Iterator[Collection]:
    with lasting(django_db_blocker):
        handbook = make_collection("Handbook")
        make_document(
            handbook,
            "# Harbour cranes\n\n"
            "A harbour crane lifts containers. Code PII-2024-0042 if a < b & c.\n",
            file_name="cranes.md",
        )
        make_document(
            handbook, "# Bakery\n\nSourdough bread rises slowly overnight.\n", file_name="bread.md"
        )
        make_document(
            make_collection("Recipes"),
            "Rye bread needs a sourdough of three stages and a hot oven.",
            file_name="rye.txt",
        )
        yield handbook


@pytest.fixture
def library(handbook: Collection, db: None) -> Collection:
    return Collection.objects.get(pk=handbook.pk)


def test_response_names_everything_that_shaped_the_ranking(ask: Ask) -> None:
    body = ask(q="sourdough bread")

    active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
    weights = active.class_weights.get(query_class=body["query_class"]).as_weights()
    key = f"{active.name}@{active.version}"
    assert body["profile"] == {"key": key, "name": active.name, "version": active.version}
    assert body["weights"] == weights.as_dict()
    assert body["rule"]
    assert 0 <= body["confidence"] <= 1
    assert (body["forced"], body["degraded"]) == ([], [])
    assert body["query"] == "sourdough bread"
    assert body["timing_ms"] == {}
    assert "terms" not in body


def test_timing_is_shown_to_staff_only(api: APIClient, administrator: User) -> None:
    """The time of the embedding would tell whether somebody has asked the same question."""
    question = {"q": "sourdough bread"}
    assert api.get("/api/v1/search/", question).json()["timing_ms"] == {}
    api.force_authenticate(administrator)
    times = api.get("/api/v1/search/", question).json()["timing_ms"]
    assert set(times) == {"embed", "retrieve", "rank", "show", "total"}


def test_a_result_points_at_its_passage(ask: Ask, api: APIClient) -> None:
    found = ask(q="harbour crane containers")["results"][0]

    assert found["rank"] == 1
    assert found["document"]["title"] == "Harbour cranes"
    assert found["document"]["file_name"] == "cranes.md"
    assert found["collection"] == {"slug": "handbook", "name": "Handbook"}
    assert found["heading_path"] == ["Harbour cranes"]
    assert (found["chunk"], found["page"]) == (0, None)
    assert found["document"]["url"].endswith(f"/{found['document']['id']}/?chunk=0#chunk-0")
    assert "<mark>crane</mark>" in found["snippet"]
    assert "a &lt; b &amp; c" in found["snippet"]
    assert "a < b & c" in found["text"]


NOTHING = dict.fromkeys((signal.value for signal in Signal), 0)


def value_of(tree: dict[str, Any]) -> float:
    """The value that the leaves of an explanation make, by its operations."""
    parts = [value_of(part) for part in tree.get("parts", ())]
    if not parts:
        return float(tree["value"])
    combine = {"sum": math.fsum, "product": math.prod, "largest": max}
    return float(combine[tree["operation"]](parts))


LIKENESS = "similarity to the first results"


def test_contributions_and_adjustments_add_up_to_the_score(ask: Ask) -> None:
    for result in ask(q="sourdough bread")["results"]:
        assert recomputed_json(result) == pytest.approx(result["score"])
        assert [each["label"] for each in result["adjustments"]] == [LIKENESS]
        assert "explanation" not in result

    body = ask(q="sourdough bread", explain=1)

    for result in body["results"]:
        parts = {part["signal"]: part for part in result["explanation"]["contributions"]}
        assert set(parts) == set(Signal) - set(OPTIONAL)
        assert value_of(result["explanation"]["tree"]) == result["score"]
        for name, part in parts.items():
            assert part["weight"] == body["weights"][name]
            assert part["value"] == pytest.approx(part["weight"] * part["strength"])
            assert part["value"] == result["contributions"][name]
        assert result["explanation"]["score"] == result["score"]
    assert {term["lexeme"] for term in body["terms"]} == {"sourdough", "bread"}
    assert all(term["chunks"] == 2 and term["idf"] > 0 for term in body["terms"])


def test_parameters_of_the_caller_replace_those_of_the_profile(ask: Ask) -> None:
    body = ask(q="sourdough bread", weights="keyword:0.75, title:0.25")

    assert body["weights"] == NOTHING | {"keyword": 0.75, "title": 0.25}
    assert body["forced"] == ["weights"]
    assert all(result["contributions"]["vector"] == 0 for result in body["results"])

    body = ask(q="sourdough bread", profile="concept-rag", **{"class": "debug"})

    assert body["profile"]["name"] == "concept-rag"
    assert body["query_class"] == "debug"
    assert body["forced"] == ["profile", "class"]


@pytest.mark.parametrize(
    ("filters", "titles"),
    [
        ({}, ("Harbour cranes", "Bakery", "rye")),
        ({"collection": "recipes"}, ("rye",)),
        ({"collection": ["recipes", "handbook"], "type": "md"}, ("Harbour cranes", "Bakery")),
        ({"type": "text/plain"}, ("rye",)),
        ({"language": "en-GB"}, ("Harbour cranes", "Bakery", "rye")),
        ({"collection": "no-such"}, ()),
        ({"collection": "Recipes"}, ()),  # `collection:Recipes` finds it; a parameter is the slug
        ({"after": "2999-01-01"}, ()),
        ({"before": "2999-01-01"}, ("Harbour cranes", "Bakery", "rye")),
    ],
    ids=str,
)
def test_filters_narrow_the_results(
    ask: Ask, filters: dict[str, Any], titles: tuple[str, ...]
) -> None:
    body = ask(q="sourdough bread", **filters)

    assert {result["document"]["title"] for result in body["results"]} == set(titles)
    assert body["total"] == len(titles)
    missing = ["A collection that you named does not exist, or you may not read it."]
    is_unknown = filters.get("collection") in ("no-such", "Recipes")
    assert body["notes"] == (missing if is_unknown else [])


def test_pages_cover_the_ranking_without_overlap(ask: Ask) -> None:
    whole = ask(q="bread", page_size=50)["results"]
    paged = [ask(q="bread", page_size=1, page=page) for page in (1, 2, 3, 4)]

    ranks = [result["rank"] for body in paged for result in body["results"]]
    assert ranks == [result["rank"] for result in whole] == [1, 2, 3]
    assert {(body["total"], body["pages"]) for body in paged} == {(3, 3)}


def test_an_empty_question_finds_nothing(ask: Ask) -> None:
    for q in ("", "   ", "\t"):
        assert (ask(q=q)["total"], ask(q=q)["results"]) == (0, [])


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({}, "query"),
        ({"q": "x", "page": "abc"}, "page"),
        ({"q": "x", "page": "9" * 400}, "page"),
        ({"q": "x", "page_size": "51"}, "page_size"),
        ({"q": "nul\x00byte"}, "query"),
        ({"q": "x", "collection": ["a"] * 51}, "collection"),
        ({"q": "x", "language": "english"}, "language"),
        ({"q": "x", "after": "yesterday"}, "after"),
        ({"q": "x", "class": "poem"}, "class"),
        ({"q": "x", "weights": "vector:0.5"}, "weights"),
        ({"q": "x", "weights": "vector:nan,keyword:1"}, "weights"),
        ({"q": "x", "colection": "handbook"}, "colection"),
    ],
    ids=str,
)
def test_a_wrong_parameter_is_named(api: APIClient, parameters: dict[str, Any], field: str) -> None:
    response = api.get(SEARCH, parameters)

    body = response.json()
    assert response.status_code == 400
    assert body["code"] == "invalid"
    assert body["message"].startswith(f"{field}: ")
    assert set(body["details"]) == {field}


def test_too_long_a_question_is_refused_by_a_configurable_limit(
    api: APIClient, settings: Any
) -> None:
    response = api.get(SEARCH, {"q": "word " * 800 + "x"})

    assert response.status_code == 400
    assert response.json()["code"] == "query_too_long"
    assert "4000" in response.json()["message"]

    settings.SEARCH_QUERY_CHARS = 20
    assert "the limit is 20" in api.get(SEARCH, {"q": "x" * 21}).json()["message"]


def test_a_question_may_be_posted(api: APIClient) -> None:
    asked = {"q": "connection", "page_size": 1, "type": ["md"]}
    posted, got = api.post(SEARCH, asked), api.get(SEARCH, asked)
    assert posted.status_code == 200
    volatile = {"search_id", "timing_ms"}
    assert {k: v for k, v in posted.json().items() if k not in volatile} == {
        k: v for k, v in got.json().items() if k not in volatile
    }
    assert api.post(SEARCH, {"q": "水" * 4000}).status_code == 200
    assert api.post(SEARCH, {"q": "x", "colection": "y"}).status_code == 400


@pytest.mark.parametrize("value", ["handbook", 7, {"slug": "handbook"}])
def test_a_list_that_is_none_is_named_in_words(api: APIClient, value: Any) -> None:
    body = {"query": "crane", "collection": value}
    refused = api.post(SEARCH, body, format="json")
    assert refused.status_code == 400
    assert refused.json()["errors"] == {"collection": ["Send a list, also of one value: [...]."]}


def test_an_unknown_profile_says_which_there_are(api: APIClient) -> None:
    response = api.get(SEARCH, {"q": "x", "profile": "no-such@3"})

    assert response.status_code == 400
    assert response.json()["code"] == "unknown_profile"
    assert "default" in response.json()["message"]


def test_without_an_active_profile_the_service_is_unavailable(api: APIClient) -> None:
    for profile in SearchProfile.objects.all():
        profile.delete()

    response = api.get(SEARCH, {"q": "x"})

    assert response.status_code == 503
    assert response.json()["code"] == "no_active_profile"


def test_search_costs_four_queries_and_one_to_record_it(
    api: APIClient, ask: Ask, django_assert_num_queries: Any
) -> None:
    ask(q="sourdough bread")  # reads the configuration, which is then kept

    with django_assert_num_queries(5):
        ask(q="sourdough bread", explain=1)


def test_profiles_are_listed_with_their_weights(api: APIClient) -> None:
    body = api.get("/api/v1/profiles/", {"page_size": 100}).json()

    by_name = {profile["name"]: profile for profile in body["results"]}
    assert {"default", "concept-rag", "textbook"} <= set(by_name)
    assert [name for name, profile in by_name.items() if profile["active"]] == ["default"]
    for profile in by_name.values():
        for weights in profile["weights"].values():
            assert sum(weights.values()) == pytest.approx(1)
    assert api.get("/api/v1/profiles/default/").json() == by_name["default"]
    assert api.get("/api/v1/profiles/default@5/").json() == by_name["default"]


def test_drafts_are_for_staff_only(api: APIClient, administrator: User, reader: User) -> None:
    active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
    draft = drafts.draft_from(active, acting_user=None)
    address = f"/api/v1/profiles/{draft.name}@{draft.version}/"
    published = api.get("/api/v1/profiles/").json()["total"]

    api.force_authenticate(reader)
    assert api.get(address).status_code == 404
    assert api.get("/api/v1/profiles/").json()["total"] == published
    api.force_authenticate(administrator)
    assert api.get(address).json()["state"] == "draft"
    assert api.get("/api/v1/profiles/default/").json()["version"] == active.version
    assert api.get("/api/v1/profiles/").json()["total"] == published + 1


@pytest.mark.parametrize("address", [SEARCH, "/"])
def test_what_a_search_found_waits_for_no_garbage_collection(
    address: str, rf: RequestFactory
) -> None:
    """By the site's own handler: the test client's responses refer to themselves."""
    handler = BaseHandler()
    handler.load_middleware()
    gc.collect()
    gc.disable()
    # A failed test may keep others.
    before = [each for each in gc.get_objects() if type(each) is SearchResponse]
    try:
        response = handler.get_response(rf.get(address, {"q": "How does sourdough bread rise?"}))
        assert response.status_code == 200
        assert b"Bakery" in response.content
        del response
        after = [each for each in gc.get_objects() if type(each) is SearchResponse]
        assert len(after) == len(before)
    finally:
        gc.enable()
