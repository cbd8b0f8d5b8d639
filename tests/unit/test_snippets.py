"""The passage that is shown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.lexical import sentences as lexical
from ingestion.spaces.vectors import (
    MAX_SENTENCES,
    SHORTEST,
    sentence_spans,
)
from search.presentation.snippets import MARK_END, MARK_START, highlight, shows_a_mark, snippet


def marked(word: str) -> str:
    return f"{MARK_START}{word}{MARK_END}"


def test_markup_of_the_document_is_escaped() -> None:
    html = snippet(f"<script>alert(1)</script> {marked('<b>')}")
    assert html == "&lt;script&gt;alert(1)&lt;/script&gt; <mark>&lt;b&gt;</mark>"


def test_a_long_text_is_cut_around_the_marked_words() -> None:
    text = (
        "filler " * 200 + f"the {marked('anchor')} holds the {marked('chain')} " + "filler " * 200
    )
    html = snippet(text)
    assert "<mark>anchor</mark>" in html
    assert "<mark>chain</mark>" in html
    assert html.startswith("… ")
    assert html.endswith(" …")
    assert len(re.sub("<[^>]+>", "", html)) < 320


@pytest.mark.parametrize("row", [marked("S 302"), f"S {marked('36')}"])
def test_the_row_of_a_table_is_shown_whole(row: str) -> None:
    other = (
        f"S {marked('302')} | the crane makes a grinding noise when it is lifted by the crew |\n"
    )
    html = snippet(
        f"{other * 4}{row} | was closed by the night shift and opened again |\n{other * 9}"
    )
    assert f"{highlight(row)} | was closed by the night shift and opened again" in html


def test_snippet_without_marks_begins_at_the_beginning() -> None:
    assert snippet("First words. " + "more " * 200).startswith("First words.")


def test_endless_word_is_cut() -> None:
    assert len(snippet("x" * 5000)) < 320


def test_highlight_keeps_lines() -> None:
    assert highlight(f"a\n{marked('b')} & c") == "a\n<mark>b</mark> &amp; c"
    assert highlight(f"{marked('HL')}{marked('-210')}") == "<mark>HL-210</mark>"


@given(st.text(alphabet=f"ab <>&\n{MARK_START}{MARK_END}", max_size=800))
def test_snippets_of_any_text_are_safe_html(text: str) -> None:
    html = snippet(text)
    assert MARK_START not in html
    assert MARK_END not in html
    assert set(re.findall(r"<[^>]*>", html)) <= {"<mark>", "</mark>"}


@given(st.text(alphabet="aéЖ中. 9\n", max_size=200))
def test_sentence_sizes_are_bytes_of_letters(text: str) -> None:
    def size(start: int, end: int) -> int:
        return sum(len(letter.encode()) for letter in text[start:end] if letter.isalpha())

    every = [(each.start, each.end) for each in lexical.sentences(text)]
    long = [each for each in every if size(*each) >= SHORTEST]
    assert sentence_spans(text) == long[:MAX_SENTENCES]


@given(
    st.lists(
        st.sampled_from(["word ", "<mark>", "a_b ", "\n\n", marked("x"), marked("_"), "y " * 90])
    ),
    st.integers(20, 300),
)
def test_a_mark_is_shown_where_the_snippet_has_one(parts: list[str], length: int) -> None:
    text = "".join(parts)
    assert shows_a_mark(text, length) == ("<mark>" in snippet(text, length))
