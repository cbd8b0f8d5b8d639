"""The seeds' classifiers decide as their documents say, misfires included; no database."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from ingestion.identifiers import DEFAULT_PATTERNS
from search.domain import Classification, Classifier, Query, QueryClass, Weights
from search.query import classifiers, classify, parse
from search.query.classifiers import NAMED, PHRASES, classify_by, phrase_class
from search.query.shipped_classifier_rules import RULES

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "seed_presets.json"
# The order of physical-ai's code, where the rarer classes come first (F5-01).
SPECIFIC_FIRST = (QueryClass.COMPARISON, QueryClass.DEBUG, QueryClass.CODE, QueryClass.CONCEPT)
NAMES = {"conceptual": QueryClass.CONCEPT, "troubleshooting": QueryClass.DEBUG}


def of(classifier: Classifier, text: str) -> Classification:
    return NAMED[classifier](parse(text, DEFAULT_PATTERNS))


def labelled(preset: str) -> list[tuple[str, QueryClass]]:
    """The golden queries of a seed with the class that its repository gives them."""
    if not GOLDEN.is_file():
        assert "CI" not in os.environ, f"The golden values are missing: {GOLDEN}"
        pytest.skip(f"needs the golden values in {GOLDEN}")
    cases = json.loads(GOLDEN.read_text())["cases"]
    rows = [(case["input"], case["expect"]["class"]) for case in cases if _asks(case, preset)]
    return [(text, NAMES.get(label) or QueryClass(label)) for text, label in rows]


def _asks(case: dict[str, object], preset: str) -> bool:
    return case["kind"] == "classify" and case["preset"] == preset


class TestTheRegistry:
    @pytest.mark.parametrize("text", ["D40", "Define SLAM", "How does X work", "error"])
    def test_registered_rules_are_the_stored_rules(self, text: str) -> None:
        query = parse(text, DEFAULT_PATTERNS)
        assert classify_by(Classifier.RULES, query, RULES) == classify(query, RULES)
        assert classify_by(Classifier.RULES, query, ()).query_class is QueryClass.GENERAL
        assert classify_by(Classifier.MIND, query, ()) == NAMED[Classifier.MIND](query)

    @given(st.sampled_from(list(NAMED)), st.text(max_size=200))
    def test_classifiers_accept_any_text(self, classifier: Classifier, text: str) -> None:
        found = NAMED[classifier](Query(text=text))
        assert 0 <= found.confidence <= 1
        assert found.rule
        assert NAMED[classifier](Query(text=text)) == found


class TestSpecificity:
    """S1-15 to S1-22."""

    @pytest.mark.parametrize(
        ("text", "share", "query_class"),
        [
            pytest.param("D40", 1.0, "lookup", id="alone"),
            pytest.param("d40", 1.0, "lookup", id="S1-16 any case"),
            pytest.param("40a", 1.0, "lookup", id="S1-16 digits first"),
            pytest.param("Tell me about D40", 1.0, "lookup", id="S1-17 stop words"),
            pytest.param("Tell me about Room D40", 0.5, "general", id="S1-20 .5 is mixed"),
            pytest.param("D40 main pump door key", 0.2, "concept", id="S1-21 .2 is the rest"),
            pytest.param("D40 main pump door", 0.25, "general", id="S1-20 above .2"),
            pytest.param("D40 pump E7", 2 / 3, "lookup", id="S1-19 above .5"),
            pytest.param("What is D40?", 0.0, "concept", id="S1-22 question mark"),
            pytest.param("Tell me about D40.", 0.0, "concept", id="S1-22 full stop"),
            pytest.param("Aboleth", 0.0, "concept", id="S1-22 name"),
            pytest.param("30 CFR 75.1725", 0.0, "concept", id="S1-22 section"),
            pytest.param("PII-2024-0042", 0.0, "concept", id="S1-22 number"),
            pytest.param("Explain regulation 75.1725", 0.0, "concept", id="S1-22 mixed"),
            pytest.param("tell me about the", 0.0, "concept", id="S1-18 only stop words"),
        ],
    )
    def test_specificity_is_the_share_of_identifiers(
        self, text: str, share: float, query_class: str
    ) -> None:
        assert classifiers.specificity(text) == approx(share)
        assert of(Classifier.SPECIFICITY, text).query_class == query_class


class TestAnchors:
    """F1-01."""

    @pytest.mark.parametrize(
        ("text", "found", "specific", "keyword"),
        [
            pytest.param("D40", ("D40",), 0.4, 0.5, id="a letter and digits"),
            pytest.param("AB12 and D40", ("D40", "AB12"), 0.6, 0.7, id="two: min(.7, .3 + .4)"),
            pytest.param("D40 AB12 1725", ("D40", "AB12", "1725"), 0.7, 0.7, id="capped at .5, .7"),
            pytest.param("D4000", (), 0.2, 0.44, id="four digits are too many"),
            pytest.param("ABCD12", (), 0.2, 0.44, id="four letters are too many"),
            pytest.param("D40 or D40", ("D40",), 0.4, 0.5, id="each once"),
            pytest.param('"fire door" D40', ("D40", "fire door"), 0.6, 0.7, id="quoted"),
            pytest.param('"D40"', ("D40",), 0.4, 0.5, id="a code in quotes is one"),
            pytest.param('"door D40"', ("door D40",), 0.4, 0.5, id="and so among quoted words"),
            pytest.param("the pump of region D40 floods after rain", ("D40",), 0.2, 0.5, id="long"),
            pytest.param("showing telltale pumps", (), 0.2, 0.44, id="whole broad words only"),
            pytest.param("how", (), 0.0, 0.5, id="broad: .2 - .2"),
        ],
    )
    def test_anchor_classifier_weighs_each_query_separately(
        self, text: str, found: tuple[str, ...], specific: float, keyword: float
    ) -> None:
        assert classifiers.anchor_matches(text) == found
        assert classifiers.anchored_specificity(text) == approx(specific)
        classification = of(Classifier.ANCHORS, text)
        weights = Weights(vector=1 - keyword, keyword=keyword, title=0)
        assert classification.weights is not None
        assert classification.weights.as_dict() == approx(weights.as_dict())
        assert (classification.query_class is QueryClass.LOOKUP) is bool(found)


@pytest.mark.parametrize(
    ("text", "query_class"),
    [
        pytest.param("Define SLAM", "lookup", id="define"),
        pytest.param("define slam", "lookup", id="any case"),
        pytest.param("How does sensor fusion work?", "concept", id="how it works"),
        pytest.param("how do wheels work", "concept", id="plural"),
        pytest.param("How does a robot know where it is?", "general", id="does not end in work"),
        pytest.param("how does the workshop open", "general", id="work as a part of a word"),
        pytest.param("Show me ROS2 code", "general", id="neither"),
        pytest.param("undefined symbol", "general", id="within a word"),
    ],
)
def test_s3_25_definitions_and_explanations(text: str, query_class: str) -> None:
    assert of(Classifier.DEFINITIONS, text).query_class == query_class


class TestMind:
    """F4-01, S4-06 to S4-12."""

    @pytest.mark.parametrize(
        ("text", "query_class", "confidence"),
        [
            pytest.param("What is VectorStore interface", "lookup", 0.85, id="S4-11"),
            pytest.param("what is the VectorStore", "lookup", 0.85, id="S4-11 with an article"),
            pytest.param("usage of `retry`", "lookup", 0.9, id="S4-12 backticks"),
            pytest.param("where does parseQuery live", "lookup", 0.9, id="S4-12 camelCase"),
            pytest.param("VectorStore", "lookup", 0.9, id="S4-12 PascalCase"),
            pytest.param("snake_case", "lookup", 0.75, id="one sign"),
            pytest.param("CONSTANT_CASE", "lookup", 0.9, id="a constant"),
            pytest.param("D40", "lookup", 0.9, id="a code"),
            pytest.param("Aboleth", "lookup", 0.75, id="a bare name"),
            pytest.param("SLAM", "lookup", 0.9, id="a bare name in capitals: two signs"),
            pytest.param("settings", "lookup", 0.75, id="begins like a method"),
            pytest.param('the "retry" policy', "lookup", 0.9, id="quotes"),
            pytest.param("pumps", "general", 0.5, id="a bare word without a capital"),
            pytest.param("Aboleth error", "debug", 0.75, id="a name among words"),
            pytest.param("where are the logs", "general", 0.5, id="only where is"),
            pytest.param("locate the logger", "general", 0.5, id="only find"),
            pytest.param("how to tune it", "concept", 0.75, id="how to"),
            pytest.param("create a class for logs", "code", 0.75, id="create a class"),
            pytest.param("why is the pump not on", "debug", 0.75, id="why is it not"),
            pytest.param("find the logger", "lookup", 0.75, id="find"),
            pytest.param("list all plugins", "general", 0.5, id="S4-10"),
            pytest.param("broken error, fix the bug", "debug", 0.95, id="four signs, at most .95"),
            pytest.param("why is it not null", "debug", 0.9, id="debug before concept"),
            pytest.param("how to implement a cache", "code", 0.9, id="code before concept"),
            pytest.param("describe the architecture", "concept", 0.9, id="concept"),
        ],
    )
    def test_mind_classifier_gives_class_and_confidence(
        self, text: str, query_class: str, confidence: float
    ) -> None:
        found = of(Classifier.MIND, text)
        assert (found.query_class.value, found.confidence) == (query_class, approx(confidence))

    @pytest.mark.parametrize(
        ("text", "seed", "ours"),
        [
            pytest.param("tenant settings", "debug", "general", id="nan"),
            pytest.param("what is a prefix tree", "debug", "concept", id="fix"),
            pytest.param("How does error handling work", "debug", "concept", id="error handling"),
            pytest.param("What is Python", "lookup", "concept", id="a name like any"),
        ],
    )
    def test_f4_02_misfires_of_the_seed_are_kept_in_its_preset_only(
        self, text: str, seed: str, ours: str
    ) -> None:
        query = parse(text, DEFAULT_PATTERNS)
        assert classifiers.by_mind(query).query_class == seed
        assert classify(query, RULES).query_class == ours


class TestPhysicalAI:
    """S5-20 to S5-23, F5-01."""

    @pytest.mark.parametrize(
        ("query_class", "phrase"),
        [(query_class, phrase) for query_class, some in PHRASES.items() for phrase in some],
    )
    def test_each_phrase_gives_its_class(self, query_class: QueryClass, phrase: str) -> None:
        assert of(Classifier.PHYSICAL_AI, f"{phrase.title()} it").query_class is query_class

    @pytest.mark.parametrize(
        ("text", "seed"),
        [
            pytest.param("engine revs", "comparison", id="vs in revs"),
            pytest.param("prefix notation", "debug", id="fix in prefix"),
            pytest.param("what is the problem", "concept", id="printed order"),
            pytest.param("How to fix node not found error?", "code", id="printed order, how to"),
        ],
    )
    def test_f5_01_misfires_of_the_seed_are_kept_in_its_preset_only(
        self, text: str, seed: str
    ) -> None:
        query = parse(text, DEFAULT_PATTERNS)
        assert NAMED[Classifier.PHYSICAL_AI](query).query_class == seed
        assert classify(query, RULES).query_class != seed


class TestAccuracy:
    """Preset test 3: on the queries that the seeds' repositories label."""

    def test_s5_41_the_printed_rules_miss_their_own_target(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """21/27 and 22/27 on the whole set: the six and the five missed are all among these."""
        queries = labelled("physical-ai:shipped")
        printed = sum(phrase_class(text)[0] is label for text, label in queries)
        monkeypatch.setattr(
            classifiers, "PHRASES", {each: PHRASES[each] for each in SPECIFIC_FIRST}
        )
        specific = sum(phrase_class(text)[0] is label for text, label in queries)
        assert (len(queries) - printed, len(queries) - specific) == (6, 5)
        assert specific / len(queries) < 0.9

    @pytest.mark.parametrize("preset", ["physical-ai:shipped", "mind"])
    def test_s5_41_our_rules_reach_the_target(
        self, preset: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        queries = labelled(preset)
        ours = {text: classify(parse(text, DEFAULT_PATTERNS), RULES) for text, _ in queries}
        missed = [text for text, label in queries if ours[text].query_class is not label]
        with capsys.disabled():
            print(f"\ndefault rules on {preset}: {len(queries) - len(missed)} of {len(queries)}")
        assert 1 - len(missed) / len(queries) > 0.9
        # D5: asking for an identifier is a look-up to us, and a concept to the seeds.
        assert set(missed) <= {"What is ROS2?"}
