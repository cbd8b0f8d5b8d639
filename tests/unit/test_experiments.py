"""Assignment, interleaving and the tests that may be looked at every day."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from search.parts.experiments.interleaving import A, B, preference, takes_part, team_draft
from search.parts.experiments.sequential_test import (
    ExperimentVerdict,
    e_value,
    of_preferences,
    share_interval,
)

rankings = st.permutations(range(12)).map(lambda items: items[:8])


class TestAssignment:
    def test_share_of_visitors_takes_part(self) -> None:
        taking = [f"{i}" for i in range(8_000) if takes_part(f"{i}", "salt", 0.25)]
        assert len(taking) == approx(2_000, abs=160)

    @given(st.text(), st.floats(0, 1), st.floats(0, 1))
    def test_larger_share_keeps_the_assigned_visitors(
        self, visitor: str, one: float, other: float
    ) -> None:
        if takes_part(visitor, "salt", min(one, other)):
            assert takes_part(visitor, "salt", max(one, other))


class TestTeamDraft:
    @given(rankings, rankings, st.text(max_size=5))
    def test_team_draft_has_each_result_once_and_is_repeatable(
        self, a: list[int], b: list[int], seed: str
    ) -> None:
        drafted = team_draft(a, b, seed)
        items = [item for item, _ in drafted]
        assert sorted(items) == sorted({*a, *b})
        assert drafted == team_draft(a, b, seed)

    @given(rankings, rankings, st.text(max_size=5))
    def test_arms_stay_balanced_and_pick_their_best(
        self, a: list[int], b: list[int], seed: str
    ) -> None:
        drafted = team_draft(a, b, seed)
        taken: set[int] = set()
        for place, (picked, team) in enumerate(drafted):
            before = Counter(other for _, other in drafted[:place])
            own = {A: a, B: b, "": a}[team]
            assert picked == next(item for item in own if item not in taken)
            taken.add(picked)
            left = {arm: set(of) - taken for arm, of in ((A, a), (B, b))}
            if left[A] and left[B]:
                assert abs(before[A] - before[B]) <= 1

    def test_common_first_results_belong_to_no_arm(self) -> None:
        drafted = team_draft([1, 2, 3, 4], [1, 2, 4, 3], "seed")
        assert [team for _, team in drafted[:2]] == ["", ""]
        assert {team for _, team in drafted[2:]} == {A, B}

    @pytest.mark.parametrize(
        ("clicked", "team"), [([], ""), (["", ""], ""), ([A, B], ""), ([A, B, B], B), ([A], A)]
    )
    def test_search_prefers_the_arm_with_more_clicks(self, clicked: list[str], team: str) -> None:
        assert preference(clicked) == team


class TestSequences:
    def test_e_value_matches_a_calculation_by_hand(self) -> None:
        # 2^3 x B(3, 2) = 8 x 2! x 1! / 4! = 2/3
        assert e_value(2, 1) == approx(2 / 3)
        assert e_value(0, 0) == 1
        assert math.isfinite(e_value(100_000, 0))

    def test_preferences_match_a_calculation_by_hand(self) -> None:
        # 2^8 / 9 = 28.4 >= 20; seven of seven are 16.
        assert of_preferences(8, 0, 0.05) is ExperimentVerdict.B
        assert of_preferences(0, 8, 0.05) is ExperimentVerdict.A
        assert of_preferences(7, 0, 0.05) is ExperimentVerdict.UNDECIDED
        assert of_preferences(5_000, 5_000, 0.05) is ExperimentVerdict.NO_DIFFERENCE

    @given(st.integers(0, 300), st.integers(0, 300))
    def test_the_interval_and_the_evidence_agree(self, wins: int, losses: int) -> None:
        low, high = share_interval(wins, losses)
        assert (e_value(wins, losses) < 20) == (low <= 0.5 <= high) or (
            min(abs(low - 0.5), abs(high - 0.5)) < 1e-4
        )

    def test_repeated_looks_rarely_find_a_false_difference(self) -> None:
        chance = np.random.default_rng(7)
        fooled = 0
        for _ in range(400):
            wins = np.cumsum(chance.integers(0, 2, 500))
            looks = range(1, 501)
            fooled += any(
                e_value(int(w), n - int(w)) >= 20 for w, n in zip(wins, looks, strict=True)
            )
        assert fooled / 400 <= 0.05
