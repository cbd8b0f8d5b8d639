"""What a search says of the parts of a long question that it left out."""

from __future__ import annotations

import pytest

from search.domain import Candidates, Query
from search.engine.response import left_out


@pytest.mark.parametrize(
    ("unread", "terms", "said"),
    [
        (0, 0, []),
        (1, 0, ["the last word was left out"]),
        (12, 0, ["the last 12 words were left out"]),
        (0, 1, ["the most common one was left out"]),
        (3, 9, ["the last 3 words were left out", "the 9 most common ones were left out"]),
    ],
)
def test_each_part_is_named_with_its_size(unread: int, terms: int, said: list[str]) -> None:
    notes = left_out(Candidates(Query("pumps"), unread=unread, left_out=terms))
    assert len(notes) == len(said)
    for note, part in zip(notes, said, strict=True):
        assert part in note
