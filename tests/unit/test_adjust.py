"""The adjustments of a question to its candidates: one list, in an order that parts can join."""

from __future__ import annotations

from dataclasses import replace

import pytest

from search.domain import Candidate, Classification, Profile, Query, QueryClass, Signal, Weights
from search.engine import Choices, Purpose, Request, adjust
from search.engine.adjust import Weighing
from search.engine.configuration import Configuration
from search.engine.read import Plan, read, register_planner
from search.engine.settle import Settled
from search.ranking import Batch
from tests.support.ranking import columns, prepared

WEIGHTS = Weights(vector=0.5, keyword=0.4, title=0.1)
PROFILE = Profile("site", 1, dict.fromkeys(QueryClass, WEIGHTS))
OTHER = replace(PROFILE, name="other")
CONFIGURATION = Configuration(1, PROFILE, {("site", 1): PROFILE, ("other", 1): OTHER})


def noting(text: str) -> adjust.Adjustment:
    def note(weighing: Weighing) -> Weighing:
        settled = weighing.settled
        return replace(weighing, settled=settled.weighed(settled.weights, text))

    return note


def test_each_adjustment_sees_what_those_before_it_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adjust, "_adjustments", [])
    first, second, third = map(noting, ("first", "second", "third"))
    adjust.register(first)
    adjust.register(third)
    adjust.register(second, before=third)
    adjust.register(second)  # once, where it stands
    kind = Classification(QueryClass.GENERAL, "made", 1.0)
    settled = Settled(Query("pump"), PROFILE, kind, WEIGHTS, frozenset(Signal))
    batch = Batch.of([prepared(columns([Candidate(1, 1, {Signal.KEYWORD: 1.0})]))])
    (weighing,) = adjust.adjust(batch, [settled], CONFIGURATION)
    assert weighing.settled.notes == ("first", "second", "third")


def test_a_planner_decides_unless_something_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.engine.read._planners", [])
    register_planner(lambda query, request, configuration: None)
    register_planner(lambda query, request, configuration: Plan((OTHER,)))
    assert read("pump", Request(None), CONFIGURATION).plan.profiles == (OTHER,)
    for choices in (
        Choices(profile="site"),
        Choices(query_class=QueryClass.CODE),
        Choices(snapshot=PROFILE),
    ):
        question = read("pump", Request(None, choices=choices), CONFIGURATION)
        assert question.plan.profiles == (PROFILE,)


def test_a_measurement_alone_waits_longer_than_a_reader() -> None:
    assert Purpose.READER.patience is Purpose.TUNER.patience is None
    assert (Purpose.MEASUREMENT.patience or 0) > 0
