"""Q1: a query that asks for its identifiers, and one that only mentions them (ADR 2)."""

from __future__ import annotations

import pytest

from ingestion.identifiers import DEFAULT_PATTERNS
from search.domain import QueryClass
from search.query import classify, parse
from search.query.shipped_rules import RULES


def asks(text: str) -> bool:
    return parse(text, DEFAULT_PATTERNS).asks_for_identifiers


def named(text: str) -> list[str]:
    return [one.text for one in parse(text, DEFAULT_PATTERNS).identifiers]


@pytest.mark.parametrize(
    "text",
    [
        "D40",
        "What is D40?",
        "Tell me about Room D40.",
        "explain regulation 75.1725",
        "where is D40 used",
        "D40 pump E7 door",
        "MSHA 30 CFR 75",
        "ISO 9001 clause 8.5",
        "What is VectorStore interface and what methods does it have?",
        "@login_required",
        "Was ist D40?",
        "Où est la D40 ?",
        "D40是什么",
        "what’s CSRF_TRUSTED_ORIGINS",
    ],
)
def test_half_of_the_content_words_or_a_short_question_ask_for_it(text: str) -> None:
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "water pumps",
        "D40 pump door",
        "who invaded north africa during ww2",
        "when did ww1 end?",
        "what was decided at COP28 in Dubai",
        "what is D40 for crews that paint pumps, valves and doors",
        "The YAP1 complex binds",
        "IL-10 and again IL-10 in mice with fever",
        "how do crews paint the pumps of D40",
    ],
)
def test_one_word_of_many_is_only_mentioned(text: str) -> None:
    assert not asks(text)
    assert classify(parse(text, DEFAULT_PATTERNS), RULES).query_class is not QueryClass.LOOKUP


PROSE = "Nobody on the whole council ever saw the old bridge open"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(f"{PROSE} (@Fred_Delicious)", [], id="handle"),
        pytest.param(f"{PROSE} @anne_g1@simon_s2", [], id="handles without a space"),
        pytest.param(f"{PROSE} https://t.co/mHC19xzRxO", [], id="link"),
        pytest.param(f"{PROSE}https://t.co/mHC19xzRxO", [], id="link without a space"),
        pytest.param("Whale prison pic.twitter.com/QbZyOX7iNn", [], id="domain with a path"),
        pytest.param("prices at www.shop1.example.com", [], id="domain"),
        pytest.param("#COP28 results", [], id="hashtag"),
        pytest.param("@login_required on a view", ["login_required"], id="decorator"),
        pytest.param("pic.twitter.com", ["pic.twitter.com"], id="nothing else"),
        pytest.param("what is docs.example.com", ["docs.example.com"], id="nothing else is asked"),
        pytest.param(f"{PROSE} ann@mail.example.com", ["ann@mail.example.com"], id="e-mail"),
        pytest.param(f"{PROSE} models.de_facto()", ["models.de_facto()"], id="a call"),
        pytest.param(f"{PROSE} in ORA-00942", ["ORA-00942"], id="a code"),
    ],
)
def test_a_part_of_an_address_is_no_identifier_in_prose(text: str, found: list[str]) -> None:
    assert named(text) == found


def test_a_prose_query_with_addresses_is_no_lookup() -> None:
    text = f"{PROSE} pic.twitter.com/uB3zOG5EKA — Fred (@Fred_Delicious) August 21, 2018"
    query = parse(text, DEFAULT_PATTERNS)
    assert not query.asks_for_identifiers
    assert classify(query, RULES).query_class is QueryClass.GENERAL
