"""Publishing through the gate, and back: what is measured becomes active, or says why not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from common.accounts.models import User
from ingestion.errors import EmbeddingUnavailable
from ingestion.models import Document
from search.errors import NotPermitted, ProfileError, RunConflict
from search.models import SearchProfile, Synonym
from search.pipeline import Choices, search
from search.tuning import activation as activation
from search.tuning import diff, drafts, gate_runs, judging, publications
from search.tuning.api.profile_serializers import named_profile
from search.tuning.evaluation import golden_runs, golden_set
from search.tuning.models import EvaluationRun, GoldenQuery, ProfileChange, Publication, PublishGate
from tests.support.factories import make_document
from tests.support.golden_library import (
    KEYWORDS_ONLY,
    TITLE_ONLY,
    active_profile,
    draft_with,
    judge_all,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "one_round")]

State, Action = Publication.State, ProfileChange.Action
CROSSING = "how often does the ferry cross the river"


def leave_to_workers() -> None:
    """Let a worker measure any number of golden queries."""
    PublishGate.objects.update_or_create(pk=1, defaults={"background_above": 0})


def last_change() -> ProfileChange:
    change = ProfileChange.objects.first()
    assert change is not None
    return change


class TestGoldenSet:
    def test_golden_set_holds_the_median_grade_rounded_down(
        self, documents: dict[str, Document], administrator: User, member: User, reader: User
    ) -> None:
        for user, grade in ((administrator, 3), (member, 2), (reader, 0)):
            judging.judge(CROSSING, [], documents["river"], grade, acting_user=user)
        judging.judge(CROSSING, [], documents["ferry"], 2, acting_user=member)
        query = judging.set_must_be_first(CROSSING, [], documents["ferry"], acting_user=member)
        GoldenQuery.objects.exclude(pk=query.pk).update(enabled=False)
        held = golden_set.golden_set()
        # ferry: (3 + 2) / 2 = 2.5 -> 2; river: 0, 2, 3 -> 2
        ids = {name: str(document.public_id) for name, document in documents.items()}
        assert held[0].qrels == {ids["ferry"]: 2, ids["river"]: 2}
        assert held[0].must_be_first == ids["ferry"]
        assert held[0].is_measured

        Document.objects.filter(pk=documents["ferry"].pk).update(deleted_at="2026-01-01T00:00Z")
        (without,) = golden_set.golden_set()
        assert without.qrels == {ids["river"]: 2}
        assert without.must_be_first == ""

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"text": "type:nope"}, "“type:nope”: unknown type"),
            ({"collections": ["gone"]}, "There is no collection gone any more."),
        ],
    )
    def test_a_query_that_no_search_can_run_is_named_and_counts_in_no_mean(
        self, documents: dict[str, Document], administrator: User, changed: Any, said: str
    ) -> None:
        judge_all(documents, administrator)
        run = golden_runs.create(active_profile(), acting_user=administrator)
        golden_runs.measure(run.pk)
        run.refresh_from_db()
        means, broken = run.measures, GoldenQuery.objects.get(text=CROSSING)
        whole = {key: row["measures"] for key, row in run.by_query.items()}

        GoldenQuery.objects.filter(pk=broken.pk).update(must_be_first=documents["ferry"], **changed)
        again = golden_runs.create(draft_with(), acting_user=administrator)
        golden_runs.measure(again.pk)
        again.refresh_from_db()

        del whole[str(broken.pk)]
        ndcg = [row["nDCG@10"] for row in whole.values()]
        assert again.measures["nDCG@10"] == pytest.approx(sum(ndcg) / len(ndcg))
        assert (again.queries, len(means)) == (2, len(again.measures))
        rows = {row.pk: row for row in golden_runs.query_rows(again, viewer=administrator)}
        assert said in rows[broken.pk].error
        assert rows[broken.pk].measures == {}
        assert not any(row.error for key, row in rows.items() if key != broken.pk)
        assert gate_runs.verdict(again).passed

    def test_fingerprint_changes_with_every_ranking_setting(self) -> None:
        same = draft_with()
        assert golden_set.fingerprint(same.as_profile()) == golden_set.fingerprint(
            active_profile().as_profile()
        )
        others = [draft_with(KEYWORDS_ONLY), draft_with(depth=60), draft_with(fusion="rrf")]
        prints = {golden_set.fingerprint(each.as_profile()) for each in (same, *others)}
        assert len(prints) == 4


class TestWithoutGoldenQueries:
    def test_publication_without_golden_queries_reports_that_nothing_was_measured(
        self, administrator: User
    ) -> None:
        done = publications.publish(draft_with(KEYWORDS_ONLY), acting_user=administrator)
        assert (done.state, done.run) == (State.PUBLISHED, None)
        assert done.findings == [gate_runs.NOTHING_MEASURED]
        assert last_change().findings == done.findings

    def test_publication_of_a_draft_edited_since_is_refused(self, administrator: User) -> None:
        draft = draft_with()
        with pytest.raises(RunConflict, match="edited since"):
            publications.publish(draft, acting_user=administrator, expected="0" * 64)
        seen = golden_set.fingerprint(draft.as_profile())
        done = publications.publish(draft, acting_user=administrator, expected=seen)
        assert done.state == State.PUBLISHED

    def test_publishing_overriding_and_rollback_need_their_permission(self, reader: User) -> None:
        draft = draft_with()
        with pytest.raises(NotPermitted):
            publications.publish(draft, acting_user=reader)
        with pytest.raises(NotPermitted):
            publications.publish(draft, acting_user=reader, override=True, reason="Because.")
        with pytest.raises(NotPermitted):
            activation.roll_back(acting_user=reader)


@pytest.mark.usefixtures("documents")
class TestPublishing:
    def test_a_profile_no_worse_is_published_with_its_run(self, administrator: User) -> None:
        before, draft = active_profile(), draft_with(depth=60)
        done = publications.publish(draft, acting_user=administrator, reason="Less is faster.")
        assert done.state == State.PUBLISHED
        assert active_profile() == draft
        change = last_change()
        assert (change.action, change.user, change.reason, change.replaced) == (
            Action.PUBLISHED, administrator, "Less is faster.", before,
        )  # fmt: skip
        assert change.differences == ["depth: 100 → 60"]
        assert change.findings[0].startswith("nDCG@10 does not change on 3 golden queries")
        run = change.run
        assert run is not None
        assert (run.state, run.queries, run.baseline) == ("done", 3, before)
        assert run.measures["nDCG@10"] == 1
        assert {"p50", "p95", "baseline_p50", "baseline_p95"} == set(run.latency_ms)
        assert run.differences["nDCG@10"] == {"mean": 0, "low": 0, "high": 0}

    def test_a_finished_run_of_today_is_used_while_nothing_has_changed(
        self, documents: dict[str, Document], administrator: User
    ) -> None:
        draft = draft_with(TITLE_ONLY)
        run = golden_runs.start(draft, acting_user=administrator)
        assert golden_runs.latest_valid(draft) is None
        golden_runs.measure(run.pk)
        retired = SearchProfile.objects.filter(state=SearchProfile.State.RETIRED).first()
        changes: list[Callable[[], object]] = [
            lambda: EvaluationRun.objects.update(created=timezone.now() - timedelta(days=2)),
            lambda: EvaluationRun.objects.update(baseline=retired),
            lambda: GoldenQuery.objects.update(query_class="lookup"),
            lambda: judging.judge("rye", [], documents["bread"], 3, acting_user=administrator),
            lambda: Synonym.objects.create(terms=["dough", "paste"]),
            lambda: make_document(documents["bread"].collection, "# New\n\nA text of its own."),
            lambda: draft.class_weights.update(**KEYWORDS_ONLY),
        ]
        for change in changes:
            with transaction.atomic():
                change()
                assert golden_runs.latest_valid(SearchProfile.objects.get(pk=draft.pk)) is None
                transaction.set_rollback(True)

        leave_to_workers()
        done = publications.publish(draft, acting_user=administrator)
        assert (done.state, done.run) == (State.REFUSED, run)
        text = f"The figures are those of run {run.pk}: nothing has changed since."
        assert done.findings[-1] == text

    def test_worse_profile_is_refused_with_the_lost_queries(self, administrator: User) -> None:
        before, draft = active_profile(), draft_with(TITLE_ONLY)
        stamp = drafts.edit_stamp(draft)
        done = publications.publish(draft, acting_user=administrator)
        assert done.state == State.REFUSED
        assert active_profile() == before
        assert any("dough" in finding for finding in done.refusals)
        change = last_change()
        assert (change.action, change.profile) == (Action.REFUSED, draft)
        assert change.findings == done.findings
        assert change.differences
        assert change.run == done.run
        # A refusal is no edit: forms opened before it are not out of date.
        assert drafts.edit_stamp(draft) == stamp

    def test_a_broken_must_be_first_is_refused_although_no_measure_falls(
        self, documents: dict[str, Document], administrator: User
    ) -> None:
        dough = "why does yeast make the dough of a loaf rise"
        judging.set_must_be_first(dough, [], documents["bread"], acting_user=administrator)
        # Both answer it, so no measure falls when they trade places.
        judging.judge(dough, [], documents["inn"], 2, acting_user=administrator)
        GoldenQuery.objects.exclude(text=dough).delete()

        refused = publications.publish(draft_with(TITLE_ONLY), acting_user=administrator)
        assert refused.state == State.REFUSED
        (refusal,) = refused.refusals
        assert f"not first for 1 golden query: “{dough}”" in refusal
        assert refused.run is not None
        assert refused.run.differences["RR@10"]["mean"] == 0

    def test_override_needs_a_reason_and_stores_it(self, administrator: User) -> None:
        draft = draft_with(TITLE_ONLY)
        with pytest.raises(ProfileError, match="reason"):
            publications.publish(draft, acting_user=administrator, override=True)
        done = publications.publish(
            draft, acting_user=administrator, override=True, reason="Titles are all we have."
        )
        assert done.state == State.PUBLISHED
        change = last_change()
        assert (change.action, change.reason) == (Action.OVERRIDDEN, "Titles are all we have.")
        assert change.findings

    def test_override_needs_the_profile_as_it_was_measured(self, administrator: User) -> None:
        draft = draft_with(TITLE_ONLY)
        refused = publications.publish(draft, acting_user=administrator)
        override = partial(
            publications.publish,
            draft,
            acting_user=administrator,
            override=True,
            expected=refused.fingerprint,
        )
        with pytest.raises(ProfileError, match="reason"):
            override(reason=" ")
        draft.class_weights.update(**KEYWORDS_ONLY)
        with pytest.raises(RunConflict, match="edited since"):
            override(reason="All the same.")
        draft.class_weights.update(**TITLE_ONLY)
        done = override(reason="All the same.")
        assert (done.state, active_profile()) == (State.PUBLISHED, draft)
        assert last_change().run == refused.run

    @pytest.mark.parametrize("meanwhile", ["edited", "overtaken"])
    def test_profile_changed_during_measurement_is_not_published(
        self, administrator: User, monkeypatch: pytest.MonkeyPatch, meanwhile: str
    ) -> None:
        before, draft, quicker = active_profile(), draft_with(depth=60), draft_with(depth=70)
        asked = diff.differences(before, draft)
        compare = golden_runs.compare

        def change(*arguments: Any, **rest: Any) -> Any:
            monkeypatch.setattr(golden_runs, "compare", compare)
            measured = compare(*arguments, **rest)
            if meanwhile == "edited":
                draft.class_weights.update(**TITLE_ONLY)
            else:
                publications.publish(quicker, acting_user=None)
            return measured

        monkeypatch.setattr(golden_runs, "compare", change)
        done = publications.publish(draft, acting_user=administrator)
        active, said = {
            "edited": (before, "edited since"),
            "overtaken": (quicker, f"{quicker} has become active since"),
        }[meanwhile]
        assert (done.state, active_profile()) == (State.OUTDATED, active)
        assert said in done.error
        # Those of the profile that was measured, not of the one that it has become.
        assert done.differences == asked == last_change().differences
        assert last_change().action == Action.REFUSED

    def test_unreachable_model_blocks_publication_unless_overridden(
        self, administrator: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before, draft = active_profile(), draft_with(depth=60)

        def away(*arguments: Any, **rest: Any) -> Any:
            raise EmbeddingUnavailable("The model is away.")

        monkeypatch.setattr("search.engine.embed._embed", away)
        done = publications.publish(draft, acting_user=administrator)
        assert (done.state, active_profile()) == (State.FAILED, before)
        assert "embedding model did not answer" in done.error
        again = publications.publish(
            draft, acting_user=administrator, override=True, reason="Urgent."
        )
        assert again.state == State.PUBLISHED
        assert "could not be measured" in last_change().findings[0]

    def test_gate_switched_off_publishes_with_a_finding(self, administrator: User) -> None:
        gate = gate_runs.gate_row()
        gate.enabled = False
        gate.save()
        done = publications.publish(draft_with(TITLE_ONLY), acting_user=administrator)
        assert (done.state, done.findings) == (State.PUBLISHED, [gate_runs.SWITCHED_OFF])


class TestRollback:
    def test_each_rollback_goes_one_version_back_and_is_audited(self, administrator: User) -> None:
        first = active_profile()
        second, third = draft_with(depth=60), draft_with(depth=70)
        publications.publish(second, acting_user=administrator)
        publications.publish(third, acting_user=administrator)
        assert activation.previous() == second
        activation.roll_back(acting_user=administrator, reason="Complaints.")
        assert active_profile() == second
        change = last_change()
        assert (change.action, change.profile, change.replaced, change.reason) == (
            Action.ROLLED_BACK, second, third, "Complaints.",
        )  # fmt: skip
        assert change.differences == ["depth: 70 → 60"]
        activation.roll_back(acting_user=administrator)
        assert active_profile() == first
        with pytest.raises(ProfileError, match="nothing to roll back to"):
            activation.roll_back(acting_user=administrator)
        activation.roll_back(third, acting_user=administrator)
        assert active_profile() == third
        assert activation.previous() == first

    def test_a_name_without_a_version_means_the_version_in_force(self, administrator: User) -> None:
        first, second = active_profile(), draft_with(depth=60)
        choices = Choices(profile=first.name)

        def answered_by() -> int:
            return search("pumps", viewer=administrator, choices=choices).profile.version

        publications.publish(second, acting_user=administrator)
        assert answered_by() == second.version
        activation.roll_back(acting_user=administrator)
        assert answered_by() == first.version
        rows = SearchProfile.objects.all()
        assert named_profile(first.name, rows) == first
        draft_with(depth=80)
        assert named_profile(first.name, rows) == first
        # Another profile in force: still the version that was last.
        other = drafts.draft_from(SearchProfile.objects.get(name="rrf"), acting_user=None)
        publications.publish(other, acting_user=administrator, override=True, reason="A try.")
        assert active_profile() == other
        assert answered_by() == first.version
        assert named_profile(first.name, rows) == first

    def test_rollback_to_a_never_active_profile_is_refused(self, administrator: User) -> None:
        preset = SearchProfile.objects.filter(state=SearchProfile.State.RETIRED).first()
        with pytest.raises(ProfileError, match="never been active"):
            activation.roll_back(preset, acting_user=administrator)

    def test_simultaneous_rollbacks_go_back_one_step(self, administrator: User) -> None:
        publications.publish(draft_with(depth=60), acting_user=administrator)
        second = draft_with(depth=70)
        publications.publish(second, acting_user=administrator)
        activation.roll_back(acting_user=administrator, leaving=second)
        with pytest.raises(RunConflict):
            activation.roll_back(acting_user=administrator, leaving=second)


@pytest.mark.usefixtures("documents")
class TestRuns:
    def test_run_is_measured_by_a_worker_with_figures_by_query(
        self, documents: dict[str, Document], administrator: User
    ) -> None:
        run = golden_runs.start(draft_with(TITLE_ONLY), acting_user=administrator)
        assert (run.state, run.progress, run.baseline) == ("queued", 0, active_profile())
        golden_runs.measure(run.pk)
        run.refresh_from_db()
        assert (run.state, run.progress, run.queries) == ("done", 1, 3)
        query = GoldenQuery.objects.get(text="why does yeast make the dough of a loaf rise")
        row = run.by_query[str(query.pk)]
        assert row["was"]["nDCG@10"] == 1
        assert row["measures"]["nDCG@10"] < 1
        assert row["was_first"] == str(documents["bread"].public_id)
        assert golden_runs.measure(run.pk) is None

    def test_a_cancelled_run_stops(
        self, administrator: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = golden_runs.start(active_profile(), acting_user=administrator)
        asked = golden_set.ask

        def cancelling(*arguments: Any, **rest: Any) -> Any:
            if run.is_open:
                golden_runs.cancel(run)
            return asked(*arguments, **rest)

        monkeypatch.setattr(golden_set, "ask", cancelling)
        assert golden_runs.measure(run.pk) is None
        run.refresh_from_db()
        assert (run.state, run.measures) == ("cancelled", {})
        with pytest.raises(RunConflict):
            golden_runs.cancel(run)

    def test_a_publication_in_the_background_is_carried_out_once(self, administrator: User) -> None:
        draft = draft_with(depth=60)
        leave_to_workers()
        waiting = publications.publish(draft, acting_user=administrator)
        assert waiting.state == State.MEASURING
        with pytest.raises(RunConflict, match="being measured already"):
            publications.publish(draft, acting_user=administrator)
        assert publications.carry_out(waiting.pk).state == State.PUBLISHED
        assert publications.carry_out(waiting.pk).state == State.PUBLISHED
        assert ProfileChange.objects.filter(action=Action.PUBLISHED, profile=draft).count() == 1

    def test_a_cancelled_publication_publishes_nothing(self, administrator: User) -> None:
        before = active_profile()
        leave_to_workers()
        waiting = publications.publish(draft_with(depth=60), acting_user=administrator)
        publications.cancel(waiting, acting_user=administrator)
        assert publications.carry_out(waiting.pk).state == State.CANCELLED
        assert active_profile() == before

    def test_publication_needs_the_permission_at_its_end(self, administrator: User) -> None:
        leave_to_workers()
        waiting = publications.publish(draft_with(depth=60), acting_user=administrator)
        User.objects.filter(pk=administrator.pk).update(is_superuser=False)
        done = publications.carry_out(waiting.pk)
        assert (done.state, done.error) == (
            State.FAILED, "The person who requested it may no longer publish.",
        )  # fmt: skip
