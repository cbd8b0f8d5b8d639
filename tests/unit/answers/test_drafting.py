"""The growing text of an answer: where its checks run."""

from __future__ import annotations

import asyncio
import threading

import pytest

from search.answers.making.writing import LONG, off_loop


@pytest.mark.parametrize(("characters", "is_apart"), [(LONG - 1, False), (LONG, True)])
def test_a_long_text_is_checked_beside_the_event_loop(characters: int, is_apart: bool) -> None:
    own = threading.get_ident()
    used = asyncio.run(off_loop(threading.get_ident, characters))
    assert (used != own) is is_apart
