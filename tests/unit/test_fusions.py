"""CombMNZ, max, both_factor, both_first, own candidates, boosts and pins, by hand."""

from __future__ import annotations

import pytest
from pytest import approx

from search.domain import (
    Boost,
    Candidate,
    Fusion,
    IdentifierMatch,
    Leaf,
    Normaliser,
    Operation,
    Profile,
    QueryClass,
    Signal,
    Weights,
)
from search.presentation.score_figures import joined
from search.ranking import applicable
from search.ranking.text_boosts import anchors, boost_key, parse_boosts
from search.retrieval.boosts import patterns
from tests.support.ranking import made, rank

HALVES = Weights(vector=0.5, keyword=0.5, title=0)
AS_THEY_ARE = dict.fromkeys(Signal, Normaliser.NONE)
CODES = Boost("codes", 1.5, anchor=r"\b[A-Z]\d{1,3}\b")


def candidate(pk: int, **fields: object) -> Candidate:
    raw = {signal: float(fields.pop(signal)) for signal in Signal if signal in fields}  # type: ignore[arg-type]
    return Candidate(pk, fields.pop("document", pk * 10), raw, **fields)  # type: ignore[arg-type]


def scores(hits: tuple) -> dict[int, float]:
    return {hit.candidate.chunk_id: hit.score for hit in hits}


def order(hits: tuple) -> list[int]:
    return [hit.candidate.chunk_id for hit in hits]


def options(fusion: Fusion = Fusion.LINEAR, **fields: object) -> Profile:
    return made(fusion=fusion, normalisers=AS_THEY_ARE, **fields)  # type: ignore[arg-type]


class TestFusions:
    def test_combmnz_multiplies_by_the_number_of_signals(self) -> None:
        hits = rank(
            [candidate(1, vector=0.8, keyword=0.4), candidate(2, vector=0.9, keyword=0.0)],
            HALVES,
            options(Fusion.COMBMNZ),
        )
        assert scores(hits) == approx({1: 2 * (0.4 + 0.2), 2: 1 * 0.45})

    def test_max_fusion_takes_the_largest_part(self) -> None:
        hits = rank(
            [candidate(1, vector=0.8, keyword=0.4), candidate(2, vector=0.1, keyword=0.9)],
            HALVES,
            options(Fusion.MAX),
        )
        assert scores(hits) == approx({2: 0.45, 1: 0.4})
        assert hits[0].explanation.root.operation is Operation.LARGEST

    def test_rrf_multiplies_candidates_of_both_signals(self) -> None:
        hits = rank(
            [candidate(1, vector=0.9, keyword=2.0), candidate(2, vector=0.8, keyword=0.0)],
            HALVES,
            options(Fusion.RRF, both_factor=1.2),
        )
        assert scores(hits) == approx({1: 1.2 * (0.5 / 61 + 0.5 / 61), 2: 0.5 / 62})
        assert [leaf.value for _, leaf in hits[0].explanation.adjustments] == [1.2]

    def test_both_first_puts_a_lower_score_before_a_higher_one(self) -> None:
        found = [candidate(1, vector=0.2, keyword=0.1), candidate(2, vector=0.9, keyword=0.0)]
        assert order(rank(found, HALVES, options())) == [2, 1]
        assert order(rank(found, HALVES, options(both_first=True))) == [1, 2]

    def test_a_signal_counts_only_for_its_own_candidates(self) -> None:
        """S1-34: a missing signal counts 0, though its score is known."""
        found = [
            candidate(1, vector=0.9, keyword=0.0),
            candidate(2, vector=0.8, keyword=0.0),
            candidate(3, vector=0.7, keyword=0.6),
        ]
        assert scores(rank(found, HALVES, options(own_candidates_only=True, depth=2))) == approx(
            {1: 0.45, 2: 0.4, 3: 0.3}
        )

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            pytest.param({"both_factor": 0.5}, "must be 1 or more", id="factor below 1"),
            pytest.param({"depth": 0}, "1 candidate or more", id="depth of 0"),
            pytest.param({"feedback": -0.1}, "0 or more", id="negative feedback"),
            pytest.param({"rerank": 1.1}, r"\[0, 1\]", id="share above 1"),
        ],
    )
    def test_refuses_constants_that_make_no_sense(self, wrong: dict, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            made(**wrong)


class TestBoosts:
    def test_s1_24_multiplies_once_for_each_anchor_found(self) -> None:
        found = [
            candidate(1, vector=0.4, boosts={boost_key(CODES): 2}),
            candidate(2, vector=0.8),
        ]
        hits = rank(found, Weights(1, 0, 0), options(boosts=(CODES,)))
        assert scores(hits) == approx({1: 0.4 * 1.5 * 1.5, 2: 0.8})
        assert order(hits) == [1, 2]

    def test_additive_boost_is_added(self) -> None:
        boost = Boost("code wanted", 0.15, multiply=False, kinds=("code",))
        found = [candidate(1, vector=0.4, boosts={boost_key(boost): 1})]
        assert scores(rank(found, Weights(1, 0, 0), options(boosts=(boost,)))) == approx({1: 0.55})

    def test_s1_25_applies_on_top_of_any_fusion(self) -> None:
        found = [candidate(1, vector=0.5, keyword=2.0, boosts={boost_key(CODES): 1})]
        for fusion in Fusion:
            plain = rank(found, HALVES, options(fusion))[0].score
            assert rank(found, HALVES, options(fusion, boosts=(CODES,)))[0].score == approx(
                1.5 * plain
            )

    def test_a_boost_of_one_class_is_not_for_another(self) -> None:
        code = Boost("code", 2, kinds=("code",), query_class=QueryClass.CODE)
        assert applicable((CODES, code), QueryClass.CONCEPT) == (CODES,)
        assert applicable((CODES, code), QueryClass.CODE) == (CODES, code)

    def test_anchors_are_each_text_of_the_query_once(self) -> None:
        assert anchors(CODES, "D40 or B12, D40 again, d41 not") == ("D40", "B12")

    def test_the_first_group_is_the_anchor(self) -> None:
        assert anchors(Boost("quoted", 2, anchor='"([^"]+)"'), 'the "pump house" door') == (
            "pump house",
        )

    def test_a_pattern_holds_the_anchor_as_it_is(self) -> None:
        boost = Boost("defined", 0.4, multiply=False, anchor=r"\S*\d\S*", pattern="{anchor}[.:)]")
        assert patterns(boost, "what is A*7") == (r"A\*7[.:)]",)
        assert patterns(boost, "no code here") == ()

    @pytest.mark.parametrize(
        ("rows", "words"),
        [
            pytest.param({"name": "x"}, "Give a list", id="no list"),
            pytest.param([{"amount": 2, "anchor": "x"}], "needs a name", id="no name"),
            pytest.param([{"name": "x", "anchor": "y"}], "needs an amount", id="no amount"),
            pytest.param(
                [{"name": "x", "amount": 0.9, "shorter_than": -1}],
                "number of characters",
                id="chars",
            ),
            pytest.param([{"name": "x", "amount": 2}], "every chunk", id="no condition"),
            pytest.param(
                [{"name": "x", "amount": 2, "anchor": "("}], "not a valid regular", id="regex"
            ),
            pytest.param(
                [{"name": "x", "amount": 2, "pattern": "{anchor}"}], "has none", id="anchorless"
            ),
            pytest.param(
                [{"name": "x", "amount": 2, "anchor": "y", "factor": 2}], "no field", id="unknown"
            ),
            pytest.param(
                [{"name": "x", "amount": 2, "anchor": "y", "query_class": "poem"}],
                "must be one of",
                id="class",
            ),
            pytest.param([{"name": "x", "amount": 2, "anchor": "y"}] * 2, "of its own", id="twice"),
        ],
    )
    def test_invalid_boost_is_refused_with_the_reason(self, rows: object, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            parse_boosts(rows)


class TestPins:
    def test_a_pinned_document_comes_first_by_its_best_chunk_alone(self) -> None:
        found = [
            candidate(1, vector=0.9),
            candidate(2, vector=0.2, document=7, pin=0),
            candidate(3, vector=0.3, document=7, pin=0),
            candidate(4, vector=0.95, identifier=IdentifierMatch("d40", 1.0, 0)),
        ]
        hits = rank(found, Weights(1, 0, 0), options())
        assert order(hits) == [3, 4, 1, 2]
        assert "pinned" in hits[0].explanation.tier.reason
        assert hits[3].explanation.tier.reason == ""

    def test_pins_keep_their_order_whatever_the_scores(self) -> None:
        found = [candidate(1, vector=0.9, pin=1), candidate(2, vector=0.1, pin=0)]
        assert order(rank(found, Weights(1, 0, 0), options())) == [2, 1]


def test_factors_of_several_steps_are_shown_as_one() -> None:
    """A short passage meets several limits of length: one line says by how much it counts less."""
    steps = [Leaf(f"boost: shorter than {most}", 0.9) for most in (600, 400)]
    factors = [(Operation.PRODUCT, step) for step in steps]
    feedback = (Operation.SUM, Leaf("similarity to the first results", 0.1))
    (operation, one), last = joined([*factors, feedback])
    assert (operation, one.label) == (
        Operation.PRODUCT,
        "boost: shorter than 600, shorter than 400",
    )
    assert one.value == approx(0.81)
    assert last == feedback
    assert list(joined([factors[0], feedback])) == [factors[0], feedback]
