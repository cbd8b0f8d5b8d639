"""A site without any part of the search: pages, API and workbench work, and say what is missing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.test import Client
from django.urls import reverse

from ingestion.documents import extractions
from ingestion.models import Document
from search import retrieval
from search.engine import adjust_weights, configuration, reranker
from search.models import ClassWeights, SearchProfile
from search.parts.concepts.models import Concept, ConceptCount
from search.signals import registry
from search.tuning.api.profile_serializers import SharesSerializer
from tests.support.admin_client import signed_in, staff
from tests.support.factories import make_collection, make_document

TEXT = "# Pumps\n\nThe bearings of a pump are greased once a month."
STARTED = """
import sys
import django
django.setup()
from search.signals import registry
from search import retrieval
import kbsite.urls
print(*sorted(part.signal.value for part in registry.installed()))
print(*retrieval.backend_names())
print(*sorted({"qdrant_client", "qdrant_edge", "grpc"} & sys.modules.keys()))
print(*[name for name in sys.modules if name.startswith("search.parts.") and name.count(".") > 2])
from django.conf import settings
print("experiment" in repr(settings.ADMIN_MENU), *settings.CELERY_BEAT_SCHEDULE)
"""


def test_a_site_without_parts_starts_and_loads_none_of_their_packages() -> None:
    env = {**os.environ, "SEARCH_PARTS": "", "DJANGO_SETTINGS_MODULE": "kbsite.settings"}
    done = subprocess.run(
        [sys.executable, "-c", STARTED], env=env, capture_output=True, text=True, check=True
    )
    signals, engines, packages, modules, lines = done.stdout.splitlines()
    assert signals == "keyword recency synonym title vector"
    assert engines == "postgres"
    assert packages == modules == ""
    assert lines.startswith("False")
    assert "search.parts" not in lines


@pytest.mark.django_db
@pytest.mark.usefixtures("clean_cache")
class TestSite:
    @pytest.fixture(autouse=True)
    def bare(self, monkeypatch: pytest.MonkeyPatch) -> None:
        core = {
            part.signal: part
            for part in registry.installed()
            if type(part).__module__.startswith("search.signals")
        }
        monkeypatch.setattr(registry, "_parts", core)
        monkeypatch.setattr(reranker, "_source", lambda: None)
        monkeypatch.setattr(extractions, "_extractors", [])
        ours = adjust_weights.__name__
        changes = [each for each in adjust_weights._adjustments if each.__module__ == ours]
        monkeypatch.setattr(adjust_weights, "_adjustments", changes)
        monkeypatch.setattr(
            retrieval, "_backends", {retrieval.POSTGRES: retrieval._backends[retrieval.POSTGRES]}
        )

    @pytest.fixture(autouse=True)
    def pumps(self, bare: None) -> Document:
        return make_document(make_collection(), TEXT)

    @pytest.fixture
    def weighs_wordnet(self) -> None:
        rows = ClassWeights.objects.filter(profile__state=SearchProfile.State.ACTIVE)
        rows.update(vector="0.4", keyword="0.4", title=0, recency=0, synonym=0, concept="0.1",
                    wordnet="0.1")  # fmt: skip
        configuration.bump()

    def test_page_and_api_search_without_parts(self, client: Client) -> None:
        page = client.get("/", {"q": "bearings of a pump"})
        assert "Pumps" in page.content.decode()
        answer = client.get(reverse("api:search"), {"q": "bearings of a pump"}).json()
        assert [each["document"]["title"] for each in answer["results"]] == ["Pumps"]
        assert answer["degraded"] == []

    @pytest.mark.usefixtures("weighs_wordnet")
    def test_weight_of_a_missing_part_is_reported_and_ignored(self, client: Client) -> None:
        answer = client.get(reverse("api:search"), {"q": "bearings of a pump"}).json()
        assert [each["document"]["title"] for each in answer["results"]] == ["Pumps"]
        assert sorted(answer["degraded"]) == ["concept", "wordnet"]
        page = client.get("/", {"q": "bearings of a pump"}).content.decode()
        assert "The signal “wordnet” is not installed" in page

    def test_share_of_a_missing_reranker_is_reported(self, client: Client) -> None:
        SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE).update(rerank=0.5)
        configuration.bump()
        answer = client.get(reverse("api:search"), {"q": "bearings of a pump"}).json()
        assert answer["degraded"] == ["reranker"]

    @pytest.mark.usefixtures("weighs_wordnet")
    def test_workbench_works_without_parts(self) -> None:
        tuner = signed_in(staff("tuner", "view_searchprofile", "change_searchprofile"))
        answer = tuner.get(reverse("admin:search_workbench"), {"q": "bearings of a pump"})
        assert answer.status_code == 200

    def test_concepts_are_not_extracted_without_their_part(self, pumps: Document) -> None:
        assert not Concept.objects.exists()
        assert not ConceptCount.objects.exists()

    def test_weight_for_a_missing_part_is_refused(self) -> None:
        shares = SharesSerializer(data={"keyword": "0.9", "wordnet": "0.1"})
        assert not shares.is_valid()
        assert "Not installed" in str(shares.errors)
        assert SharesSerializer(data={"keyword": "0.9", "vector": "0.1"}).is_valid()
