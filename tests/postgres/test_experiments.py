"""Experiments from plan to verdict: who sees what, whose clicks count, when it ends."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory
from django.utils import timezone

from common.accounts.models import User
from ingestion.models import Document
from search.analytics import recording
from search.analytics.interactions import Report, record_interaction
from search.analytics.models import Interaction, SearchEvent
from search.analytics.pseudonyms import recorded_visitor
from search.domain import QueryClass
from search.engine import configuration
from search.errors import ExperimentError, NotPermitted, RunConflict
from search.models import SearchProfile
from search.parts.experiments import life_cycle, outcomes
from search.parts.experiments.interleaving import A, B
from search.parts.experiments.models import Experiment
from search.pipeline import Choices, SearchResponse, search
from search.tuning import drafts, publications
from search.tuning.models import ProfileChange
from tests.support.events import make_event
from tests.support.golden_library import (
    KEYWORDS_ONLY,
    TITLE_ONLY,
    active_profile,
    draft_with,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "one_round")]

State, Action = Experiment.State, ProfileChange.Action
RISE = "why does the dough of a loaf rise"


def published(weights: dict[str, float] | None = None, **fields: object) -> SearchProfile:
    """A retired version of the active profile with these weights, which was active once."""
    draft = draft_with(weights, **fields)
    draft.state = SearchProfile.State.RETIRED
    draft.save()
    drafts.audit(draft, Action.PUBLISHED, None, "", [])
    return draft


def planned(other: SearchProfile, **fields: Any) -> Experiment:
    """An experiment of the active profile (A) against another (B)."""
    plan = {"name": f"Try {other}", "a": active_profile(), "b": other, **fields}
    return Experiment.objects.create(**plan)


def started(other: SearchProfile, **fields: Any) -> Experiment:
    experiment = life_cycle.start(planned(other, **fields), acting_user=None)
    assert experiment.state == State.RUNNING
    return experiment


def request_of(browser: str, **headers: str) -> Any:
    request = RequestFactory().get("/", headers={"user-agent": browser, **headers})
    request.user = AnonymousUser()
    return request


def searched(text: str, browser: str = "browser", **options: Any) -> SearchResponse:
    return search(text, viewer=None, visitor=recorded_visitor(request_of(browser)), **options)


def recorded(text: str, browser: str = "browser") -> tuple[SearchResponse, SearchEvent]:
    request = request_of(browser)
    response = search(text, viewer=None, visitor=recorded_visitor(request))
    search_id = recording.new_search_id(request, response)
    recording.record_search(request, response, search_id, channel="page")
    return response, SearchEvent.objects.get(search_id=search_id)


def documents_of(response: SearchResponse) -> list[str]:
    return [result.document_id for result in response.results]


class TestPlan:
    def test_a_profile_that_has_not_passed_the_gate_is_refused(self) -> None:
        shipped = SearchProfile.objects.get(name="keyword-only")
        for other in (draft_with(), shipped):
            with pytest.raises(ExperimentError, match="was never the active profile"):
                life_cycle.start(planned(other), acting_user=None)

    def test_an_experiment_starts_once(self) -> None:
        experiment = started(published(depth=60))
        with pytest.raises(RunConflict, match="has started"):
            life_cycle.start(experiment, acting_user=None)

    def test_experiment_must_end_before_visitors_are_anonymised(self, settings: Any) -> None:
        settings.SEARCH_EVENTS_ANONYMISE_DAYS = 10
        with pytest.raises(ExperimentError, match="10 days or fewer"):
            life_cycle.start(planned(published(depth=60), days=11), acting_user=None)
        settings.SEARCH_EVENTS = False
        with pytest.raises(ExperimentError, match="not recorded"):
            life_cycle.start(planned(published(depth=61), days=9), acting_user=None)

    def test_one_experiment_runs_at_a_time(self, administrator: User) -> None:
        first = life_cycle.start(planned(published(depth=60)), acting_user=administrator)
        change = ProfileChange.objects.get(action=Action.TRIED)
        assert (change.profile, change.user) == (first.b, administrator)
        with pytest.raises(RunConflict, match="Only one experiment can run"):
            life_cycle.start(planned(published(depth=80)), acting_user=None)

    def test_only_publishers_start_and_end(self, reader: User) -> None:
        experiment = planned(published(depth=60))
        with pytest.raises(NotPermitted):
            life_cycle.start(experiment, acting_user=reader)
        life_cycle.start(experiment, acting_user=None)
        with pytest.raises(NotPermitted):
            life_cycle.end(experiment, acting_user=reader, reason="Enough.")


@pytest.mark.usefixtures("harbour")
class TestWhoSeesWhat:
    def test_untracked_visitors_and_robots_take_no_part(self) -> None:
        started(published(KEYWORDS_ONLY))
        for headers in ({"dnt": "1"}, {"sec-gpc": "1"}, {"user-agent": "Googlebot"}):
            asks = recorded_visitor(request_of("browser", **headers))
            assert search(RISE, viewer=None, visitor=asks).trial is None
        for choices in (
            Choices(profile="default"),
            Choices(query_class=QueryClass.CODE),
            Choices(snapshot=active_profile().as_profile()),
        ):
            assert searched(RISE, choices=choices).trial is None
        assert search(RISE, viewer=None).trial is None

    def test_a_running_experiment_costs_a_search_no_query(
        self, django_assert_num_queries: Any
    ) -> None:
        started(published(KEYWORDS_ONLY))
        searched(RISE)
        with django_assert_num_queries(4):
            assert searched(RISE).trial is not None


@pytest.mark.usefixtures("harbour")
class TestInterleaving:
    @pytest.fixture
    def other(self) -> SearchProfile:
        return published(TITLE_ONLY)

    def test_interleaved_results_are_those_of_both_rankings_from_one_retrieval(
        self, other: SearchProfile
    ) -> None:
        alone = {
            team: search(RISE, viewer=None, choices=Choices(snapshot=profile.as_profile()))
            for team, profile in ((A, active_profile()), (B, other))
        }
        assert documents_of(alone[A]) != documents_of(alone[B])
        started(other)
        response = searched(RISE)
        assert set(documents_of(response)) == {
            document for one in alone.values() for document in documents_of(one)
        }
        assert {A, B} <= set(response.teams)
        for result, team in zip(response.results, response.teams, strict=True):
            (own,) = (
                each for each in alone[team or A].results
                if each.document_id == result.document_id
            )  # fmt: skip
            assert result.hit.explanation == own.hit.explanation
        assert [hit.rank for hit in response.hits] == list(range(1, len(response.hits) + 1))
        assert response.profile == active_profile().as_profile()

    def test_different_scorers_take_one_retrieval_each(self) -> None:
        other = published(TITLE_ONLY, keyword_scorer="ts_rank")
        alone = search(RISE, viewer=None, choices=Choices(snapshot=other.as_profile()))
        started(other)
        response = searched(RISE)
        scores = {result.document_id: result.hit.score for result in alone.results}
        theirs = [
            result for result, team in zip(response.results, response.teams, strict=True)
            if team == B
        ]  # fmt: skip
        assert theirs
        for result in theirs:
            assert result.hit.score == pytest.approx(scores[result.document_id])

    def test_pages_and_reloads_agree_and_visitors_differ(self, other: SearchProfile) -> None:
        started(other)
        whole = searched(RISE)
        assert documents_of(searched(RISE)) == documents_of(whole)
        pages = [searched(RISE, page=page, page_size=2) for page in (1, 2, 3)]
        shown = [document for page in pages for document in documents_of(page)]
        assert shown == documents_of(whole)
        assert tuple(team for page in pages for team in page.teams) == whole.teams
        others = {tuple(documents_of(searched(RISE, f"browser {n}"))) for n in range(8)}
        assert len(others) > 1

    def test_each_result_keeps_its_arm_in_the_order_of_dates(
        self, other: SearchProfile, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("search.engine.response.RELEVANT", -9.0)  # the dates of all count
        started(other)
        ranked = searched(RISE)
        for days, public_id in enumerate(documents_of(ranked)):  # the last is the newest
            created = timezone.now() + timedelta(days=days)
            Document.objects.filter(public_id=public_id).update(created=created)
        dated = searched(RISE, newest_first=True)
        arms = dict(zip(documents_of(ranked), ranked.teams, strict=True))
        assert {A, B} <= set(dated.teams)
        assert dict(zip(documents_of(dated), dated.teams, strict=True)) == arms
        assert documents_of(dated) == documents_of(ranked)[::-1]

    def test_click_counts_for_the_arm_of_its_result(self, other: SearchProfile) -> None:
        started(other)
        response, event = recorded(RISE)
        assert event.teams == "".join(team or "-" for team in response.teams)
        for document, team in zip(event.results, response.teams, strict=True):
            report = Report(Interaction.Kind.CLICK, document)
            record_interaction(request_of("browser"), event.search_id, report)
            assert Interaction.objects.get(event=event, document=document).team == team

    def test_pinned_document_stays_first(
        self, harbour: dict[str, Document], other: SearchProfile
    ) -> None:
        from search.models import Pin

        Pin.objects.create(query=RISE, document=harbour["tides"])
        started(other)
        for number in range(4):
            response = searched(RISE, f"browser {number}")
            assert response.results[0].title == "Tides"
            assert response.teams[0] == ""


def visitors_say(experiment: Experiment, team: str, count: int, *, start: int = 0) -> None:
    """So many visitors click a result of this team, once each."""
    for number in range(start, start + count):
        event = make_event("tides", visitor=f"{team}{number}", experiment=experiment.pk, teams="ab")
        Interaction.objects.create(
            event=event, kind="click", document=event.results[0], rank=1, team=team
        )


class TestVerdict:
    def test_each_visitor_has_one_preference(self) -> None:
        experiment = started(published(depth=60))
        for team in (B, B, A):
            visitors_say(experiment, team, 1, start=Interaction.objects.count())
        # One visitor clicks much: twice for B in the one search, once for A in another.
        first = make_event("a", visitor="busy", experiment=experiment.pk, teams="bb")
        second = make_event("b", visitor="busy", experiment=experiment.pk, teams="ab")
        for event, place, team in ((first, 0, B), (first, 1, B), (second, 0, A)):
            Interaction.objects.create(
                event=event, kind="click", document=event.results[place], rank=place + 1, team=team
            )
        make_event("c", visitor="idle", experiment=experiment.pk, teams="ab")
        concluded = outcomes.conclude(experiment)
        # busy: one search each way, a tie. 2 for B, 1 for A, of 5 visitors.
        assert (concluded.counts, concluded.visitors) == ((1, 2), 5)
        assert concluded.verdict == "undecided"

    def test_clear_winner_ends_the_experiment_without_publishing(self) -> None:
        experiment = started(published(depth=60))
        active = active_profile()
        visitors_say(experiment, B, 20)
        visitors_say(experiment, A, 2)
        held = life_cycle.analyse(experiment)
        assert (held.state, held.end_reason) == (State.ENDED, life_cycle.DECIDED)
        assert held.verdict["verdict"] == "b"
        assert held.verdict["sentence"].startswith("B is preferred by 91% of the 22 visitors")
        assert active_profile() == active
        change = ProfileChange.objects.first()
        assert change is not None
        assert (change.action, change.findings) == (
            Action.TRIAL_ENDED, [held.verdict["sentence"]],
        )  # fmt: skip
        assert configuration.current().experiment is None

    def test_second_analysis_changes_nothing(self) -> None:
        experiment = started(published(depth=60))
        visitors_say(experiment, B, 3)
        first = life_cycle.analyse(experiment)
        again = life_cycle.analyse(experiment)
        assert again.verdict == first.verdict
        ended = life_cycle.end(experiment, acting_user=None, reason="Enough.")
        visitors_say(experiment, B, 30, start=10)
        assert life_cycle.analyse(experiment).verdict == ended.verdict

    def test_experiment_ends_undecided_after_its_last_day(self) -> None:
        experiment = started(published(depth=60), days=3)
        assert life_cycle.analyse(experiment).state == State.RUNNING
        Experiment.objects.update(started=timezone.now() - timedelta(days=3, minutes=1))
        assert life_cycle.analyse_running() == 1
        held = Experiment.objects.get()
        assert (held.state, held.end_reason) == (State.ENDED, life_cycle.TOO_LONG)
        assert held.verdict["verdict"] == "undecided"

    def test_publishing_another_profile_ends_the_experiment(self, administrator: User) -> None:
        experiment = started(published(depth=60))
        publications.publish(draft_with(depth=70), acting_user=administrator)
        experiment.refresh_from_db()
        assert experiment.state == State.ENDED
        assert "became active" in experiment.end_reason
