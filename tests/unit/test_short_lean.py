"""Weights that lean to meaning for short questions of common words (ADR 37)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from search.domain import (
    Candidate,
    Classification,
    Query,
    QueryClass,
    Signal,
    Weights,
)
from search.engine.adjust import leaning_on_meaning
from search.engine.settle import Settled
from search.presets import DEFAULT
from search.ranking.batch import CLOSE, DECISIVE, LONG, SHORT, KeywordEvidence
from tests.support.ranking import columns, prepared

WEIGHTS = Weights(0.6, 0.3, 0.1)


def asked(
    words: int,
    *,
    lean: float = 0.5,
    fall: float = 0.0,
    weights: Weights = WEIGHTS,
    query_class: QueryClass = QueryClass.GENERAL,
    **settled: object,
) -> Settled:
    """A question of so many known words, after the lean."""
    profile = replace(DEFAULT.profile, short_lean=lean)
    query = Query("words")
    before = Settled(query, profile, Classification(query_class, "", 1.0), weights, frozenset())
    return leaning_on_meaning(replace(before, **settled), KeywordEvidence(words, fall))  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [0, 1, SHORT])
def test_a_short_question_gives_the_whole_share_to_meaning(words: int) -> None:
    found = asked(words)
    assert found.weights.as_dict() == approx(Weights(0.75, 0.15, 0.1).as_dict())
    assert f"{words} known word" in found.notes[0]
    assert "meaning counts for 75%" in found.notes[0]


@pytest.mark.parametrize("words", [LONG, LONG + 1, 40])
def test_a_long_question_keeps_its_weights(words: int) -> None:
    found = asked(words)
    assert found.weights == WEIGHTS
    assert found.notes == ()


@pytest.mark.parametrize(
    ("fall", "meaning"),
    [(0.0, 0.75), (CLOSE, 0.75), (0.6, 0.675), (DECISIVE, 0.6), (1.0, 0.6)],
)
def test_keyword_scores_that_fall_quickly_keep_their_weight(fall: float, meaning: float) -> None:
    """Halfway between both limits half of the share moves: .6 + .5 * .5 * .3 = .675."""
    assert asked(1, fall=fall).weights.vector == approx(meaning)


@pytest.mark.parametrize(
    ("scores", "fall"),
    [
        pytest.param([8.0, *[6.0] * 8, 2.0, 1.0], 0.75, id="the tenth against the first"),
        pytest.param([5.0] * 10, 0.0, id="ten alike"),
        pytest.param([5.0] * 9, 1.0, id="fewer than ten match"),
        pytest.param([5.0] * 9 + [0.0] * 5, 1.0, id="no match is no score"),
        pytest.param([], 1.0, id="nothing matches"),
    ],
)
def test_the_fall_of_the_keyword_scores(scores: list[float], fall: float) -> None:
    found = [Candidate(n, n, {Signal.KEYWORD: each}) for n, each in enumerate(scores, start=1)]
    evidence = KeywordEvidence.of(prepared(columns(found, Query("words"))))
    assert evidence.fall == approx(fall)


@given(st.integers(0, 30), st.floats(0, 1), st.floats(0, 1))
def test_a_greater_fall_never_leans_further(words: int, one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert asked(words, fall=less).weights.vector >= asked(words, fall=more).weights.vector


@given(st.integers(0, 30), st.floats(0, 1))
def test_more_words_never_lean_further_and_the_sum_stays(words: int, lean: float) -> None:
    fewer, more = asked(words, lean=lean).weights, asked(words + 1, lean=lean).weights
    assert fewer.vector >= more.vector >= WEIGHTS.vector
    assert fewer.keyword >= 0
    assert fewer.vector + fewer.keyword + fewer.title == approx(1)
    assert fewer.title == WEIGHTS.title


def test_what_was_decided_otherwise_stays() -> None:
    forced = asked(1, forced=("weights",))
    lookup = asked(1, query_class=QueryClass.LOOKUP)
    alone = asked(1, weights=Weights(0, 1, 0))
    off = asked(1, lean=0.0)
    for found in (forced, lookup, off):
        assert found.weights == WEIGHTS
    assert alone.weights == Weights(0, 1, 0)
