"""Adjustments, normalisers, fusion, tiers and explanations, without a database."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from search.domain import (
    Candidate,
    Classification,
    Fusion,
    IdentifierMatch,
    Leaf,
    Node,
    Normaliser,
    Operation,
    Profile,
    Query,
    QueryClass,
    Signal,
    Weights,
)
from search.engine import Choices, Request, adjust_weights
from search.engine.adjust_weights import Weighing
from search.engine.configuration import Configuration
from search.engine.read import Plan, read, register_planner
from search.engine.settle import Settled
from search.ranking import Batch
from search.ranking.fusion import NORMALISERS
from tests.support.ranking import columns, made, prepared, rank

SEVENTY_THIRTY = Weights(vector=0.7, keyword=0.3, title=0)
AS_IT_IS = made(normalisers=dict.fromkeys(Signal, Normaliser.NONE))


def candidate(pk: int, *, identifier: IdentifierMatch | None = None, **raw: float) -> Candidate:
    scores = {Signal(name): score for name, score in raw.items()}
    return Candidate(pk, pk * 10, scores, identifier)


def order(hits: tuple) -> list[int]:
    return [hit.candidate.chunk_id for hit in hits]


class TestWeights:
    @pytest.mark.parametrize(
        ("shares", "words"),
        [
            pytest.param((0.7, 0.7, 0), "sum to 1", id="too much"),
            pytest.param((0.2, 0.2, 0.2), "sum to 1", id="too little"),
            pytest.param((1.5, -0.5, 0), "between 0 and 1; these are 1.5, -0.5, 0", id="negative"),
            pytest.param((math.nan, 0.5, 0.5), "between 0 and 1", id="not a number"),
        ],
    )
    def test_weights_that_are_no_shares_are_refused(
        self, shares: tuple[float, float, float], words: str
    ) -> None:
        with pytest.raises(ValueError, match=words):
            Weights(*shares)


class TestNormalisers:
    @pytest.mark.parametrize(
        ("name", "scores", "strengths"),
        [
            pytest.param("none", [3.0, -1.0], [3.0, -1.0], id="none"),
            pytest.param("max", [4.0, 1.0, 0.0], [1.0, 0.25, 0.0], id="max"),
            pytest.param("max", [0.0, 0.0], [0.0, 0.0], id="max of nothing found"),
            pytest.param("minmax", [2.0, 4.0, 3.0], [0.0, 1.0, 0.5], id="minmax"),
            pytest.param("minmax", [5.0, 5.0], [1.0, 1.0], id="minmax of equals"),
            pytest.param("zscore", [1.0, 1.0], [0.5, 0.5], id="zscore of equals"),
            # z = +-1: the normal distribution's share below is .841 and .159
            pytest.param("zscore", [3.0, 1.0], [0.841345, 0.158655], id="zscore"),
            pytest.param("reciprocal_rank", [9.0, 2.0, 2.0], [1.0, 61 / 62, 61 / 62], id="ranks"),
            pytest.param("reciprocal_rank", [0.0, 1.0], [0.0, 1.0], id="zero is not found"),
            pytest.param("cosine", [1.0, 0.0, -1.0], [1.0, 0.5, 0.0], id="cosine"),
        ],
    )
    def test_normalised_scores_match_a_calculation_by_hand(
        self, name: str, scores: list[float], strengths: list[float]
    ) -> None:
        found = NORMALISERS[Normaliser(name)](np.array(scores))
        assert found.tolist() == approx(strengths, abs=1e-6)

    @given(
        st.sampled_from([n for n in Normaliser if n is not Normaliser.NONE]),
        st.lists(st.floats(-1, 1, allow_nan=False)),
    )
    def test_normalised_scores_lie_in_the_unit_interval(
        self, name: Normaliser, scores: list[float]
    ) -> None:
        strengths = NORMALISERS[name](np.array(scores))
        assert len(strengths) == len(scores)
        assert all(0 <= strength <= 1 for strength in strengths)

    @given(st.sampled_from(list(Normaliser)), st.lists(st.floats(-1, 1), min_size=2, max_size=2))
    def test_normalisation_keeps_the_order(self, name: Normaliser, scores: list[float]) -> None:
        low, high = sorted(scores)
        weak, strong = NORMALISERS[name](np.array([low, high]))
        assert weak <= strong


class TestRankFusion:
    def test_s1_10_ties_by_rank_are_broken_by_the_keyword_score(self) -> None:
        """S1-10: 1/61 for both firsts; each weighed one half."""
        hits = rank(
            [
                candidate(1, keyword=1.0),
                candidate(2, vector=0.85),
                candidate(3, vector=0.7),
                candidate(4, vector=0.6),
            ],
            Weights(0.5, 0.5, 0),
            made(fusion=Fusion.RRF),
        )
        assert [hit.score for hit in hits] == approx([0.5 / 61, 0.5 / 61, 0.5 / 62, 0.5 / 63])
        assert order(hits) == [1, 2, 3, 4]


class TestTiers:
    def test_document_with_the_identifier_precedes_every_score(self) -> None:
        full = IdentifierMatch("D40", 1.0, 2)
        hits = rank(
            [candidate(1, vector=1.0, keyword=50.0), candidate(2, vector=0.0, identifier=full)],
            SEVENTY_THIRTY,
            made(),
        )
        assert order(hits) == [2, 1]
        assert "D40" in hits[0].explanation.tier.reason

    def test_within_a_tier_the_place_decides_then_the_score(self) -> None:
        places = {1: 2, 2: 1, 3: 0, 4: 0}
        hits = rank(
            [
                candidate(pk, vector=0.1 * pk, identifier=IdentifierMatch("D40", 1.0, place))
                for pk, place in places.items()
            ],
            SEVENTY_THIRTY,
            made(),
        )
        assert order(hits) == [4, 3, 2, 1]


scores = st.floats(0, 1, allow_nan=False)
shares = st.tuples(st.integers(0, 100), st.integers(0, 100)).map(
    lambda pair: Weights(min(pair) / 100, (max(pair) - min(pair)) / 100, 1 - max(pair) / 100)
)
candidate_lists = st.lists(st.tuples(scores, scores, scores), min_size=1, max_size=20).map(
    lambda rows: [
        candidate(pk, vector=v, keyword=k, title=t) for pk, (v, k, t) in enumerate(rows, 1)
    ]
)


every_option = st.builds(
    made,
    fusion=st.sampled_from(list(Fusion)),
    both_factor=st.floats(1, 3),
    both_first=st.booleans(),
    own_candidates_only=st.booleans(),
    depth=st.integers(1, 25),
)


def value_of(node: Node) -> float:
    """The value that the leaves make, by the operations between them."""
    if isinstance(node, Leaf):
        return node.value
    combine = {Operation.SUM: math.fsum, Operation.PRODUCT: math.prod, Operation.LARGEST: max}
    return combine[node.operation]([value_of(part) for part in node.parts])


class TestLaws:
    @given(candidate_lists, shares, st.sampled_from([Fusion.LINEAR, Fusion.RRF]))
    def test_a_score_is_the_sum_of_its_contributions(
        self, candidates: list[Candidate], weights: Weights, fusion: Fusion
    ) -> None:
        for hit in rank(candidates, weights, made(fusion=fusion)):
            parts = hit.explanation.contributions
            assert hit.score == math.fsum(part.weight * part.normalised for part in parts)

    @given(candidate_lists, shares, every_option)
    def test_the_leaves_of_an_explanation_make_the_score_exactly(
        self, candidates: list[Candidate], weights: Weights, options: Profile
    ) -> None:
        for hit in rank(candidates, weights, options):
            assert hit.score == value_of(hit.explanation.root)

    @given(candidate_lists, shares, shares)
    def test_f4_03_a_changed_weight_changes_the_score_where_strengths_differ(
        self, candidates: list[Candidate], one: Weights, other: Weights
    ) -> None:
        before = {hit.candidate.chunk_id: hit for hit in rank(candidates, one, AS_IT_IS)}
        for hit in rank(candidates, other, AS_IT_IS):
            held = before[hit.candidate.chunk_id]
            change = math.fsum(
                part.normalised * (other.of(part.signal) - one.of(part.signal))
                for part in hit.explanation.contributions
            )
            assert hit.score - held.score == approx(change, abs=1e-9)

    @given(candidate_lists, shares, st.sampled_from(list(Fusion)), st.randoms())
    def test_the_order_of_the_candidates_does_not_matter(
        self, candidates: list[Candidate], weights: Weights, fusion: Fusion, chance: random.Random
    ) -> None:
        shuffled = list(candidates)
        chance.shuffle(shuffled)
        options = made(fusion=fusion)
        assert order(rank(shuffled, weights, options)) == order(rank(candidates, weights, options))

    @given(candidate_lists, shares)
    def test_ranks_count_from_one_without_a_gap(
        self, candidates: list[Candidate], weights: Weights
    ) -> None:
        hits = rank(candidates, weights, made())
        assert [hit.rank for hit in hits] == list(range(1, len(candidates) + 1))


WEIGHTS = Weights(vector=0.5, keyword=0.4, title=0.1)
PROFILE = Profile("site", 1, dict.fromkeys(QueryClass, WEIGHTS))
OTHER = replace(PROFILE, name="other")
CONFIGURATION = Configuration(1, PROFILE, {("site", 1): PROFILE, ("other", 1): OTHER})


def noting(text: str) -> adjust_weights.Adjustment:
    def note(weighing: Weighing) -> Weighing:
        settled = weighing.settled
        return replace(weighing, settled=settled.weighed(settled.weights, text))

    return note


def test_each_adjustment_gets_the_result_of_the_previous_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adjust_weights, "_adjustments", [])
    first, second, third = map(noting, ("first", "second", "third"))
    adjust_weights.register(first)
    adjust_weights.register(third)
    adjust_weights.register(second, before=third)
    adjust_weights.register(second)  # once, where it stands
    kind = Classification(QueryClass.GENERAL, "made", 1.0)
    settled = Settled(Query("pump"), PROFILE, kind, WEIGHTS, frozenset(Signal))
    batch = Batch.of([prepared(columns([Candidate(1, 1, {Signal.KEYWORD: 1.0})]))])
    (weighing,) = adjust_weights.adjust(batch, [settled], CONFIGURATION)
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
