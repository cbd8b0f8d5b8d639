"""Weights that lean to meaning for short questions whose nearest passage is ahead (ADR 113)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from search.domain import Candidate, Classification, Query, QueryClass, Signal, Weights
from search.engine.adjust_weights import (
    CLOSE,
    DECISIVE,
    LONG,
    SHORT,
    MeaningEvidence,
    Weighing,
    lean_on_meaning,
    leaning_on_meaning,
)
from search.engine.settle import Settled
from search.presets.default import DEFAULT
from search.ranking.confidence import Background
from search.ranking.cosine_scale import MINILM, CosineScale
from tests.support.random_pools import configuration
from tests.support.ranking import columns, prepared

WEIGHTS = Weights(0.6, 0.3, 0.1)


def asked(
    words: int,
    *,
    lean: float = 0.5,
    lead: float = DECISIVE,
    weights: Weights = WEIGHTS,
    query_class: QueryClass = QueryClass.GENERAL,
    text: str = "words",
    **settled: object,
) -> Settled:
    """A question of so many words, after the lean."""
    profile = replace(DEFAULT.profile, short_lean=lean)
    query = Query(text)
    before = Settled(query, profile, Classification(query_class, "", 1.0), weights, frozenset())
    return leaning_on_meaning(replace(before, **settled), MeaningEvidence(words, lead))  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [0, 1, SHORT])
def test_a_short_question_gives_the_whole_share_to_meaning(words: int) -> None:
    found = asked(words)
    assert found.weights.as_dict() == approx(Weights(0.75, 0.15, 0.1).as_dict())
    assert found.notes == ("Short question: the weight of meaning is raised to 75%.",)


@pytest.mark.parametrize("words", [LONG, LONG + 1, 40])
def test_a_long_question_keeps_its_weights(words: int) -> None:
    found = asked(words)
    assert found.weights == WEIGHTS
    assert found.notes == ()


@pytest.mark.parametrize(
    ("lead", "meaning"), [(0.0, 0.6), (CLOSE, 0.6), (0.1, 0.675), (DECISIVE, 0.75), (0.9, 0.75)]
)
def test_close_cosines_change_no_weights(lead: float, meaning: float) -> None:
    """Halfway between both limits half of the share moves: .6 + .5 * .5 * .3 = .675."""
    assert asked(1, lead=lead).weights.vector == approx(meaning)


@pytest.mark.parametrize(
    ("cosines", "lead"),
    [
        pytest.param([0.8, *[0.6] * 8, 0.2, 0.1], 0.6, id="the first over the tenth"),
        pytest.param([0.5] * 10, 0.0, id="ten alike"),
        pytest.param([0.8] + [0.1] * 8, 0.0, id="fewer than ten have a vector"),
        pytest.param([-0.1] * 10, 0.0, id="nothing is near"),
        pytest.param([], 0.0, id="no vectors"),
    ],
)
@pytest.mark.parametrize("scale", [MINILM, CosineScale(3.0, -2.0)])
def test_lead_is_measured_on_the_common_scale(
    cosines: list[float], lead: float, scale: CosineScale
) -> None:
    found = [
        Candidate(n, n, {Signal.VECTOR: (each - scale.offset) / scale.slope})
        for n, each in enumerate(cosines, start=1)
    ]
    found.append(Candidate(99, 99, {Signal.KEYWORD: 3.0}))
    evidence = MeaningEvidence.of(prepared(columns(found, Query("words")), scale=scale), 1)
    assert evidence.lead == approx(lead)


@pytest.mark.parametrize(
    ("scores", "meaning"), [((0.0, 2.0), 0.6), ((1.0, 2.0), 0.675), ((2.0, 1.0), 0.75), ((), 0.75)]
)
def test_meaning_leans_as_far_as_its_nearest_passage_has_the_words(
    scores: tuple[float, ...], meaning: float
) -> None:
    """The nearest passage has none, half or most of the best keyword score."""
    found = [Candidate(n, n, {Signal.VECTOR: 0.9 if n == 1 else 0.1}) for n in range(1, 12)]
    for n, score in enumerate(scores):
        found[n] = replace(found[n], raw={**found[n].raw, Signal.KEYWORD: score})
    evidence = MeaningEvidence.of(prepared(columns(found, Query("words"))), 1)
    settled = asked(1, lean=0.0)
    profile = replace(settled.profile, short_lean=0.5)
    found_weights = leaning_on_meaning(replace(settled, profile=profile), evidence).weights
    assert found_weights.vector == approx(meaning)


@given(st.integers(0, 30), st.floats(0, 0.5), st.floats(0, 0.5))
def test_larger_lead_never_lowers_the_vector_weight(words: int, one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert asked(words, lead=less).weights.vector <= asked(words, lead=more).weights.vector


@given(st.integers(0, 30), st.floats(0, 1))
def test_more_words_never_raise_the_vector_weight(words: int, lean: float) -> None:
    fewer, more = asked(words, lean=lean).weights, asked(words + 1, lean=lean).weights
    assert fewer.vector >= more.vector >= WEIGHTS.vector
    assert fewer.keyword >= 0
    assert fewer.vector + fewer.keyword + fewer.title == approx(1)
    assert fewer.title == WEIGHTS.title


def test_weights_decided_otherwise_are_unchanged() -> None:
    forced = asked(1, forced=("weights",))
    lookup = asked(1, query_class=QueryClass.LOOKUP)
    alone = asked(1, weights=Weights(0, 1, 0))
    off = asked(1, lean=0.0)
    for found in (forced, lookup, off):
        assert found.weights == WEIGHTS
    assert alone.weights == Weights(0, 1, 0)


@pytest.mark.parametrize(
    "text",
    [
        "143/815/08155", "Beschluss 17/2027", "localhost:8443", "51 824 753 556", "CHF 25",
        "X-Forwarded-Proto",
    ],
)  # fmt: skip
def test_numbers_and_names_of_headers_have_no_meaning(text: str) -> None:
    assert asked(1, text=text).weights == WEIGHTS


@pytest.mark.parametrize("text", ["CHF", "vitamin B12", "before 9/11", "谁在2010年签署了条约"])
def test_words_with_a_number_beside_them_have_one(text: str) -> None:
    assert asked(1, text=text).weights.vector == approx(0.75)


@pytest.mark.parametrize(
    ("text", "leans"), [("copper", True), ("Venkataraghavan", False), ("Xylokastro λέβητα", False)]
)
def test_names_in_no_word_list_do_not_lean(text: str, leans: bool) -> None:
    found = [Candidate(n, n, {Signal.VECTOR: 0.9 if n == 1 else 0.1}) for n in range(1, 12)]
    before = asked(40, lead=0.0, text=text)
    candidates = prepared(columns(found, before.query))
    weighing = Weighing(before, candidates, configuration(), by_meaning=True)
    assert (lean_on_meaning(weighing).settled.weights.vector > WEIGHTS.vector) is leans


def test_lean_is_the_same_whatever_else_the_site_holds() -> None:
    """The background is that of the whole site; .9 over .8 is halfway on the common scale."""
    found = [Candidate(n, n, {Signal.VECTOR: 0.9 if n == 1 else 0.8}) for n in range(1, 12)]
    before = asked(40, lead=0.0)
    leant = set()
    for background in (None, Background(0.1, 0.02), Background(0.1, 1)):
        known = replace(configuration(), background=background)
        weighing = Weighing(before, prepared(columns(found, before.query)), known, by_meaning=True)
        leant.add(lean_on_meaning(weighing).settled.weights)
    assert {round(each.vector, 9) for each in leant} == {0.675}
