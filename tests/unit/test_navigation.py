"""The contents of a document and its hits, from what the database gives of them."""

from __future__ import annotations

import pytest

from search.presentation.navigation import MOST_ENTRIES, Hits, SectionStart, chosen_hits, entries_of


def shown(changes: list[tuple[int, tuple[str, ...]]], title: str = "Book") -> list[str]:
    return [
        f"{e.level} {e.title} @{e.ordinal}"
        for e in entries_of([SectionStart(*c) for c in changes], title)
    ]


def test_each_new_heading_is_one_entry_at_its_first_passage() -> None:
    changes = [
        (0, ("One",)),
        (2, ("One", "a")),
        (3, ("One", "b", "deep", "deeper")),
        (5, ("Two", "b")),
        (6, ()),
        (7, ("Two",)),
    ]
    assert shown(changes) == [
        "1 One @0", "2 a @2", "2 b @3", "3 deep @3", "1 Two @5", "2 b @5", "1 Two @7",
    ]  # fmt: skip


def test_the_title_is_no_heading_of_its_own_contents() -> None:
    changes = [(0, ()), (1, ("The  book",)), (2, ("The  book", "a", "b")), (3, ("The  book", "c"))]
    assert shown(changes, "the book") == ["1 a @2", "2 b @2", "1 c @3"]
    # Above some of the passages only, it is a heading among others.
    assert shown([*changes, (4, ("Index",))], "the book")[0] == "1 The  book @1"


def test_of_too_many_headings_the_deepest_are_left_out() -> None:
    changes = [SectionStart(n, (f"chapter {n // 10}", f"section {n}")) for n in range(MOST_ENTRIES)]
    entries = entries_of(changes, "")
    assert len(entries) == MOST_ENTRIES / 10
    assert {entry.level for entry in entries} == {1}


@pytest.mark.parametrize(
    ("held", "asked", "chosen"),
    [
        ({}, None, []),
        ({4: 1, 9: 1}, None, [4, 9]),
        ({4: 2, 9: 1}, None, [4]),
        ({4: 4, 9: 3, 11: 2}, None, [4, 9]),
        ({4: 2}, 7, [4, 7]),
    ],
    ids=["none", "one word", "both words", "one word may be missing", "opened by meaning"],
)
def test_hits_hold_most_of_the_words(
    held: dict[int, int], asked: int | None, chosen: list[int]
) -> None:
    assert chosen_hits(held, asked) == chosen


def test_hits_know_their_neighbours() -> None:
    before = Hits((4, 9, 11))
    assert (before.place, before.previous, before.following) == (None, None, 4)
    middle = Hits((4, 9, 11), 9)
    assert (middle.place, middle.previous, middle.following, middle.total) == (2, 4, 11, 3)
    last = Hits((4, 9, 11), 11)
    assert (last.place, last.previous, last.following) == (3, 9, None)
