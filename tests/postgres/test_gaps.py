"""From events to gaps: what counts as a failure, what belongs together, and what became of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common.accounts.models import User
from ingestion import spaces
from ingestion.errors import EmbeddingUnavailable
from ingestion.models import Visibility
from search.analytics import failed_search_detection, gap_queue
from search.analytics.models import Gap, GapSign, GapWording, SearchEvent
from search.answers import feedback
from search.answers.domain import SURE
from search.answers.models import Answer, AnswerFeedback
from search.errors import GapError
from tests.support.events import make_event, minutes_ago, say
from tests.support.factories import make_collection

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

HOLIDAYS = ("how many holidays do I get", "how many days of holiday do I get")
VPN = "vpn does not connect"


def signs_by_query() -> dict[str, list[str]]:
    rows = GapSign.objects.order_by("kind").values_list("wording__query", "kind")
    found: dict[str, list[str]] = {}
    for query, kind in rows:
        found.setdefault(query, []).append(kind)
    return found


class TestSigns:
    @pytest.mark.parametrize(
        ("fields", "said", "expected"),
        [
            ({"total": 0, "results": []}, (), ["zero"]),
            ({"corrected_from": "vnp"}, (), ["no_click"]),
            ({"unsure": True}, ("click",), ["unsure"]),
            ({}, (), ["no_click"]),
            ({}, ("click",), []),
            ({}, ("up",), []),
            ({"unsure": True}, ("solved",), []),
            ({}, ("click", "down"), ["down"]),
            ({"unsure": True}, ("unsolved",), ["down", "unsure"]),
            ({"channel": "api"}, (), []),
            ({"page": 2}, (), []),
        ],
        ids=["zero", "corrected", "unsure", "no click", "clicked", "up", "solved", "down",
             "unsolved", "program", "second page"],
    )  # fmt: skip
    def test_one_search_has_these_failure_signs(
        self, fields: dict[str, Any], said: tuple[str, ...], expected: list[str]
    ) -> None:
        event = make_event(VPN, **fields)
        for kind in said:
            say(event, kind)

        assert failed_search_detection.gather() == 1
        assert signs_by_query().get(VPN, []) == expected

    def test_long_reading_is_no_failure_sign(self) -> None:
        event = make_event(VPN, unsure=True)
        say(event, "click")
        say(event, "dwell", seconds=45)
        failed_search_detection.gather()

        assert not Gap.objects.exists()

    @pytest.mark.parametrize(
        ("later", "minutes", "kind"),
        [
            ("vpn client does not connect", 1, "reformulated"),
            ("cannot reach the company network from home by vpn", 1, "reformulated"),
            ("parental leave", 1, "no_click"),
            ("vpn client does not connect", 10, "no_click"),
        ],
        ids=["same words", "same meaning", "another question", "much later"],
    )
    def test_rephrased_question_is_a_failure_sign(
        self, later: str, minutes: float, kind: str
    ) -> None:
        make_event(VPN, at=minutes_ago(60))
        say(make_event(later, at=minutes_ago(60 - minutes)), "click")
        failed_search_detection.gather()

        assert signs_by_query() == {VPN: [kind]}

    def test_question_of_another_visitor_is_no_failure_sign(self) -> None:
        make_event(VPN, at=minutes_ago(60))
        say(make_event("vpn client does not connect", visitor="bob", at=minutes_ago(59)), "click")
        failed_search_detection.gather()

        assert signs_by_query() == {VPN: ["no_click"]}

    def test_a_visitor_gets_the_time_to_click(self) -> None:
        make_event(VPN, at=minutes_ago(5))
        assert failed_search_detection.gather() == 0
        assert failed_search_detection.gather(now=timezone.now() + timedelta(minutes=11)) == 1

    def test_late_feedback_is_gathered_again(self) -> None:
        event = make_event(VPN)
        say(event, "click")
        failed_search_detection.gather()
        assert not Gap.objects.exists()

        say(event, "down")
        SearchEvent.objects.update(gathered=False)  # as recording a thumb does
        failed_search_detection.gather()
        assert signs_by_query() == {VPN: ["down"]}


def give_answer(question: str = VPN, *, visitor: str = "ann", **fields: Any) -> Answer:
    """Store an answer that was shown a moment after `make_event`'s search."""
    values = {"at": minutes_ago(59), "state": "done", "confidence": SURE, "channel": "page"}
    modes = {"asked_mode": "instant", "mode": "instant"}
    return Answer.objects.create(
        question=question, searched_for=question, visitor=visitor, **{**values, **modes, **fields}
    )


class TestAnswers:
    @pytest.mark.parametrize(
        ("fields", "signs"),
        [
            ({}, {}),
            ({"question": f"  {VPN.upper()} "}, {}),
            ({"confidence": 0.3, "model": "m"}, {}),
            ({"confidence": SURE - 0.01}, {VPN: ["no_click"]}),
            ({"state": "refused"}, {VPN: ["no_click"]}),
            ({"visitor": "bob"}, {VPN: ["no_click"]}),
            ({"question": "parental leave"}, {VPN: ["no_click"]}),
            ({"at": minutes_ago(10)}, {VPN: ["no_click"]}),
        ],
        ids=["answer", "same words", "written", "passage", "refused", "other", "question", "later"],
    )
    def test_nothing_is_opened_below_an_answer(
        self, fields: dict[str, Any], signs: dict[str, list[str]]
    ) -> None:
        make_event(VPN)
        give_answer(**fields)
        with CaptureQueriesContext(connection) as queries:
            failed_search_detection.gather(answered=feedback.answered)
        assert signs_by_query() == signs
        assert sum('FROM "answers_answer"' in each["sql"] for each in queries) == 1

    def test_an_answer_that_did_not_help_is_none(self) -> None:
        make_event(VPN)
        answer = give_answer()
        AnswerFeedback.objects.create(answer=answer, visitor="ann", helpful=False)
        failed_search_detection.gather(answered=feedback.answered)
        assert signs_by_query() == {VPN: ["no_click"]}

    def test_an_answer_hides_no_other_sign(self) -> None:
        make_event(VPN, unsure=True)
        give_answer()
        failed_search_detection.gather(answered=feedback.answered)
        assert signs_by_query() == {VPN: ["unsure"]}

    def test_what_was_only_not_opened_is_probably_fine(self, administrator: User) -> None:
        make_event(VPN)
        make_event("parental leave", total=0)
        failed_search_detection.gather()
        fine = {each.query: each.is_probably_fine for each in gap_queue.summaries(administrator)}
        assert fine == {VPN: True, "parental leave": False}


class TestGrouping:
    def test_questions_of_one_meaning_are_one_gap(self) -> None:
        for query in (*HOLIDAYS, VPN, "How many  HOLIDAYS do i get"):
            make_event(query, total=0)
        failed_search_detection.gather()

        together = GapWording.objects.get(query=HOLIDAYS[0]).gap
        assert [w.query for w in together.wordings.all()] == list(HOLIDAYS)
        assert Gap.objects.count() == 2

    def test_later_questions_join_the_open_gap(self) -> None:
        make_event(HOLIDAYS[0], total=0)
        failed_search_detection.gather()
        make_event(HOLIDAYS[1], total=0, visitor="bob")
        failed_search_detection.gather()

        assert Gap.objects.get().wordings.count() == 2

    def test_a_closed_gap_takes_no_new_wording(self, administrator: User) -> None:
        make_event(HOLIDAYS[0], total=0)
        failed_search_detection.gather()
        gap_queue.take_step(Gap.objects.get(), "closed", acting_user=administrator)
        make_event(HOLIDAYS[1], total=0)
        failed_search_detection.gather()

        assert Gap.objects.count() == 2

    def test_gathering_twice_changes_nothing(self) -> None:
        for query in (*HOLIDAYS, VPN, "why " * 900):
            make_event(query, total=0, collections=[f"{hash((query, n))}" for n in range(400)])
        failed_search_detection.gather()
        held = list(GapSign.objects.values_list("wording__query", "kind", "visitor"))
        SearchEvent.objects.update(gathered=False)
        failed_search_detection.gather()

        assert list(GapSign.objects.values_list("wording__query", "kind", "visitor")) == held

    def test_gathering_waits_for_the_model(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make_event(VPN, total=0)

        def away() -> None:
            raise EmbeddingUnavailable("The model is away.")

        monkeypatch.setattr(spaces, "query_embedder", away)
        assert failed_search_detection.gather() == 0
        assert not SearchEvent.objects.get().gathered
        monkeypatch.undo()
        assert failed_search_detection.gather() == 1


class TestQueue:
    def test_gaps_are_ordered_by_visitors_and_not_by_repeats(self, administrator: User) -> None:
        for visitor in ("ann", "ann", "bob"):
            make_event(VPN, total=0, visitor=visitor)
        make_event(VPN, visitor="cleo")
        failed_search_detection.gather()

        (found,) = gap_queue.summaries(administrator)
        assert (found.query, found.visitors, found.wordings) == (VPN, 3, 1)
        assert found.counts == {"zero": 2, "no_click": 1}
        assert found.cost == pytest.approx(2 * 1.0 + 1 * 0.2)
        assert found.signs == ("Nothing found", "Nothing opened")


class TestWhoMaySee:
    @pytest.fixture
    def colleague(self, db: None) -> User:
        return User.objects.create_user("colleague", is_staff=True)

    def test_gap_is_visible_to_readers_of_its_results_only(
        self, colleague: User, member: User, administrator: User
    ) -> None:
        cabin = make_collection("Cabin", visibility=Visibility.GROUPS, groups=["insiders"])
        make_event("where the treasure lies", unsure=True, sources=[cabin.pk])
        make_event("open the cabin", total=0, collections=["cabin"])
        failed_search_detection.gather()

        assert gap_queue.summaries(colleague) == []
        assert gap_queue.costly_count(colleague) == 0
        assert {gap.query for gap in gap_queue.summaries(member)} == {
            "where the treasure lies", "open the cabin",
        }  # fmt: skip
        assert gap_queue.costly_count(administrator) == 2

    def test_gap_counts_only_questions_that_the_viewer_may_see(self, colleague: User) -> None:
        cabin = make_collection("Cabin", visibility=Visibility.GROUPS, groups=["insiders"])
        make_event(HOLIDAYS[0], total=0)
        make_event(HOLIDAYS[1], unsure=True, sources=[cabin.pk], visitor="bob")
        failed_search_detection.gather()

        (seen,) = gap_queue.summaries(colleague)
        assert (seen.query, seen.visitors, seen.wordings) == (HOLIDAYS[0], 1, 1)
        assert [w.query for w in gap_queue.wordings(seen.gap, colleague)] == [HOLIDAYS[0]]


@pytest.fixture
def gap(db: None) -> Gap:
    make_event("where is the zephyr manual", total=0, results=[])
    failed_search_detection.gather()
    return Gap.objects.get()


class TestClosing:
    def test_steps_are_kept_and_a_closed_gap_has_its_time(
        self, gap: Gap, administrator: User
    ) -> None:
        gap_queue.take_step(gap, "pin", acting_user=administrator)
        gap_queue.take_step(gap, "closed", acting_user=administrator, note="Pinned.")

        gap.refresh_from_db()
        assert (gap.state, gap.closed_at is None) == ("closed", False)
        steps = gap.steps.values_list("kind", "note")
        assert list(steps) == [("pin", ""), ("closed", "Pinned.")]
        with pytest.raises(GapError, match="already closed"):
            gap_queue.take_step(gap, "pin", acting_user=administrator)

    def test_failed_search_reopens_a_closed_gap_with_its_history(
        self, gap: Gap, administrator: User
    ) -> None:
        gap_queue.take_step(gap, "closed", acting_user=administrator)
        Gap.objects.update(closed_at=minutes_ago(90))
        make_event("Where is the ZEPHYR manual", total=0, visitor="bob")
        failed_search_detection.gather()

        gap.refresh_from_db()
        assert (gap.state, gap.closed_at) == ("open", None)
        assert [step.kind for step in gap.steps.all()] == ["closed", "reopened"]
        assert "nothing found" in gap.steps.last().note  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        ("closed_minutes_ago", "fields"),
        [(30, {"total": 0}), (90, {})],
        ids=["failed before", "only not opened"],
    )
    def test_successful_or_earlier_searches_keep_a_gap_closed(
        self, gap: Gap, administrator: User, closed_minutes_ago: int, fields: dict[str, Any]
    ) -> None:
        gap_queue.take_step(gap, "closed", acting_user=administrator)
        Gap.objects.update(closed_at=minutes_ago(closed_minutes_ago))
        make_event("where is the zephyr manual", visitor="bob", **fields)
        failed_search_detection.gather()

        gap.refresh_from_db()
        assert gap.state == "closed"

    def test_dismissed_gap_stays_dismissed(self, gap: Gap, administrator: User) -> None:
        with pytest.raises(GapError, match="reason"):
            gap_queue.take_step(gap, "dismissed", acting_user=administrator, note=" ")
        gap_queue.take_step(gap, "dismissed", acting_user=administrator, note="No.")
        make_event("where is the zephyr manual", total=0, visitor="bob", at=timezone.now())
        failed_search_detection.gather(now=timezone.now() + timedelta(hours=1))

        gap.refresh_from_db()
        assert gap.state == "dismissed"
        with pytest.raises(GapError, match="already dismissed"):
            gap_queue.take_step(gap, "closed", acting_user=administrator)
        gap_queue.take_step(gap, "reopened", acting_user=administrator)
        with pytest.raises(GapError, match="already open"):
            gap_queue.take_step(gap, "reopened", acting_user=administrator)
