"""concept-rag's score fields in the API, and profile names with a colon and a slash everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest import approx
from rest_framework.serializers import Serializer
from rest_framework.test import APIClient

from ingestion.models import Document
from search.api.responses import SearchResponseSerializer
from search.api.results import ResultSerializer
from search.models import Pin, SearchProfile
from search.pipeline import search
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

SEARCH = "/api/v1/search/"
FIELDS = {"_vector_score", "_bm25_score", "_title_score", "_hybrid_score", "_distance"}
NAMES = ("textbook:60/40", "concept-rag:titles", "indexfoundry:adaptive")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "books")]


@pytest.fixture(scope="module")
def books(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with lasting(django_db_blocker):
        shelf = make_collection("Books")
        make_document(shelf, "# Distributed Systems\n\nNodes agree on a log.", file_name="one.md")
        make_document(shelf, "# Heat\n\nNodes of a rod, systems of equations.", file_name="two.md")
        yield


def results(api: APIClient, **parameters: Any) -> list[dict[str, Any]]:
    response = api.get(SEARCH, {"q": "Distributed Systems", **parameters})
    assert response.status_code == 200, response.json()
    found: list[dict[str, Any]] = response.json()["results"]
    assert found
    return found


@pytest.mark.parametrize("options", [{}, {"legacy": False}, {"explain": False, "legacy": False}])
def test_results_are_written_as_their_declared_fields_would_be(
    options: dict[str, bool], rf: RequestFactory
) -> None:
    Pin.objects.create(query="systems nodes", document=Document.objects.order_by("pk")[0])
    found = search("systems nodes", viewer=None, group=True)
    context = {"request": rf.get("/"), "rectangles": None, **options}  # those take queries
    for result in found.results:
        written = ResultSerializer(context=context).to_representation(result)
        declared = Serializer.to_representation(ResultSerializer(context=context), result)
        assert list(written.items()) == list(declared.items())
    whole = SearchResponseSerializer(context=context)
    declared = Serializer.to_representation(SearchResponseSerializer(context=context), found)
    assert list(whole.to_representation(found).items()) == list(declared.items())


class TestLegacyFields:
    """S2-14, S2-15."""

    @pytest.mark.parametrize(
        "parameters",
        [
            pytest.param({"profile": "concept-rag"}, id="its own profile"),
            pytest.param({"profile": "concept-rag:semantics"}, id="a variant of it"),
            pytest.param({"legacy": "concept-rag"}, id="on demand"),
            pytest.param({"legacy": "concept-rag", "profile": "textbook"}, id="elsewhere"),
        ],
    )
    def test_legacy_fields_are_taken_from_the_explanation(
        self, api: APIClient, parameters: dict[str, str]
    ) -> None:
        for result in results(api, explain=1, **parameters):
            raw = {
                part["signal"]: part["raw"] or 0 for part in result["explanation"]["contributions"]
            }
            assert {name: result[name] for name in FIELDS} == {
                "_vector_score": raw["vector"],
                "_bm25_score": raw["keyword"],
                "_title_score": raw["title"],
                "_hybrid_score": result["score"],
                "_distance": approx(1 - result["score"]),
            }

    def test_s2_08_legacy_fields_sum_to_the_score(self, api: APIClient) -> None:
        first, second = results(api, profile="concept-rag")
        assert first["_title_score"] == 10
        assert second["_title_score"] == 0
        for result in (first, second):
            assert result["_hybrid_score"] == approx(
                0.4 * result["_vector_score"]
                + 0.3 * result["_bm25_score"]
                + 0.3 * result["_title_score"]
            )
        assert first["_distance"] < 0  # S2-15: above 1 the distance is negative

    def test_signal_that_did_not_run_has_a_zero_field(self, api: APIClient) -> None:
        for result in results(api, legacy="concept-rag", profile="keyword-only"):
            assert result["_vector_score"] == 0

        response = api.get(SEARCH, {"q": "systems", "legacy": "mind"})
        assert response.status_code == 400
        assert "legacy" in response.json()["details"]

    def test_legacy_fields_are_in_the_schema_and_returned_on_request_only(
        self, api: APIClient
    ) -> None:
        schema = api.get("/api/schema/", {"format": "json"}).json()["components"]["schemas"]
        assert set(schema["Result"]["properties"]) >= FIELDS
        assert not FIELDS & set(schema["Result"]["required"])
        for parameters in ({}, {"profile": "textbook"}):
            assert all(not FIELDS & set(result) for result in results(api, **parameters))


@pytest.mark.parametrize("name", NAMES)
def test_profile_names_with_colon_and_slash_work_in_addresses(
    api: APIClient, client: Client, desk: Client, name: str
) -> None:
    row = SearchProfile.objects.get(name=name)
    for key in (name, f"{name}@{row.version}"):
        body = api.get(SEARCH, {"q": "systems", "profile": key}).json()
        named = {"key": f"{name}@{row.version}", "name": name, "version": row.version}
        assert body["profile"] == named
        shown = api.get(f"/api/v1/profiles/{key}/").json()
        assert (shown["name"], shown["version"]) == (name, row.version)
    assert reverse("api:profile-detail", args=(name,)) == f"/api/v1/profiles/{name}/"
    html = client.get("/", {"q": "systems", "profile": name}).content.decode()
    assert f'name="profile" value="{name}"' in html
    assert "Distributed Systems" in html
    listed = desk.get(reverse("admin:search_searchprofile_changelist"), {"q": name})
    assert name in listed.content.decode()
    opened = desk.get(reverse("admin:search_searchprofile_change", args=(row.pk,)))
    assert name in opened.content.decode()
    wrong = name + "1/39"
    assert api.get(f"/api/v1/profiles/{wrong}/").status_code == 404
    assert api.get(SEARCH, {"q": "systems", "profile": wrong}).status_code == 400
