"""Laws of both tokenizers: spans lie in the text, in order, one a token."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Encoder

from ingestion.embedding import Tokenizer, minilm
from ingestion.embedding.protocol import (
    QUERY_WINDOWS,
    EstimatedTokenizer,
    ModelTokenizer,
    query_windows,
    windows,
)

MODEL = ModelTokenizer(Encoder.from_file(str(minilm.tokenizer_file(Path("no-files")))))
ESTIMATE = EstimatedTokenizer()
TEXTS = st.text(st.characters(), max_size=200) | st.text("ab \n\t.,한국é́🙂\ud800[CLS]", max_size=80)

both = pytest.mark.parametrize("tokenizer", [MODEL, ESTIMATE], ids=["model", "estimate"])


@both
@given(text=TEXTS)
def test_spans_are_ordered_within_the_text_and_counted(tokenizer: Tokenizer, text: str) -> None:
    spans = tokenizer.spans(text)
    assert tokenizer.count(text) == len(spans)
    last = 0
    for start, end in spans:
        assert last <= start <= end <= len(text)
        last = end


@given(words=st.lists(st.text("abcdefgé한", min_size=1, max_size=12), max_size=60))
def test_windows_join_to_the_text_and_cut_no_word(words: list[str]) -> None:
    text = " ".join(words)
    pieces = list(windows(text, size=64))
    assert "".join(piece for _, piece in pieces) == text
    assert all(text[start : start + len(piece)] == piece for start, piece in pieces)
    assert all(piece.startswith(" ") for _, piece in pieces[1:])


class TestQueryWindows:
    @given(text=st.text(max_size=60), most=st.integers(1, 20))
    def test_query_windows_cover_the_text_in_order(self, text: str, most: int) -> None:
        pieces, rest = query_windows(text, ESTIMATE, most)
        assert 1 <= len(pieces) <= QUERY_WINDOWS
        joined = "".join("".join([*pieces, rest]).split())
        assert joined == "".join(text.split())

    @pytest.mark.parametrize(
        ("text", "most", "pieces", "rest"),
        [
            ("aa bb cc", 8, ["aa bb cc"], ""),
            ("aa bb cc dd ee ff", 4, ["aa bb cc", "dd ee ff"], ""),
            ("aaaaabbbbb ccccc dd", 3, ["aaaaabbbbb", "ccccc dd"], ""),
            ("a b c d e f g h i j", 2, ["a b", "c d", "e f", "g h"], "i j"),
        ],
        ids=["one", "even", "between words", "too long"],
    )
    def test_query_windows_are_these_pieces(
        self, text: str, most: int, pieces: list[str], rest: str
    ) -> None:
        assert query_windows(text, ESTIMATE, most) == (pieces, rest)


def test_character_of_several_tokens_has_one_span() -> None:
    assert MODEL.spans("각")[0] == (0, 1)
    assert MODEL.spans("각")[1:] == [(1, 1)] * 2


def test_a_megabyte_is_the_sum_of_its_parts() -> None:
    part = "The 42 pumps of line A-1312/B moved 3.5 l/s of Öl, unbelievably. " * 1000
    text = part * (1_000_000 // len(part))
    repeats = len(text) // len(part)
    began = time.process_time()
    spans = MODEL.spans(text)
    assert time.process_time() - began < 10  # about .6 s; quadratic work would take minutes
    assert len(spans) == repeats * MODEL.count(part)
    shift = len(text) - len(part)
    tail = [(start + shift, end + shift) for start, end in MODEL.spans(part)]
    assert spans[-len(tail) :] == tail


def test_endless_word_is_covered_by_tokens() -> None:
    text = "漢" * 100_000
    assert MODEL.spans(text) == [(i, i + 1) for i in range(100_000)]
    assert ESTIMATE.count(text) == 100_000


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0), ("  \t", 0), ("pump", 1), ("hydraulic", 2), ("2024-0042", 5), ("a\n\n\nb", 3),
        ("ABCD", 2), ("მე", 4), ("🙂", 2),
    ],
)  # fmt: skip
def test_estimates_worked_by_hand(text: str, tokens: int) -> None:
    assert ESTIMATE.count(text) == tokens
