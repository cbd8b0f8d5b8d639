"""Figures of an evaluation of answers, by hand."""

from __future__ import annotations

import pytest

from benchmarks.answers.figures import Judged, area, auroc, holds, refusals, risks, share
from search.answers.context import assemble
from search.answers.domain import AnswerParameters, Context
from tests.support.pieces import piece

ROWS = [
    Judged(0.9, True, True),
    Judged(0.8, False, False),
    Judged(0.7, True, True),
    Judged(0.2, True, False),
    Judged(0.1, False, False),
]


def test_shares() -> None:
    assert share([True, False, True, True]) == 0.75
    assert share([]) is None


def test_auroc_is_the_share_of_pairs_in_order() -> None:
    # .9 > .8, .9 > .1, .7 < .8, .7 > .1, .2 < .8, .2 > .1: four of six.
    assert auroc(ROWS) == pytest.approx(4 / 6)
    assert auroc([Judged(0.5, True, True), Judged(0.5, False, False)]) == 0.5
    assert auroc(ROWS[:1]) is None


def test_the_risk_of_the_most_confident_answers() -> None:
    curve = risks(ROWS)
    assert curve[1.0] == pytest.approx(3 / 5)
    assert curve[0.6] == pytest.approx(1 / 3)
    assert curve[0.2] == 0
    assert 0.1 not in curve  # no half answers
    assert risks([]) == {}
    assert area(ROWS) == pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4 + 3 / 5) / 5)
    assert area([]) is None


def test_a_threshold_refuses_what_is_strictly_below() -> None:
    found = refusals(ROWS, 0.7)
    assert found.right == 1 / 2
    assert found.wrong == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("text", "gold"),
    [
        ("It began in October 1973, with an embargo.", "october 1973"),
        ("the price rose from US$3 per barrel to nearly $12", "$12"),
        ("the price rose from US$3 per barrel", "3"),
        ("the oil-producing states", "oil"),
        ("Known as “The First\nOil Shock”.", "first oil shock"),
        ("Half of the Ölpreis", "ölpreis"),
        ("他们于1973年宣布石油禁运。", "石油禁运"),
    ],
)
def test_gold_answers_that_are_in_a_passage(text: str, gold: str) -> None:
    context = assemble([piece(1), piece(2, text)], AnswerParameters())

    assert holds(context, ["nowhere", gold])


@pytest.mark.parametrize(
    ("text", "gold"),
    [("In 1950 it was.", "5"), ("He is a Norman.", "Normandy"), ("Anything.", " "), ("x", "...")],
)
def test_gold_answers_that_are_not(text: str, gold: str) -> None:
    assert not holds(assemble([piece(1, text)], AnswerParameters()), [gold])


def test_a_gold_answer_is_not_spread_over_two_passages() -> None:
    context = assemble([piece(1, "oil"), piece(2, "shock")], AnswerParameters())

    assert len(context.passages) == 2
    assert not holds(context, ["oil shock"])
    assert not holds(Context(), ["oil"])
    assert not holds(context, [])
