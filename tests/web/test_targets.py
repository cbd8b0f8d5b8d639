"""D18: targets of profiles, held against the last measurement; for information only."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest import approx
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.models import Document
from search.errors import ProfileError
from search.models import SearchProfile
from search.tuning.evaluation import golden_runs, targets
from search.tuning.evaluation.golden import fingerprint
from search.tuning.models import EvaluationRun, ProfileChange, ProfileTargets, Publication
from search.tuning.publishing import activation, drafts, publications
from tests.support.admin_client import said, signed_in, staff
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
        kind="golden", profile=profile, queries=4,
        fingerprint=fingerprint(profile.as_profile()), **{**given, **fields},
    )  # fmt: skip


def states(profile: SearchProfile) -> dict[str, bool | None]:
    held, run = targets.held_by(profile), targets.last_run(profile)
    return {each.name: each.met for each in targets.outcomes(held, run)}


class TestFigures:
    def test_hit_at_5_by_hand(self) -> None:
        """First answers at ranks 1, 5 and 6, and none: two of four among the first five."""
        rows = {str(n): row(rr, None) for n, rr in enumerate((1.0, 0.2, 1 / 6, 0.0))}
        assert targets.hit_at_5(rows) == approx(2 / 4)
        assert targets.hit_at_5({**rows, "5": row(None, None)}) == approx(2 / 4)
        assert targets.hit_at_5({"1": row(None, 1.0)}) is None

    def test_the_share_of_confident_questions_by_hand(self) -> None:
        rows = {str(n): row(1.0, sure) for n, sure in enumerate((0.9, 0.6, 0.59, None))}
        assert targets.confident_share(rows, 0.6) == approx(2 / 3)
        assert targets.confident_share({"1": {"measures": {}}}, 0.6) is None

    def test_met_missed_and_not_measured(self) -> None:
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

    def test_only_those_that_are_set_are_shown(self) -> None:
        profile = active_profile()
        drafts.set_targets(profile, {"p_at_5": 0.2}, acting_user=None)
        measured(profile)
        assert states(profile) == {"p_at_5": True}

    def test_what_was_measured_before_an_edit_does_not_count(self) -> None:
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

    def test_drafts_start_with_a_copy(self) -> None:
        profile = active_profile()
        drafts.set_targets(profile, WANTED, acting_user=None)
        draft = activation.draft_from(profile, acting_user=None)
        drafts.set_targets(profile, {"p95_ms": None}, acting_user=None)
        held = targets.held_by(draft)
        assert {name: getattr(held, name) for name in WANTED} == WANTED
        assert targets.held_by(active_profile()).p95_ms is None

    @pytest.mark.parametrize(
        ("wanted", "words"),
        [
            ({"p_at_5": 1.5}, "less than or equal to 1"),
            ({"p95_ms": 0}, "greater than or equal to 1"),
            ({"confidence": 0.5}, "both the confidence and the share"),
        ],
        ids=str,
    )
    def test_invalid_ones_are_refused(self, wanted: dict[str, Any], words: str) -> None:
        with pytest.raises(ProfileError, match=words):
            drafts.set_targets(active_profile(), wanted, acting_user=None)
        assert not ProfileTargets.objects.exists()
        assert not ProfileChange.objects.filter(action="targets").exists()

    def test_saving_the_same_is_no_change(self) -> None:
        for _ in range(2):
            drafts.set_targets(active_profile(), {"p_at_5": 0.4}, acting_user=None)
        assert ProfileChange.objects.filter(action="targets").count() == 1


class TestPages:
    def address(self, profile: SearchProfile, page: str) -> str:
        return f"/admin/search/searchprofile/{profile.pk}/{page}/"

    def test_are_edited_and_shown_on_the_profiles_page(self, administrator: User) -> None:
        client, profile = signed_in(administrator), active_profile()
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

    def test_the_form_says_what_is_wrong_and_keeps_what_was_typed(
        self, administrator: User
    ) -> None:
        page = signed_in(administrator).post(
            self.address(active_profile(), "targets"),
            {"confidence": "0.5", "reason": "Agreed in May."},
        )
        assert "both the confidence and the share" in page.content.decode()
        assert ">Agreed in May.</textarea>" in page.content.decode()

    def test_viewers_see_and_do_not_set(self) -> None:
        profile = active_profile()
        drafts.set_targets(profile, {"p_at_5": 0.4}, acting_user=None)
        viewer = signed_in(staff("viewer", "view_searchprofile"))
        page = viewer.get(self.address(profile, "change")).content.decode()
        assert "Precision@5 is at least 0.4" in page
        assert "Edit targets" not in page
        assert viewer.get(self.address(profile, "targets")).status_code == 403

    def test_a_missed_target_does_not_stop_the_gate_and_its_page_shows_it(
        self, administrator: User, documents: dict[str, Document]
    ) -> None:
        drafts.set_targets(active_profile(), {"p_at_5": 1.0, "hit_at_5": 0.0}, acting_user=None)
        draft = draft_with(depth=90)
        done = publications.publish(draft, acting_user=administrator)
        assert done.state == Publication.State.PUBLISHED
        client = signed_in(administrator)
        page = client.get(f"/admin/tuning/publication/{done.pk}/change/").content.decode()
        assert "Precision@5 is at least 1" in page
        assert "missed" in page
        assert ">met<" in page.replace(" ", "").replace("\n", "")
        worse = draft_with(TITLE_ONLY)
        shown = client.get(self.address(worse, "publish")).content.decode()
        assert "Precision@5 is at least 1" in shown
        assert "not measured" in shown


def test_a_new_profile_starts_with_those_of_its_base(api: APIClient, administrator: User) -> None:
    api.force_authenticate(administrator)
    drafts.set_targets(active_profile(), {"p_at_5": 0.4}, acting_user=None)
    made = api.post("/api/v1/profiles/", {"name": "recipes"}).json()
    draft = SearchProfile.objects.get(name=made["name"], version=made["version"])
    assert targets.held_by(draft).p_at_5 == 0.4


def test_the_last_run_is_the_newest() -> None:
    profile = active_profile()
    old = measured(profile, created=timezone.now() - timedelta(days=1))
    new = measured(profile)
    measured(profile, state="failed")
    found = targets.last_run(profile)
    assert found == new != old
