"""“Find better weights” in the admin: asking, watching, the verdict, the draft."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from search.models import SearchProfile
from search.tuning.evaluation.golden import fingerprint
from search.tuning.models import GoldenQuery, Optimisation
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import make_collection, make_document
from tests.support.golden_library import active_profile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

State = Optimisation.State
PAGE = "/admin/search/optimisations/"
RIGHTS = (
    "view_searchprofile", "change_searchprofile", "add_goldenquery", "delete_goldenquery",
)  # fmt: skip


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
        options={"kind": "weights", "seed": 1, "folds": 5},
        found={
            "verdict": "No reliable gain (+0.020 nDCG@10): keep the current weights.",
            "reliable": False,
            "changed": True,
            "synthetic": False,
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


class TestAsking:
    def test_the_form_asks_a_worker(self, tuner: Client) -> None:
        asked = {**form_data(tuner.get(PAGE), "find_form"), "kind": "weights", "seed": "7"}
        response = tuner.post(PAGE, {**asked, "classes": ["concept"], "origins": ["imported"]})
        row = Optimisation.objects.get()
        assert response.headers["Location"] == f"{PAGE}{row.pk}/"
        assert row.profile == active_profile()
        assert row.user is not None
        assert row.options["seed"] == 7
        assert row.options["classes"] == ["concept"]
        assert row.options["origins"] == ["imported"]
        assert row.options["normalisers"] is True
        again = tuner.post(PAGE, asked)
        assert "is already running" in text(again)
        page = text(tuner.get(f"{PAGE}{row.pk}/"))
        assert "Waiting for a worker" in page
        assert "data-live" in page

    def test_a_form_with_an_error_says_so(self, tuner: Client) -> None:
        asked = form_data(tuner.get(PAGE), "find_form")
        assert "less than or equal to 10" in text(tuner.post(PAGE, {**asked, "folds": "40"}))
        assert "two signals" in text(tuner.post(PAGE, {**asked, "signals": ["title"]}))
        assert not Optimisation.objects.exists()

    def test_the_page_names_the_profile_it_was_opened_for(self, tuner: Client) -> None:
        other = SearchProfile.objects.get(name="rrf")
        page = tuner.get(PAGE, {"profile": other.pk})
        assert form_data(page, "find_form")["profile"] == str(other.pk)
        workbench = text(tuner.get(reverse("admin:search_workbench"), {"profile": other.pk}))
        assert f"{PAGE}?profile={other.pk}" in workbench

    def test_cancelling(self, tuner: Client) -> None:
        row = Optimisation.objects.create(profile=active_profile(), state=State.RUNNING)
        response = tuner.post(f"{PAGE}{row.pk}/cancel/")
        assert "has been cancelled" in said(response)
        assert "data-live" not in text(tuner.get(f"{PAGE}{row.pk}/"))
        assert "already ended" in said(tuner.post(f"{PAGE}{row.pk}/cancel/"))


class TestResult:
    def test_says_the_verdict_the_change_and_the_interval(
        self, viewer: Client, found: Optimisation
    ) -> None:
        page = text(viewer.get(f"{PAGE}{found.pk}/"))
        assert "keep the current weights." in page
        assert "67 →</span> <strong>50%" in page
        assert '<strong>+0.020</strong> <span class="sy-muted">−0.010 to +0.050' in page
        assert "too few questions" in page
        assert "About 55 more judged questions are needed" in page
        assert "Meaning</strong>:" in page
        assert "Create a draft anyway" not in page  # who only looks

    def test_a_draft_is_made_by_hand_and_opened(self, tuner: Client, found: Optimisation) -> None:
        assert "Create a draft anyway" in text(tuner.get(f"{PAGE}{found.pk}/"))
        response = tuner.post(f"{PAGE}{found.pk}/draft/")
        found.refresh_from_db()
        draft = found.draft
        assert draft is not None
        assert response.headers["Location"].endswith(f"?profile={draft.pk}")
        assert "no reliable gain" in draft.description
        assert draft.vector_normaliser == "minmax"
        assert draft.class_weights.get(query_class="concept").keyword == 0.5
        assert f"Open {draft} in the workbench" in text(tuner.get(f"{PAGE}{found.pk}/"))

    def test_the_list_and_its_part_cost_the_same_for_many(
        self, viewer: Client, found: Optimisation, django_assert_num_queries: Any
    ) -> None:
        queries = 6  # a savepoint's two, the session, the person, their permissions, the rows
        viewer.get(PAGE)
        for _ in range(3):
            with django_assert_num_queries(queries):
                assert found.found["verdict"] in text(viewer.get(PAGE, {"fragment": 1}))
            Optimisation.objects.create(profile=found.profile, found=found.found, state=State.DONE)


class TestStarting:
    @pytest.fixture
    def shelf(self, db: None) -> None:
        make_document(
            make_collection("Mill"),
            "# Mill\n\n## Grinding the coarse flour\n\nThe stones turn slowly in the morning wind.",
            file_name="mill.md",
        )

    def test_synthetic_queries_come_and_go(self, tuner: Client, shelf: None) -> None:
        told = said(tuner.post(f"{PAGE}synthetic/", {"count": "5", "seed": "2"}))
        assert told == "1 synthetic query created; 0 existed already."
        assert "Remove all 1" in text(tuner.get(PAGE))
        assert said(tuner.post(f"{PAGE}synthetic/", {"remove": "1"})).startswith("1 synthetic")
        assert not GoldenQuery.objects.exists()
