"""The growing text of an answer: where its checks run, its citations, and its end."""

from __future__ import annotations

import asyncio
import threading

import pytest

from search.answers.domain import Context
from search.answers.making.drafting import Draft
from search.answers.making.writing import LONG, off_loop
from tests.support.pieces import passage

POOL = "The pool holds ten connections. It closes them after an hour."


@pytest.mark.parametrize(("characters", "is_apart"), [(LONG - 1, False), (LONG, True)])
def test_a_long_text_is_checked_beside_the_event_loop(characters: int, is_apart: bool) -> None:
    own = threading.get_ident()
    used = asyncio.run(off_loop(threading.get_ident, characters))
    assert (used != own) is is_apart


def test_sentence_without_a_citation_gets_the_one_that_bears_it_out() -> None:
    draft = Draft(Context((passage(1, "Bread rises."), passage(2, POOL))), "", "")
    draft.feed("The pool holds ten connections. It closes after an hour.\n\n")
    draft.feed("Cats purr loudly.\n\nBread rises.")
    draft.close()
    assert draft.has_new_markers
    assert draft.text == (
        "The pool holds ten connections. [2] It closes after an hour. [2]\n\nCats purr loudly.\n\n"
        "Bread rises. [1]"
    )
    own = [draft.text[each.start : each.end] for each in draft.sentences]
    assert own[0] == "The pool holds ten connections. [2]"
    assert own[2] == "Cats purr loudly."


def test_cited_text_keeps_its_markers_alone() -> None:
    draft = Draft(Context((passage(1, POOL),)), "", "")
    draft.feed("The pool holds ten connections. It closes after an hour. [1]")
    draft.close()
    assert not draft.has_new_markers
    assert draft.text.count("[1]") == 1


def test_answer_ends_where_its_sentences_come_again() -> None:
    draft = Draft(Context((passage(1, POOL),)), "", "")
    one, two = "The pool holds ten connections. [1] ", "It closes after an hour. [1] "
    for piece in (one, two) * 2:
        draft.feed(piece)
    assert not draft.is_repeating
    draft.feed(one)
    draft.feed(two)
    assert draft.is_repeating
    draft.end_repetition()
    draft.close()
    assert draft.text == (one + two).strip()
    assert len(draft.sentences) == 2
