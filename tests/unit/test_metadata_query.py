"""Operators on metadata; queries that ask for their identifiers or mention them (ADR 2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.identifiers import DEFAULT_PATTERNS
from search.domain import MetadataFilter, Query, QueryClass, QueryFilters
from search.errors import EmptyQuestion, InvalidFilter, SearchError
from search.query import classify, parse
from search.query.field_operators import metadata_filter
from search.query.parse import clean_text
from search.query.shipped_classifier_rules import RULES

PIECES = ("meta.", "meta.a:", "-meta.b>=", "meta.c<", "5", "2026-01", "x", '"', " ", "title:", ":")


def read(text: str) -> Query:
    return parse(text, DEFAULT_PATTERNS)


class TestMetadataOperators:
    @pytest.mark.parametrize(
        ("text", "conditions"),
        [
            ("x meta.department:Sales", ["department:Sales"]),
            ('x tag:pump tag:"salt water"', ["tags:pump", "tags:salt water"]),
            ("x Meta.Department:Sales.", ["department:Sales"]),
            ('x meta.author:"Jane Doe"', ["author:Jane Doe"]),
            ("meta.link:https://example.org/a x", ["link:https://example.org/a"]),
            ("x meta.year>=2024", ["year>=2024"]),
            ("x meta.t>-1.5 meta.t<=3", ["t>-1.5", "t<=3"]),
            ("x meta.due<2026-01-31 meta.due>2025-06", ["due<2026-01-31", "due>2025-06"]),
            ("x meta.tag:a meta.tag:b meta.tag:a", ["tag:a", "tag:b"]),
            ('x meta.size>"10"', ["size>10"]),
        ],
    )
    def test_metadata_operators_are_conditions_on_a_key(
        self, text: str, conditions: list[str]
    ) -> None:
        query = read(text)
        assert [str(one) for one in query.filters.metadata] == conditions
        assert query.text == "x"
        assert list(map(metadata_filter, conditions)) == list(query.filters.metadata)

    def test_metadata_operators_with_a_hyphen_exclude(self) -> None:
        query = read("x -meta.state:draft -meta.year<2000")
        assert [str(one) for one in query.unwanted.metadata] == ["state:draft", "year<2000"]
        assert not query.filters.metadata

    @pytest.mark.parametrize(
        "text",
        [
            "meta.x", "meta.x:", "meta.x>", "meta.x>=", "meta:x", "metadata.x:1", "a.meta.x:1",
            "meta.:1", "meta._x:1", "meta.x: 1", 'meta.x:"?"', "meta.größe:1", "meta.x=1",
            f"meta.{'x' * 41}:1",
        ],
    )  # fmt: skip
    def test_invalid_metadata_operator_is_plain_text(self, text: str) -> None:
        assert read(text).text == text
        assert read(text).filters == QueryFilters()

    @pytest.mark.parametrize(
        "text", ["x meta.year>soon", "x meta.due<=2026-13-01", "x -meta.n>1e5", 'x meta.n<"1 2"']
    )
    def test_a_comparison_needs_a_number_or_a_day(self, text: str) -> None:
        with pytest.raises(InvalidFilter, match=r"Write it like meta\.year>=2024"):
            read(text)

    def test_metadata_operators_alone_have_no_query_text(self) -> None:
        with pytest.raises(EmptyQuestion):
            read("meta.year>=2024 -meta.state:draft")

    @pytest.mark.parametrize("text", ["", "year", "year:", "Größe:1", ":x", "year>=soon", "a b:c"])
    def test_invalid_condition_in_an_address_is_refused(self, text: str) -> None:
        with pytest.raises(InvalidFilter, match="Write"):
            metadata_filter(text)

    @given(
        st.from_regex(r"[a-z0-9][a-z0-9_-]{0,39}", fullmatch=True),
        st.text(min_size=1, max_size=20).filter(lambda text: clean_text(text) == text),
    )
    def test_conditions_can_be_read_from_their_address(self, key: str, value: str) -> None:
        condition = MetadataFilter(key, value)
        assert metadata_filter(str(condition)) == condition

    @given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12).map("".join))
    def test_any_metadata_operator_is_read_or_refused_with_a_reason(self, text: str) -> None:
        try:
            query = read(text)
        except SearchError as error:
            refusal = str(error)
            assert refusal.endswith(".")
            return
        again = [metadata_filter(str(one)) for one in query.filters.metadata]
        assert again == list(query.filters.metadata)


@pytest.mark.parametrize(
    "text",
    [
        "D40", "What is D40?", "Tell me about Room D40.", "explain regulation 75.1725",
        "where is D40 used", "D40 pump E7 door", "MSHA 30 CFR 75", "ISO 9001 clause 8.5",
        "What is VectorStore interface and what methods does it have?", "@login_required",
        "Was ist D40?", "Où est la D40 ?", "D40是什么", "what’s CSRF_TRUSTED_ORIGINS",
        "How much does the HL-200 cost?",
    ],
)  # fmt: skip
def test_identifiers_in_half_of_the_words_or_a_short_question_are_asked_for(text: str) -> None:
    assert read(text).asks_for_identifiers


@pytest.mark.parametrize(
    "text",
    [
        "water pumps", "D40 pump door", "who invaded north africa during ww2", "when did ww1 end?",
        "what was decided at COP28 in Dubai",
        "what is D40 for crews that paint pumps, valves and doors", "The YAP1 complex binds",
        "IL-10 and again IL-10 in mice with fever", "how do crews paint the pumps of D40",
    ],
)  # fmt: skip
def test_identifier_among_many_words_is_only_mentioned(text: str) -> None:
    assert not read(text).asks_for_identifiers
    assert classify(read(text), RULES).query_class is not QueryClass.LOOKUP


PROSE = "Nobody on the whole council ever saw the old bridge open"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(f"{PROSE} (@Fred_Delicious)", [], id="handle"),
        pytest.param(f"{PROSE} https://t.co/mHC19xzRxO", [], id="link"),
        pytest.param("Whale prison pic.twitter.com/QbZyOX7iNn", [], id="domain with a path"),
        pytest.param("#COP28 results", [], id="hashtag"),
        pytest.param("@login_required on a view", ["login_required"], id="decorator"),
        pytest.param("pic.twitter.com", ["pic.twitter.com"], id="nothing else"),
        pytest.param(f"{PROSE} ann@mail.example.com", ["ann@mail.example.com"], id="e-mail"),
        pytest.param(f"{PROSE} models.de_facto()", ["models.de_facto()"], id="a call"),
        pytest.param(f"{PROSE} in ORA-00942", ["ORA-00942"], id="a code"),
    ],
)
def test_a_part_of_an_address_is_no_identifier_in_prose(text: str, found: list[str]) -> None:
    assert [one.text for one in read(text).identifiers] == found
