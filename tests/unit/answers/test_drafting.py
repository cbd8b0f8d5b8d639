"""The growing text of an answer: checks as sentences complete, cuts, removals."""

from __future__ import annotations

import asyncio
import threading
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.answers.domain import Checked, Cited, Context, Sentence, Token, Verdict
from search.answers.making.drafting import Draft, without_unsupported
from search.answers.making.writing import LONG, off_loop
from tests.support.pieces import passage

PASSAGE = passage(1, "The timeout is 5 s.")
CONTEXT = Context((PASSAGE,), 9, 100)
ANSWER = "The timeout is 5 s [1]. It is 47 hours [1].\n\n- A list [1].\n"


def parts(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[a:b] for a, b in pairwise(places)]


@pytest.mark.parametrize(("characters", "is_apart"), [(LONG - 1, False), (LONG, True)])
def test_a_long_text_is_checked_beside_the_event_loop(characters: int, is_apart: bool) -> None:
    own = threading.get_ident()
    used = asyncio.run(off_loop(threading.get_ident, characters))
    assert (used != own) is is_apart


@given(st.lists(st.integers(0, 200), max_size=12))
def test_the_pieces_do_not_matter(cuts: list[int]) -> None:
    """Text, verdicts and indexes are those of the whole; each sentence is checked once."""
    draft = Draft(CONTEXT, "No.")
    events = [event for piece in parts(ANSWER, cuts) for event in draft.feed(piece)]
    events += draft.close()
    assert "".join(each.text for each in events if isinstance(each, Token)) == draft.text
    checks = [each for each in events if isinstance(each, Checked)]
    assert [each.index for each in checked_once(checks)] == [0, 1, 2]
    assert draft.sentences == tuple(each.sentence for each in checks)
    verdicts = [each.verdict for each in draft.sentences]
    assert verdicts[:2] == [Verdict.SUPPORTED, Verdict.UNSUPPORTED]
    assert sum(isinstance(each, Cited) for each in events) == 3


def checked_once(checks: list[Checked]) -> list[Checked]:
    assert len({each.index for each in checks}) == len(checks)
    return checks


def test_markers_of_unknown_passages_are_dropped_and_counted() -> None:
    """S5-25."""
    draft = Draft(CONTEXT, "No.")
    draft.feed("The timeout is 5 s [1][7].")
    draft.close()
    assert (draft.text, draft.dropped) == ("The timeout is 5 s [1].", 1)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("It is 5 s [1]. And th", "It is 5 s [1]."),
        ("It is 5 s [1].", "It is 5 s [1]."),
        ("It is 5 s", ""),
        ("", ""),
        ("It is 5 s [1].\n\nIt is [", "It is 5 s [1]."),
    ],
)
def test_a_cut_keeps_whole_sentences(text: str, kept: str) -> None:
    draft = Draft(CONTEXT, "No.")
    draft.feed(text)
    assert draft.cut() is bool(kept)
    assert draft.text == kept
    assert all(each.end <= len(kept) for each in draft.sentences)


def test_a_refusal_is_known_however_it_is_spaced() -> None:
    draft = Draft(CONTEXT, "Nothing answers this.")
    events = [*draft.feed("Nothing answers"), *draft.feed("\nthis. "), *draft.close()]
    assert draft.is_refusal
    assert not any(isinstance(each, Checked) for each in events)


@given(st.lists(st.tuples(st.sampled_from(["A b.", "- C d.", "## E"]), st.booleans()), max_size=6))
def test_what_is_left_keeps_its_places(rows: list[tuple[str, bool]]) -> None:
    """The offsets of the sentences that stay name the same words."""
    text, sentences = "", []
    for number, (words, is_true) in enumerate(rows):
        words = f"{words} {number}"
        verdict = Verdict.SUPPORTED if is_true else Verdict.UNSUPPORTED
        bare = words.removeprefix("- ")
        start = len(text) + len(words) - len(bare)
        sentences.append(Sentence(start, len(text) + len(words), bare, verdict=verdict))
        text += words + ("\n\n" if number % 2 else "\n")
    left, kept = without_unsupported(text, sentences)
    assert [left[each.start : each.end] for each in kept] == [each.text for each in kept]
    assert len(kept) == sum(is_true for _, is_true in rows)
    assert left == left.strip()
    assert "\n\n\n" not in left
    assert "- \n" not in f"{left}\n"
