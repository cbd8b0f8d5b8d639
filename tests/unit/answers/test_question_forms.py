"""Questions that no passage answers by itself."""

from __future__ import annotations

import pytest

from search.answers.domain import Context
from search.answers.question_forms import Form, asks_for_all, form_of, sides_of
from search.answers.quotes import extract
from search.domain import Query
from tests.support.pieces import passage


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("hello", Form.COURTESY),
        ("Thanks a lot!", Form.COURTESY),
        ("help", Form.COURTESY),
        ("Vielen Dank", Form.COURTESY),
        ("Who are you?", Form.COURTESY),
        ("How do I help a colleague?", None),
        ("Hello world in Rust", None),
        ("how many documents do you have?", Form.COUNT),
        ("How many beams may break?", None),
        ("list all cache backends", Form.LIST),
        ("Which documents mention the guest flat?", Form.LIST),
        ("Welche Dokumente nennen die Probezeit?", Form.LIST),
        ("Which document is needed for a visa?", Form.LIST),
        ("What is a list?", None),
    ],
)
def test_form_is_recognised_by_its_words(question: str, form: Form | None) -> None:
    assert form_of(question) is form


def test_count_is_of_all_documents_or_about_a_topic() -> None:
    assert asks_for_all("How many documents do you have?")
    assert asks_for_all("Wie viele Dokumente gibt es?")
    assert not asks_for_all("How many documents mention the guest flat?")


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("Compare the fees of 2025 and 2026", ({"2025", "fees"}, {"2026"})),
        ("What is the difference between oak and pine?", ({"oak"}, {"pine"})),
        ("Vergleiche Eiche mit Kiefer", ({"eiche"}, {"kiefer"})),
        ("Compare oak and oak", ()),
        ("Is oak harder than pine?", ()),
    ],
)
def test_sides_of_a_comparison(question: str, sides: tuple[set[str], ...]) -> None:
    assert sides_of(question) == sides


def test_comparison_quotes_a_piece_for_each_side() -> None:
    """Unless one piece names both."""
    oak, pine = passage(1, "Oak is hard and heavy."), passage(2, "Pine is soft. Pine is cheap.")
    question = Query("Compare oak and pine")
    quotes = extract(question, Context((pine, oak)), embedder=None, most=3).quotes
    assert [each.passage for each in quotes] == [1, 2]
    both = passage(3, "Oak is harder than pine.", rank=1)
    quotes = extract(question, Context((pine, both, oak)), embedder=None, most=3).quotes
    assert quotes[0].passage == 3
