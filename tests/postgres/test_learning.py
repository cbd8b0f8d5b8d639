"""Clicks and thumbs become judgements: by many, within bounds, and back again."""

from __future__ import annotations

import uuid

import pytest

from common.accounts.models import User
from ingestion.models import Document, Visibility
from search.tuning.golden import from_clicks
from search.tuning.models import GoldenQuery, Judgement
from tests.support.events import make_event, say
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


@pytest.fixture
def document(db: None) -> Document:
    return make_document(make_collection("Workshop"), "Turn the left knob.", file_name="oven.md")


def search_for(document: Document, visitor: str, *said: str, seconds: float = 45) -> None:
    event = make_event("oven knob", visitor=visitor, results=[document.public_id, uuid.uuid4()])
    for kind in said:
        say(event, kind, seconds=seconds if kind == "dwell" else None)


@pytest.mark.parametrize(
    ("said", "grade"),
    [
        ([("up",)] * 3, 2),
        ([("dwell",)] * 3, 2),
        ([("click", "solved")] * 3, 2),
        ([("down",)] * 3, 0),
        ([("up",)] * 4 + [("down",)] * 2, 2),
        ([("up",)] * 3 + [("down",)] * 3, None),
        ([("up",)] * 2, None),
        ([("click",)] * 9, None),
    ],
    ids=["up", "read", "solved", "down", "mostly", "divided", "too few", "only opened"],
)
def test_what_many_say_counts(
    document: Document, administrator: User, said: list[tuple[str, ...]], grade: int | None
) -> None:
    for number, kinds in enumerate(said):
        search_for(document, f"visitor {number}", *kinds)

    assert from_clicks.learn(acting_user=administrator) == (grade is not None)
    assert [row.grade for row in Judgement.objects.all()] == ([] if grade is None else [grade])


def test_one_visitor_has_one_vote(document: Document, administrator: User) -> None:
    for _ in range(5):
        search_for(document, "ann", "up")
    search_for(document, "bob", "dwell", seconds=10)

    assert from_clicks.learn(acting_user=administrator) == 0


def test_a_second_time_changes_nothing_and_all_is_taken_back(
    document: Document, administrator: User
) -> None:
    own = GoldenQuery.objects.create(text="oven lamp")
    for visitor in "abc":
        search_for(document, visitor, "up")
    from_clicks.learn(acting_user=administrator)
    from_clicks.learn(acting_user=administrator)

    judgement = Judgement.objects.get()
    assert (judgement.judge, judgement.judge_name) == (None, "searchers")
    assert judgement.query.origin == GoldenQuery.Origin.CLICKS
    assert from_clicks.take_back() == 1
    assert list(GoldenQuery.objects.all()) == [own]


def test_of_what_the_person_may_not_see_nothing_is_learnt(reader: User) -> None:
    cabin = make_collection("Cabin", visibility=Visibility.GROUPS, groups=["insiders"])
    hidden = make_document(cabin, "The treasure.", file_name="cabin.md")
    for visitor in "abc":
        search_for(hidden, visitor, "up")

    assert from_clicks.learn(acting_user=reader) == 0
    assert not GoldenQuery.objects.exists()


def test_what_is_chosen_over_a_higher_result_touches_the_question(
    document: Document, administrator: User
) -> None:
    """Position bias: who opens the second and not the first has looked at both."""
    for number in range(3):
        results = [uuid.uuid4(), document.public_id]
        event = make_event("oven knob", visitor=f"visitor {number}", results=results)
        say(event, "click", rank=2)
    for number in range(9):
        results = [uuid.uuid4(), document.public_id]
        event = make_event("oven door", visitor=f"visitor {number}", results=results)
        say(event, "click", rank=1)
        say(event, "click", rank=2)

    assert from_clicks.learn(acting_user=administrator) == 1
    judged = Judgement.objects.get()
    assert (judged.query.text, judged.grade) == ("oven knob", 1)
