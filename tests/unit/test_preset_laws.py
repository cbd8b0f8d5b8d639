"""Preset tests 2, 5 and 6: every shipped profile's weights, and the laws that all of them keep."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from search.domain import Candidate, Classifier, KeywordScorer, Profile, QueryClass, Signal, Weights
from search.models.profiles import NAME, check_regex
from search.presets.seeds import PRESETS, SEEDS
from search.query import classifiers
from search.ranking.text_boosts import anchors as boost_anchors
from search.ranking.text_boosts import as_json, boost_key, parse_boosts
from tests.support.ranking import rank

BY_NAME = {preset.name: preset.profile for preset in PRESETS}
names = st.sampled_from(sorted(BY_NAME))
classes = st.sampled_from(list(QueryClass))
every = pytest.mark.parametrize("profile", BY_NAME.values(), ids=list(BY_NAME))

share = st.floats(0, 1, allow_nan=False)
SIGNALS = (Signal.VECTOR, Signal.KEYWORD, Signal.TITLE, Signal.CONCEPT, Signal.WORDNET)
raw_scores = st.fixed_dictionaries(dict.fromkeys(SIGNALS, share))
# Some signals miss some candidates; a boost counts for some.
candidate_lists = st.lists(
    st.tuples(raw_scores, st.sets(st.sampled_from(SIGNALS), max_size=2), st.integers(0, 2)),
    min_size=1,
    max_size=12,
)
Rows = list[tuple[dict[Signal, float], set[Signal], int]]


def candidates_of(rows: Rows, profile: Profile) -> list[Candidate]:
    return [
        Candidate(
            pk,
            pk,
            {signal: score for signal, score in raw.items() if signal not in missing},
            boosts={boost_key(boost): count for boost in profile.boosts},
        )
        for pk, (raw, missing, count) in enumerate(rows, start=1)
    ]


def scores(
    candidates: Sequence[Candidate], profile: Profile, query_class: QueryClass, weights: Weights
) -> dict[int, float]:
    """Scores by chunk, best first."""
    hits = rank(candidates, weights, profile, query_class)
    return {hit.candidate.chunk_id: hit.score for hit in hits}


WORDS, EVEN, MEANING = (0.3, 0.7, 0), (0.5, 0.5, 0), (0.8, 0.2, 0)
MIND = {"lookup": WORDS, "concept": MEANING, "debug": EVEN, "comparison": MEANING}
ROBOTS = {"concept": MEANING, "code": EVEN, "debug": (0.6, 0.4, 0)}

# By class, and for all other classes.
SEEDS_WEIGHTS: dict[str, tuple[dict[str, tuple[float, ...]], tuple[float, ...]]] = {
    "indexfoundry": ({}, (0.7, 0.3, 0)),  # S1-12
    # S1-19 S1-20 S1-21
    "indexfoundry:adaptive": ({"lookup": WORDS, "general": EVEN}, (0.7, 0.3, 0)),
    "indexfoundry:anchor": ({}, (0.7, 0.3, 0)),  # S1-24
    "indexfoundry:rrf": ({}, (0.5, 0.5, 0)),  # S1-37
    "concept-rag": ({}, (0.4, 0.3, 0.3)),  # S2-08
    "concept-rag:titles": ({}, (0.3, 0.2, 0.5)),  # S2-17
    "concept-rag:semantics": ({}, (0.6, 0.2, 0.2)),  # S2-18
    "concept-rag:strict": ({}, (0.4, 0.3, 0.3)),  # D13
    "concept-rag:five": ({}, (0.25, 0.25, 0.2, 0, 0, 0.2, 0.1)),  # F2-03 ADR-0022
    "concept-rag:catalog": ({}, (0.3, 0.25, 0.2, 0, 0, 0.15, 0.1)),  # F2-03 catalog
    "concept-rag:chunk": ({}, (0.35, 0.3, 0, 0, 0, 0.2, 0.15)),  # F2-03 chunks
    "concept-rag:concept": ({}, (0.3, 0.2, 0.4, 0, 0, 0, 0.1)),  # F2-03 concepts
    "textbook": ({}, (0.7, 0.3, 0)),  # S3-09
    "textbook:rrf": ({}, (0.5, 0.5, 0)),  # S3-34
    "textbook:100/0": ({}, (1, 0, 0)),  # S3-22
    "textbook:0/100": ({}, (0, 1, 0)),  # S3-23
    "textbook:50/50": ({}, (0.5, 0.5, 0)),  # S3-24
    "textbook:60/40": ({}, (0.6, 0.4, 0)),  # S3-32
    "textbook:80/20": ({}, (0.8, 0.2, 0)),  # S3-32 too
    "textbook:adaptive": ({"lookup": (0.2, 0.8, 0), "concept": MEANING}, (0.7, 0.3, 0)),  # S3-25
    "mind": (MIND, (0.6, 0.4, 0)),  # S4-06 to S4-10
    "mind:v4": (MIND | {"debug": (0.4, 0.6, 0)}, (0.6, 0.4, 0)),  # F4-01 later
    "physical-ai": (ROBOTS, (0.7, 0.3, 0)),  # S5-06 to S5-10
    # F5-01 conceptual by default
    "physical-ai:shipped": (ROBOTS | {"general": MEANING}, (0.7, 0.3, 0)),
}


class TestWeights:
    @every
    def test_every_class_has_weights_that_sum_to_one(self, profile: Profile) -> None:
        assert set(profile.weights) == set(QueryClass)
        for weights in profile.weights.values():
            assert sum(weights.as_dict().values()) == approx(1, abs=1e-9)

    @pytest.mark.parametrize("name", SEEDS_WEIGHTS)
    def test_weights_are_those_of_the_seeds(self, name: str) -> None:
        by_class, rest = SEEDS_WEIGHTS[name]
        for query_class, weights in BY_NAME[name].weights.items():
            assert weights == Weights(*by_class.get(query_class.value, rest))

    def test_every_required_seed_has_a_preset(self) -> None:
        """And a base for one, and what its records do not state of another."""
        others = {"physical-ai:70/30", "indexfoundry:shipped"}
        assert {preset.name for preset in SEEDS} == SEEDS_WEIGHTS.keys() | others

    @pytest.mark.parametrize(
        ("name", "fields"),
        [
            pytest.param("indexfoundry", {"depth": 20, "bypass": r"^[A-Z]\d+$"}, id="S1-28 S1-31"),
            pytest.param("indexfoundry:rrf", {"rrf_k": 60, "bypass": ""}, id="S1-37"),
            pytest.param("textbook", {"depth": 20, "own_candidates_only": True}, id="S3-35 S3-36"),
            pytest.param("textbook:rrf", {"depth": 10}, id="S3-34"),
            pytest.param(
                "mind", {"rrf_k": 60, "both_factor": 1.2, "both_first": True}, id="part 2, presets"
            ),
            pytest.param("physical-ai", {"depth": 50}, id="S5-04 S5-05"),
            pytest.param(
                "concept-rag:strict", {"depth": 30, "vector_candidates_only": True}, id="D13"
            ),
            pytest.param("concept-rag:five", {"depth": 30, "wordnet_cap": 0}, id="F2-03"),
            pytest.param("concept-rag:catalog", {"wordnet_cap": 0.25}, id="F2-05 catalog"),
            pytest.param("concept-rag:chunk", {"wordnet_cap": 0.3}, id="F2-05 chunk"),
            pytest.param("concept-rag:concept", {"wordnet_cap": 0.2}, id="F2-05 concept"),
            pytest.param("mind:v4", {"rrf_k": 60, "depth": 120}, id="F4-01 limits"),
            pytest.param(
                "physical-ai:shipped",
                {"depth": 50, "keyword_scorer": KeywordScorer.TS_RANK},
                id="F5-02",
            ),
        ],
    )
    def test_other_constants_are_those_of_the_seeds(
        self, name: str, fields: dict[str, object]
    ) -> None:
        assert {each: getattr(BY_NAME[name], each) for each in fields} == fields

    def test_f5_01_unmatched_query_has_the_boost_of_a_concept(self) -> None:
        shipped = BY_NAME["physical-ai:shipped"]
        amounts = {each.query_class: each.amount for each in shipped.boosts}
        assert amounts[QueryClass.GENERAL] == amounts[QueryClass.CONCEPT] == 0.1

    def test_base_preset_differs_only_in_its_class_weights(self) -> None:
        """S5-43: what the classes of Physical AI gain is measured against this."""
        base, adaptive = BY_NAME["physical-ai:70/30"], BY_NAME["physical-ai"]
        assert set(base.weights.values()) == {Weights(0.7, 0.3, 0)}
        kept = {"name": "", "weights": {}, "classifier": Classifier.NONE}
        assert replace(base, **kept) == replace(adaptive, **kept)


class TestAsData:
    def test_names_are_unique_and_seeds_have_none_of_our_rules(self) -> None:
        assert len(BY_NAME) == len(PRESETS)
        assert all(each.profile.classifier is not Classifier.RULES for each in SEEDS)

    @every
    def test_preset_passes_the_checks_of_the_admin(self, profile: Profile) -> None:
        NAME(profile.name)
        if profile.bypass:
            check_regex(profile.bypass)
        assert parse_boosts(as_json(profile.boosts)) == profile.boosts

    @pytest.mark.parametrize(
        "text",
        [
            "D40", "what of D40, AB12 and 1725?", 'a "fire door" near D40', '"one" and "two words"',
            'the "D40" pump', 'an open " quote', "nothing at all",
        ],
    )  # fmt: skip
    def test_f1_01_boost_and_classifier_use_the_same_anchors(self, text: str) -> None:
        (boost,) = BY_NAME["indexfoundry:anchor"].boosts
        assert set(boost_anchors(boost, text)) == set(classifiers.anchor_matches(text))

    @given(st.text(alphabet="AB1 2x-.,", max_size=40))
    def test_f1_01_anchors_are_equal_for_any_text_without_quotes(self, text: str) -> None:
        (boost,) = BY_NAME["indexfoundry:anchor"].boosts
        assert set(boost_anchors(boost, text)) == set(classifiers.anchor_matches(text)[:10])


class TestLaws:
    @given(names, classes, candidate_lists, st.randoms())
    def test_scores_do_not_depend_on_the_order_of_candidates(
        self, name: str, query_class: QueryClass, rows: Rows, chance: random.Random
    ) -> None:
        profile = BY_NAME[name]
        candidates = candidates_of(rows, profile)
        shuffled = list(candidates)
        chance.shuffle(shuffled)
        weights = profile.weights[query_class]
        straight = scores(candidates, profile, query_class, weights)
        assert list(scores(shuffled, profile, query_class, weights).items()) == list(
            straight.items()
        )

    @given(names, classes, candidate_lists, st.sampled_from(SIGNALS), share)
    def test_scores_grow_with_each_signal(
        self, name: str, query_class: QueryClass, rows: Rows, signal: Signal, more: float
    ) -> None:
        """More of a signal lowers neither the score nor the rank of a candidate."""
        profile = BY_NAME[name]
        weights = profile.weights[query_class]
        before = candidates_of(rows, profile)
        first = before[0]
        raised = {**first.raw, signal: first.raw.get(signal, 0.0) + more}
        after = [replace(first, raw=raised), *before[1:]]
        was = scores(before, profile, query_class, weights)
        now = scores(after, profile, query_class, weights)
        assert now[1] >= was[1] - 1e-12
        assert list(now).index(1) <= list(was).index(1) or now[1] == approx(was[1])

    @given(names, classes, candidate_lists)
    def test_scores_lie_between_zero_and_one(
        self, name: str, query_class: QueryClass, rows: Rows
    ) -> None:
        """Where the raw scores do, before boosts; rank fusion stays far below 1 (F4-05)."""
        profile = replace(BY_NAME[name], boosts=())
        candidates = candidates_of(rows, profile)
        found = scores(candidates, profile, query_class, profile.weights[query_class])
        assert all(0 <= score <= 1 + 1e-9 for score in found.values())

    @every
    def test_f4_03_weights_have_an_effect(self, profile: Profile) -> None:
        """Preset test 6: by more of one signal's weight, what that signal prefers gains."""
        by_meaning = Candidate(1, 1, {Signal.VECTOR: 0.9, Signal.KEYWORD: 0.1})
        by_words = Candidate(2, 2, {Signal.VECTOR: 0.1, Signal.KEYWORD: 0.9})
        pair = (by_meaning, by_words)
        meaning = scores(pair, profile, QueryClass.GENERAL, Weights(0.9, 0.1, 0))
        words = scores(pair, profile, QueryClass.GENERAL, Weights(0.1, 0.9, 0))
        assert list(meaning) == [1, 2]
        assert list(words) == [2, 1]
        assert meaning[1] > words[1]
        assert words[2] > meaning[2]

    @every
    def test_f4_04_a_keyword_score_of_zero_is_not_found(self, profile: Profile) -> None:
        """It gets no more than a candidate that the keywords cannot score at all."""
        without = Candidate(1, 1, {Signal.VECTOR: 0.5})
        zero = Candidate(1, 1, {Signal.VECTOR: 0.5, Signal.KEYWORD: 0.0})
        other = Candidate(2, 2, {Signal.VECTOR: 0.4, Signal.KEYWORD: 2.0})
        weights = Weights(0.5, 0.5, 0)
        assert scores((without, other), profile, QueryClass.GENERAL, weights) == scores(
            (zero, other), profile, QueryClass.GENERAL, weights
        )


class TestErrata:
    """benchmarks/results/seeds.md: what the seeds' records state wrongly, by their own rules."""

    def test_s1_05_rank_fusion_tells_the_first_from_the_fifth_by_a_fifteenth(self) -> None:
        profile = BY_NAME["indexfoundry:rrf"]
        five = [Candidate(pk, pk, {Signal.VECTOR: 1 / pk}) for pk in range(1, 6)]
        found = scores(five, profile, QueryClass.GENERAL, profile.weights[QueryClass.GENERAL])
        assert found[1] / found[5] == approx(1.066, abs=5e-4)

    @pytest.mark.parametrize(
        ("raw", "score"),
        [
            pytest.param((1.0, 2 * 2.5, 2 * 10.0), 7.9, id="S2-13 the most for two terms"),
            pytest.param((0.45, 1.2, 10.0), 3.54, id="S2-16 the sample"),
            pytest.param((0.45, 1.2, 20.0), 6.54, id="S2-16 with 20"),
        ],
    )
    def test_scores_of_concept_rag_follow_its_erratum(
        self, raw: tuple[float, float, float], score: float
    ) -> None:
        profile = BY_NAME["concept-rag"]
        one = Candidate(1, 1, dict(zip(SIGNALS[:3], raw, strict=True)))
        found = scores([one], profile, QueryClass.GENERAL, profile.weights[QueryClass.GENERAL])
        assert found[1] == approx(score)


def test_the_page_has_every_preset_with_its_weights_and_depth() -> None:
    page = (Path(__file__).parents[2] / "docs" / "presets.md").read_text()
    listed = set()
    for cell, weights, depth in re.findall(
        r"^\| (`[^|]*`) \| [^|]* \| ([^|]*) \| (\d+) \|", page, re.MULTILINE
    ):
        for name in re.findall("`([^`]+)`", cell):
            name = "textbook" + name if name.startswith(":") else name
            profile = BY_NAME[name]
            listed.add(name)
            assert profile.depth == int(depth), name
            if re.fullmatch(r"[\d./]+", weights):
                shares = [profile.weights[QueryClass.GENERAL].of(signal) for signal in SIGNALS]
                said = [float(each) for each in weights.split("/")]
                assert shares == said + [0] * (len(shares) - len(said)), name
    assert listed == {preset.name for preset in SEEDS}
