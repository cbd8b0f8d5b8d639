"""Q7: the passage that is shown."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from search.presentation.snippets import MARK_END, MARK_START, highlight, snippet


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


def test_without_marks_the_beginning_is_shown() -> None:
    assert snippet("First words. " + "more " * 200).startswith("First words.")


def test_one_endless_word_is_cut() -> None:
    assert len(snippet("x" * 5000)) < 320


def test_highlight_keeps_lines() -> None:
    assert highlight(f"a\n{marked('b')} & c") == "a\n<mark>b</mark> &amp; c"


@given(st.text(alphabet=f"ab <>&\n{MARK_START}{MARK_END}", max_size=800))
def test_no_text_breaks_it_or_leaks_markup(text: str) -> None:
    html = snippet(text)
    assert MARK_START not in html
    assert MARK_END not in html
    assert set(re.findall(r"<[^>]*>", html)) <= {"<mark>", "</mark>"}
