"""The growing text of an answer: checks as sentences complete, cuts, removals."""

from __future__ import annotations

import asyncio
import threading
from itertools import pairwise

import pytest

from search.answers.domain import Context
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
