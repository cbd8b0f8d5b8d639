"""S4-31, S5-32: a classifier learned from labelled queries, by hand-worked numbers and laws."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from ingestion.identifiers import DEFAULT_PATTERNS
from search.domain import Classification, Classifier, Query, QueryClass
from search.query import ClassifierRule, parse
from search.query.classifiers import classify_by
from search.query.learned import (
    LearnedModel,
    features_of,
    folds_of,
    held_out,
    train,
)
from search.query.rule_classifier import FALLBACK_RULE

CODE, DEBUG, GENERAL = QueryClass.CODE, QueryClass.DEBUG, QueryClass.GENERAL


def q(text: str) -> Query:
    return parse(text, DEFAULT_PATTERNS)


class TestFeatures:
    def test_are_words_pairs_parts_and_the_form(self) -> None:
        assert features_of(q("Old pump?")) == [
            "word:old", "word:pump",
            "pair:^ old", "pair:old pump", "pair:pump $",
            "part:<ol", "part:old", "part:ld>", "part:<pu", "part:pum", "part:ump", "part:mp>",
            "form:question mark",
            "length:2",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("text", "form"),
        [
            ("what is rclcpp::Node", "form:code"),
            ("call select_related()", "form:code"),
            ("the useEffect hook", "form:code"),
            ("tell me about Berlin", "form:capital"),
            ("valve 14", "form:digit"),
            ("what says ISO 9001", "form:identifier"),
        ],
    )
    def test_of_a_form(self, text: str, form: str) -> None:
        assert form in features_of(q(text))
        assert form not in features_of(q("old pump"))

    def test_operators_are_no_text(self) -> None:
        assert features_of(q("pump type:pdf")) == features_of(q("pump"))


class TestTraining:
    def test_two_queries_by_hand(self) -> None:
        """K = [[2, 1], [1, 2]] with the bias; by symmetry the coefficients are (c, -c), (-c, c).

        The scores of the first query are then (2c - c, -(2c - c)), so p = 1 / (1 + exp(-2c)); at
        the minimum c = (1 - p) / penalty. With a penalty of .5: p = 1 / (1 + exp(-4 (1 - p))),
        which p = .7394 solves.
        """
        pair = [(q("aaaa"), CODE), (q("bbbbbbbb cc dd ee"), DEBUG)]
        assert not set(features_of(pair[0][0])) & set(features_of(pair[1][0]))

        model = train(pair, penalty=0.5, min_queries=1)

        shares = model.probabilities(pair[0][0])
        assert shares == approx([0.7394, 0.2606], abs=5e-4)
        assert shares[0] == approx(1 / (1 + math.exp(-4 * (1 - shares[0]))), abs=1e-3)
        assert model.probabilities(pair[1][0]) == approx(shares[::-1], abs=1e-3)

    def test_a_query_without_known_features_has_the_classes_shares(self) -> None:
        """With a small penalty the bias alone gives the frequencies: 3 of 4."""
        labelled = [(q(text), CODE) for text in ("aa", "bb", "cc")] + [(q("dd"), DEBUG)]
        # No feature occurs in so many queries: only the bias is left.
        model = train(labelled, penalty=1e-3, min_queries=5)
        assert not model.features
        assert model.probabilities(q("anything")) == approx([0.75, 0.25], abs=2e-3)

    def test_rare_features_are_left_out(self) -> None:
        labelled = [(q("pump broken"), DEBUG), (q("pump code"), CODE)]
        assert "word:pump" in train(labelled).features
        assert "word:broken" not in train(labelled).features

    def test_tells_apart_what_words_tell_apart(self) -> None:
        labelled = [(q(f"leaking {word}"), DEBUG) for word in ("valve", "pump", "pipe", "tank")]
        labelled += [(q(f"script for {word}"), CODE) for word in ("valve", "pump", "pipe", "tank")]
        model = train(labelled)
        found = model.classify(q("leaking boiler"))
        assert found is not None
        assert found.query_class is DEBUG
        assert found.rule.startswith("learned from 8 golden queries: p = 0.")
        assert found.confidence == approx(model.probabilities(q("leaking boiler")).max())


class TestModel:
    MODEL = LearnedModel(
        {"word:leak": 0, "length:1": 1},
        (CODE, DEBUG),
        np.array([[0.0, 2.0], [0.0, 0.0], [1.0, 0.0]]),
        trained_on=140,
        threshold=0.6,
    )

    def test_by_hand(self) -> None:
        """Two known features: each counts 1 / sqrt 2, besides the bias: 1 against 2 / sqrt 2."""
        wanted = 1 / (1 + math.exp(1 - math.sqrt(2)))
        assert self.MODEL.probabilities(q("leak")) == approx([1 - wanted, wanted])
        assert wanted == approx(0.602, abs=1e-3)
        found = self.MODEL.classify(q("leak"))
        assert found == Classification(
            DEBUG, "learned from 140 golden queries: p = 0.60", approx(wanted)
        )

    def test_undecided_below_the_threshold(self) -> None:
        stricter = LearnedModel.from_json(self.MODEL.as_json(), threshold=0.61)
        assert stricter.classify(q("leak")) is None

    def test_as_json_and_back(self) -> None:
        again = LearnedModel.from_json(json.loads(json.dumps(self.MODEL.as_json())), 0.6)
        for text in ("leak", "a whole other question", "?"):
            assert again.probabilities(q(text)) == approx(self.MODEL.probabilities(q(text)))
        assert again.trained_on == 140

    @pytest.mark.parametrize(
        "value",
        [
            pytest.param({}, id="empty"),
            pytest.param({**MODEL.as_json(), "classes": ["poem", "code"]}, id="unknown class"),
            pytest.param({**MODEL.as_json(), "classes": ["code"]}, id="a class too few"),
            pytest.param({**MODEL.as_json(), "coefficients": [[1.0, 2.0]]}, id="rows too few"),
            pytest.param(
                {**MODEL.as_json(), "coefficients": [[math.nan, 0.0]] * 3}, id="not a number"
            ),
        ],
    )
    def test_anything_else_is_refused(self, value: object) -> None:
        with pytest.raises(ValueError, match=r"."):
            LearnedModel.from_json(value, 0.5)

    @given(st.text(max_size=60))
    def test_probabilities_sum_to_1(self, text: str) -> None:
        query = Query(text=text, identifiers=())
        assert self.MODEL.probabilities(query).sum() == approx(1)


class TestAfterTheRules:
    MODEL = TestModel.MODEL
    RULE = ClassifierRule("asks for a script", CODE, r"\bscript\b")

    def test_a_rule_that_matches_decides(self) -> None:
        found = classify_by(Classifier.RULES, q("leak script"), [self.RULE], self.MODEL)
        assert (found.query_class, found.rule) == (CODE, "asks for a script")

    def test_where_none_matches_the_model_decides(self) -> None:
        assert (
            classify_by(Classifier.RULES, q("leak"), [self.RULE], self.MODEL).query_class is DEBUG
        )

    def test_where_it_is_unsure_the_query_is_general_as_without_it(self) -> None:
        stricter = LearnedModel.from_json(self.MODEL.as_json(), threshold=0.99)
        found = classify_by(Classifier.RULES, q("leak"), [self.RULE], stricter)
        assert found == classify_by(Classifier.RULES, q("leak"), [self.RULE])
        assert (found.query_class, found.rule) == (GENERAL, FALLBACK_RULE)

    def test_the_seeds_classifiers_do_without_it(self) -> None:
        found = classify_by(Classifier.NONE, q("leak"), [], self.MODEL)
        assert found.query_class is GENERAL


class TestCrossValidation:
    LABELLED = [(q(f"leaking {n} pumps"), DEBUG) for n in range(13)] + [
        (q(f"script number {n}"), CODE) for n in range(7)
    ]

    def test_the_parts_hold_each_class_evenly(self) -> None:
        part = folds_of(self.LABELLED, 5)
        for label, least, most in ((DEBUG, 2, 3), (CODE, 1, 2)):
            counts = np.bincount(part[[each is label for _, each in self.LABELLED]], minlength=5)
            assert least <= counts.min() <= counts.max() <= most

    def test_is_repeatable_whatever_the_order(self) -> None:
        there, back = held_out(self.LABELLED), held_out(self.LABELLED[::-1])
        assert [label for label, _ in there] == [label for label, _ in back[::-1]]

    def test_finds_what_can_be_learned_and_nothing_in_noise(self) -> None:
        right = sum(
            found is label
            for (found, _), (_, label) in zip(held_out(self.LABELLED), self.LABELLED, strict=True)
        )
        assert right == len(self.LABELLED)
        # The same words, labels dealt in turn: a model that saw its test queries would be right.
        words = ["pump", "valve", "tank", "pipe", "boiler", "filter"] * 8
        noise = [(q(f"{word} x{n}"), (CODE, DEBUG)[n // 6 % 2]) for n, word in enumerate(words)]
        guessed = sum(
            found is label for (found, _), (_, label) in zip(held_out(noise), noise, strict=True)
        )
        assert guessed < 0.75 * len(noise)
