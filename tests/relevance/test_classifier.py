"""S5-41: the shipped rules are right for more than 90% of labelled queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from ingestion.identifiers import DEFAULT_PATTERNS
from search.domain import QueryClass
from search.query import classify, parse
from search.query.shipped_rules import RULES
from tests.relevance.classifier_queries import (
    LABELLED,
    OF_THE_SEEDS,
    QUERIES,
    SET_ASIDE,
    WRITTEN_BY,
)

FLOOR = 0.9


def class_of(text: str) -> str:
    return classify(parse(text, DEFAULT_PATTERNS), RULES).query_class.value


@pytest.mark.parametrize(
    ("name", "queries"),
    [
        pytest.param("the rules were written by", WRITTEN_BY, id="written by"),
        pytest.param("set aside", SET_ASIDE, id="set aside"),
        pytest.param("of the seeds", OF_THE_SEEDS, id="seeds"),
    ],
)
def test_the_class_is_right(
    name: str, queries: Sequence[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    right = [(text, label) for text, label in queries if class_of(text) == label]
    share = len(right) / len(queries)
    by_class = Counter(label for _, label in right)
    with capsys.disabled():
        print(f"\nclassifier, queries {name}: {len(right)} of {len(queries)} right, {share:.1%}")
        for label, total in Counter(label for _, label in queries).items():
            print(f"  {label}: {by_class[label]} of {total}")
    assert share > FLOOR


def test_the_labelled_queries_are_enough_and_of_every_class() -> None:
    assert len(QUERIES) == len({text.casefold() for text, _ in QUERIES}) >= 150
    assert set(LABELLED) == {query_class.value for query_class in QueryClass}
    assert min(map(len, LABELLED.values())) >= 20
    # The hash decides; it must not have left either part too small to say anything.
    assert 0.25 <= len(SET_ASIDE) / len(QUERIES) <= 0.42


@pytest.mark.parametrize("text", ["tenant", "prefix tree", "subclass", "canvas", "maintenance"])
def test_words_within_words_decide_nothing(text: str) -> None:
    """F4-02, F5-01."""
    for query in (text, f"{text} settings", f"the {text}"):
        assert class_of(query) in {"general", "lookup"}
