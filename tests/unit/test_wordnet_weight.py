"""WordNet's weight by the question (F2-05): hand-worked sums, and its laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from search.domain import (
    Candidate,
    Candidates,
    Classification,
    Profile,
    Query,
    QueryClass,
    Signal,
    TermStatistic,
    Weights,
)
from search.engine.adjust_weights import Weighing
from search.engine.configuration import Configuration
from search.engine.settle import Settled
from search.parts.wordnet.signal import widen, wordnet_factor
from search.presets.seeds import PRESETS
from tests.support.ranking import columns, prepared

NO_CONFIGURATION = Configuration(stamp=1, active=None, published={})
BY_NAME = {preset.name: preset.profile for preset in PRESETS}


def settled(profile: Profile, weights: Weights | None = None, **fields: object) -> Settled:
    found = Classification(QueryClass.GENERAL, "a rule", 1.0)
    weights = weights or profile.weights[QueryClass.GENERAL]
    return Settled(Query("pumps"), profile, found, weights, frozenset(Signal), **fields)  # type: ignore[arg-type]


def found(words: int, expanded: int, *, concept: float = 0.0) -> Candidates:
    terms = tuple(TermStatistic(str(number), 1, 1.0) for number in range(words))
    raw = {Signal.KEYWORD: 1.0, Signal.CONCEPT: concept}
    return columns([Candidate(1, 1, raw)], terms=terms, expanded=expanded)


def after_widening(before: Settled, candidates: Candidates) -> Settled:
    """The question after the step, with the concepts of its prepared candidates."""
    weighing = Weighing(before, prepared(candidates), NO_CONFIGURATION, by_meaning=False)
    return widen(weighing).settled


@pytest.mark.parametrize(
    ("words", "concept", "ratio", "factor"),
    [
        (1, False, 2.0, 2.0), (1, True, 2.0, 1.5), (3, False, 2.0, 1.5), (3, True, 2.0, 1.0),
        (4, False, 2.0, 0.75), (4, True, 2.0, 0.75), (3, True, 3.0, 1.0), (3, True, 3.5, 1.25),
        (1, False, 4.0, 2.5), (4, True, 4.0, 0.9375),
    ],
)  # fmt: skip
def test_f2_05_factor_matches_the_formula(
    words: int, concept: bool, ratio: float, factor: float
) -> None:
    assert wordnet_factor(words, concept=concept, ratio=ratio) == approx(factor)


def test_f2_05_one_word_without_a_concept_doubles_the_weight() -> None:
    """.10 becomes .20; the .10 come from .25 and .20 in proportion: 7/9 of each are left."""
    one = after_widening(settled(BY_NAME["concept-rag:catalog"]), found(1, 2))
    assert one.weights.wordnet == approx(0.20)
    assert one.weights.keyword == approx(0.25 * 7 / 9)
    assert one.weights.title == approx(0.20 * 7 / 9)
    assert (one.weights.vector, one.weights.concept) == (0.30, 0.15)
    assert one.notes == ("WordNet counts for 20% of this question's score.",)


def test_f2_05_factor_is_capped() -> None:
    """2.5 times .15 is more than the chunks' .30, and 2.5 times .10 more than the concepts' .20."""
    chunk = after_widening(settled(BY_NAME["concept-rag:chunk"]), found(1, 4))
    assert chunk.weights.wordnet == approx(0.30)
    assert chunk.weights.keyword == approx(0.15)
    concept = after_widening(settled(BY_NAME["concept-rag:concept"]), found(1, 4))
    assert concept.weights.wordnet == approx(0.20)


def test_f2_05_a_long_question_gives_weight_back() -> None:
    """.10 becomes .075; the .025 go to .25 and .20 in proportion."""
    long = after_widening(settled(BY_NAME["concept-rag:catalog"]), found(6, 6, concept=0.4))
    assert long.weights.wordnet == approx(0.075)
    assert long.weights.keyword == approx(0.25 * 0.475 / 0.45)
    assert long.notes == ("WordNet counts for 8% of this question's score.",)


@pytest.mark.parametrize(
    "given_up",
    [
        pytest.param(settled(BY_NAME["concept-rag:five"]), id="no cap"),
        pytest.param(settled(BY_NAME["default"]), id="no weight"),
        pytest.param(
            settled(BY_NAME["concept-rag:catalog"], forced=("weights",)), id="forced weights"
        ),
    ],
)
def test_fixed_weights_are_unchanged(given_up: Settled) -> None:
    assert after_widening(given_up, found(1, 2)) is given_up


shares = st.lists(st.integers(0, 20), min_size=7, max_size=7).filter(any)


@given(shares, st.floats(0, 1), st.integers(0, 12), st.integers(0, 40), st.booleans())
def test_the_weights_keep_their_sum_and_the_cap(
    parts: list[int], cap: float, words: int, expanded: int, known: bool
) -> None:
    weights = Weights(*(part / sum(parts) for part in parts))
    profile = Profile("one", 1, {QueryClass.GENERAL: weights}, wordnet_cap=cap)
    before = settled(profile)
    after = after_widening(before, found(words, expanded, concept=float(known)))
    assert sum(after.weights.as_dict().values()) == approx(1)
    changed = after.weights is not weights
    assert not changed or after.weights.wordnet <= cap + 1e-12
    for signal in set(Signal) - {Signal.KEYWORD, Signal.TITLE, Signal.WORDNET}:
        assert after.weights.of(signal) == weights.of(signal)
