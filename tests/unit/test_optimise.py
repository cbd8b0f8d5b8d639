"""The optimiser on planted and on random judgements: what it finds, and what it makes of it."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import chain

import pytest
from pytest import approx

from search.domain import (
    Candidate,
    Classifier,
    Profile,
    Query,
    QueryClass,
    Signal,
    Weights,
)
from search.tuning import weight_search
from search.tuning.evaluation.measures import interval
from search.tuning.evaluation.whatif import Case, WhatIf
from search.tuning.optimisations import more_queries, verdict
from search.tuning.weight_search import LEANS, NothingToLearn, Optimised, optimise
from tests.support.random_pools import configuration
from tests.support.ranking import columns

EQUAL = Weights(0.34, 0.33, 0.33)
PRESENT = Profile(
    "present",
    1,
    {**dict.fromkeys(QueryClass, EQUAL), QueryClass.CODE: Weights(0.5, 0.5, 0)},
    classifier=Classifier.NONE,
    depth=20,
)
UNIFORM = replace(PRESENT, weights=dict.fromkeys(QueryClass, EQUAL))
CANDIDATES = 20


def case(
    seed: int, telling: Signal | None, query_class: QueryClass = QueryClass.CONCEPT, words: int = 1
) -> Case:
    """A query with one right document, which `telling` knows; the other signals are chance.

    `words` are those of the query.
    """
    chance = random.Random(seed)
    right = chance.randint(1, CANDIDATES)
    candidates, places = [], []
    for document in range(1, CANDIDATES + 1):
        raw = {
            signal: chance.uniform(0.1, 0.9)
            for signal in (Signal.VECTOR, Signal.KEYWORD, Signal.TITLE)
        }
        if telling is not None:
            raw[telling] = chance.uniform(0.6, 0.9) if document == right else raw[telling] / 1.5
        candidates.append(Candidate(document, document, raw))
        places.append({Signal.VECTOR.value: document})
    text = " ".join(["pumps"] * words)
    pool = columns(candidates, Query(text, original=text), places=places)
    return Case(str(seed), pool, {right: 1}, query_class)


def cases(count: int, telling: Signal | None, query_class: QueryClass) -> list[Case]:
    return [case(seed, telling, query_class) for seed in range(count)]


def optimised(*groups: list[Case], profile: Profile = PRESENT) -> Optimised:
    every = [replace(each, key=str(i)) for i, each in enumerate(chain.from_iterable(groups))]
    return optimise(WhatIf(every, configuration()), profile)


@pytest.fixture
def few_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is planted here is found with less search than real judgements take."""
    monkeypatch.setattr(weight_search, "EVALUATIONS", 25)


@pytest.mark.usefixtures("few_evaluations")
class TestFinding:
    def test_all_classes_get_the_weights_of_the_best_signal(self) -> None:
        found = optimised(
            cases(10, Signal.VECTOR, QueryClass.CONCEPT),
            cases(10, Signal.VECTOR, QueryClass.LOOKUP),
        )
        assert len(set(found.profile.weights.values())) == 1
        assert found.profile.weights[QueryClass.DEBUG].vector > 0.5
        assert found.queries == 20
        assert found.is_reliable
        assert found.gain.mean > 0.1
        assert found.fitted >= found.measured + found.gain.mean - 0.05

    def test_short_question_weights_are_found_if_they_help(self) -> None:
        """Short questions are answered by meaning, long ones by keywords."""
        short = [case(seed, Signal.VECTOR, words=1) for seed in range(15)]
        long = [case(seed, Signal.KEYWORD, words=12) for seed in range(100, 115)]
        found = optimised(short, long)
        assert found.profile.short_lean == max(LEANS)
        weights = found.profile.weights[QueryClass.CONCEPT]
        assert weights.keyword > weights.vector

    def test_same_seed_gives_the_same_weights(self) -> None:
        group = cases(10, Signal.VECTOR, QueryClass.CONCEPT)
        assert optimised(group) == optimised(group)

    def test_random_judgements_give_no_gain(self) -> None:
        found = optimised(cases(30, None, QueryClass.CONCEPT))
        assert not found.is_reliable
        assert verdict(found).startswith("No reliable gain")

    def test_too_few_queries_teach_nothing(self) -> None:
        with pytest.raises(NothingToLearn, match="there are 9"):
            optimised(cases(9, Signal.VECTOR, QueryClass.CONCEPT))

    def test_exception_of_the_progress_callback_ends_the_optimisation(self) -> None:
        seen: list[tuple[int, int]] = []

        def stop(done: int, of: int) -> None:
            seen.append((done, of))
            if done == 3:
                raise InterruptedError

        every = WhatIf(cases(20, Signal.VECTOR, QueryClass.CONCEPT), configuration())
        with pytest.raises(InterruptedError):
            optimise(every, PRESENT, progress=stop)
        assert [done for done, _ in seen] == [1, 2, 3]


class TestVerdict:
    def told(self, changes: list[float]) -> Optimised:
        return Optimised(
            PRESENT,
            len(changes),
            0.5,
            0.6,
            interval(changes),
            {str(i): each for i, each in enumerate(changes)},
        )

    def test_clear_gain_is_reported(self) -> None:
        found = self.told([0.1, 0.12] * 50)
        assert verdict(found).startswith("+0.110 nDCG@10, 95% interval +0.10")
        assert verdict(found).endswith("on 100 queries.")

    def test_uncertain_gain_asks_for_more_queries(self) -> None:
        found = self.told([0.5, -0.45] * 10)
        assert found.gain.mean == approx(0.025)
        # (1.96 x .4873 / .025)^2 = 1460 queries, of which there are 20.
        assert more_queries(found) == 1440
        assert "about 1440 more judged queries are needed" in verdict(found)

    def test_missing_gain_keeps_the_current_weights(self) -> None:
        found = self.told([0.1, -0.2] * 10)
        assert more_queries(found) is None
        assert "keep the current weights" in verdict(found)
