"""How sure a ranking is: hand-worked evidence, the laws of a probability, the fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from benchmarks.reliability import QuestionKind, Sample, auroc, calibration_error, fit
from search.domain import (
    Boost,
    Candidate,
    IdentifierMatch,
    KeywordScorer,
    Query,
    QueryClass,
    Reading,
    Signal,
    TermStatistic,
    Weights,
)
from search.ranking import Batch, Prepared, score_batch
from search.ranking.confidence import (
    DOUBT,
    FEATURES,
    LEAST_SCALE,
    MODELS,
    NAMED,
    Background,
    Evidence,
    Logistic,
    Ran,
    confidence,
)
from search.ranking.text_boosts import boost_key
from tests.support.ranking import columns, made, prepared

QUERY = Query("sliding weights")
TERMS = (TermStatistic("slide", 3, 2.0), TermStatistic("weight", 9, 0.5))
BACKGROUND = Background(level=0.2, scale=0.1)


def candidate(chunk: int, *, document: int = 0, **raw: float) -> Candidate:
    scores = {Signal(name): score for name, score in raw.items()}
    return Candidate(chunk, document or chunk, scores)


def shown(
    candidates: Sequence[Candidate],
    query: Query = QUERY,
    terms: Sequence[TermStatistic] = TERMS,
    unknown: Sequence[str] = (),
) -> tuple[Prepared, list[int]]:
    """The candidates of a search over nine chunks, ranked by chunk, as a confidence reads them."""
    readings = (Reading("english", 9, 2), Reading("german", 0, 2))
    held = prepared(
        columns(candidates, query, terms=tuple(terms), unknown=tuple(unknown), readings=readings)
    )
    return held, np.argsort(held.rows).tolist()


def evidence(
    candidates: Sequence[Candidate],
    *options: Any,
    terms: Sequence[TermStatistic] = TERMS,
    unknown: Sequence[str] = (),
    **more: Any,
) -> Evidence | None:
    held = shown(candidates, terms=terms, unknown=unknown)
    return Evidence.of(*held, *(options or (BACKGROUND,)), **more)


def sure(candidates: Sequence[Candidate], query: Query = QUERY, **options: Any) -> float | None:
    return confidence(*shown(candidates, query), **{"background": BACKGROUND} | options)


class TestEvidence:
    def test_a_repeated_word_raises_the_possible_maximum(self) -> None:
        """Slide twice weighs 2 * 1.5 = 3, so that the maximum is 2.2 * (3 + .5) = 7.7."""
        terms = (replace(TERMS[0], times=2), TERMS[1])
        found = evidence([candidate(1, keyword=3.85)], terms=terms)
        assert found is not None
        assert found.keyword == approx(0.5)

    def test_unknown_word_raises_the_maximum_like_the_rarest_word(self) -> None:
        """One of two words is held: ln(1 + 9.5 / .5) = ln 20 for the other, of 9 chunks."""
        found = evidence([candidate(1, keyword=2.2)], terms=(TERMS[0],), unknown=["poise"])
        assert found is not None
        assert found.keyword == approx(2.2 / (2.2 * (2.0 + math.log(20))))
        assert found.terms == approx(math.log(2))

    def test_evidence_matches_a_calculation_by_hand(self) -> None:
        found = evidence(
            [
                candidate(1, document=7, vector=0.6, keyword=3.3),
                candidate(2, document=7, vector=0.5, keyword=1.1),
                candidate(3, document=8, vector=0.4, keyword=2.2),
            ]
        )

        # Four deviations above the level. Of (k1 + 1) * (2 + .5) = 5.5 the first holds 3.3 and the
        # best other document 2.2.
        assert found == Evidence(
            Ran.BOTH,
            deviation=approx(4.0),
            keyword=approx(0.6),
            keyword_lead=approx(0.2),
            terms=approx(math.log(3)),
        )

    def test_hits_beyond_the_tenth_are_ignored(self) -> None:
        ten = [candidate(n, vector=0.5, keyword=1.0) for n in range(1, 11)]
        beyond = candidate(11, vector=0.1, keyword=5.0)
        found = evidence([*ten, beyond])
        assert found is not None
        assert found.keyword_lead == 0

    @pytest.mark.parametrize(
        ("raw", "scorer", "background", "ran"),
        [
            ({"vector": 0.5, "keyword": 1.0}, KeywordScorer.BM25, BACKGROUND, Ran.BOTH),
            ({"vector": 0.5, "keyword": 1.0}, KeywordScorer.TS_RANK, BACKGROUND, Ran.VECTOR),
            ({"vector": 0.5, "keyword": 1.0}, KeywordScorer.BM25, None, Ran.KEYWORD),
            ({"keyword": 1.0}, KeywordScorer.BM25, BACKGROUND, Ran.KEYWORD),
            ({"keyword": 1.0}, KeywordScorer.OVERLAP, BACKGROUND, None),
        ],
        ids=["both", "other scorer", "not measured", "degraded", "nothing to read"],
    )
    def test_evidence_uses_only_signals_that_ran(
        self,
        raw: Mapping[str, float],
        scorer: KeywordScorer,
        background: Background | None,
        ran: Ran | None,
    ) -> None:
        found = evidence([candidate(1, **raw)], background, scorer)
        assert (found and found.ran) == ran


class TestBackground:
    def test_background_is_median_and_spread_of_the_probes(self) -> None:
        """The quartiles of .1, .2, .3, .4, .9 are .2 and .4: an answer among them is nothing."""
        found = Background.of([0.3, 0.1, 0.9, 0.4, 0.2])
        assert (found.level, found.scale) == approx((0.3, 0.2 / 1.349))

    def test_equal_cosines_still_have_a_scale(self) -> None:
        assert Background.of([0.25]) == Background(0.25, LEAST_SCALE)

    @given(st.floats(0.05, 1), st.floats(-0.5, 0.5))
    def test_the_scale_of_a_models_cosines_does_not_matter(self, by: float, less: float) -> None:
        """A model whose cosines are those of another, times a factor and moved, is as sure."""
        probes, cosine = [0.1, 0.15, 0.2, 0.3], 0.6
        values = [
            sure([candidate(1, vector=cosine * a + b, keyword=1)], background=Background.of(
                [each * a + b for each in probes]
            ))
            for a, b in ((1.0, 0.0), (by, less))
        ]  # fmt: skip
        assert values[0] == approx(values[1])


class TestConfidence:
    def test_confidence_is_unknown_without_a_readable_signal(self) -> None:
        assert sure([candidate(1, keyword=1)], scorer=KeywordScorer.TS_RANK) is None

    def test_confidence_without_results_is_zero(self) -> None:
        assert sure([]) == 0

    @pytest.mark.parametrize(
        ("strength", "expected"), [(1.0, 1 - DOUBT), (0.5, 0.5), (None, DOUBT)]
    )
    def test_identifier_query_is_answered_by_a_document_with_the_identifier(
        self, strength: float | None, expected: float
    ) -> None:
        query = Query("D-40", is_identifier=True, needs_no_embedding=True)
        match = IdentifierMatch("d40", strength, 2) if strength is not None else None
        hits = [replace(candidate(1, keyword=5.5), identifier=match)]
        assert sure(hits, query) == approx(expected)

    def test_a_name_that_prose_could_hold_is_judged_as_prose(self) -> None:
        hits = [candidate(1, vector=0.8, keyword=4.0)]
        assert sure(hits, Query("VectorStore", is_identifier=True)) == sure(hits)

    @pytest.mark.parametrize(
        ("place", "strength", "is_named"),
        [(-1, 1.0, True), (1, 1.0, True), (2, 1.0, False), (1, 0.5, False)],
        ids=["its own section", "a heading", "the body", "a part of it"],
    )
    def test_a_heading_that_names_the_identifier_is_not_nothing(
        self, place: int, strength: float, is_named: bool
    ) -> None:
        other = candidate(1, vector=0.0)
        named = replace(
            candidate(2, vector=0.0), identifier=IdentifierMatch("d40", strength, place)
        )
        value = sure([other, named], Query("Tell me about D40"))
        assert value is not None
        assert (value >= NAMED) is is_named

    def test_one_number_is_judged_by_its_words(self) -> None:
        hits = [candidate(1, vector=-0.3, keyword=4.4), candidate(2, keyword=0.0)]
        by_words = MODELS[Ran.KEYWORD].probability(
            Evidence(Ran.KEYWORD, keyword=0.8, keyword_lead=0.8, terms=math.log(3))
        )
        assert sure(hits, Query("2340000", is_identifier=True)) == approx(by_words)
        # Other texts hold the parts of these.
        assert sure(hits, Query("7,793,705")) == sure(hits)
        assert sure(hits, Query("VectorStore", is_identifier=True)) == sure(hits)

    def test_phrase_query_is_answered_by_a_document_with_the_phrase(self) -> None:
        """Every result does. Two stop words and a common one say little by any signal."""
        hits = [candidate(1, vector=0.1)]
        assert sure(hits, Query("in the view", phrases=("in the view",))) == 1 - DOUBT
        more = Query("bread in the view", phrases=("in the view",))
        assert sure(hits, more) == sure(hits) < 0.5

    def test_pinned_document_gives_high_confidence(self) -> None:
        assert sure([replace(candidate(1, vector=0.0), pin=0)]) == 1 - DOUBT


SCORES = st.fixed_dictionaries(
    {},
    optional={"vector": st.floats(-1, 1), "keyword": st.floats(0, 1e4), "title": st.floats(0, 10)},
)
RANKINGS = st.lists(SCORES, min_size=1, max_size=14).map(
    lambda rows: [candidate(n, document=n // 2 + 1, **raw) for n, raw in enumerate(rows)]
)


@given(RANKINGS, st.sampled_from(KeywordScorer), st.sampled_from([BACKGROUND, None]))
def test_a_confidence_lies_between_0_and_1(
    candidates: list[Candidate], scorer: KeywordScorer, background: Background | None
) -> None:
    for terms in (TERMS, ()):
        value = confidence(*shown(candidates, QUERY, terms), background, scorer=scorer)
        assert value is None or 0 <= value <= 1


@given(RANKINGS, st.sampled_from([1e-3, 0.0164, 7.0, 100.0]))
def test_the_scale_of_the_fused_score_does_not_matter(
    candidates: list[Candidate], scale: float
) -> None:
    """F4-05: an RRF score of .0164 says no less than a sum of .7."""
    scaled = made(boosts=(Boost("scale", scale, pattern="x"),))
    names = [boost_key(boost) for boost in scaled.boosts]
    boosted = [replace(each, boosts=dict.fromkeys(names, 1)) for each in candidates]
    weights, classes = [Weights(0.5, 0.5, 0)], [QueryClass.GENERAL]
    found = []
    for each in (boosted, candidates):
        held = prepared(columns(each, QUERY, terms=TERMS))
        ranked = score_batch(Batch.of([held]), weights, classes, scaled)
        found.append(confidence(held, ranked.columns(0).tolist(), BACKGROUND))
    assert found[0] == found[1]


@given(st.sampled_from(Ran), st.tuples(*[st.floats(0, 1)] * 4), st.integers(0, 3), st.floats(0, 1))
def test_more_evidence_raises_the_confidence(
    ran: Ran, values: tuple[float, ...], which: int, more: float
) -> None:
    greater = tuple(v + more * (place == which) for place, v in enumerate(values))
    model = MODELS[ran]
    before, after = (model.probability(Evidence(ran, *each)) for each in (values, greater))
    assert after >= before


def samples(count: int, seed: int, truth: Logistic) -> list[Sample]:
    """Questions whose share of answers is exactly what `truth` says of their evidence."""
    chance = np.random.default_rng(seed)
    made = []
    for number in range(count):
        deviation, keyword, lead, terms = chance.uniform(size=4).tolist()
        evidence = Evidence(Ran.BOTH, 4 * deviation, keyword, lead / 3, 1 + terms)
        answered = bool(chance.uniform() < truth.probability(evidence))
        which = QuestionKind.ANSWERABLE if answered else QuestionKind.FOREIGN
        made.append(Sample(which, f"document {number}", answered, evidence))
    return made


TRUTH = Logistic(-4.0, {"deviation": 1.2, "keyword": 3.0})


class TestFit:
    def test_fit_recovers_the_law_of_the_samples(self) -> None:
        found = fit(samples(20_000, 1, TRUTH))
        both = found[Ran.BOTH]
        for feature, slope in TRUTH.slopes.items():
            assert both.slopes[feature] == approx(slope, abs=0.4), feature
        assert {ran: tuple(m.slopes) for ran, m in found.items()} == dict(FEATURES)

    def test_fit_is_calibrated_on_unseen_questions(self) -> None:
        """Where half have an answer: the fit is to that, the law gives others their odds."""
        aside = samples(8_000, 3, TRUTH)
        share = float(np.mean([each.answered for each in aside]))
        model = fit(samples(8_000, 1, TRUTH))[Ran.BOTH]
        values = [model.probability(each.evidence, share) for each in aside]
        answered = [each.answered for each in aside]
        assert calibration_error(answered, values) < 0.04
        assert auroc(answered, values) > 0.75


@pytest.mark.parametrize(
    ("answered", "confidences", "expected"),
    [
        ([False, True], [0.1, 0.9], 1.0),
        ([True, False], [0.1, 0.9], 0.0),
        ([True, False], [0.4, 0.4], 0.5),
        # Of the pairs (.8, .3), (.8, .5), (.5, .3), (.5, .5) three are in order and one is tied.
        ([True, True, False, False], [0.8, 0.5, 0.3, 0.5], 3.5 / 4),
    ],
)
def test_auroc_matches_a_calculation_by_hand(
    answered: list[bool], confidences: list[float], expected: float
) -> None:
    assert auroc(answered, confidences) == approx(expected)


def test_the_base_rate_shifts_the_odds() -> None:
    """Even odds become nine to one where nine of ten questions have an answer."""
    even, evidence = Logistic(0.0, {}), Evidence(Ran.BOTH)
    assert even.probability(evidence, 0.9) == approx(0.9)
    assert even.probability(evidence, 0.5) == 0.5
