"""The kernel against the ranking of objects that it replaced."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from search.domain import Leaf, Node, Operation, Profile
from search.engine.rank import Ranking, ranking_of
from search.engine.settle import Choices, settle
from search.presets import PRESETS
from search.presets.default import Preset
from search.ranking import Batch, prepare, rank
from search.ranking.grouping import Group
from tests.support import old_ranking
from tests.support.random_pools import configuration, random_case, random_profile

SEEDS = st.integers(0, 10**9)
POOLS = 200
CONFIGURED = configuration()
NEAR = 1e-9
# Every preset ranks the same pools; to draw them took a quarter of its time.
kept_case = lru_cache(POOLS)(random_case)


def both(case_seed: int, size: int, profile: Profile) -> tuple[Ranking, old_ranking.Ranking]:
    """One random candidate set, ranked by the kernel and by the oracle."""
    case = kept_case(case_seed, size)
    choices = Choices(snapshot=profile, query_class=case.query_class)
    settled = settle(case.pool.query, CONFIGURED, profile, choices)
    return ranking_of(case.pool, settled, CONFIGURED), old_ranking.weigh(
        case.pool, settled, CONFIGURED
    )


def assert_alike(ours: Ranking, theirs: old_ranking.Ranking) -> None:
    """The same scores to 1e-9 and the same order, but among scores that are equal to 1e-9."""
    scores = {hit.candidate.chunk_id: hit.score for hit in theirs.hits}
    assert {hit.chunk_id: hit.score for hit in ours.hits} == approx(scores, rel=NEAR, abs=NEAR)
    for mine, other in zip(ours.hits, theirs.hits, strict=True):
        if mine.chunk_id != other.candidate.chunk_id:
            assert scores[mine.chunk_id] == approx(other.score, rel=NEAR, abs=NEAR)
        assert mine.explanation.tier == other.explanation.tier
    assert ours.settled.weights == theirs.weights
    assert ours.confidence == (theirs.confidence and approx(theirs.confidence))


def shape(group: Group[Any]) -> tuple[int, list[int], list[int]]:
    """A group of either ranking as the chunks of its best, folded and copied hits."""
    best, *others = (
        [hit.candidate.chunk_id for hit in part]
        for part in ((group.best,), group.folded, group.copies)
    )
    return best[0], others[0], others[1]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_every_preset_ranks_random_pools_as_before(preset: Preset) -> None:
    for seed in range(POOLS):
        assert_alike(*both(seed, 1 + seed % 40, preset.profile))


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.integers(1, 40), SEEDS)
def test_so_does_any_profile(case: int, size: int, profile: int) -> None:
    assert_alike(*both(case, size, random_profile(profile)))


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.integers(1, 40), SEEDS)
def test_and_folds_the_same_passages_together(case: int, size: int, profile: int) -> None:
    ours, theirs = both(case, size, random_profile(profile))
    chunks = [hit.candidate.chunk_id for hit in theirs.hits]
    if chunks == [hit.chunk_id for hit in ours.hits]:
        assert list(map(shape, ours.groups)) == list(map(shape, theirs.groups))  # type: ignore[arg-type]


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.integers(1, 40), SEEDS)
def test_an_explanation_is_the_score_that_ranked(case: int, size: int, profile: int) -> None:
    """Its leaves give the number that the arrays were sorted by."""
    held, chosen = random_case(case, size), random_profile(profile)
    settled = settle(held.pool.query, CONFIGURED, chosen)
    batch = Batch.of([prepare(held.pool, chosen, settled.signals)])
    ranked = rank(batch, [settled.weights], [settled.classification.query_class], chosen)
    for column in ranked.columns(0).tolist():
        explained = ranked.explanation(0, column)
        assert value_of(explained.root) == approx(ranked.scores[0, column], rel=NEAR, abs=NEAR)
        assert explained.score == approx(value_of(explained.root), rel=NEAR, abs=NEAR)


def value_of(node: Node) -> float:
    """The value that the leaves make, by the operations between them."""
    if isinstance(node, Leaf):
        return node.value
    combine = {Operation.SUM: math.fsum, Operation.PRODUCT: math.prod, Operation.LARGEST: max}
    return combine[node.operation]([value_of(part) for part in node.parts])
