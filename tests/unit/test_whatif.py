"""The what-if over arrays against the ranking of a search, on random pools and profiles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from search.asked import Choices
from search.pipeline import Weighed, weigh
from search.tuning.evaluation import arraymeasures, measures
from search.tuning.evaluation.arithmetic import exact_sum
from search.tuning.evaluation.pooled import Pool
from search.tuning.evaluation.whatif import Outcome, WhatIf
from tests.support.laws import examples
from tests.support.random_pools import configuration, random_case, random_profile

SEEDS = st.integers(0, 10**9)
# As scores are: nothing 60 digits below something else.
FLOATS = st.floats(-1e6, 1e6).map(lambda value: round(value, 12))


def exact(case_seed: int, size: int, profile_seed: int) -> tuple[Outcome, Weighed]:
    case, configured = random_case(case_seed, size), configuration()
    profile = random_profile(profile_seed)
    outcome = WhatIf([case], configured).under(profile)
    choices = Choices(snapshot=profile, query_class=case.query_class)
    return outcome, weigh(case.pool.found(), configured, profile, choices)


class TestRanking:
    @settings(max_examples=examples(200))
    @given(SEEDS, st.integers(1, 40), SEEDS)
    def test_is_that_of_a_search(self, case: int, size: int, profile: int) -> None:
        fast, exactly = exact(case, size, profile)
        hits = exactly.ranking.hits
        assert [chunk for chunk, _ in fast.ranking(0)] == [hit.candidate.chunk_id for hit in hits]
        assert [score for _, score in fast.ranking(0)] == approx(
            [hit.score for hit in hits], rel=1e-9, abs=1e-9
        )

    @settings(max_examples=examples(60))
    @given(SEEDS, st.integers(1, 40), SEEDS)
    def test_is_as_sure_and_tries_again_alike(self, case: int, size: int, profile: int) -> None:
        fast, exactly = exact(case, size, profile)
        assert bool(fast.tried_again[0]) == (exactly.ranking.second_try is not None)
        if not math.isnan(fast.confidence[0]):
            assert fast.confidence[0] == approx(exactly.ranking.confidence)

    def test_of_many_queries_is_that_of_each_alone(self) -> None:
        configured = configuration()
        cases = [random_case(seed, 5 + seed % 30) for seed in range(60)]
        profile = random_profile(5, feedback=0.4)
        together = WhatIf(cases, configured).under(profile)
        for place, case in enumerate(cases):
            alone = WhatIf([case], configured).under(profile)
            assert together.ranking(place) == alone.ranking(0)

    def test_of_some_is_that_part_of_all(self) -> None:
        whatif = WhatIf([random_case(seed, 12) for seed in range(9)], configuration())
        profile = random_profile(8)
        every, some = whatif.under(profile), whatif.under(profile, only=[2, 7])
        assert [some.ranking(0), some.ranking(1)] == [every.ranking(2), every.ranking(7)]

    def test_nothing_found_measures_nothing(self) -> None:
        case = random_case(3, 4)
        empty = Pool.of(case.pool.without_candidates(), 20, case.pool.boosts)
        nothing = type(case)("empty", empty, {1: 3})
        outcome = WhatIf([nothing, case], configuration()).under(random_profile(2))
        assert outcome.ranking(0) == []
        assert outcome.first_document(0) is None
        assert {name: values[0] for name, values in outcome.values.items()} == dict.fromkeys(
            arraymeasures.NAMES, 0.0
        )


class TestMeasures:
    @settings(max_examples=examples(40))
    @given(SEEDS, SEEDS)
    def test_are_those_of_ir_measures(self, seed: int, profile: int) -> None:
        cases = [random_case(seed + i, 30) for i in range(5)]
        outcome = WhatIf(cases, configuration()).under(random_profile(profile))
        rankings, qrels = {}, {}
        for place, case in enumerate(cases):
            documents = dict(case.pool.rows[["chunk", "document"]].tolist())
            rankings[case.key] = [str(documents[chunk]) for chunk, _ in outcome.ranking(place)]
            qrels[case.key] = {str(document): grade for document, grade in case.grades.items()}
        expected = measures.measure(qrels, rankings)
        for place, case in enumerate(cases):
            for name in arraymeasures.NAMES:
                assert outcome.values[name][place] == approx(expected[case.key][name], abs=1e-9)

    def test_curves_go_through_the_measures(self) -> None:
        outcome = WhatIf([random_case(i, 30) for i in range(5)], configuration()).under(
            random_profile(1)
        )
        curves = arraymeasures.curves(outcome.sheet, outcome.order)
        assert curves[5][0] == approx(outcome.means()[arraymeasures.PRECISION])
        assert curves[10][1] == approx(outcome.means()[arraymeasures.RECALL])


class TestExactSum:
    @settings(max_examples=examples(200))
    @given(st.lists(st.lists(FLOATS, min_size=3, max_size=3), min_size=1, max_size=6))
    def test_rounds_once(self, rows: list[list[float]]) -> None:
        expected = [math.fsum(column) for column in zip(*rows, strict=True)]
        assert exact_sum([np.array(row) for row in rows]).tolist() == expected

    @pytest.mark.parametrize("terms", [(0.1, 0.2, 0.3), (0.3, 0.2, 0.1), (1e16, 1.0, -1e16)])
    def test_does_not_depend_on_the_order(self, terms: tuple[float, ...]) -> None:
        assert exact_sum([np.array([term]) for term in terms])[0] == math.fsum(terms)


class TestPool:
    @settings(max_examples=examples(50))
    @given(SEEDS, st.integers(0, 20))
    def test_comes_back_as_it_was_kept(self, seed: int, size: int) -> None:
        pool = random_case(seed, size or 1).pool
        assert pool.embeddings is not None
        back = Pool.from_facts(
            pool.query, pool.facts(), pool.rows.tobytes(), pool.embeddings.tobytes(), None
        )
        assert back.found() == pool.found()
