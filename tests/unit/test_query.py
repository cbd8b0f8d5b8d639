"""Q1-Q2: reading and classifying a query, without a database."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.identifiers import DEFAULT_PATTERNS
from search.domain import QueryClass
from search.errors import QueryTooLong
from search.presets import RULES
from search.query import ClassifierRule, classify, parse
from search.query.classify import FALLBACK_RULE, check_rule

SHIPPED = [ClassifierRule(*rule) for rule in RULES]


def class_of(text: str) -> QueryClass:
    return classify(parse(text, DEFAULT_PATTERNS), SHIPPED).query_class


class TestParse:
    @pytest.mark.parametrize(
        ("text", "clean"),
        [
            ("  a \t b\n", "a b"),
            ("a\x00b", "a b"),
            ("e\u0301", "é"),
            ("\ud800x", "?x"),
            ("", ""),
        ],
    )
    def test_cleans_what_no_one_meant(self, text: str, clean: str) -> None:
        assert parse(text, DEFAULT_PATTERNS).text == clean

    def test_s5_01_refuses_more_than_500_characters(self) -> None:
        assert parse("x" * 500, DEFAULT_PATTERNS).text == "x" * 500
        with pytest.raises(QueryTooLong, match="501 characters"):
            parse("x" * 501, DEFAULT_PATTERNS)

    def test_finds_the_identifiers(self) -> None:
        query = parse("Tell me about D40.", DEFAULT_PATTERNS)
        assert [identifier.text for identifier in query.identifiers] == ["D40"]
        assert not query.is_identifier

    @pytest.mark.parametrize(
        ("text", "is_identifier", "needs_no_embedding"),
        [
            pytest.param("D40", True, True, id="S1-28"),
            pytest.param('"PII-2024-0042"', True, True, id="quoted"),
            pytest.param("VectorStore", True, False, id="inner capitals may be prose"),
            pytest.param("What is D40?", False, False, id="a question"),
            pytest.param("water pumps", False, False, id="words"),
        ],
    )
    def test_knows_a_query_that_is_one_identifier(
        self, text: str, is_identifier: bool, needs_no_embedding: bool
    ) -> None:
        query = parse(text, DEFAULT_PATTERNS)
        assert query.is_identifier is is_identifier
        assert query.needs_no_embedding is needs_no_embedding

    @given(st.text(max_size=400))
    def test_reads_any_text(self, text: str) -> None:
        query = parse(text, DEFAULT_PATTERNS)
        assert query.text == " ".join(query.text.split())
        assert classify(query, SHIPPED).query_class in QueryClass


class TestClassify:
    @pytest.mark.parametrize(
        ("text", "query_class"),
        [
            pytest.param("D40", "lookup", id="S1-07"),
            pytest.param("VectorStore", "lookup", id="S4-12"),
            pytest.param("What is VectorStore", "lookup", id="S4-11"),
            pytest.param("Define SLAM", "lookup", id="D4"),
            pytest.param("How does hybrid search work", "concept", id="S4-07"),
            pytest.param("what is localization", "concept", id="S5-20"),
            pytest.param("implement a retry loop", "code", id="S4-08"),
            pytest.param("Show me ROS2 navigation code", "code", id="S3-06"),
            pytest.param("error in the vector store", "debug", id="S4-09"),
            pytest.param("my pump is not working", "debug", id="S5-22"),
            pytest.param("difference between EKF and UKF", "comparison", id="S5-23"),
            pytest.param("celery vs rq", "comparison", id="S5-23 vs"),
            pytest.param("water pumps", "general", id="nothing matched"),
            pytest.param("tenant isolation", "general", id="F4-02: not nan"),
            pytest.param("prefix tree", "general", id="F4-02: not fix"),
            pytest.param("canvas size", "general", id="F5-01: not vs"),
            pytest.param("subclass registry", "general", id="F5-01: not class"),
        ],
    )
    def test_seed_examples(self, text: str, query_class: str) -> None:
        assert class_of(text) == query_class

    def test_names_the_rule_that_decided(self) -> None:
        found = classify(parse("celery vs rq", DEFAULT_PATTERNS), SHIPPED)
        assert found.rule == "compares two things"
        nothing = classify(parse("water pumps", DEFAULT_PATTERNS), SHIPPED)
        assert (nothing.rule, nothing.confidence) == (FALLBACK_RULE, 0.5)

    def test_the_first_rule_that_matches_decides(self) -> None:
        rules = [
            ClassifierRule("a", "pump", QueryClass.DEBUG),
            ClassifierRule("b", "water", QueryClass.CODE),
        ]
        query = parse("water pump", DEFAULT_PATTERNS)
        assert classify(query, rules).rule == "a"
        assert classify(query, rules[::-1]).rule == "b"

    def test_a_broken_pattern_is_named(self) -> None:
        assert "regular expression" in check_rule(ClassifierRule("x", "(", QueryClass.CODE))[0]

    def test_every_shipped_rule_is_sound(self) -> None:
        assert [check_rule(rule) for rule in SHIPPED] == [[]] * len(SHIPPED)
