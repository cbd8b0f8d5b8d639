"""The soft penalties of S4 and the confidence of an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from search.answers.checking.verdicts import (
    product_confidence,
    snippet_found,
    source_credit,
)
from search.answers.domain import Sentence, Verdict


def sentence(verdict: Verdict, credit: float = 1.0) -> Sentence:
    return Sentence(0, 1, "x", (), verdict, (), credit)


GOOD, BAD = sentence(Verdict.SUPPORTED), sentence(Verdict.UNSUPPORTED)
NONE = sentence(Verdict.UNCHECKED, 0.0)


@pytest.mark.parametrize(
    ("snippet", "found"),
    [
        ("", True), ("  \n ", True), ("pool = 10", True), ("POOL  =  10", True),
        ("pool = 11", False), ("pool = 10\nsize = 3", True), ("a\nb\npool = 10", False),
    ],
)  # fmt: skip
def test_a_snippet_is_found_at_half_of_its_lines(snippet: str, found: bool) -> None:
    """F4-08."""
    assert snippet_found(snippet, "def f():\n    pool = 10\n    return pool") is found


def test_the_confidence_is_a_product() -> None:
    """S4-16 to S4-18: .8 x (1 + 1 + .7 + 0) / 4 x (.5 x .4 + .6)."""
    rows = [GOOD, GOOD, sentence(Verdict.UNSUPPORTED, 0.7), sentence(Verdict.UNSUPPORTED, 0.0)]
    assert product_confidence(0.8, [*rows, NONE]) == approx(0.8 * 0.675 * 0.8)
    assert product_confidence(0.8, [GOOD]) == approx(0.8)
    assert product_confidence(0.8, [BAD]) == approx(0.8 * 0.6)
    assert product_confidence(0.8, []) == approx(0.8)
    assert product_confidence(0.8, [NONE]) == approx(0.8)
    assert product_confidence(None, [GOOD]) is None


@given(st.floats(0.01, 1), st.lists(st.booleans(), min_size=1, max_size=9))
def test_changed_quotations_never_remove_all_confidence(
    retrieval: float, supported: list[bool]
) -> None:
    """S4-18: with sources that exist, at least .7 x .6 of it stays."""
    rows = [
        sentence(Verdict.SUPPORTED if each else Verdict.UNSUPPORTED, source_credit(True, each))
        for each in supported
    ]
    confidence = product_confidence(retrieval, rows)
    assert confidence is not None
    assert retrieval * 0.7 * 0.6 - 1e-9 <= confidence <= retrieval
