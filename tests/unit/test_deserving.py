"""Which searches are answered without being asked to."""

from __future__ import annotations

import pytest

from ingestion.identifiers import DEFAULT_PATTERNS
from search.pages.answers.asking import deserves_answer
from search.query import parse


@pytest.mark.parametrize(
    "text",
    [
        "how do I avoid one query for each related object",
        "What is region D40?",
        "Wie lange vorher muss der Urlaub beantragt werden",
        "Comment choisir un index",
        "connection timeout default?",
        "Was ist neu?",
        "数据库连接超时是多少？",
        "the walls are wet and the rope slips when loaded",
    ],
)
def test_questions(text: str) -> None:
    assert deserves_answer(parse(text, DEFAULT_PATTERNS))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "D40",
        "ORD-7793",
        "postgres",
        "connection pool",
        "how",
        "vacation policy germany",
        '"connection timeout" how long is it',
        "how long is the timeout -pool",
        "how long is the timeout collection:handbook",
    ],
)
def test_lookups(text: str) -> None:
    assert not deserves_answer(parse(text, DEFAULT_PATTERNS))
