"""Figures of searches, what is forgotten of them, and the nights with their warnings."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from common.accounts.models import User
from search.analytics import failed_search_detection, reporting, retention
from search.analytics.models import Gap, GapSign, GapWording, Interaction, SearchEvent
from search.models import SearchProfile
from search.tuning.evaluation import nightly
from search.tuning.models import EvaluationRun, GoldenQuery, QualityRun
from tests.support.events import make_event, say

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


class TestFigures:
    def test_figures_match_a_count_by_hand(self, django_assert_num_queries: Any) -> None:
        times = (10, 20, 30, 40, 100)
        events = [make_event(f"question {n}", milliseconds=ms) for n, ms in enumerate(times)]
        for event, place in zip(events, (1, 2), strict=False):
            say(event, "click", rank=place)
        make_event("nothing", total=0, results=[], milliseconds=50, unsure=True)
        make_event("by a program", channel="api", milliseconds=60)
        make_event("question 0", follows=events[0], milliseconds=9999)
        make_event("question 0", page=2, milliseconds=9999)
        make_event("long ago", at=timezone.now() - timedelta(days=40))

        with django_assert_num_queries(1):
            period = reporting.figures(days=30)

        whole = period.whole
        assert whole.searches == 7
        assert whole.zero_rate == whole.unsure_rate == pytest.approx(1 / 7)
        # Five on the page found something; one opened the first result, one the second.
        assert whole.opened == pytest.approx([1 / 5, 2 / 5, 2 / 5])
        # 10 20 30 40 50 60 100: the middle, and .7 of the way from 60 to 100.
        assert whole.times == pytest.approx([40, 60 + 0.7 * 40])
        assert len(period.days) == 30
        assert sum(day.searches for day in period.days.values()) == 7
        idle = period.days[period.since]
        assert (idle.searches, idle.zero_rate, idle.times) == (0, None, (None, None))


def long_ago(days: float) -> datetime:
    return timezone.now() - timedelta(days=days)


class TestForgetting:
    def test_visitors_are_anonymised_after_a_month(self, reader: User) -> None:
        old = make_event("my own illness", at=long_ago(31), user=reader)
        new = make_event("my own illness", at=long_ago(29), user=reader)

        assert retention.forget() == 1
        old.refresh_from_db()
        new.refresh_from_db()
        assert (old.user, old.visitor, old.query, old.folded) == (None, "", "", "")
        assert old.anonymised
        assert (new.user, new.visitor, new.query) == (reader, "ann", "my own illness")

    def test_frequent_queries_keep_their_words(self) -> None:
        for visitor in ("ann", "bob", "cleo"):
            make_event("opening hours", at=long_ago(31), visitor=visitor)
        retention.forget()
        # Three are known no longer, and one more becomes so: the words still name nobody.
        late = make_event("Opening hours", at=long_ago(31), visitor="dan")
        retention.forget()

        late.refresh_from_db()
        assert late.query == "Opening hours"
        assert set(SearchEvent.objects.values_list("visitor", flat=True)) == {""}

    def test_repeated_queries_of_one_visitor_lose_their_words(self) -> None:
        for _ in range(5):
            make_event("my own illness", at=long_ago(31))
        retention.forget()
        assert set(SearchEvent.objects.values_list("query", flat=True)) == {""}

    def test_searches_are_deleted_after_their_retention(self) -> None:
        say(make_event("old", at=long_ago(181)), "click")
        kept = make_event("less old", at=long_ago(179))
        retention.forget()

        assert list(SearchEvent.objects.all()) == [kept]
        assert not Interaction.objects.exists()

    def test_gaps_lose_old_wordings(self, administrator: User) -> None:
        make_event("my own illness", total=0, at=long_ago(31))
        for visitor in ("ann", "bob", "cleo"):
            make_event("parental leave", total=0, at=long_ago(31), visitor=visitor)
        failed_search_detection.gather()
        retention.forget()

        assert [wording.query for wording in GapWording.objects.all()] == ["parental leave"]
        assert Gap.objects.count() == 1
        pseudonyms = set(GapSign.objects.values_list("visitor", flat=True))
        assert len(pseudonyms) == 3  # still told apart
        assert not pseudonyms & {"ann", "bob", "cleo"}

    def test_a_gap_that_somebody_works_on_stays(self, administrator: User) -> None:
        make_event("my own illness", total=0, at=long_ago(31))
        failed_search_detection.gather()
        Gap.objects.update(owner=administrator)
        retention.forget()

        assert GapWording.objects.get().query == "my own illness"


def make_night(
    date: str, values: dict[str, float], *, first: str = "", verdict: str = "waiting"
) -> QualityRun:
    """A night whose golden queries measured so, by text; `first` came first where "a" must."""
    profile = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
    rows = {
        text: {"text": text, "measures": {"nDCG@10": value}, "first": first or "a", "must": "a"}
        for text, value in values.items()
    }
    run = EvaluationRun.objects.create(
        state="done", profile=profile, by_query=rows, queries=len(rows)
    )
    return QualityRun.objects.create(date=date, run=run, status=verdict)


class TestNights:
    def test_nightly_run_starts_once_at_its_hour(self, settings: Any) -> None:
        settings.NIGHTLY_RUN_AT = "03:30"
        GoldenQuery.objects.create(text="who steers the ship")
        early, late = NOON.replace(hour=3), NOON.replace(hour=4)

        assert nightly.run_if_due(now=early) is None
        night = nightly.run_if_due(now=late)
        assert night is not None
        assert (str(night.date), night.run.state) == ("2026-03-10", "queued")
        assert nightly.run_if_due(now=late) is None
        assert nightly.run_if_due(now=late + timedelta(days=1)) is not None

    @pytest.mark.parametrize(
        ("at", "hour", "golden"),
        [("", 4, True), ("03:30", 11, True), ("03:30", 4, False)],
        ids=["switched off", "missed by hours", "nothing to measure"],
    )
    def test_nightly_run_needs_an_hour_and_golden_queries(
        self, settings: Any, at: str, hour: int, golden: bool
    ) -> None:
        settings.NIGHTLY_RUN_AT = at
        if golden:
            GoldenQuery.objects.create(text="who steers the ship")
        assert nightly.run_if_due(now=NOON.replace(hour=hour)) is None

    def test_quality_alert_is_logged_and_the_run_keeps_the_figures_before(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        make_night("2026-03-08", {"pump": 0.9, "anchor": 0.8, "sail": 0.5}, verdict="good")
        # .1 + .3 - .04 over three queries: a fall of .12.
        make_night("2026-03-09", {"pump": 0.8, "anchor": 0.5, "sail": 0.54})

        assert nightly.judge() == 1

        night = QualityRun.objects.get(date="2026-03-09")
        assert (night.status, night.fall) == ("fell", pytest.approx(0.12))
        assert night.run.by_query["anchor"]["was"] == {"nDCG@10": 0.8}
        # (.9 + .8 + .5) / 3 and (.8 + .5 + .54) / 3
        assert "nDCG@10 was 0.733 and is 0.613" in caplog.text

    def test_only_queries_of_both_nights_are_compared(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        make_night("2026-03-08", {"pump": 0.9, "gone": 1.0}, verdict="good")
        make_night("2026-03-09", {"pump": 0.9, "new": 0.0})
        nightly.judge()

        assert QualityRun.objects.get(date="2026-03-09").status == "good"
        assert not caplog.records

    def test_lost_first_place_raises_an_alert(self, caplog: pytest.LogCaptureFixture) -> None:
        make_night("2026-03-08", {"pump": 0.9}, verdict="good")
        make_night("2026-03-09", {"pump": 0.9}, first="b")
        nightly.judge()

        night = QualityRun.objects.get(date="2026-03-09")
        assert (night.status, night.run.by_query["pump"]["was_first"]) == ("fell", "a")
        assert "no longer first: 1" in caplog.text

    def test_same_fall_alerts_once_and_a_further_fall_again(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        make_night("2026-03-07", {"pump": 0.9}, verdict="good")
        for date, value in (("08", 0.8), ("09", 0.8), ("10", 0.7), ("11", 0.9), ("12", 0.8)):
            make_night(f"2026-03-{date}", {"pump": value})
        nightly.judge()

        runs = {str(night.run_id): str(night.date) for night in QualityRun.objects.all()}
        told = [runs[re.findall(r"measurement (\d+)", text)[0]] for text in caplog.messages]
        assert told == ["2026-03-08", "2026-03-10", "2026-03-12"]

    def test_small_fall_and_failed_run_raise_no_alert(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        make_night("2026-03-08", {"pump": 0.9}, verdict="good")
        make_night("2026-03-09", {"pump": 0.881})
        failed = make_night("2026-03-10", {"pump": 0.0})
        EvaluationRun.objects.filter(pk=failed.run_id).update(state="failed", error="No model.")
        nightly.judge()

        assert [night.status for night in QualityRun.objects.order_by("date")] == [
            "good", "good", "failed",
        ]  # fmt: skip
        assert "Search got worse" not in caplog.text
