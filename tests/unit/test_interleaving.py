"""Two rankings as one: nothing lost, each place once, ranks in order; and what clicks then tell."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.domain import (
    Candidate,
    Candidates,
    Classification,
    Explanation,
    Group,
    Hit,
    Profile,
    Query,
    QueryClass,
    Weights,
)
from search.engine.ranking import Ranking
from search.engine.settle import Settled
from search.parts.experiments.mixing import mixed
from search.parts.experiments.sequential_test import of_interleaving

WEIGHTS = Weights(vector=0.5, keyword=0.5, title=0)
orders = st.permutations(range(8)).map(lambda order: order[:6])


QUERY = Query("pump")
SETTLED = Settled(
    QUERY,
    Profile("made", 1, {}),
    Classification(QueryClass.GENERAL, "made", 1.0),
    WEIGHTS,
    frozenset(),
)


class Nothing:
    """What explains a hit whose explanation nobody asks for."""

    def candidate(self, column: int) -> Candidate:
        raise NotImplementedError

    def explanation(self, column: int) -> Explanation:
        raise NotImplementedError


def hit(document: int, rank: int) -> Hit:
    return Hit(document * 10, document, rank, Nothing(), 0)


def ranking(order: Sequence[int], confidence: float | None = None) -> Ranking:
    hits = tuple(hit(document, rank) for rank, document in enumerate(order, start=1))
    return of(hits, tuple(map(Group, hits)), confidence)


def of(
    hits: tuple[Hit, ...], groups: tuple[Group[Hit], ...], confidence: float | None = None
) -> Ranking:
    return Ranking(SETTLED, Candidates(QUERY), hits, groups, confidence)


class TestMixing:
    @given(orders, orders)
    def test_interleaving_has_each_document_once(self, a: list[int], b: list[int]) -> None:
        both = mixed(ranking(a), ranking(b), "seed", grouped=True)
        found = [group.best.document_id for group in both.groups]
        assert len(found) == len(set(found))
        assert {group.team for group in both.groups} <= {"a", "b", ""}
        assert set(found) == set(a) | set(b)
        ranks = [group.best.rank for group in both.groups]
        assert ranks == sorted(ranks)
        assert [hit.rank for hit in both.hits] == list(range(1, len(found) + 1))

    def test_copy_grouped_by_the_other_ranking_is_the_same_result(self) -> None:
        one, copy, other = hit(1, 1), hit(2, 2), hit(3, 3)
        a = of((one, copy, other), (Group(one, (), (copy,)), Group(other)))
        mine, folded = hit(2, 1), hit(1, 2)
        b = of((mine, folded), (Group(mine, (), (folded,)),))
        both = mixed(a, b, "seed", grouped=True)
        assert len(both.groups) == 2

    def test_documents_grouped_by_only_one_ranking_stay_separate(self) -> None:
        one, copy, second = hit(1, 1), hit(2, 2), hit(3, 3)
        a = of((one, copy, second), (Group(one, (), (copy, second)),))
        both = mixed(a, ranking([2, 3]), "seed", grouped=True)
        assert len(both.groups) == 2

    def test_interleaved_confidence_is_the_lower_one(self) -> None:
        both = mixed(ranking([1], 0.9), ranking([1], 0.4), "seed", grouped=True)
        assert both.confidence == 0.4
        assert [group.team for group in both.groups] == [""]


class TestTelling:
    @pytest.mark.parametrize(
        ("wins", "losses", "verdict", "said"),
        [
            (0, 0, "undecided", "none with a preference yet"),
            (3, 2, "undecided", "(95% interval 10% to 97%). Undecided."),
            (60, 20, "b", "B is preferred by 75% of the 80 visitors"),
            (20, 60, "a", "A is preferred by 75% of the 80 visitors"),
            (50_000, 50_000, "no_difference", "no difference larger than 2 points from a half"),
        ],
    )
    def test_verdict_sentence_states_the_preferences(
        self, wins: int, losses: int, verdict: str, said: str
    ) -> None:
        told = of_interleaving(wins, losses, 2 * (wins + losses) or 9, 0.02)
        assert told.verdict == verdict
        assert said in told.sentence
