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

from ingestion.lexical import terms as bm25
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
from search.ranking import Batch, Prepared, rank
from search.ranking.boosts import sought
from search.ranking.confidence import (
    BM25_BOUND,
    DOUBT,
    FEATURES,
    SHIPPED,
    CalibrationModels,
    Evidence,
    Logistic,
    Ran,
    confidence,
    shipped,
)
from search.tuning.evaluation.reliability import (
    QuestionKind,
    Sample,
    auroc,
    calibration_error,
    fit,
    is_held_out,
    measure,
)
from tests.support.ranking import columns, made, prepared

QUERY = Query("sliding weights")
TERMS = (TermStatistic("slide", 3, 2.0), TermStatistic("weight", 9, 0.5))
MINILM = next(iter(SHIPPED.values()))
# Reads the first hit's keyword score alone.
BY_KEYWORD = CalibrationModels(
    {
        Ran.BOTH: Logistic(-2.0, {"keyword": 4.0}),
        Ran.VECTOR: Logistic(-1.0, {"cosine": 2.0}),
        Ran.KEYWORD: Logistic(0.0, {"keyword": 1.0}),
    }
)


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
    return Evidence.of(*shown(candidates, terms=terms, unknown=unknown), *options, **more)


def sure(candidates: Sequence[Candidate], query: Query = QUERY, **options: Any) -> float | None:
    return confidence(*shown(candidates, query), MINILM, **options)


class TestEvidence:
    def test_a_repeated_word_raises_the_possible_maximum(self) -> None:
        """Slide twice weighs 2 * 1.5 = 3, so that the maximum is 2.2 * (3 + .5) = 7.7."""
        terms = (replace(TERMS[0], times=2), TERMS[1])
        found = evidence([candidate(1, keyword=3.85)], terms=terms)
        assert found is not None
        assert found.keyword == approx(0.5)

    def test_a_word_that_no_text_holds_raises_it_as_the_rarest_would(self) -> None:
        """One of two words is held: ln(1 + 9.5 / .5) = ln 20 for the other, of 9 chunks."""
        found = evidence([candidate(1, keyword=2.2)], terms=(TERMS[0],), unknown=["poise"])
        assert found is not None
        assert found.keyword == approx(2.2 / (2.2 * (2.0 + math.log(20))))
        assert found.terms == approx(math.log(2))

    def test_hand_worked(self) -> None:
        found = evidence(
            [
                candidate(1, document=7, vector=0.6, keyword=3.3),
                candidate(2, document=7, vector=0.5, keyword=1.1),
                candidate(3, document=8, vector=0.4, keyword=2.2),
            ]
        )

        # Of (k1 + 1) * (2 + .5) = 5.5 the first holds 3.3 and the best other document 2.2.
        assert found == Evidence(
            Ran.BOTH,
            cosine=approx(0.6),
            cosine_lead=approx(0.2),
            keyword=approx(0.6),
            keyword_lead=approx(0.2),
            agreement=1.0,
            terms=approx(math.log(3)),
        )

    def test_the_bound_is_that_of_bm25(self) -> None:
        assert approx(bm25.K1 + 1) == BM25_BOUND

    def test_a_hit_beyond_the_tenth_gives_no_lead(self) -> None:
        ten = [candidate(n, vector=0.5, keyword=1.0) for n in range(1, 11)]
        beyond = candidate(11, vector=0.1, keyword=5.0)
        found = evidence([*ten, beyond])
        assert found is not None
        assert found.keyword_lead == 0

    @pytest.mark.parametrize(
        ("raw", "scorer", "by_meaning", "ran"),
        [
            ({"vector": 0.5, "keyword": 1.0}, KeywordScorer.BM25, True, Ran.BOTH),
            ({"vector": 0.5, "keyword": 1.0}, KeywordScorer.TS_RANK, True, Ran.VECTOR),
            ({"vector": 0.5, "keyword": 1.0}, KeywordScorer.BM25, False, Ran.KEYWORD),
            ({"keyword": 1.0}, KeywordScorer.BM25, True, Ran.KEYWORD),
            ({"keyword": 1.0}, KeywordScorer.OVERLAP, True, None),
        ],
        ids=["both", "other scorer", "foreign language", "degraded", "nothing to read"],
    )
    def test_reads_what_ran(
        self, raw: Mapping[str, float], scorer: KeywordScorer, by_meaning: bool, ran: Ran | None
    ) -> None:
        found = evidence([candidate(1, **raw)], scorer, by_meaning=by_meaning)
        assert (found and found.ran) == ran

    @pytest.mark.parametrize(
        ("first", "second", "agreement"),
        [
            ({"document": 1, "vector": 0.9, "keyword": 0}, {"document": 1, "keyword": 4.0}, 1),
            ({"document": 1, "vector": 0.9, "keyword": 0}, {"document": 2, "keyword": 4.0}, 0),
            ({"vector": 0.0, "keyword": 0.0}, {"vector": 0.0, "keyword": 0.0}, 0),
        ],
        ids=["one document", "two documents", "nothing found"],
    )
    def test_agreement(
        self, first: Mapping[str, Any], second: Mapping[str, Any], agreement: int
    ) -> None:
        found = evidence([candidate(1, **first), candidate(2, **second)])
        assert found is not None
        assert found.agreement == agreement


class TestConfidence:
    def test_is_the_logistic_of_the_evidence(self) -> None:
        both = [candidate(1, vector=0.5, keyword=2.75)]
        # A keyword share of 2.75 / 5.5; odds of -2 + 4 * .5 = 0.
        assert confidence(*shown(both), BY_KEYWORD) == approx(0.5)
        degraded = [candidate(1, keyword=5.5)]
        assert confidence(*shown(degraded), BY_KEYWORD) == approx(1 / (1 + math.exp(-1)))

    def test_is_unknown_without_a_calibration(self) -> None:
        assert confidence(*shown([candidate(1, vector=0.9)]), None) is None

    def test_is_unknown_where_no_signal_can_be_read(self) -> None:
        assert sure([candidate(1, keyword=1)], scorer=KeywordScorer.TS_RANK) is None

    def test_is_none_at_all_of_nothing(self) -> None:
        assert sure([]) == 0

    @pytest.mark.parametrize(
        ("strength", "expected"), [(1.0, 1 - DOUBT), (0.5, 0.5), (None, DOUBT)]
    )
    def test_an_identifier_is_answered_by_what_holds_it(
        self, strength: float | None, expected: float
    ) -> None:
        query = Query("D-40", is_identifier=True, needs_no_embedding=True)
        match = IdentifierMatch("d40", strength, 2) if strength is not None else None
        hits = [replace(candidate(1, keyword=5.5), identifier=match)]
        assert sure(hits, query) == approx(expected)

    def test_a_name_that_prose_could_hold_is_judged_as_prose(self) -> None:
        hits = [candidate(1, vector=0.8, keyword=4.0)]
        assert sure(hits, Query("VectorStore", is_identifier=True)) == sure(hits)

    def test_exact_words_are_answered_by_what_holds_them(self) -> None:
        """Every result does. Two stop words and a common one say little by any signal."""
        hits = [candidate(1, vector=0.1)]
        assert sure(hits, Query("in the view", phrases=("in the view",))) == 1 - DOUBT
        more = Query("bread in the view", phrases=("in the view",))
        assert sure(hits, more) == sure(hits) < 0.5

    def test_an_administrators_pin_answers(self) -> None:
        assert sure([replace(candidate(1, vector=0.0), pin=0)]) == 1 - DOUBT


SCORES = st.fixed_dictionaries(
    {},
    optional={
        "vector": st.floats(-1, 1),
        "keyword": st.floats(0, 1e4),
        "title": st.floats(0, 10),
    },
)
RANKINGS = st.lists(SCORES, min_size=1, max_size=14).map(
    lambda rows: [candidate(n, document=n // 2 + 1, **raw) for n, raw in enumerate(rows)]
)


@given(RANKINGS, st.sampled_from(KeywordScorer), st.sampled_from([MINILM, BY_KEYWORD]))
def test_a_confidence_lies_between_0_and_1(
    candidates: list[Candidate], scorer: KeywordScorer, calibration: CalibrationModels
) -> None:
    for terms in (TERMS, ()):
        value = confidence(*shown(candidates, QUERY, terms), calibration, scorer=scorer)
        assert value is None or 0 <= value <= 1


@given(RANKINGS, st.sampled_from([1e-3, 0.0164, 7.0, 100.0]))
def test_the_scale_of_the_fused_score_does_not_matter(
    candidates: list[Candidate], scale: float
) -> None:
    """F4-05: an RRF score of .0164 says no less than a sum of .7."""
    scaled = made(boosts=(Boost("scale", scale, pattern="x"),))
    names = [sought(boost) for boost in scaled.boosts]
    boosted = [replace(each, boosts=dict.fromkeys(names, 1)) for each in candidates]
    weights, classes = [Weights(0.5, 0.5, 0)], [QueryClass.GENERAL]
    found = []
    for each in (boosted, candidates):
        held = prepared(columns(each, QUERY, terms=TERMS))
        ranked = rank(Batch.of([held]), weights, classes, scaled)
        found.append(confidence(held, ranked.columns(0).tolist(), MINILM))
    assert found[0] == found[1]


@given(st.sampled_from(Ran), st.tuples(*[st.floats(0, 1)] * 6), st.integers(0, 5), st.floats(0, 1))
def test_more_evidence_of_any_kind_makes_it_surer(
    ran: Ran, values: tuple[float, ...], which: int, more: float
) -> None:
    greater = tuple(v + more * (place == which) for place, v in enumerate(values))
    model = MINILM.models[ran]
    before, after = (model.probability(Evidence(ran, *each)) for each in (values, greater))
    assert after >= before


class TestCalibration:
    def test_comes_back_from_json(self) -> None:
        assert CalibrationModels.from_json(MINILM.as_json()) == MINILM

    @pytest.mark.parametrize(
        "value",
        [
            {},
            None,
            [],
            {**MINILM.as_json(), "both": {"intercept": 1}},
            {**MINILM.as_json(), "vector": {"intercept": "x", "slopes": {}}},
            {
                **MINILM.as_json(),
                "vector": {
                    "intercept": math.nan,
                    "slopes": dict.fromkeys(FEATURES[Ran.VECTOR], 1.0),
                },
            },
        ],
        ids=["empty", "null", "list", "no slopes", "text", "not a number"],
    )
    def test_refuses_what_it_did_not_write(self, value: Any) -> None:
        with pytest.raises(ValueError, match="calibration"):
            CalibrationModels.from_json(value)

    def test_ships_for_its_own_model_alone(self) -> None:
        (model,) = SHIPPED
        assert shipped(f"{model}r2") is MINILM
        assert shipped("text-embedding-3-small-1536") is None


def samples(
    count: int, seed: int, truth: Logistic, *, ran: Ran = Ran.BOTH, kind: QuestionKind | None = None
) -> list[Sample]:
    """Questions whose share of answers is exactly what `truth` says of their evidence."""
    chance = np.random.default_rng(seed)
    made = []
    for number in range(count):
        cosine, keyword, lead, terms = chance.uniform(size=4)
        evidence = Evidence(
            ran, cosine, lead / 2, keyword, lead / 3, float(chance.integers(2)), 1 + terms
        )
        answered = bool(chance.uniform() < truth.probability(evidence))
        which = kind or (QuestionKind.ANSWERABLE if answered else QuestionKind.FOREIGN)
        made.append(Sample(which, f"document {number}", answered, evidence))
    return made


TRUTH = Logistic(
    -4.0, {"cosine": 5.0, "keyword": 3.0, "keyword_lead": 2.0, "agreement": 0.5, "terms": 0.2}
)


class TestFit:
    def test_finds_the_law_that_the_questions_follow(self) -> None:
        found = fit(samples(20_000, 1, TRUTH) + samples(4_000, 2, TRUTH, ran=Ran.KEYWORD))
        both = found.models[Ran.BOTH]
        assert both.intercept == approx(TRUTH.intercept, abs=0.5)
        for feature, slope in TRUTH.slopes.items():
            assert both.slopes[feature] == approx(slope, abs=0.4), feature
        assert {ran: tuple(m.slopes) for ran, m in found.models.items()} == dict(FEATURES)

    def test_is_calibrated_on_questions_never_seen(self) -> None:
        kept, aside = samples(4_000, 1, TRUTH), samples(4_000, 3, TRUTH)
        found = fit(kept + samples(500, 2, TRUTH, ran=Ran.KEYWORD))
        figures = measure(found, aside)["both"]
        assert figures["ECE"] < 0.04
        assert figures["AUROC"] == figures["AUROC_foreign"] > 0.75
        assert figures["below"]["0.5"]["answerable"] < 0.5 < figures["below"]["0.5"]["foreign"]

    def test_stays_finite_where_a_feature_parts_the_classes(self) -> None:
        parted = [
            Sample(
                QuestionKind.FOREIGN, str(n), n % 2 == 0, Evidence(ran, cosine=float(n % 2 == 0))
            )
            for n in range(40)
            for ran in (Ran.BOTH, Ran.KEYWORD)
        ]
        found = fit(parted)
        assert CalibrationModels.from_json(found.as_json()) == found

    @pytest.mark.parametrize("answered", [True, False])
    def test_needs_both_outcomes(self, answered: bool) -> None:
        one_sided = [
            replace(sample, answered=answered)
            for ran in (Ran.BOTH, Ran.KEYWORD)
            for sample in samples(10, 1, TRUTH, ran=ran)
        ]
        with pytest.raises(ValueError, match="answered and questions that are not"):
            fit(one_sided)

    def test_the_split_keeps_a_group_together_and_halves_the_rest(self) -> None:
        groups = [f"squad: article {number}" for number in range(2_000)]
        aside = {group for group in groups if is_held_out(group, 0)}
        assert len(aside) == approx(1_000, abs=100)
        assert aside == {group for group in groups if is_held_out(group, 0)}
        assert aside != {group for group in groups if is_held_out(group, 1)}


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
def test_auroc(answered: list[bool], confidences: list[float], expected: float) -> None:
    assert auroc(answered, confidences) == approx(expected)


def test_auroc_of_one_outcome_is_unknown() -> None:
    assert math.isnan(auroc([True, True], [0.1, 0.2]))


def test_calibration_error_hand_worked() -> None:
    # 15 bins of two: in each the mean confidence is .5 and one of two is answered, but for the
    # last, where none is: .5 away in 2 of 30.
    answered = [True, False] * 14 + [False, False]
    confidences = [0.5] * 30
    assert calibration_error(answered, confidences) == approx(0.5 * 2 / 30)


class TestBaseRate:
    def test_it_shifts_the_odds(self) -> None:
        """Even odds become nine to one where nine of ten questions have an answer."""
        even = CalibrationModels({ran: Logistic(0.0, {}) for ran in Ran})
        found = even.at_base_rate(0.9)
        assert [found.models[ran].probability(Evidence(ran)) for ran in Ran] == approx([0.9] * 3)

    def test_half_changes_nothing(self) -> None:
        assert MINILM.at_base_rate(0.5) == MINILM
