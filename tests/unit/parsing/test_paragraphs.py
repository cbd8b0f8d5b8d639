"""The paragraphs of plain text, without a child process."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.parsing.formats.subtitles import spoken
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


VTT = """WEBVTT

NOTE by a program

00:01.000 --> 00:04.000 align:start
<v Ada Lund>Welcome <i>to</i> the</v>

cue-2
00:05.000 --> 00:08.000
<v Ada Lund>course on pumps &amp; seals.</v>

00:00:09.000 --> 00:00:10.000
<v Bo>Is 1 < 2?
"""
SRT = "1\r\n00:00:01,000 --> 00:00:04,000\r\n{\\an8}Today: 12\r\n\r\n2\r\n00:00:05,000 --> "
SRT += "00:00:08,000\r\nvalves\r\nand a pump.\r\n"


def test_sentences_of_subtitles_are_joined() -> None:
    assert spoken(VTT) == "Ada Lund: Welcome to the course on pumps & seals.\n\nBo: Is 1 < 2?"
    assert spoken(SRT) == "Today: 12 valves and a pump."


@pytest.mark.parametrize(
    "text", ["1\nA list --> of two\n", f"{SRT}\n{'Words that are in no cue at all. ' * 3}\n"]
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert spoken(text) == text


@given(st.lists(st.text("ab. ", min_size=1).filter(str.strip), min_size=1, max_size=40))
def test_no_word_of_a_cue_is_lost(cues: list[str]) -> None:
    text = "\n".join(f"{n}\n00:00:01,000 --> 00:00:02,000\n{cue}\n" for n, cue in enumerate(cues))
    assert spoken(text).split() == " ".join(cues).split()
