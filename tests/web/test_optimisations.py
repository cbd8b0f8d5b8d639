"""“Find better weights” in the admin: asking, watching, the verdict, the draft."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from search.models import SearchProfile
from search.tuning.evaluation.golden import fingerprint
from search.tuning.models import Optimisation
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.golden_library import active_profile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

State = Optimisation.State
PAGE = "/admin/tuning/optimisation/"
REFRESH = 'http-equiv="refresh"'
RIGHTS = ("view_searchprofile", "change_searchprofile")


@pytest.fixture
def tuner(db: None) -> Client:
    return signed_in(staff("tuner", *RIGHTS))


@pytest.fixture
def viewer(db: None) -> Client:
    return signed_in(staff("viewer", "view_searchprofile"))


@pytest.fixture
def found(db: None) -> Optimisation:
    """One that has found something better for concepts, without being sure of it."""
    active = active_profile()
    profile = active.as_profile()
    weights = {each.value: of.as_dict() for each, of in profile.weights.items()}
    gain = {"mean": 0.02, "low": -0.01, "high": 0.05}
    return Optimisation.objects.create(
        profile=active,
        state=State.DONE,
        progress=1,
        found={
            "verdict": "No reliable gain (+0.020 nDCG@10): keep the current weights.",
            "reliable": False,
            "changed": True,
            "measure": "nDCG@10",
            "queries": 40,
            "measured": 0.7,
            "fitted": 0.74,
            "gain": gain,
            "better": 9,
            "worse": 7,
            "more_queries": 55,
            "normalisers": {"vector": "minmax"},
            "origins": {"person": 40},
            "fingerprint": fingerprint(profile),
            "seconds": 12.0,
            "classes": [
                {
                    "class": "concept",
                    "queries": 36,
                    "before": weights["concept"],
                    "after": {**weights["concept"], "vector": 0.5, "keyword": 0.5, "title": 0.0},
                    "gain": gain,
                },
                {
                    "class": "code",
                    "queries": 4,
                    "before": weights["code"],
                    "after": weights["code"],
                    "gain": None,
                },
            ],
        },
    )


def text(response: Any) -> str:
    return " ".join(response.content.decode().split())


class TestStarting:
    def test_the_form_asks_a_worker(self, tuner: Client) -> None:
        asked = form_data(tuner.get(f"{PAGE}start/"), "start_form")
        response = tuner.post(f"{PAGE}start/", asked)
        row = Optimisation.objects.get()
        assert response.headers["Location"] == f"{PAGE}{row.pk}/change/"
        assert row.profile == active_profile()
        assert row.user is not None
        assert "is already running" in text(tuner.post(f"{PAGE}start/", asked))
        page = text(tuner.get(f"{PAGE}{row.pk}/change/"))
        assert "Waiting for a worker" in page
        assert REFRESH in page

    def test_the_page_names_the_profile_it_was_opened_for(self, tuner: Client) -> None:
        other = SearchProfile.objects.get(name="rrf")
        page = tuner.get(f"{PAGE}start/", {"profile": other.pk})
        assert form_data(page, "start_form")["profile"] == str(other.pk)
        workbench = text(tuner.get(reverse("admin:search_workbench"), {"profile": other.pk}))
        assert f"{PAGE}start/?profile={other.pk}" in workbench

    def test_cancelling(self, tuner: Client) -> None:
        row = Optimisation.objects.create(profile=active_profile(), state=State.RUNNING)
        response = tuner.post(f"{PAGE}{row.pk}/cancel/")
        assert "has been cancelled" in said(response)
        assert REFRESH not in text(tuner.get(f"{PAGE}{row.pk}/change/"))
        assert "already ended" in said(tuner.post(f"{PAGE}{row.pk}/cancel/"))


class TestResult:
    def test_says_the_verdict_the_change_and_the_interval(
        self, viewer: Client, found: Optimisation
    ) -> None:
        page = text(viewer.get(f"{PAGE}{found.pk}/change/"))
        assert "keep the current weights." in page
        assert "67 →</span> <strong>50%" in page
        assert '<strong>+0.020</strong> <span class="sy-muted">−0.010 to +0.050' in page
        assert "too few questions" in page
        assert "About 55 more judged questions are needed" in page
        assert "Meaning</strong>:" in page
        assert "Create a draft anyway" not in page  # who only looks

    def test_a_draft_is_made_by_hand_and_opened(self, tuner: Client, found: Optimisation) -> None:
        assert "Create a draft anyway" in text(tuner.get(f"{PAGE}{found.pk}/change/"))
        response = tuner.post(f"{PAGE}{found.pk}/draft/")
        found.refresh_from_db()
        draft = found.draft
        assert draft is not None
        assert response.headers["Location"].endswith(f"?profile={draft.pk}")
        assert "no reliable gain" in draft.description
        assert draft.vector_normaliser == "minmax"
        assert draft.class_weights.get(query_class="concept").keyword == 0.5
        assert f"Open {draft} in the workbench" in text(tuner.get(f"{PAGE}{found.pk}/change/"))

    def test_a_comparison_made_before_0_2_has_its_verdict(
        self, viewer: Client, found: Optimisation
    ) -> None:
        found.found = {"verdict": "No shipped profile is better.", "presets": []}
        found.save()
        assert "No shipped profile is better." in text(viewer.get(f"{PAGE}{found.pk}/change/"))

    def test_the_list_costs_the_same_for_many(
        self, viewer: Client, found: Optimisation, django_assert_max_num_queries: Any
    ) -> None:
        viewer.get(PAGE)
        for _ in range(3):
            with django_assert_max_num_queries(12):
                assert found.found["verdict"] in text(viewer.get(PAGE))
            Optimisation.objects.create(profile=found.profile, found=found.found, state=State.DONE)
