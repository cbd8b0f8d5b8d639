"""D18: targets of profiles, compared with the last measurement; for information only."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse
from pytest import approx
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.models import Document
from search.analytics.models import SearchEvent
from search.errors import ProfileError
from search.models import SearchProfile
from search.parts.experiments import life_cycle
from search.parts.experiments.models import Experiment
from search.tuning import drafts, publications
from search.tuning.evaluation import golden_runs, targets
from search.tuning.evaluation.golden_set import fingerprint
from search.tuning.models import (
    EvaluationRun,
    Optimisation,
    ProfileChange,
    ProfileTargets,
    Publication,
)
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import make_collection, make_document
from tests.support.golden_library import TITLE_ONLY, active_profile, draft_with

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "one_round")]

WANTED = {
    "p95_ms": 500, "p_at_5": 0.4, "hit_at_5": 0.5, "confidence": 0.6, "confident_share": 0.75,
}  # fmt: skip


def row(rr: float | None, sure: float | None) -> dict[str, Any]:
    return {"measures": {} if rr is None else {"RR@10": rr}, "confidence": sure}


def measured(profile: SearchProfile, **fields: Any) -> EvaluationRun:
    """A finished run of the profile as it is, with these figures."""
    given = {
        "latency_ms": {"p50": 80.0, "p95": 480.0},
        "measures": {"P@5": 0.3},
        "by_query": {"1": row(1.0, 0.9), "2": row(0.2, 0.6), "3": row(1 / 6, 0.59), "4": row(0, 0)},
    }
    return EvaluationRun.objects.create(
        profile=profile, queries=4,
        fingerprint=fingerprint(profile.as_profile()), **{**given, **fields},
    )  # fmt: skip


def states(profile: SearchProfile) -> dict[str, bool | None]:
    held, run = targets.of_profile(profile), targets.last_run(profile)
    return {each.name: each.met for each in targets.outcomes(held, run)}


class TestFigures:
    def test_hit_at_5_matches_a_count_by_hand(self) -> None:
        """First answers at ranks 1, 5 and 6, and none: two of four among the first five."""
        rows = {str(n): row(rr, None) for n, rr in enumerate((1.0, 0.2, 1 / 6, 0.0))}
        assert targets.hit_at_5(rows) == approx(2 / 4)
        assert targets.hit_at_5({**rows, "5": row(None, None)}) == approx(2 / 4)
        assert targets.hit_at_5({"1": row(None, 1.0)}) is None

    def test_share_of_confident_questions_matches_a_count_by_hand(self) -> None:
        rows = {str(n): row(1.0, sure) for n, sure in enumerate((0.9, 0.6, 0.59, None))}
        assert targets.confident_share(rows, 0.6) == approx(2 / 3)
        assert targets.confident_share({"1": {"measures": {}}}, 0.6) is None

    def test_targets_are_met_missed_or_not_measured(self) -> None:
        profile = active_profile()
        drafts.set_targets(profile, WANTED, acting_user=None)
        assert states(profile) == dict.fromkeys(
            ("p95_ms", "p_at_5", "hit_at_5", "confident_share"), None
        )
        measured(profile)
        assert states(profile) == {
            "p95_ms": True,  # 480 of 500 ms
            "p_at_5": False,  # .3 of .4
            "hit_at_5": True,  # 2 of 4, wanted .5
            "confident_share": False,  # 2 of 4 have .6 or more, wanted .75
        }

    def test_only_set_targets_are_shown(self) -> None:
        profile = active_profile()
        drafts.set_targets(profile, {"p_at_5": 0.2}, acting_user=None)
        measured(profile)
        assert states(profile) == {"p_at_5": True}

    def test_measurements_before_an_edit_do_not_count(self) -> None:
        draft = draft_with()
        drafts.set_targets(draft, {"p_at_5": 0.2}, acting_user=None)
        measured(draft)
        assert states(draft) == {"p_at_5": True}
        edited = drafts.edit(draft, {"depth": 60}, {}, acting_user=None).profile
        assert states(edited) == {"p_at_5": None}

    def test_a_run_records_the_confidence_of_each_question(
        self, documents: dict[str, Document]
    ) -> None:
        profile = active_profile()
        drafts.set_targets(profile, {"confidence": 0.0, "confident_share": 1.0}, acting_user=None)
        run = golden_runs.create(profile, acting_user=None)
        golden_runs.measure(run.pk)
        run.refresh_from_db()
        assert all(0 < each["confidence"] < 1 for each in run.by_query.values())
        assert states(profile) == {"confident_share": True}


class TestChanges:
    def test_a_published_version_may_get_other_targets_and_stays_as_it_was(
        self, administrator: User
    ) -> None:
        profile = active_profile()
        before, seen = fingerprint(profile.as_profile()), drafts.edit_stamp(profile)
        wanted = {"p_at_5": 0.4, "p95_ms": 300}
        drafts.set_targets(profile, wanted, acting_user=administrator, reason="Agreed in May.")
        after = active_profile()
        assert fingerprint(after.as_profile()) == before
        assert drafts.edit_stamp(after) == seen
        assert (after.pk, SearchProfile.objects.filter(state="draft").count()) == (profile.pk, 0)
        change = ProfileChange.objects.get(action=ProfileChange.Action.TARGETS)
        assert change.differences == ["search time (ms): none → 300", "Precision@5: none → 0.4"]
        assert (change.user, change.reason) == (administrator, "Agreed in May.")

    def test_drafts_start_with_a_copy_of_the_targets(self) -> None:
        profile = active_profile()
        drafts.set_targets(profile, WANTED, acting_user=None)
        draft = drafts.draft_from(profile, acting_user=None)
        drafts.set_targets(profile, {"p95_ms": None}, acting_user=None)
        held = targets.of_profile(draft)
        assert {name: getattr(held, name) for name in WANTED} == WANTED
        assert targets.of_profile(active_profile()).p95_ms is None

    @pytest.mark.parametrize(
        ("wanted", "words"),
        [
            ({"p_at_5": 1.5}, "less than or equal to 1"),
            ({"p95_ms": 0}, "greater than or equal to 1"),
            ({"confidence": 0.5}, "both the confidence and the share"),
        ],
        ids=str,
    )
    def test_invalid_targets_are_refused(self, wanted: dict[str, Any], words: str) -> None:
        with pytest.raises(ProfileError, match=words):
            drafts.set_targets(active_profile(), wanted, acting_user=None)
        assert not ProfileTargets.objects.exists()
        assert not ProfileChange.objects.filter(action="targets").exists()


class TestPages:
    def address(self, profile: SearchProfile, page: str) -> str:
        return f"/admin/search/searchprofile/{profile.pk}/{page}/"

    def test_targets_are_edited_on_the_profile_page(self, desk: Client) -> None:
        client, profile = desk, active_profile()
        assert "Set targets" in client.get(self.address(profile, "change")).content.decode()
        response = client.post(
            self.address(profile, "targets"), {"p95_ms": "500", "p_at_5": "0.4", "reason": "May."}
        )
        assert "The targets were saved." in said(response)
        assert ProfileTargets.objects.get().p95_ms == 500
        page = client.get(self.address(profile, "change")).content.decode()
        assert "95% of searches take at most 500 ms" in page
        assert "not measured" in page
        run = measured(profile)
        page = client.get(self.address(profile, "change")).content.decode()
        assert f"/admin/tuning/evaluationrun/{run.pk}/change/" in page
        assert "480 ms" in page
        assert "missed" in page

    def test_the_form_says_what_is_wrong_and_keeps_what_was_typed(self, desk: Client) -> None:
        page = desk.post(
            self.address(active_profile(), "targets"),
            {"confidence": "0.5", "reason": "Agreed in May."},
        )
        assert "both the confidence and the share" in page.content.decode()
        assert ">Agreed in May.</textarea>" in page.content.decode()

    def test_viewers_cannot_set_targets(self) -> None:
        profile = active_profile()
        drafts.set_targets(profile, {"p_at_5": 0.4}, acting_user=None)
        viewer = signed_in(staff("viewer", "view_searchprofile"))
        page = viewer.get(self.address(profile, "change")).content.decode()
        assert "Precision@5 is at least 0.4" in page
        assert "Edit targets" not in page
        assert viewer.get(self.address(profile, "targets")).status_code == 403

    def test_a_missed_target_does_not_stop_the_gate_and_its_page_shows_it(
        self, administrator: User, desk: Client, documents: dict[str, Document]
    ) -> None:
        drafts.set_targets(active_profile(), {"p_at_5": 1.0, "hit_at_5": 0.0}, acting_user=None)
        draft = draft_with(depth=90)
        done = publications.publish(draft, acting_user=administrator)
        assert done.state == Publication.State.PUBLISHED
        page = desk.get(f"/admin/tuning/publication/{done.pk}/change/").content.decode()
        assert "Precision@5 is at least 1" in page
        assert "missed" in page
        assert ">met<" in page.replace(" ", "").replace("\n", "")
        worse = draft_with(TITLE_ONLY)
        shown = desk.get(self.address(worse, "publish")).content.decode()
        assert "Precision@5 is at least 1" in shown
        assert "not measured" in shown


# --- “Find better weights” in the admin: asking, watching, the verdict, the draft ----------------

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
    def test_form_starts_an_optimisation_by_a_worker(self, tuner: Client) -> None:
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

    def test_optimisation_can_be_cancelled(self, tuner: Client) -> None:
        row = Optimisation.objects.create(profile=active_profile(), state=State.RUNNING)
        response = tuner.post(f"{PAGE}{row.pk}/cancel/")
        assert "has been cancelled" in said(response)
        assert REFRESH not in text(tuner.get(f"{PAGE}{row.pk}/change/"))
        assert "already ended" in said(tuner.post(f"{PAGE}{row.pk}/cancel/"))


class TestResult:
    def test_result_shows_verdict_change_and_interval(
        self, viewer: Client, found: Optimisation
    ) -> None:
        page = text(viewer.get(f"{PAGE}{found.pk}/change/"))
        assert "keep the current weights." in page
        assert "67 →</span> <strong>50%" in page
        assert '<strong>+0.020</strong> <span class="sy-muted">−0.010 to +0.050' in page
        assert "too few questions" in page
        assert "About 55 more judged questions are needed" in page
        assert "Meaning</strong>:" in page

    def test_a_comparison_made_before_0_2_has_its_verdict(
        self, viewer: Client, found: Optimisation
    ) -> None:
        found.found = {"verdict": "No shipped profile is better.", "presets": []}
        found.save()
        assert "No shipped profile is better." in text(viewer.get(f"{PAGE}{found.pk}/change/"))


# --- Experiments in the admin and the EXPERIMENTS_API: planned, started, watched, ended ----------

EXPERIMENTS = "/admin/experiments/experiment/"


@pytest.fixture
def other() -> SearchProfile:
    found = SearchProfile.objects.filter(state="retired").order_by("pk").first()
    assert found is not None
    return found


@pytest.fixture
def plan(other: SearchProfile) -> dict[str, Any]:
    return {
        "name": "Does it help?", "a": active_profile().pk, "b": other.pk,
        "share": "1", "days": "14", "indifference": "0.02", "note": "",
    }  # fmt: skip


def key(profile: SearchProfile) -> str:
    return f"{profile.name}@{profile.version}"


def publisher() -> User:
    user = User.objects.create_user("publisher", password="pw", is_staff=True)
    user.groups.add(Group.objects.get(name="Search publishers"))
    return user


class TestExperiments:
    def test_experiment_is_planned_started_and_ended(
        self, plan: dict[str, Any], other: SearchProfile
    ) -> None:
        client = signed_in(publisher())
        client.post(f"{EXPERIMENTS}add/", plan)
        experiment = Experiment.objects.get()
        assert experiment.added_by is not None
        client.post(f"{EXPERIMENTS}{experiment.pk}/change/", {**plan, "days": 7})
        assert Experiment.objects.get().days == 7
        assert LogEntry.objects.count() == 2

        asks = client.get(f"{EXPERIMENTS}{experiment.pk}/start/").content.decode()
        assert str(other) in asks
        assert "nothing will be measured" in asks
        response = client.post(f"{EXPERIMENTS}{experiment.pk}/start/")
        assert "applies from the next search" in said(response)

        page = client.get(f"{EXPERIMENTS}{experiment.pk}/change/").content.decode()
        assert "No visitor has taken part yet." in page
        assert "Running" in page
        assert 'name="days"' not in page  # what runs changes no more
        assert "No visitor has taken part yet." in client.get(EXPERIMENTS).content.decode()

        without = client.post(f"{EXPERIMENTS}{experiment.pk}/end/", {"reason": " "})
        assert "Give a reason" in said(without)
        client.post(f"{EXPERIMENTS}{experiment.pk}/end/", {"reason": "Enough."})
        experiment.refresh_from_db()
        assert (experiment.state, experiment.end_reason) == ("ended", "Enough.")

    def test_a_winner_leads_to_the_publish_page(
        self, plan: dict[str, Any], other: SearchProfile
    ) -> None:
        experiment = life_cycle.start(
            Experiment.objects.create(**{**plan, "a": active_profile(), "b": other}),
            acting_user=None,
        )
        verdict = {"verdict": "b", "sentence": "B is better.", "visitors": 9, "counts": [1, 8],
                    "at": "2026-01-01T10:00:00+00:00"}  # fmt: skip
        Experiment.objects.update(state="ended", verdict=verdict)
        page = signed_in(publisher()).get(f"{EXPERIMENTS}{experiment.pk}/change/").content.decode()
        assert reverse("admin:search_searchprofile_publish", args=(other.pk,)) in page
        assert active_profile() != other

    def test_invalid_plan_is_a_form_error(self, plan: dict[str, Any]) -> None:
        client = signed_in(publisher())
        response = client.post(f"{EXPERIMENTS}add/", {**plan, "b": plan["a"]})
        assert "two different profiles" in str(response.context["adminform"].form.errors)
        assert not Experiment.objects.exists()


class TestSearches:
    def test_a_search_says_that_it_takes_part(
        self, other: SearchProfile, api: APIClient, django_assert_num_queries: Any
    ) -> None:
        make_document(make_collection(), "# Leave\n\nAnnual leave is asked for in writing.")
        planned = Experiment.objects.create(name="One", a=active_profile(), b=other)
        experiment = life_cycle.start(planned, acting_user=None)
        api.get("/api/v1/search/", {"q": "leave"})
        with django_assert_num_queries(5):  # stamp, words, candidates, page, event
            body = api.get("/api/v1/search/", {"q": "annual leave"}).json()
        trial = body["experiment"]
        assert trial["id"] == SearchEvent.objects.latest("pk").experiment == experiment.pk
        assert body["profile"] in trial["profiles"]
        assert {result["team"] for result in body["results"]} <= {"a", "b", ""}
        forced = api.get("/api/v1/search/", {"q": "leave", "profile": key(other)}).json()
        assert forced["experiment"] is None
