"""The reranker on the search page, in the API and in the workbench (S5-38; ADR 41)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest import approx

from common.accounts.models import User
from search.engine import configuration
from search.models import SearchProfile
from search.tuning import candidate_pools as pools
from search.tuning import workbench_preview as preview
from tests.support.admin_client import form_data, signed_in, staff
from tests.support.explanations import recomputed_json
from tests.support.fake_reranker import FakeReranker, status

pytestmark = pytest.mark.django_db

QUESTION = "what to do when the draught stops"
TUNER = ("view_searchprofile", "change_searchprofile", "add_judgement", "add_evaluationrun")


@pytest.fixture(autouse=True)
def reranking_profile(library: SimpleNamespace, clean_cache: None) -> SearchProfile:
    """The active profile gives a share to the reranker."""
    pools._pools.clear()
    preview._cached.clear()
    active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
    active.rerank = 0.4
    active.save()
    assert configuration.current().profile().rerank == 0.4
    return active


@pytest.fixture
def server(settings: Any) -> Iterator[FakeReranker]:
    with FakeReranker() as running:
        settings.RERANKER_URL = running.url
        yield running


def page(client: Client) -> str:
    response = client.get("/", {"q": QUESTION})
    assert response.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


AWAY = "The reranker is unavailable; showing the order without it."


def test_page_explains_the_share_of_the_reranker(client: Client, server: FakeReranker) -> None:
    text = page(client)
    assert AWAY not in text
    assert "share beside the reranker × 0.6" in text
    assert re.search(r" reranker \+ 0\.\d{3}", text)


def test_page_reports_an_unreachable_reranker(client: Client, server: FakeReranker) -> None:
    server.then(status(500))
    text = page(client)
    assert AWAY in text
    assert "share beside the reranker" not in text


def test_api_returns_score_time_and_failure_of_the_reranker(
    client: Client, server: FakeReranker, administrator: User
) -> None:
    client.force_login(administrator)
    address = "/api/v1/search/"
    body = client.get(address, {"q": QUESTION, "explain": "1"}).json()
    assert body["degraded"] == []
    assert body["timing_ms"]["rerank"] > 0
    assert all(recomputed_json(each) == approx(each["score"]) for each in body["results"])
    for result in body["results"][:3]:  # the last document's passage is none of the first
        labels = [each["label"] for each in result["adjustments"]]
        assert labels[-2:] == ["share beside the reranker", "reranker"]
        assert "strength by the reranker" in json.dumps(result["explanation"])
    server.then(status(429, retry_after="30"))
    again = client.get(address, {"q": "timeout of five seconds"}).json()
    assert again["degraded"] == ["reranker"]


class TestWorkbench:
    @pytest.fixture
    def client(self) -> Client:
        return signed_in(staff("tuner", *TUNER))

    def moved(self, client: Client, profile: SearchProfile, **changes: str) -> Any:
        form = client.get(reverse("admin:search_workbench"))
        values = {
            name: value[0] if isinstance(value, list) else value
            for name, value in form_data(form, "wb-form").items()
        }
        body = {"profile": profile.pk, "values": {**values, **changes}, "text": QUESTION}
        return client.post(
            reverse("admin:search_workbench_preview"), json.dumps(body), "application/json"
        )

    def test_slider_move_uses_cached_scores_with_an_explanation(
        self, client: Client, server: FakeReranker, reranking_profile: SearchProfile
    ) -> None:
        first = self.moved(client, reranking_profile, rerank="0.4")
        sent = len(server.requests)
        assert sent
        second = self.moved(client, reranking_profile, rerank="0.9")
        assert len(server.requests) == sent
        assert (first.status_code, second.status_code) == (200, 200)
        text = second.json()["html"]
        assert "share beside the reranker</th><td>× 0.1</td>" in text
        assert re.search(r"reranker</th><td>\+ [\d.]+</td>", text)
        assert "gave no answer" not in text

    def test_unreachable_reranker_is_reported(
        self, client: Client, server: FakeReranker, reranking_profile: SearchProfile
    ) -> None:
        server.then(status(500))
        assert (
            "The reranker gave no answer" in self.moved(client, reranking_profile).content.decode()
        )
