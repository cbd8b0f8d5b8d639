"""The reranker's share of the first results' scores (ADR 41): by hand, and as laws. S5-38, D21."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from search.domain import (
    Candidate,
    Candidates,
    Classification,
    Hit,
    IdentifierMatch,
    Profile,
    QueryClass,
    Signal,
    Weights,
)
from search.engine.configuration import Configuration
from search.engine.ranking import Ranking, ranking_of
from search.engine.settle import Settled
from search.ranking.rerank import FIRST
from tests.support.explanations import recomputed
from tests.support.ranking import EVERY_SIGNAL, columns

MEANING = Weights(1, 0, 0)
NOTHING = Configuration(stamp=0, active=None, published={})


def scored(pk: int, score: float, *, document: int = 0, form: str = "") -> Candidate:
    match = IdentifierMatch(form, 1.0, 2) if form else None
    return Candidate(pk, document or pk * 10, {Signal.VECTOR: score}, match)


def ranked(
    candidates: Candidates | Sequence[Candidate], strengths: Mapping[int, float], share: float
) -> Ranking:
    held = candidates if isinstance(candidates, Candidates) else columns(candidates)
    profile = Profile("made", 1, {}, rerank=share)
    general = Classification(QueryClass.GENERAL, "", 1.0)
    settled = Settled(held.query, profile, general, MEANING, EVERY_SIGNAL)
    return ranking_of(replace(held, reranked=strengths), settled, NOTHING)


def chunks(hits: Sequence[Hit]) -> list[int]:
    return [hit.chunk_id for hit in hits]


class TestShare:
    def test_share_of_the_reranker_replaces_part_of_every_score(self) -> None:
        found = [scored(1, 0.8), scored(2, 0.6), scored(3, 0.5)]
        hits = ranked(found, {1: 0.1, 2: 0.9, 3: 0.5}, 0.25).hits
        assert chunks(hits) == [2, 1, 3]
        # A quarter of the best score (.8 x .25 = .2) times the strength, beside three quarters.
        assert [hit.score for hit in hits] == approx(
            [0.75 * 0.6 + 0.2 * 0.9, 0.75 * 0.8 + 0.2 * 0.1, 0.75 * 0.5 + 0.2 * 0.5]
        )
        assert [(str(operation), part.label) for operation, part in adjustments(hits[0])] == [
            ("product", "share beside the reranker"),
            ("sum", "reranker"),
        ]

    @pytest.mark.parametrize(("strengths", "share"), [({1: 0.0, 2: 1.0}, 0.0), ({}, 0.5)])
    def test_reranking_without_share_or_scores_changes_nothing(
        self, strengths: dict[int, float], share: float
    ) -> None:
        hits = ranked([scored(1, 0.8), scored(2, 0.6)], strengths, share).hits
        assert [(hit.chunk_id, hit.score) for hit in hits] == [(1, 0.8), (2, 0.6)]

    def test_unread_first_passage_keeps_its_score(self) -> None:
        hits = ranked([scored(1, 0.8), scored(2, 0.6), scored(3, 0.5)], {1: 0.0, 3: 1.0}, 0.5).hits
        assert chunks(hits) == [3, 2, 1]
        assert [hit.score for hit in hits] == approx([0.25 + 0.4, 0.6, 0.4])
        (_, part) = adjustments(hits[1])[1]
        assert [leaf.label for leaf in part.parts][1] == "not read: as its score"

    def test_several_passages_of_a_document_are_reranked(self) -> None:
        found = [*(scored(pk, 0.9 - pk / 1000, document=7) for pk in range(1, 31)), scored(51, 0.4)]
        ranking = ranked(found, {1: 0.0, 2: 1.0, 51: 1.0}, 0.5)
        # 51 is the 31st passage: not read, though of the second document.
        assert [group.best.chunk_id for group in ranking.groups] == [2, 51]
        assert chunks(ranking.hits)[-1] == 51


def adjustments(hit: Hit) -> Sequence[tuple[object, object]]:
    return hit.explanation.adjustments  # type: ignore[return-value]


# Cosines may be negative; a few values make ties likely.
SCORES = st.one_of(st.sampled_from([-0.2, 0.0, 0.25, 0.5]), st.floats(-1, 1))


@st.composite
def sets(draw: st.DrawFn) -> tuple[list[Candidate], dict[int, float]]:
    """Candidates, some with a strength; documents of several passages, and identifiers."""
    count = draw(st.integers(1, 3 * FIRST))
    found = [
        scored(
            pk,
            draw(SCORES),
            document=draw(st.integers(1, 40)) if draw(st.booleans()) else 0,
            form=draw(st.sampled_from(["", "", "", "d40"])),
        )
        for pk in range(1, count + 1)
    ]
    strengths = draw(
        st.dictionaries(st.integers(1, count), st.floats(0, 1), max_size=count, min_size=1)
    )
    return found, strengths


@given(sets(), st.floats(0, 1))
def test_reranked_scores_obey_their_laws(
    made: tuple[list[Candidate], dict[int, float]], share: float
) -> None:
    found, strengths = made
    before, after = ranked(found, strengths, 0.0), ranked(found, strengths, share)
    # Every score is the sum of its parts, and what the kernel ranked by.
    for hit in after.hits:
        assert hit.score == approx(recomputed(hit), abs=1e-9)
    # Nothing is lost; tiers and, within them, scores fall.
    assert sorted(chunks(after.hits)) == sorted(chunks(before.hits))
    keys = [(hit.explanation.tier.order, -round(hit.score, 9)) for hit in after.hits]
    assert keys == sorted(keys)
    # The first results change places among themselves, and no tier is crossed.
    first = set(chunks(before.hits[:FIRST]))
    tiers = {hit.chunk_id: hit.explanation.tier.order for hit in before.hits}
    assert set(chunks(after.hits[:FIRST])) == first
    assert [tiers[pk] for pk in chunks(after.hits)] == [tiers[pk] for pk in chunks(before.hits)]
    # The others keep their order.
    rest = [pk for pk in chunks(before.hits) if pk not in first]
    assert [pk for pk in chunks(after.hits) if pk not in first] == rest


@given(sets(), st.floats(0.01, 1), st.floats(0, 1))
def test_higher_reranker_score_never_lowers_a_rank(
    made: tuple[list[Candidate], dict[int, float]], share: float, more: float
) -> None:
    found, strengths = made
    chunk = min(strengths)
    higher = {**strengths, chunk: max(strengths[chunk], more)}
    one, other = (ranked(found, each, share).hits for each in (strengths, higher))
    assert chunks(other).index(chunk) <= chunks(one).index(chunk)
