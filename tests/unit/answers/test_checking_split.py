"""Sentences of an answer's Markdown, whole and growing."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from search.answers.checking.splitting import completed, split


def texts(text: str) -> list[str]:
    return [text[start:end] for start, end in split(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n ", []),
        (
            "Set it to five seconds. [1] The pool holds ten [2]. Done!",
            ["Set it to five seconds. [1]", "The pool holds ten [2].", "Done!"],
        ),
        ("One.[1][2] Two. [3]. Three", ["One.[1][2]", "Two. [3].", "Three"]),
        ("One. [1, 2]\n[3]\nTwo.", ["One. [1, 2]\n[3]", "Two."]),
        ("One.\n\n[1]", ["One.\n\n[1]"]),
        ("One. [1] says two.", ["One. [1]", "says two."]),
        ("See Dr. Smith, e.g. at 1.5 m. It rose.", ["See Dr. Smith, e.g. at 1.5 m.", "It rose."]),
        ("It is by J. R. R. Tolkien. So.", ["It is by J. R. R. Tolkien.", "So."]),
        ("We took plan B. [1] Then.", ["We took plan B. [1]", "Then."]),
        ("Am 3. Mai, z. B. um 8 Uhr. Dann.", ["Am 3. Mai, z. B. um 8 Uhr.", "Dann."]),
        ("これは五です。[1]それは六です。", ["これは五です。[1]", "それは六です。"]),
        ("Use `a. B` here. Or `c`.", ["Use `a. B` here.", "Or `c`."]),
        ("It says “No.” [1] Yes.", ["It says “No.” [1]", "Yes."]),
        ("Line one\ngoes on. Two.", ["Line one\ngoes on.", "Two."]),
        (
            "Settings:\n- one [1]\n- two. And more. [2]\n  1. three",
            ["Settings:", "- one [1]", "- two.", "And more. [2]", "1. three"],
        ),
        (
            "| a | b. C |\n|---|---|\n| 1 | 2 |\n[1]\nEnd.",
            ["| a | b. C |", "|---|---|", "| 1 | 2 |\n[1]", "End."],
        ),
        ("# A. B\nText.\n---\nMore.", ["# A. B", "Text.", "---", "More."]),
        (
            "Code:\n```py\na. B\n\nc\n```\n[1]\nEnd.",
            ["Code:", "```py\na. B\n\nc\n```\n[1]", "End."],
        ),
        ("```\nnever. Closed", ["```\nnever. Closed"]),
        ("See [the page](1.html). [2] Next.", ["See [the page](1.html). [2]", "Next."]),
    ],
)
def test_text_is_split_into_these_sentences(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


PIECES = (
    "Foo bar", ". ", ".", "\n", "\n\n", " ", "  \n", "[1]", "[2, 3]", "[", "]", "1", "- ", "* ",
    "1. ", "3. Mai ", " a | b ", "`", "``", "```", "```py\n", "# ", "Dr. ", "e.g. ", "。", "それ",
    "?", "! ", ": ", ":\n", "“", "”", "**", "J. ", "the ", "Inc. ", "(", ")", "> ", "--- ", "~~~",
    "...", "5.5", "\\\n", "| a | b |", "|", "5 m. ",
)  # fmt: skip
GROWING = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)


@given(GROWING)
def test_spans_cover_all_text_in_order(text: str) -> None:
    position = 0
    for start, end in split(text):
        assert start < end
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip()
        position = end
    assert not text[position:].strip()


@given(GROWING)
@example("It is five. [1] So\n--- Foo bar")
@example("Foo [1]\n--- Foo bar")
def test_growing_text_changes_no_complete_sentence(text: str) -> None:
    """The sentences that a stream checks are those of the whole text."""
    found: list[tuple[int, int]] = []
    for length in range(len(text) + 1):
        found += completed(text[:length], found[-1][1] if found else 0)
    assert found == split(text)[: len(found)]


def test_sentence_waits_for_markers_that_may_follow() -> None:
    assert completed("It is five. ", 0) == []
    assert completed("It is five. [1", 0) == []
    assert completed("It is five. [1] ", 0) == []
    assert completed("It is five. [1] Then", 0) == []  # more letters may follow
    assert completed("It is five. [1] Then the", 0) == [(0, 15)]


def test_sentence_without_marker_waits_for_the_next_marker_of_its_block() -> None:
    text = "It is five. It is old. "
    assert completed(text + "So it ", 0) == []
    assert completed(text + "So it is. [1] And then ", 0) == [(0, 11), (12, 22), (23, 36)]
    assert completed(text + "\n\nNew one ", 0) == [(0, 11), (12, 22)]


def test_sentence_is_complete_soon_after_its_end() -> None:
    """A stream shows a verdict with the next sentence's first words."""
    text = "It is five. [1] It is six. [2]\n\n- Seven. [3]\n- Eight. [4]\n\nThe end is near."
    assert completed(text, 0) == split(text)[:4]
