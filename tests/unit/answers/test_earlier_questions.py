"""When to answer unasked, follow-up questions without a model, and the decisions of the modes."""

from __future__ import annotations

import pytest

from ingestion.identifiers import DEFAULT_PATTERNS
from search.answers.domain import AnswerParameters
from search.answers.earlier_questions import content_words, follows_up, joined, rarest
from search.answers.making.searching import distinct, limited
from search.domain import QueryClass
from search.pages.page_answer import deserves_answer
from search.query import parse


@pytest.mark.parametrize(
    ("question", "is_one"),
    [
        ("How long is it?", True), ("And the pool?", True), ("What about region E?", True),
        ("Since when?", True), ("Why?", True), ("Are there other limits?", True),
        ("Was ist mit dem Urlaub?", True), ("Wie lange dauert er?", True),
        ("How do I avoid one query for each related object?", False),
        ("Which pool size does a worker process need in production?", False),
        ("What does D-40 say about its floor?", False),
        ("Wie viele Wochen vorher wird der Urlaub beantragt?", False),
        ("Explain the keepalive settings of the firewall that drops connections", False),
    ],
)  # fmt: skip
def test_follow_up_questions_are_recognised(question: str, is_one: bool) -> None:
    assert follows_up(parse(question, DEFAULT_PATTERNS)) is is_one


def test_rare_words_are_added_in_their_order() -> None:
    words = content_words("How long is the connection timeout of Postgres in production?")
    assert words == ("connection", "timeout", "Postgres", "production")
    chunks = {"connection": 9, "timeout": 3, "Postgres": 5, "production": 0}
    assert rarest(words, chunks) == ("connection", "timeout", "Postgres")
    assert rarest(words, {**chunks, "production": 1}) == ("timeout", "Postgres", "production")
    words = content_words("how do I run code when a model is saved")
    chunks = {"run": 9, "code": 8, "model": 99, "saved": 20}
    assert rarest(words, chunks, "post_save is sent when a model's save() ends.") == (
        "code", "model", "saved",
    )  # fmt: skip


def test_follow_up_inherits_missing_words_and_identifiers() -> None:
    previous = parse("How is region D-40 reached by rope?", DEFAULT_PATTERNS)
    text = joined("And the  rope of it?", previous, ("region", "rope"), most=200)
    assert text == "And the rope of it? D-40 region"
    assert joined("And it?", previous, ("region",), most=12) == "And it? D-40"
    assert joined("And it?", previous, ("region",), most=7) == "And it?"


def test_number_of_candidates_is_limited_by_class() -> None:
    """S4-13: 10 / 15 / 12 / 15 / 12 of lookup, concept, code, debug, general; never more."""
    classes = [QueryClass(name) for name in ("lookup", "concept", "code", "debug", "general")]
    limits = [limited(AnswerParameters(candidates=20), each).candidates for each in classes]
    assert limits == [10, 15, 12, 15, 12]
    assert limited(AnswerParameters(candidates=5), QueryClass.LOOKUP).candidates == 5
    assert all(each.suggested_limit for each in QueryClass)


def test_equal_searches_are_made_once() -> None:
    assert distinct(("Pool size", "pool  size", "", "x")) == ("Pool size", "x")


@pytest.mark.parametrize(
    "text",
    [
        "how do I avoid one query for each related object", "What is region D40?",
        "Wie lange vorher muss der Urlaub beantragt werden", "Comment choisir un index",
        "connection timeout default?", "Was ist neu?", "数据库连接超时是多少？",
        "the walls are wet and the rope slips when loaded",
    ],
)  # fmt: skip
def test_questions_deserve_an_answer(text: str) -> None:
    assert deserves_answer(parse(text, DEFAULT_PATTERNS))


@pytest.mark.parametrize(
    "text",
    [
        "", "D40", "ORD-7793", "postgres", "connection pool", "how", "vacation policy germany",
        '"connection timeout" how long is it', "how long is the timeout -pool",
        "how long is the timeout collection:handbook",
    ],
)  # fmt: skip
def test_lookups_deserve_no_answer(text: str) -> None:
    assert not deserves_answer(parse(text, DEFAULT_PATTERNS))
