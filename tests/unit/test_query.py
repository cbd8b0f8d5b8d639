"""Reading and classifying a query, without a database; what is said of parts left out."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.identifiers import DEFAULT_PATTERNS
from search.domain import Candidates, ClassifierRule, Query, QueryClass, QueryFilters
from search.errors import EmptyQuestion, InvalidFilter, QueryTooLong, SearchError
from search.presentation.notices import left_out
from search.query import classify, parse
from search.query.parse import MAX_QUERY_CHARS, question_words, relaxed
from search.query.rule_classifier import FALLBACK_RULE, PREDICATES, check_rule
from search.query.shipped_classifier_rules import RULES
from search.query.spelling_correction import correctable

PIECES = ('"', "“", "-", ":", "title:", "-title:", "type:", "lang:", "before:", " ", "pdf", "a b")


def read(text: str) -> Query:
    return parse(text, DEFAULT_PATTERNS)


def read_or_refusal(text: str) -> Query | str:
    try:
        return read(text)
    except SearchError as error:
        return str(error)


def class_of(text: str) -> QueryClass:
    return classify(parse(text, DEFAULT_PATTERNS), RULES).query_class


class TestParse:
    @pytest.mark.parametrize(
        ("text", "clean"),
        [
            ("  a \t b\n", "a b"), ("a\x00b", "a b"), ("e\u0301", "é"), ("\ud800x", "?x"), ("", ""),
        ],
    )  # fmt: skip
    def test_parse_removes_accidental_characters(self, text: str, clean: str) -> None:
        assert parse(text, DEFAULT_PATTERNS).text == clean

    def test_refuses_more_than_4000_characters(self) -> None:
        """S5-01 refuses more than 500, on which readers who paste a paragraph stumble."""
        assert parse("x" * MAX_QUERY_CHARS, DEFAULT_PATTERNS).text == "x" * 4000
        with pytest.raises(QueryTooLong, match="4001 characters; the limit is 4000"):
            parse("x" * 4001, DEFAULT_PATTERNS)

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
    def test_parse_recognises_a_single_identifier(
        self, text: str, is_identifier: bool, needs_no_embedding: bool
    ) -> None:
        query = parse(text, DEFAULT_PATTERNS)
        assert query.is_identifier is is_identifier
        assert query.needs_no_embedding is needs_no_embedding


class TestOperators:
    def test_operators_are_removed_from_the_query_text(self) -> None:
        text = 'tell me "about pumps" -cats -"hot water" type:pdf -lang:de'
        query = read(text)
        assert query.text == "tell me about pumps" == question_words(text)
        assert query.original == text
        assert query.phrases == ("about pumps",)
        assert query.excluded == ("cats", "hot water")
        assert query.filters == QueryFilters(media_types=("application/pdf",))
        assert query.unwanted == QueryFilters(languages=("de",))

    @pytest.mark.parametrize(
        ("text", "filters"),
        [
            ("x title:pump", QueryFilters(titles=("pump",))),
            ('x Title:"water pump" title:b', QueryFilters(titles=("water pump", "b"))),
            ('x collection:"Ship\'s papers"', QueryFilters(collections=("Ship's papers",))),
            ("x type:.MD type:txt", QueryFilters(media_types=("text/markdown", "text/plain"))),
            ('x type:"epub book"', QueryFilters(media_types=("application/epub+zip",))),
            ("x lang:de-AT language:EN", QueryFilters(languages=("de", "en"))),
            (
                "x after:2026-01-31 after:2025-01-01 before:2026-02-01",
                QueryFilters(after=date(2026, 1, 31), before=date(2026, 2, 1)),
            ),
        ],
    )
    def test_filter_operators_become_filters(self, text: str, filters: QueryFilters) -> None:
        assert read(text).filters == filters
        assert read(text).text == "x"

    def test_type_operator_may_name_several_types(self) -> None:
        assert len(read("x type:word").filters.media_types) == 2

    @pytest.mark.parametrize(
        "text",
        [
            'an unclosed "quote here', '""', '" "', '19" rack 24" deep', "it's the users' 'word'",
            "well-known - dash -", "-5 degrees", "tar -x -v", "--noinput", "-", "a -_- b",
            "author:me", "rclcpp::Node", "title::x", "title:", "http://example.org", "note:x",
            "subtitle:x", "title: pumps", 'title:"?"', '"..."',
        ],
    )  # fmt: skip
    def test_invalid_operator_is_plain_text(self, text: str) -> None:
        query = read(text)
        assert query.text == text
        assert query == replace(
            query, phrases=(), excluded=(), filters=QueryFilters(), unwanted=QueryFilters()
        )

    @pytest.mark.parametrize("text", ["“two words”", "„two words“", "«two words»", '("two words")'])
    def test_any_quotes_make_a_phrase(self, text: str) -> None:
        assert read(text).phrases == ("two words",)

    def test_title_operator_alone_searches_for_the_title(self) -> None:
        assert read('title:"water pumps"').text == "water pumps"

    def test_an_excluded_identifier_is_not_looked_for(self) -> None:
        assert [one.text for one in read("D40 -D41").identifiers] == ["D40"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("x before:lunch", r"“before:lunch” is not a date\. Write it like before:2026-01-31"),
            ("x after:2026-13-01", "is not a date"),
            ("x after:2026-02-01 before:2026-01-01", "Swap the two dates"),
            ("x type:exe", "Use one of: adoc, csv"),
            ("x lang:english", "two-letter code"),
        ],
    )
    def test_a_filter_that_cannot_be_read_says_what_to_do(self, text: str, message: str) -> None:
        with pytest.raises(InvalidFilter, match=message):
            read(text)
        assert read(f'"{text}"').text == text

    @pytest.mark.parametrize("text", ["-pumps", "type:pdf", '-"a b" -lang:de'])
    def test_operators_alone_have_no_query_text(self, text: str) -> None:
        with pytest.raises(EmptyQuestion, match=r"only filters or exclusions\. Add the words"):
            read(text)

    @given(st.lists(st.sampled_from(PIECES) | st.text(max_size=40), max_size=12).map("".join))
    def test_any_operator_is_read_or_refused_with_a_reason(self, text: str) -> None:
        query = read_or_refusal(text)
        if isinstance(query, str):
            assert query.endswith(".")
            return
        assert query.text == question_words(text) or query.text == " ".join(query.filters.titles)
        assert query.text == " ".join(query.text.split())
        assert classify(query, RULES).query_class in QueryClass
        assert all(any(map(str.isalnum, each)) for each in query.phrases + query.excluded)


POST = (
    'BREAKING: the minister said "we never closed the pump station" after a week of rain -via '
    "@northern_news, more tomorrow"
)


class TestPastedText:
    """In pasted text quotes and hyphens are punctuation; whoever insists has them bind."""

    def test_pasted_text_requires_and_excludes_nothing(self) -> None:
        query = read(POST)
        assert (query.phrases, query.excluded) == ((), ())
        assert query.loose_phrases == ("we never closed the pump station",)
        assert query.ignored == ("via",)
        assert query.text == POST.replace('"', "") == question_words(POST)

    def test_exact_search_of_pasted_text_requires_its_operators(self) -> None:
        query = parse(POST, DEFAULT_PATTERNS, insist=True)
        assert query.phrases == ("we never closed the pump station",)
        assert (query.loose_phrases, query.excluded, query.ignored) == ((), ("via",), ())
        assert "via" not in query.text

    @pytest.mark.parametrize(
        "text",
        [
            'Churchill: "' + "never in the field of human conflict " * 3 + '"',
            'what did she mean by "it depends," exactly',
            'the sign "Stop!" at the river',
            "“Wait,” she said",
            "在这个城市里面有很多人都说 “北京大学” 是最好的学校之一",
        ],
        ids=["mostly a quotation", "comma", "exclamation", "at the start", "no spaces"],
    )
    def test_quotation_in_pasted_text_is_text(self, text: str) -> None:
        query = read(text)
        assert (query.phrases, len(query.loose_phrases)) == ((), 1)

    @pytest.mark.parametrize(
        "text",
        [
            'tell me about "pump stations" in the north of france',
            '"' + "could not connect to the server because it refused " * 3 + '"',
            '"Is this the way?"',
            '"hot water" title:"one two three four five six seven eight nine ten"',
            "pump -hot -cold -old -new -big -small -wet -dry -fast",
        ],
        ids=["eight words", "all of it", "a question", "in a field", "many exclusions"],
    )
    def test_typed_operators_are_required(self, text: str) -> None:
        query = read(text)
        assert query.phrases or query.excluded
        assert (query.loose_phrases, query.ignored) == ((), ())

    @pytest.mark.parametrize(
        "text", ["the pump -new- runs", 'rock from the "90s and the "00s', "first - item - second"]
    )
    def test_dashes_and_feet_of_quotes_are_text(self, text: str) -> None:
        query = read(text)
        assert query.text == text
        assert (query.phrases, query.loose_phrases, query.excluded) == ((), (), ())

    def test_relaxed_query_drops_required_operators(self) -> None:
        strict = read('"heat pump" -water cellar')
        query = relaxed(strict)
        assert (query.phrases, query.excluded) == ((), ())
        assert query.strict == strict
        assert query.text == "heat pump cellar"


PATHOLOGICAL = ("a", '"', '-"', "-a ", 'a"', '"a ', "title:", "meta.", "a:", "what is ", "北", "9.")


class TestOfLongTexts:
    """Reading a text takes work in proportion to its length."""

    @pytest.mark.parametrize("piece", PATHOLOGICAL)
    def test_parsing_takes_linear_time(self, piece: str) -> None:
        text = (piece * 2000)[:1998] + " x"
        calls = 0

        def count(_frame: object, event: str, _argument: object) -> None:
            nonlocal calls
            calls += event in {"call", "c_call"}

        sys.setprofile(count)
        try:
            query = read_or_refusal(text)
            if isinstance(query, Query):
                correctable(query)
                classify(query, RULES)
        finally:
            sys.setprofile(None)
        assert calls < 50 * len(text)

    @pytest.mark.parametrize("piece", PATHOLOGICAL)
    def test_patterns_take_linear_time_on_long_texts(self, piece: str) -> None:
        """A quadratic pattern would take a minute here, a linear one takes milliseconds."""
        text = piece * (60_000 // len(piece))
        assert len(question_words(text)) <= len(text)
        correctable(Query(text, original=text))


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
            pytest.param("water pumps", "general", id="nothing matched"),
            pytest.param("tenant isolation", "general", id="F4-02: not nan"),
            pytest.param("canvas size", "general", id="F5-01: not vs"),
            pytest.param("subclass registry", "general", id="F5-01: not class"),
        ],
    )
    def test_seed_examples_get_their_class(self, text: str, query_class: str) -> None:
        assert class_of(text) == query_class

    def test_names_the_rule_that_decided(self) -> None:
        found = classify(parse("celery vs rq", DEFAULT_PATTERNS), RULES)
        assert found.rule == "compares two things"
        nothing = classify(parse("water pumps", DEFAULT_PATTERNS), RULES)
        assert (nothing.rule, nothing.confidence) == (FALLBACK_RULE, 0.5)

    def test_the_first_rule_that_matches_decides(self) -> None:
        rules = [
            ClassifierRule("a", QueryClass.DEBUG, "pump"),
            ClassifierRule("b", QueryClass.CODE, "water"),
        ]
        query = parse("water pump", DEFAULT_PATTERNS)
        assert classify(query, rules).rule == "a"
        assert classify(query, rules[::-1]).rule == "b"


class TestCheckRule:
    @pytest.mark.parametrize(
        ("fields", "field", "sentence"),
        [
            ({"pattern": "("}, "pattern", "regular expression"),
            ({"pattern": r"(?<=x)y"}, "pattern", "Looking ahead or behind"),
            ({}, "pattern", "either a pattern or a predicate"),
            ({"pattern": "x", "predicate": "is_name"}, "pattern", "one of the two"),
            ({"predicate": "is_odd"}, "predicate", "Choose one of: is_identifier"),
            ({"pattern": "pump", "examples": ("a cat",)}, "examples", "“a cat”"),
            (
                {"pattern": "nan", "counter_examples": ("ban", "tenant", "finance")},
                "counter_examples",
                "“tenant”",
            ),
        ],
    )
    def test_says_what_is_wrong(self, fields: dict[str, Any], field: str, sentence: str) -> None:
        problems = check_rule(ClassifierRule("x", QueryClass.CODE, **fields))
        assert list(problems) == [field]
        assert sentence in " ".join(problems[field])

    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
    def test_every_shipped_rule_is_sound(self, rule: ClassifierRule) -> None:
        assert check_rule(rule) == {}
        assert rule.examples
        assert rule.counter_examples


class TestPredicates:
    @pytest.mark.parametrize(
        ("predicate", "yes", "no"),
        [
            ("is_identifier", ["D40", "rclcpp::Node"], ["What is D40?", "pumps", "D40 D41"]),
            ("names_identifier", ["tell me about D40"], ["take 5 days", "the pumps", "0042"]),
            ("is_name", ["Aboleth", "SLAM", "C3", "Lesen"], ["pumps", "Water pumps", "?", ""]),
            ("is_short", ["pumps", "water pumps"], ["the water pumps", "", "..."]),
        ],
    )
    def test_predicates_decide_these_queries(
        self, predicate: str, yes: list[str], no: list[str]
    ) -> None:
        test = PREDICATES[predicate].test
        assert [text for text in yes if not test(read(text))] == []
        assert [text for text in no if test(read(text))] == []


@pytest.mark.parametrize(
    ("unread", "terms", "said"),
    [
        (0, 0, []),
        (1, 0, ["the last word was left out"]),
        (12, 0, ["the last 12 words were left out"]),
        (0, 1, ["the most common one was left out"]),
        (3, 9, ["the last 3 words were left out", "the 9 most common ones were left out"]),
    ],
)
def test_omitted_parts_are_reported_with_their_size(
    unread: int, terms: int, said: list[str]
) -> None:
    notes = left_out(Candidates(Query("pumps"), unread=unread, left_out=terms))
    assert len(notes) == len(said)
    for note, part in zip(notes, said, strict=True):
        assert part in note


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("A*", "“A*”"),
        ("is C++ faster than F#?", "“C++”, “F#”"),
        ('"A*"', ""),
        ("the sum of a*b", ""),
        ("vitamin C, #4 and foo*", "“foo*”"),
        ("wildcard*", ""),
    ],
)
def test_names_that_only_a_symbol_tells_apart_need_quotes(text: str, names: str) -> None:
    said = left_out(Candidates(read(text)))
    assert [sentence.partition("they do: ")[2] for sentence in said] == [names] * bool(names)
    assert left_out(Candidates(relaxed(read('"A*"')))) == ()
