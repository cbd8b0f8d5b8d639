"""The what-if over many queries beside the ranking of one search, and its measures."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from search.domain.candidates import Candidates, facts, from_facts
from search.engine import Choices
from search.engine.ranking import ranking_of
from search.engine.settle import settle
from search.tuning.evaluation import measures, whatif
from search.tuning.evaluation.whatif import WhatIf
from tests.support.laws import examples
from tests.support.random_pools import configuration, random_case, random_profile

SEEDS = st.integers(0, 10**9)


class TestRanking:
    @settings(max_examples=examples(200))
    @given(SEEDS, st.integers(1, 40), SEEDS)
    def test_what_if_ranking_equals_a_search(self, seed: int, size: int, profile_seed: int) -> None:
        case, configured = random_case(seed, size), configuration()
        profile = random_profile(profile_seed)
        outcome = WhatIf([case], configured).under(profile)
        choices = Choices(snapshot=profile, query_class=case.query_class)
        live = ranking_of(
            case.pool, settle(case.pool.query, configured, profile, choices), configured
        )
        assert [chunk for chunk, _ in outcome.ranking(0)] == [hit.chunk_id for hit in live.hits]
        if not math.isnan(outcome.confidence[0]):
            assert outcome.confidence[0] == live.confidence

    def test_batch_ranking_equals_single_rankings(self) -> None:
        configured = configuration()
        cases = [random_case(seed, 5 + seed % 30) for seed in range(60)]
        profile = random_profile(5, feedback=0.4)
        together = WhatIf(cases, configured).under(profile)
        for place, case in enumerate(cases):
            alone = WhatIf([case], configured).under(profile)
            assert together.ranking(place) == alone.ranking(0)

    def test_query_without_candidates_measures_zero(self) -> None:
        case = random_case(3, 4)
        nothing = type(case)("empty", Candidates(case.pool.query, is_wide=True), {1: 3})
        outcome = WhatIf([nothing, case], configuration()).under(random_profile(2))
        assert outcome.ranking(0) == []
        assert outcome.first_document(0) is None
        assert {name: values[0] for name, values in outcome.values.items()} == dict.fromkeys(
            whatif.NAMES, 0.0
        )


class TestMeasures:
    @settings(max_examples=examples(40))
    @given(SEEDS, SEEDS)
    def test_measures_equal_those_of_ir_measures(self, seed: int, profile: int) -> None:
        cases = [random_case(seed + i, 30) for i in range(5)]
        outcome = WhatIf(cases, configuration()).under(random_profile(profile))
        rankings, qrels = {}, {}
        for place, case in enumerate(cases):
            documents = dict(case.pool.rows[["chunk", "document"]].tolist())
            rankings[case.key] = [str(documents[chunk]) for chunk, _ in outcome.ranking(place)]
            qrels[case.key] = {str(document): grade for document, grade in case.grades.items()}
        expected = measures.measure(qrels, rankings)
        for place, case in enumerate(cases):
            for name in whatif.NAMES:
                assert outcome.values[name][place] == approx(expected[case.key][name], abs=1e-9)


class TestPool:
    @settings(max_examples=examples(50))
    @given(SEEDS, st.integers(0, 20))
    def test_stored_pool_is_read_back_unchanged(self, seed: int, size: int) -> None:
        pool = random_case(seed, size or 1).pool
        assert pool.embeddings is not None
        back = from_facts(
            pool.query, facts(pool, 20), pool.rows.tobytes(), pool.embeddings.tobytes(), None
        )
        assert repr(back.rows.tolist()) == repr(pool.rows.tolist())
        assert (back.embeddings == pool.embeddings).all()
        assert (
            replace(back, rows=pool.rows, embeddings=None).__dict__
            == replace(pool, embeddings=None).__dict__
        )

    def test_pool_of_an_earlier_release_is_read(self) -> None:
        pool = random_case(1, 5).pool
        assert pool.embeddings is not None
        kept = facts(pool, 20)
        kept["terms"] = [term[:3] for term in kept["terms"]]
        back = from_facts(pool.query, kept, pool.rows.tobytes(), pool.embeddings.tobytes(), None)
        assert back.terms == pool.terms
