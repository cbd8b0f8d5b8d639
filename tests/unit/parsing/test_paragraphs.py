"""The paragraphs of plain text, without a child process."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.parsing.formats.text import PARAGRAPH_CHARS, paragraph_blocks


def test_paragraphs_end_at_blank_lines() -> None:
    text = "one\n  two\n \t\n\n\nthree\x0cfour"
    assert [block.text for block in paragraph_blocks(text)] == ["one\n  two", "three", "four"]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(["a line of some forty characters, perhaps"] * 1_000),
        "A sentence of no great length. " * 1_000,
        "word " * 5_000,
        "x" * 2_000_000,
        "。".join(["棹秤は錘を動かして重さを量る"] * 1_000),
    ],
    ids=["lines", "sentences", "words", "nothing", "japanese"],
)
def test_long_paragraphs_are_split(text: str) -> None:
    blocks = [block.text for block in paragraph_blocks(text)]
    assert "".join(blocks) == text
    assert max(map(len, blocks)) <= PARAGRAPH_CHARS
    assert len(blocks) <= 2 * len(text) / PARAGRAPH_CHARS + 1


@given(st.text(alphabet="ab \n\t.", max_size=60))
def test_no_word_is_lost(text: str) -> None:
    words = [word for block in paragraph_blocks(text) for word in block.text.split()]
    assert words == text.split()
