"""The sentences of a passage: prose by language, items, rows and lines of code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.lexical.sentences import LONGEST, Kind, sentences


def split(text: str, language: str = "") -> list[str]:
    return [text[span.start : span.end] for span in sentences(text, language=language)]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Dr. Lee paid 3.5 euros. He left.", ["Dr. Lee paid 3.5 euros.", "He left."]),
        ("en", "J. R. R. Tolkien wrote it. See Fig. 3. Ok?",
         ["J. R. R. Tolkien wrote it.", "See Fig. 3.", "Ok?"]),
        ("en", "Gov. Brown signed. Sen. Hill did not.",
         ["Gov. Brown signed.", "Sen. Hill did not."]),
        ("de", "Am 3. Oktober kam z. B. Hr. Müller. Er blieb bis Jh. 20 Ende.",
         ["Am 3. Oktober kam z. B. Hr. Müller.", "Er blieb bis Jh. 20 Ende."]),
        ("en", "He was born on May 3. October came.",
         ["He was born on May 3.", "October came."]),
        ("es", "La Sra. López vive en la Av. Colón. Trabaja mucho.",
         ["La Sra. López vive en la Av. Colón.", "Trabaja mucho."]),
        ("fr", "Né en 52 av. J.-C. à Rome. M. Dupont arrive.",
         ["Né en 52 av. J.-C. à Rome.", "M. Dupont arrive."]),
        ("zh", "今天天气好。我们走吧！好吗？", ["今天天气好。", "我们走吧！", "好吗？"]),
        ("ja", "雨だ。「行く」と言った。", ["雨だ。", "「行く」と言った。"]),
    ],
)  # fmt: skip
def test_abbreviations_initials_and_ordinals_end_no_sentence(
    language: str, text: str, expected: list[str]
) -> None:
    assert split(text, language) == expected


def test_a_list_is_split_into_its_items_with_their_markers() -> None:
    text = "You need:\n- a beam. Long.\n- a weight\n  of iron\n2) a hook"
    assert split(text) == ["You need:", "- a beam.", "Long.", "- a weight\n  of iron", "2) a hook"]


def test_rows_lines_of_code_and_headings_stand_alone() -> None:
    text = (
        "Timeouts\n\nEach has one.\n\nName | Seconds\nconnect | 30\n\n"
        "pool = connect(30)\nreturn pool\n\nThe end."
    )
    found = [(text[each.start : each.end], each.kind) for each in sentences(text)]
    assert found == [
        ("Timeouts", Kind.HEADING),
        ("Each has one.", Kind.PROSE),
        ("Name | Seconds", Kind.ROW),
        ("connect | 30", Kind.ROW),
        ("pool = connect(30)", Kind.CODE),
        ("return pool", Kind.CODE),
        ("The end.", Kind.PROSE),
    ]


def test_lines_of_wrapped_prose_are_one_sentence() -> None:
    assert split("A beam that is\nlong and thin. It\nswings.") == [
        "A beam that is\nlong and thin.",
        "It\nswings.",
    ]


def test_indented_prose_of_a_manual_is_no_code() -> None:
    text = "--rate=N\n     Limit the speed to\n     N a second. It\n     is not exact at all."
    code = "     start --rate=20k\n     stop"
    kinds = [(text[each.start : each.end], each.kind) for each in sentences(text)]
    assert kinds == [
        ("--rate=N\n     Limit the speed to\n     N a second.", Kind.PROSE),
        ("It\n     is not exact at all.", Kind.PROSE),
    ]
    assert [each.kind for each in sentences(code)] == [Kind.CODE, Kind.CODE]


def test_endless_words_are_cut_between_words() -> None:
    text = "word " * 1000
    pieces = split(text)
    assert max(map(len, pieces)) <= LONGEST
    assert " ".join(pieces) == text.strip()
    assert max(map(len, split("x" * 5000))) == LONGEST


PIECES = st.sampled_from(
    ["Dr. ", "A b. ", "z. B. ", "3. ", "- ", "* x", "a | b\n", "\n", "\n\n", "  ", "é。", "？",
     "...", "x = 1\n", "Word ", "U.S. ", "\t", "\r\n", "\u2028", "1) ", "!", "\x0b"]
)  # fmt: skip


@given(
    st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=400).map("".join)),
    st.sampled_from(["", "en", "de", "fr", "zh"]),
)
def test_sentences_are_trimmed_in_order_apart_and_leave_nothing_out(
    text: str, language: str
) -> None:
    place = 0
    for span in sentences(text, language=language):
        sentence = text[span.start : span.end]
        assert sentence
        assert sentence == sentence.strip()
        assert place <= span.start < span.end <= len(text)
        assert not text[place : span.start].strip()
        place = span.end
    assert not text[place:].strip()
