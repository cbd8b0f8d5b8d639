"""Passages that give different figures for one thing: found, in order, and told."""

from __future__ import annotations

from datetime import date

import pytest

from ingestion.document_dates import DateKind, DocumentDate
from search.answers.as_json import disagreements
from search.answers.checking.conflicts import conflicts, differ
from search.answers.domain import Answered, AnswerParameters, Conflict, Context, Mode, State
from search.answers.generating.messages import answer_messages
from search.answers.making.quoting import quoted
from search.answers.making.writing import with_both_sides
from search.answers.quote_pieces import quote_of
from search.answers.quotes import extract
from search.domain import Query
from tests.support.pieces import passage, piece
from tests.support.planted_conflicts import pairs

RULE = "Bookings are cancelled free of charge up to {} before pick-up."
SEED = 40


def beside(
    one: str, other: str, *, titles: tuple[str, str] = ("Terms 2023", "Terms 2026"),
    headings: tuple[str, str] = ("Cancellation", "Cancellation"),
) -> tuple[Conflict, ...]:  # fmt: skip
    return conflicts(
        passage(number, text, title, sections=((0, ("Terms", heading)),))
        for number, text, title, heading in zip((1, 2), (one, other), titles, headings, strict=True)
    )


def test_planted_conflicts_are_shown() -> None:
    """In at least four of five documents that differ (issue 40)."""
    planted = list(pairs(SEED))
    shown = [
        pair
        for pair in planted
        if all(figure.split()[0] in " ".join(disagreements(pair.answer)) for figure in pair.figures)
    ]
    assert len(planted) == 200
    assert len(shown) >= 160


def test_documents_that_agree_are_left_alone() -> None:
    assert not any(disagreements(pair.answer) for pair in pairs(SEED, agree=True))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (RULE.format("48 hours"), RULE.format("2 days")),
        (RULE.format("48 hours"), RULE.format("forty-eight hours")),
        ("The rules hold from 1 May 2023.", "The rules hold from 1 May 2026."),
        ("The price list of 2023 is replaced.", "The price list of 2026 is replaced."),
        ("Version 4.2 of the pump needs oil.", "Version 5.0 of the pump needs oil."),
        ("This part begins where Tutorial 4 ends.", "This part begins where Tutorial 5 ends."),
        ("Repairs of ticket #4711 in the yard.", "Repairs of ticket #4712 in the yard."),
        ("A van costs 40 pounds a day.", "A boat is rented out for 90 pounds."),
    ],
    ids=[
        "same size",
        "in words",
        "full dates",
        "years",
        "versions",
        "parts",
        "names",
        "other things",
    ],
)
def test_no_conflict(one: str, other: str) -> None:
    assert beside(one, other) == ()
    assert not differ(one, other)


def test_only_sections_of_one_heading_are_compared() -> None:
    one, other = RULE.format("24 hours"), RULE.format("48 hours")
    assert len(beside(one, other)) == 1
    assert len(beside(one, other, headings=("Cancellation 2023", "4. Cancellation"))) == 1
    assert beside(one, other, headings=("Cars", "Boats")) == ()


def test_documents_of_other_titles_must_say_nearly_the_same() -> None:
    one, other = RULE.format("24 hours"), "Up to 48 hours before pick-up bookings cost no charge."
    assert len(beside(one, other)) == 1
    assert beside(one, other, titles=("Terms", "Handbook")) == ()
    again = RULE.format("48 hours")
    assert len(beside(one, again, titles=("Terms", "Handbook"))) == 1


def test_each_line_is_compared_with_the_one_most_like_it() -> None:
    prices = "A small van costs £40 a day.\n\nA large van costs £60 a day."
    assert beside(prices, prices) == ()
    (only,) = beside(prices, prices.replace("£60", "£65"))
    assert {side.figure for side in only.sides} == {"£60", "£65"}


def test_prices_without_a_unit_differ_in_cells_of_a_table() -> None:
    rows = "Article | Goods | Price\nVF-110 | Cast film | {}\nVF-120 | Polymer film | 23.50"
    (only,) = beside(rows.format("36.00"), rows.format("38.50"))
    assert [side.figure for side in only.sides] == ["38.50", "36.00"]


def test_the_newer_comes_first_by_date_or_title() -> None:
    one, other = RULE.format("24 hours"), RULE.format("48 hours")
    (found,) = beside(one, other)
    assert [side.figure for side in found.sides] == ["48 hours", "24 hours"]
    (found,) = beside(one, other, titles=("Terms v2", "Terms v1"))
    assert [side.figure for side in found.sides] == ["24 hours", "48 hours"]
    dated = [
        passage(number, text, "Terms", date=DocumentDate(value))
        for number, text, value in ((1, one, "2026-03"), (2, other, "2026-01-31"))
    ]
    (found,) = conflicts(dated)
    assert [side.figure for side in found.sides] == ["24 hours", "48 hours"]


def test_a_nearly_equal_passage_with_another_figure_is_no_copy() -> None:
    text = f"{RULE} Later ones cost half of the price, which is paid at the desk of the depot."
    one, other = (piece(n, text.format(f"{24 * n} hours")) for n in (1, 2))
    assert not other.repeats(one)
    assert piece(2, text.format("24 hours")).repeats(one)
    late = piece(9, text.format("48 hours"))
    assert late.repeats(one)


def test_both_sides_are_quoted_first_and_the_rest_follows() -> None:
    texts = (RULE.format("24 hours"), "The desk is open.", RULE.format("48 hours"))
    titles = ("Terms 2023", "Desk", "Terms 2026")
    passages = tuple(passage(n, text, titles[n - 1]) for n, text in enumerate(texts, start=1))
    context = Context(passages, conflicts=conflicts(passages))
    quotes = [quote_of(each, 0, 1.0) for each in context.passages[:2]]
    assert [each.passage for each in with_both_sides(quotes, context)] == [3, 1, 2]
    assert with_both_sides(quotes[1:], context) == tuple(quotes[1:])
    assert with_both_sides((), context) == ()


def test_of_two_price_lists_the_row_that_is_asked_for_is_compared() -> None:
    rows = "\n".join(f"VF-{n} | Film for windows of kind {n} | {{}}{n}.50" for n in range(101, 141))
    table = f"Article | Goods | Price\n{rows}"
    passages = tuple(
        passage(number, table.replace("{}", price), title)
        for number, price, title in ((1, "1", "Prices 2025"), (2, "2", "Prices 2026"))
    )
    held, question = Context(passages, conflicts=conflicts(passages)), "What does VF-131 cost?"
    found = extract(Query(question), held, embedder=None, most=1)
    quotes = with_both_sides(found.quotes, held)
    answer = Answered("1", question, question, Mode.AUTO, Mode.AUTO, State.DONE, context=held)
    texts = [passages[each.passage - 1].text[each.marked.start :] for each in quotes]
    assert [text.split("\n")[0].split(" | ")[-1] for text in texts] == ["2131.50", "1131.50"]
    assert disagreements(quoted(answer, quotes)) == [
        "Sources disagree. 2131.50 (source 1); 1131.50 (source 2)."
    ]


def test_the_model_is_told_of_both_sides() -> None:
    texts = (RULE.format("24 hours"), RULE.format("48 hours"))
    passages = tuple(
        passage(number, text, "Terms", date=DocumentDate(value, DateKind.DOCUMENT))
        for number, (text, value) in enumerate(zip(texts, ("2023", "2026"), strict=True), 1)
    )
    context = Context(passages, conflicts=conflicts(passages))
    question = "How long before?"
    messages = answer_messages(
        question, context, AnswerParameters(), language="en", today=date(2026, 11, 28)
    )
    assert 'Passages disagree: [2] "48 hours" and [1] "24 hours".' in messages[1]["content"]
    agreed = Context(context.passages[:1])
    messages = answer_messages(
        question, agreed, AnswerParameters(), language="en", today=date(2026, 11, 28)
    )
    assert "disagree" not in messages[1]["content"]
