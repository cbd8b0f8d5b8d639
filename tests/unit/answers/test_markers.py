"""S5-16. Markers become citations, and an answer cannot make a reader's program ask a server."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from search.answers.domain import Cited, Token
from search.answers.generating.markers import MarkerParser

KNOWN = {1, 2, 3, 4, 5}
LIVE = re.compile(r"\]\(|^[\s>*+\-.)\d]*\[[^\]\n]*\]:", re.MULTILINE)


def read(pieces: Iterable[str]) -> tuple[str, list[int], int]:
    """The joined text, the citations in order, and how many were dropped."""
    parser = MarkerParser(KNOWN)
    events = [event for piece in pieces for event in parser.feed(piece)] + parser.close()
    text = "".join(event.text for event in events if isinstance(event, Token))
    cited = [event.citation.passage for event in events if isinstance(event, Cited)]
    return text, cited, parser.dropped


CASES: list[tuple[str, str, list[int]]] = [
    # markers in every form that models write
    ("Yes [1].", "Yes [1].", [1]),
    ("Yes [2][5].", "Yes [2][5].", [2, 5]),
    ("Yes [1, 2].", "Yes [1][2].", [1, 2]),
    ("Yes [1-3].", "Yes [1][2][3].", [1, 2, 3]),
    ("Yes [4–5, 1].", "Yes [4][5][1].", [4, 5, 1]),
    ("Yes [1, 1].", "Yes [1].", [1]),
    ("はい【1】。", "はい[1]。", [1]),
    ("Yes [^1].", "Yes [1].", [1]),
    ("Yes [Passage 2].", "Yes [2].", [2]),
    # text that is no marker
    ("- [x] done, [ ] open, [a], [] and [", "- [x] done, [ ] open, [a], [] and [", []),
    ("`a[1]` but [1]", "`a[1]` but [1]", [1]),
    ("``a[1] ` b`` [2]", "``a[1] ` b`` [2]", [2]),
    ("A:\n```py\na[1]\n```\nB [1]", "A:\n```py\na[1]\n```\nB [1]", [1]),
    ("~~~\n[1]\n~~~\n[2]", "~~~\n[1]\n~~~\n[2]", [2]),
    ("- a\n  ```\n  [1]\n  ```\n  [2]", "- a\n  ```\n  [1]\n  ```\n  [2]", [2]),
    ("```\n[1]", "```\n[1]", []),
    ("see [in [1]]", "see [in [1]]", [1]),
    (r"\[x] C:\dir [1]", r"\[x] C:\dir [1]", [1]),
    ("【注】", "【注】", []),
    ("<b>bold</b> 1 < 2", "< b>bold< /b> 1 < 2", []),
    # tags stay in a block of code that every program reads as one
    ("`<b>` <img>", "`< b>` < img>", []),
    ("```html\n<b>\n```\n<b>", "```html\n<b>\n```\n< b>", []),
    ("> ```\n<b>\n```", "> ```\n< b>\n```", []),
    ("```\n    ```\n```\n<b>", "```\n    ```\n```\n< b>", []),
    ("~~~\r~~~\r<b>", "~~~~~~< b>", []),
    # no program reads a link or an image
    ("the [manual](https://example.org) says", "the [manual] (https://example.org) says", []),
    ("[1](https://example.org)", "[1] (https://example.org)", [1]),
    ("a ![pixel](http://evil.example/p.png)", "a ![pixel] (http://evil.example/p.png)", []),
    ("[a][1]\n\n[1]: http://evil", "[a][1]\n\n[1] : http://evil", [1, 1]),
    ("> - [a]: http://evil", "> - [a] : http://evil", []),
    ("[1]: it says so", "[1] : it says so", [1]),
    ("```\nf[i](x)\n```", "```\nf[i] (x)\n```", []),
]


@pytest.mark.parametrize(("text", "wanted", "cited"), CASES, ids=[row[0] for row in CASES])
def test_text_is_parsed_the_same_in_any_pieces(text: str, wanted: str, cited: list[int]) -> None:
    """However it is cut into pieces."""
    assert read([text]) == (wanted, cited, 0)
    for size in (1, 2, 3):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert read(pieces) == (wanted, cited, 0)


@pytest.mark.parametrize(
    ("text", "wanted", "cited", "dropped"),
    [
        ("So it is [9].", "So it is.", [], 1),
        ("So it is [9][1].", "So it is[1].", [1], 1),
        ("So it is [1, 9].", "So it is [1].", [1], 1),
        ("So it is [0] [99999].", "So it is.", [], 2),
        ("So it is [4-6].", "So it is [4][5].", [4, 5], 1),
        ("Since [1990-2024] it is.", "Since it is.", [], 2),
        # what remains around a dropped marker must not become one
        ("[[9]7]", "[7)", [], 1),
    ],
)
def test_markers_of_passages_that_do_not_exist_are_dropped(
    text: str, wanted: str, cited: list[int], dropped: int
) -> None:
    """S5-25. They are counted, and nothing of them is shown."""
    assert read([text]) == (wanted, cited, dropped)


def test_text_is_sent_at_once_without_half_a_marker() -> None:
    parser = MarkerParser(KNOWN)
    sent = [
        "".join(event.text for event in parser.feed(piece) if isinstance(event, Token))
        for piece in ("It closes", " after", " 30 s", " [", "1", "]", ". Then", " ")
    ]
    # A space waits, since it would disappear with a marker that is dropped.
    assert sent == ["It closes", " after", " 30 s", "", "", " [1]", ". Then", ""]


def test_unfinished_markup_does_not_stop_the_stream() -> None:
    """A bracket, a code span or a link that never ends does not stop the stream."""
    for opening in ("[", "`", "【", "```"):
        parser = MarkerParser(KNOWN)
        events = parser.feed(opening + "word " * 1_000)
        text = "".join(event.text for event in events if isinstance(event, Token))
        assert len(text) > 2_500, opening


def test_thousands_of_brackets_are_text() -> None:
    assert read(["[" * 3_000 + "a [1]"]) == ("[" * 3_000 + "a [1]", [1], 0)


# Short texts of the characters that mean something, so that they meet.
MARKDOWN = st.lists(
    st.sampled_from(
        [*'[]()!197,- \n\\:^【】a.<>†"', "http://e", "[1]", "[9]", "](", "![", "\n\n", "]:"]
    ),
    max_size=25,
).map("".join)
WITH_CODE = st.lists(
    st.one_of(MARKDOWN, st.sampled_from(["`", "```", "~~~", "\n```\n", "``", "`a`"])), max_size=8
).map("".join)


@given(st.one_of(WITH_CODE, st.text(max_size=60)), st.lists(st.integers(0, 60), max_size=12))
def test_result_is_independent_of_the_pieces(text: str, cuts: list[int]) -> None:
    """Law: every split of a text gives the same text, citations and drops."""
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(places)]
    assert read(pieces) == read([text]) == read(list(text))


@given(MARKDOWN)
@example("[[9]7]")
def test_the_result_has_no_live_link_and_no_uncited_marker(text: str) -> None:
    """Law: no link, no image, no definition; each marker in the text is one of the citations."""
    result, cited, _ = read([text])
    assert not LIVE.search(result)
    assert sorted(map(int, re.findall(r"\[\s*\^?(\d+)\s*\]", result))) == sorted(cited)


def test_removed_markup_leaves_no_tag() -> None:
    assert read(["<[9]img src=x> < [9]img>"])[0] == "< img src=x> < img>"


TAGS = ["<img>", "`", "``", "```", "~~~", "    ", "\n", "\n\n", "> ", "- ", "1. ", "a", " ", "\r"]
ELSEWHERE = MarkdownIt("commonmark", {"html": True})


@given(st.lists(st.sampled_from(TAGS), max_size=16).map("".join))
@example("```\n    ```\n```\n<img>")
@example("> ```\n<img>")
@example("1. \n\n    ```a``\n```\n```\n\n<img>~~~")
@example("`a\n- ` b `<img>`")
@example("~~~ `\n<img>\n~~~\n<img>")
def test_result_has_no_tag_for_another_markdown_parser(text: str) -> None:
    """Law: CommonMark with raw HTML, which reads code by its own rules, finds none."""
    assert "<img" not in ELSEWHERE.render(read([text])[0])


@given(WITH_CODE)
def test_code_has_no_live_link(text: str) -> None:
    """Readers' programs may disagree with the parser on what is code."""
    assert "](" not in read([text])[0]


@given(st.text(alphabet=st.characters(exclude_characters="[]()!`~\\【<\r"), max_size=200))
def test_plain_text_passes_unchanged(text: str) -> None:
    assert read([text]) == (text, [], 0)
