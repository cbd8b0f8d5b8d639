"""The section around a chunk; the contents of a document, and its hits among them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.chunking.sections import Neighbour, repeated, section_of, separator
from search.presentation.document_hits import chosen_hits
from search.presentation.navigation import MOST_ENTRIES, SectionStart, entries_of


def chunks(*made: tuple[str, int]) -> list[Neighbour]:
    """Chunks from pairs of a path ("A/B") and tokens; ten characters each, two between."""
    return [
        Neighbour(n, tuple(path.split("/")) if path else (), n * 12, n * 12 + 10, tokens)
        for n, (path, tokens) in enumerate(made)
    ]


BOOK = chunks(
    ("A", 100), ("A/a", 150), ("A/a", 150), ("A/b", 40), ("A/c", 300), ("B", 100),
)  # fmt: skip


@pytest.mark.parametrize(
    ("ordinal", "budget", "expected"),
    [
        (1, 800, (1, 2, ("A", "a"), True)),
        (3, 800, (0, 4, ("A",), True)),
        (3, 400, (3, 4, ("A",), False)),
        (0, 200, (0, 0, ("A",), False)),
        (4, 100, (4, 4, ("A", "c"), True)),
        (5, 300, (5, 5, ("B",), True)),
        (5, 800, (1, 5, (), False)),
    ],
    ids=[
        "its own heading's run", "too little: the heading above", "and no more than the budget",
        "under a heading with subsections", "a chunk over the budget is shown whole",
        "a section at the end", "to the whole document, less what is too much",
    ],
)  # fmt: skip
def test_sections_around_a_chunk_are_cut_like_this(
    ordinal: int, budget: int, expected: tuple[int, int, tuple[str, ...], bool]
) -> None:
    section = section_of(BOOK, ordinal, budget=budget)
    assert (section.first, section.last, section.path, section.is_whole) == expected
    assert section.start == section.first * 12
    assert section.end == section.last * 12 + 10


paths = st.lists(st.sampled_from(["A", "B", "C"]), max_size=3).map("/".join)


@given(st.lists(st.tuples(paths, st.integers(1, 400)), min_size=1, max_size=30), st.data())
def test_sections_hold_their_chunk_within_headings_and_budget(
    made: list[tuple[str, int]], data: st.DataObject
) -> None:
    """It holds the chunk, keeps to its headings and its budget, and grows with the budget."""
    book = chunks(*made)
    ordinal = data.draw(st.integers(0, len(book) - 1))
    budget = data.draw(st.integers(1, 2_000))
    section = section_of(book, ordinal, budget=budget)
    inside = book[section.first : section.last + 1]
    assert section.first <= ordinal <= section.last
    assert all(chunk.path[: len(section.path)] == section.path for chunk in inside)
    assert section.tokens == sum(chunk.tokens for chunk in inside)
    assert section.tokens <= max(budget, book[ordinal].tokens)


@pytest.mark.parametrize(
    ("gap", "kinds", "expected"),
    [
        (1, ("paragraph", "paragraph"), " "),
        (0, ("paragraph", "table"), " "),
        (1, ("table", "table"), "\n"),
        (1, ("code", "code"), "\n"),
        (2, ("table", "table"), "\n\n"),
        (-5, ("paragraph", "paragraph"), " "),
    ],
)
def test_whitespace_between_two_chunks_is_restored(
    gap: int, kinds: tuple[str, str], expected: str
) -> None:
    assert separator(10, 10 + gap, *kinds) == expected


@pytest.mark.parametrize(
    ("start", "text", "original", "expected"),
    [
        (10, "Text.", "", 0),
        (12, "Text.", "", 0),
        (6, "end. More.", "", 4),
        (6, "end. Else.", "end. More.", 4),
        (6, "Anew. More.", "end. More.", 0),
    ],
)
def test_repeated_words_of_overlapping_chunks_are_found(
    start: int, text: str, original: str, expected: int
) -> None:
    assert repeated(10, start, text, original) == expected


def shown(changes: list[tuple[int, tuple[str, ...]]], title: str = "Book") -> list[str]:
    return [
        f"{e.level} {e.title} @{e.ordinal}"
        for e in entries_of([SectionStart(*c) for c in changes], title)
    ]


def test_each_new_heading_is_one_entry_at_its_first_passage() -> None:
    changes = [
        (0, ("One",)), (2, ("One", "a")), (3, ("One", "b", "deep", "deeper")), (5, ("Two", "b")),
        (6, ()), (7, ("Two",)),
    ]  # fmt: skip
    assert shown(changes) == [
        "1 One @0", "2 a @2", "2 b @3", "3 deep @3", "1 Two @5", "2 b @5", "1 Two @7",
    ]  # fmt: skip


def test_the_title_is_no_heading_of_its_own_contents() -> None:
    changes = [(0, ()), (1, ("The  book",)), (2, ("The  book", "a", "b")), (3, ("The  book", "c"))]
    assert shown(changes, "the book") == ["1 a @2", "2 b @2", "1 c @3"]
    # Above some of the passages only, it is a heading among others.
    assert shown([*changes, (4, ("Index",))], "the book")[0] == "1 The  book @1"


def test_deepest_of_too_many_headings_are_left_out() -> None:
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
