"""The workbench over the API: the same rankings and measures, for the same people."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pytest import approx
from rest_framework.test import APIClient

from common.accounts.models import User
from search.domain import QueryClass, Weights
from search.engine import configuration
from search.models import SearchProfile
from search.pipeline import search
from search.tuning.evaluation.golden import golden_set
from search.tuning.golden import judging
from search.tuning.models import GoldenQuery, PoolBuild, ProfileChange
from search.tuning.publishing import activation, drafts
from search.tuning.workbench.pool_building import build
from search.tuning.workbench.pool_spec import Width
from tests.support.admin_client import staff
from tests.support.library import lasting_library

pytestmark = pytest.mark.django_db

PREVIEW, WHAT_IF = "/api/v1/tuning/preview/", "/api/v1/tuning/what-if/"
CANDIDATES = "/api/v1/tuning/candidates/"
KEYWORDS = {
    name: {"keyword": 1.0}
    for name in ("general", "lookup", "concept", "code", "debug", "comparison")
}


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    with lasting_library(django_db_blocker) as filled:
        yield filled


@pytest.fixture
def viewer(library: SimpleNamespace, api: APIClient, clean_cache: None) -> User:
    user = staff("viewer", "view_searchprofile")
    api.force_authenticate(user)
    return user


class TestPreview:
    def test_is_what_publishing_gives(
        self, viewer: User, api: APIClient, library: SimpleNamespace
    ) -> None:
        """What you preview is what you publish, for every golden query."""
        for text, document in (
            ("barometer", library.logbook),
            ("connection timeouts", library.connections),
            ("D40", library.regions),
        ):
            judging.judge(text, [], document, 3, acting_user=viewer)
        asked = {"weights": KEYWORDS, "settings": {"fusion": "rrf", "depth": 40}}
        previewed = {
            golden.text: api.post(PREVIEW, {"query": golden.text, **asked}, format="json").json()
            for golden in golden_set()
        }
        assert len(previewed) == 3
        active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        weights = dict.fromkeys(QueryClass, Weights(0, 1, 0))
        draft = drafts.edit(active, asked["settings"], weights, acting_user=viewer).profile
        published = ProfileChange.Action.PUBLISHED
        activation.activate(draft, action=published, acting_user=viewer)
        for text, shown in previewed.items():
            live = search(text, viewer=viewer)
            assert live.profile.version == draft.version
            told = [(each["document"], each["score"]) for each in shown["draft"]["results"]]
            assert told == [
                (result.document_id, approx(result.hit.score)) for result in live.results
            ]

    def test_names_what_moved(self, viewer: User, api: APIClient) -> None:
        shown = api.post(PREVIEW, {"query": "barometer", "limit": 3}, format="json").json()
        assert shown["changed"] == 0
        first = shown["draft"]["results"][0]
        assert (first["rank"], first["other_rank"]) == (1, 1)
        assert len(shown["active"]["results"]) <= 3

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ({"weights": {"general": {"vector": 0.5}}}, "sum to 1"),
            ({"weights": {"odd": {"vector": 1}}}, "Unknown query class"),
            ({"weights": {"general": {"vector": 1, "vektor": 0.5}}}, "Known are: vector"),
            ({"wieghts": {}}, "Known are: profile"),
            ({"settings": {"magic": 1}}, "magic"),
            ({"settings": {"depth": 1}}, "greater than or equal to 5"),
            ({"settings": {"fusion": "magic"}}, "magic"),
            ({"profile": "nobody@4"}, "nobody"),
        ],
        ids=str,
    )
    def test_refuses_what_no_profile_can_have(
        self, viewer: User, api: APIClient, body: dict[str, Any], said: str
    ) -> None:
        response = api.post(PREVIEW, {"query": "barometer", **body}, format="json")
        assert response.status_code in (400, 409)
        assert said in str(response.json())


class TestWhatIf:
    def test_measures_both(self, viewer: User, api: APIClient, library: SimpleNamespace) -> None:
        judging.judge("barometer", [], library.logbook, 3, acting_user=viewer)
        build(Width.of(configuration.current().profile()))
        told = api.post(WHAT_IF, {"weights": KEYWORDS}, format="json").json()
        assert (told["queries"], told["complete"]) == (1, True)
        measured = {each["name"]: each["draft"] for each in told["measures"]}
        assert measured["nDCG@10"] == approx(1)
        assert told["by_class"]
        GoldenQuery.objects.create(text="unjudged")
        deeper = {"settings": {"depth": 400}}
        assert not api.post(WHAT_IF, deeper, format="json").json()["complete"]


@pytest.mark.parametrize("address", [PREVIEW, WHAT_IF])
def test_is_for_those_who_may_see_profiles(
    address: str, api: APIClient, library: SimpleNamespace
) -> None:
    assert api.post(address, {"query": "barometer"}, format="json").status_code in (401, 403)
    api.force_authenticate(staff("typist", "view_document"))
    assert api.post(address, {"query": "barometer"}, format="json").status_code == 403


class TestCandidates:
    def test_a_worker_is_asked_once_for_both_profiles(self, viewer: User, api: APIClient) -> None:
        answer = api.post(CANDIDATES, {"settings": {"depth": 120}}, format="json")
        assert answer.status_code == 202
        assert PoolBuild.objects.get().width["depth"] == 120
        coverage = api.post(WHAT_IF, {}, format="json").json()["active_coverage"]
        assert coverage["building"] == 0.0

    def test_is_for_those_who_may_see_profiles(
        self, library: SimpleNamespace, api: APIClient
    ) -> None:
        api.force_authenticate(staff("typist", "view_document"))
        assert api.post(CANDIDATES, {}, format="json").status_code == 403
