"""The section around a chunk: its heading, the one above where that says too little, a budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.chunking.sections import Neighbour, lead, repeated, section_of


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
        "its own heading's run",
        "too little: the heading above",
        "and no more than the budget",
        "under a heading with subsections",
        "a chunk over the budget is shown whole",
        "a section at the end",
        "to the whole document, less what is too much",
    ],
)
def test_sections(
    ordinal: int, budget: int, expected: tuple[int, int, tuple[str, ...], bool]
) -> None:
    section = section_of(BOOK, ordinal, budget=budget)
    assert (section.first, section.last, section.path, section.is_whole) == expected
    assert section.start == section.first * 12
    assert section.end == section.last * 12 + 10


def test_an_ordinal_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        section_of(BOOK, 99)


paths = st.lists(st.sampled_from(["A", "B", "C"]), max_size=3).map("/".join)


@given(st.lists(st.tuples(paths, st.integers(1, 400)), min_size=1, max_size=30), st.data())
def test_laws(made: list[tuple[str, int]], data: st.DataObject) -> None:
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
def test_the_whitespace_between_two_chunks(gap: int, kinds: tuple[str, str], expected: str) -> None:
    assert lead(10, 10 + gap, *kinds) == expected


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
def test_the_words_that_a_chunk_repeats(
    start: int, text: str, original: str, expected: int
) -> None:
    assert repeated(10, start, text, original) == expected
