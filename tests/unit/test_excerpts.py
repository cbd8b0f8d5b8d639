"""The excerpt of a result, the marks on names of code, and the sentence on why it is there."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.domain import BlockKind
from search.domain import Candidate, Candidates, Group, Hit, Query, Signal
from search.domain.candidates import SIGNALS, row_type
from search.presentation.excerpts import CODE_LINES, excerpt
from search.presentation.passage_blocks import parts_of
from search.presentation.results import Result
from search.presentation.snippets import MARK_END, MARK_START, mark_names, snippet
from search.presentation.why_here import reason


def marked(text: str) -> str:
    """`[word]` stands for a marked word."""
    return text.replace("[", MARK_START).replace("]", MARK_END)


def shown(text: str, *, path: tuple[str, ...] = (), kind: str = "text") -> list[tuple[str, Any]]:
    """The excerpt as (kind, text or rows), `[word]` for a mark."""

    def plain(html: str) -> str:
        return html.replace("<mark>", "[").replace("</mark>", "]")

    return [
        (part.kind, [tuple(map(plain, row)) for row in part.rows] or plain(part.html))
        for part in excerpt(marked(text), path, kind)
    ]


CODE = """Queries are lazy.

books = Book.objects.all()
for book in books:
    print(book.author.[name])

first = books.[select]_[related]("author")
last = 1
more = 2
rest = 3"""


def test_code_that_holds_words_of_the_question_keeps_its_lines() -> None:
    layout = [(0, BlockKind.PARAGRAPH, 0), (CODE.index("books"), BlockKind.CODE, 0)]
    prose, code = excerpt(mark_names(marked(CODE)), (), "code", layout)
    assert (prose.kind, prose.html, code.kind) == ("text", "Queries are lazy.", "code")
    assert 1 < len(code.html.split("\n")) <= CODE_LINES
    assert "first = books.<mark>select_related</mark>(&quot;author&quot;)" in code.html


def test_code_is_left_out_where_the_prose_says_the_same() -> None:
    [(kind, text)] = shown("The [pool] is small.\n\n[pool] = 1\nsize = 2", kind="text")
    assert kind == "text"
    assert "[pool]" in text


def test_code_among_prose_is_code_where_the_blocks_are_known() -> None:
    """Guessed, two lines without an indent are prose, and stood in one line with it."""
    text = "Run it:\n\n$ tool <[option]>\n$ tool --all\n\n- The [tool] stops.\n\nThat is all."
    blocks = ["Run it:", "$ tool", "- The", "That"]
    kinds = (BlockKind.PARAGRAPH, BlockKind.CODE, BlockKind.LIST_ITEM, BlockKind.PARAGRAPH)
    plain = text.replace("[", "").replace("]", "")
    layout = [(plain.index(begin), kind, 0) for begin, kind in zip(blocks, kinds, strict=True)]

    parts = excerpt(marked(text), (), "text", layout)
    assert [(part.kind, part.html) for part in parts] == [
        ("text", "Run it: - The <mark>tool</mark> stops. That is all."),
        ("code", "$ tool &lt;<mark>option</mark>&gt;\n$ tool --all"),
    ]


@given(st.lists(st.text(alphabet="ab", min_size=1, max_size=3), min_size=1, max_size=6), st.data())
def test_a_passage_is_cut_at_its_blocks_whatever_is_marked(
    blocks: list[str], data: st.DataObject
) -> None:
    starts = [sum(map(len, blocks[:place])) for place in range(len(blocks))]
    is_marked = data.draw(st.lists(st.booleans(), min_size=len(blocks), max_size=len(blocks)))
    pieces = [
        MARK_START + block + MARK_END if marks else block
        for block, marks in zip(blocks, is_marked, strict=True)
    ]
    layout = [(start, BlockKind.PARAGRAPH, 0) for start in starts]
    expected = [re.sub(MARK_END, "</mark>", re.sub(MARK_START, "<mark>", one)) for one in pieces]
    assert [part.html for part in parts_of("".join(pieces), (), "text", layout)] == expected


def test_a_table_shows_its_header_and_the_rows_that_matched() -> None:
    rows = "\n".join(f"row {n} | {n}" for n in range(8))
    [(kind, table)] = shown(f"Setting | Seconds\n{rows}\n[timeout] | 5\nlast | 9", kind="table")
    assert kind == "table"
    assert table[0] == ("Setting", "Seconds")
    assert ("[timeout]", "5") in table
    assert len(table) == 3


def test_the_headings_are_not_repeated_below_the_title() -> None:
    assert shown("Pools\n\nThe [pool] is small.", path=("Guide", "Pools")) == [
        ("text", "The [pool] is small.")
    ]


@given(
    st.text(alphabet=f"ab |<>&\n{MARK_START}{MARK_END}", max_size=400),
    st.sampled_from(["text", "code", "table"]),
)
def test_excerpts_of_any_text_are_safe_html(text: str, kind: str) -> None:
    for part in excerpt(text, (), kind):
        for html in (part.html, *(cell for row in part.rows for cell in row)):
            assert set(re.findall(r"<[^>]*>", html)) <= {"<mark>", "</mark>"}
            assert MARK_START not in html


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("use [select]_[related]() here", "use [select_related]() here"),
        ("[rclcpp]::[Node]", "[rclcpp::Node]"),
        ("Entry.[objects].select_[related]", "Entry.[objects.select_related]"),
        # One part of three says nothing of the name, unless nothing else matched.
        ("[CSRF]_COOKIE_AGE, [CSRF]_[TRUSTED]_ORIGINS", "CSRF_COOKIE_AGE, [CSRF_TRUSTED_ORIGINS]"),
        ("only connect_[timeout]_seconds", "only [connect_timeout_seconds]"),
        ("[a sentence about foo_bar in code]", "[a sentence about foo_bar in code]"),
        ("_ [word] __ ___", "_ [word] __ ___"),
    ],
)
def test_names_of_code_are_marked_as_wholes(before: str, after: str) -> None:
    assert mark_names(marked(before)) == marked(after)


def test_a_snippet_is_cut_where_the_whole_name_is() -> None:
    text = marked("[csrf] first " + "filler " * 90 + "then [csrf_trusted_origins] at last")
    assert "csrf_trusted_origins" in snippet(text)


# --- why here ----------------------------------------------------------------------------------


def hit(column: int, raw: dict[Signal, float]) -> Hit:
    made = SimpleNamespace(
        candidate=lambda _: Candidate(column, column, raw), explanation=lambda _: None
    )
    return Hit(column, column, column + 1, made, column)


def result(of: Hit, **fields: Any) -> Result:
    given = {"heading_path": (), "marked": "", "matched_words": 0, "query_words": 0} | fields
    return Result(
        group=Group(of), document_id="", chunk=0, title="Guide", page=None, collection_id=1,
        collection="", collection_slug="", media_type="", file_name="", language="",
        created=datetime(2026, 1, 1, tzinfo=UTC), text="", **given,
    )  # fmt: skip


FOUND = Candidates(Query("q"), np.zeros(30, row_type(0)))
FOUND.rows["raw"][:, SIGNALS.index(Signal.VECTOR)] = 1 - np.arange(30) / 100
HITS = [hit(n, {Signal.VECTOR: 1 - n / 100, Signal.KEYWORD: 1.0}) for n in range(30)]


@pytest.mark.parametrize(
    ("place", "fields", "sentence"),
    [
        (0, {}, "Closest in meaning."),
        (
            3,
            {"matched_words": 5, "query_words": 6},
            "Close in meaning; contains 5 of your 6 words.",
        ),
        (20, {"matched_words": 2, "query_words": 2}, "Contains all 2 of your words."),
        (20, {"matched_words": 1, "query_words": 1}, "Contains your word."),
        (
            4,
            {"marked": marked("[Commits] and [hooks]"), "heading_path": ("Guide", "After commits")},
            "Close in meaning; its heading names commits.",
        ),
        (
            20,
            {"marked": marked("[CSRF_TRUSTED]"), "heading_path": ("CSRF_TRUSTED_ORIGINS",)},
            "The closest passage.",
        ),
    ],
)
def test_result_has_a_sentence_with_its_reason(place: int, fields: Any, sentence: str) -> None:
    assert reason(result(HITS[place], **fields), FOUND) == sentence


def test_reason_without_matching_words_is_the_meaning() -> None:
    far = hit(40, {Signal.VECTOR: 0.1})
    assert reason(result(far), FOUND) == "Related in meaning."


def test_generic_heading_is_shown_with_its_parent() -> None:
    examples = result(HITS[0], heading_path=("Guide", "Pools", "2. Examples"))
    assert examples.heading == "Pools › 2. Examples"
    assert result(HITS[0], heading_path=("Methods",)).heading.endswith(" › Methods")


def test_a_heading_is_the_title_and_the_document_its_path() -> None:
    deep = result(HITS[0], heading_path=("Guide", "Pools", "Size"))
    assert (deep.heading, deep.path) == ("Size", ("Guide", "Pools"))
    plain = result(HITS[0], heading_path=("guide",))
    assert (plain.heading, plain.path) == ("Guide", ())
