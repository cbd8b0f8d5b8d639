"""Laws of chunking: what holds for every document, every option and every tokenizer."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Encoder

from ingestion.chunking import ChunkingOptions, chunk_blocks, embedding_text
from ingestion.chunking.text_splitting import CHARS_PER_TOKEN
from ingestion.chunking.units import MAX_GAP_CHARS
from ingestion.domain import Block, BlockKind, ChunkDraft, extracted_text
from ingestion.embedding.minilm import tokenizer_file
from ingestion.embedding.protocol import EstimatedTokenizer, ModelTokenizer, Tokenizer
from tests.support.laws import examples


class WordTokenizer:
    """Runs of up to eight letters, and single marks."""

    _token = re.compile(r"\w{1,8}|[^\w\s]")

    def count(self, text: str) -> int:
        return len(self.spans(text))

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in self._token.finditer(text)]


class ByteTokenizer:
    """The worst case: every byte of UTF-8 is a token, white space too."""

    def count(self, text: str) -> int:
        return len(text.encode())

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(at, at + 1) for at, char in enumerate(text) for _ in char.encode()]


TOKENIZERS: dict[str, Tokenizer] = {
    "words": WordTokenizer(),
    "bytes": ByteTokenizer(),
    "estimate": EstimatedTokenizer(),
    "minilm": ModelTokenizer(Encoder.from_file(str(tokenizer_file(Path("no-files"))))),
}

VOCABULARY = (
    "the steelyard weighs a load. Heavy? Yes! (fig. 3) 75.1725 e.g. Dr. ... a::b get_q() | -- "
    "日本語の文。 文です！それは 한국어 ñandú Straße 😀👩‍🚀 ﷺ \u00ad " + "k" * 130
).split(" ")
GAPS = [" ", "\n", "  ", "\n\n", "\n    "]

phrases = st.builds(
    lambda words, gap: gap.join(words),
    st.lists(st.sampled_from(VOCABULARY), max_size=40),
    st.sampled_from(GAPS),
)
texts = (
    phrases | st.text(max_size=60) | st.sampled_from(["", "  ", "\n" * 300, "z" * 1000, "。" * 400])
)
cells = st.lists(st.sampled_from(VOCABULARY), max_size=6).map(" ".join) | st.just("y " * 150)
tables = st.builds(
    lambda rows, has_header, page: Block.table(rows, has_header=has_header, page=page),
    st.integers(1, 6).flatmap(
        lambda columns: st.lists(
            st.lists(cells, min_size=columns, max_size=columns), min_size=1, max_size=8
        )
    ),
    st.booleans(),
    st.none() | st.integers(1, 9),
)
plain_blocks = st.builds(
    Block,
    kind=st.sampled_from([kind for kind in BlockKind if kind is not BlockKind.HEADING]),
    text=texts,
    page=st.none() | st.integers(1, 9),
    has_header=st.booleans(),
)
headings = st.builds(
    Block,
    kind=st.just(BlockKind.HEADING),
    text=st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=5).map(" ".join) | texts,
    level=st.integers(0, 6),
)
documents = st.lists(plain_blocks | headings | tables, max_size=8)
options = st.integers(32, 220).flatmap(
    lambda target: st.builds(
        ChunkingOptions,
        target_tokens=st.just(target),
        overlap_tokens=st.integers(0, (target - 1) // 2),
        max_tokens=st.integers(target, 260),
    )
)
titles = st.sampled_from(["", "the steelyard", "A very long title " * 20, "日本" * 90])
tokenizers = st.sampled_from(sorted(TOKENIZERS))


def chunks_of(
    blocks: list[Block], chosen: ChunkingOptions, tokenizer: Tokenizer, title: str = ""
) -> list[ChunkDraft]:
    return list(chunk_blocks(iter(blocks), chosen, tokenizer, title=title))


def repeated_header(chunk: ChunkDraft, whole: str) -> str:
    """The header line that stands before the chunk's own text, with its line break."""
    own = whole[chunk.start : chunk.end]
    assert chunk.text.endswith(own)
    return chunk.text.removesuffix(own)


@settings(max_examples=examples(100))
@given(documents, options, tokenizers, titles)
def test_chunks_quote_the_document_and_lose_no_word(
    blocks: list[Block], chosen: ChunkingOptions, name: str, title: str
) -> None:
    chunks = chunks_of(blocks, chosen, TOKENIZERS[name], title)
    whole = extracted_text(blocks)

    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    covered = bytearray(len(whole))
    for chunk in chunks:
        assert 0 <= chunk.start < chunk.end <= len(whole)
        assert chunk.text.strip()
        if repeated_header(chunk, whole):
            assert chunk.kind is BlockKind.TABLE
        covered[chunk.start : chunk.end] = b"\x01" * (chunk.end - chunk.start)
    lost = [letter for letter, seen in zip(whole, covered, strict=True) if not seen]
    assert not any(map(str.isalnum, lost))


@settings(max_examples=examples(100))
@given(documents, options, tokenizers, titles)
def test_chunks_fit_the_window_with_their_prefix(
    blocks: list[Block], chosen: ChunkingOptions, name: str, title: str
) -> None:
    tokenizer = TOKENIZERS[name]
    for chunk in chunks_of(blocks, chosen, tokenizer, title):
        assert chunk.tokens == tokenizer.count(chunk.text)
        if len(chunk.text) == 1:  # cannot be cut further, whatever it counts
            continue
        embedded = embedding_text(title, chunk.heading_path, chunk.text, tokenizer, chosen)
        assert embedded.endswith(chunk.text)
        assert tokenizer.count(embedded) + 2 <= chosen.max_tokens
        assert len(chunk.text) <= chosen.max_tokens * (CHARS_PER_TOKEN + MAX_GAP_CHARS)


@settings(max_examples=examples(100))
@given(documents, options, tokenizers)
def test_chunks_ascend_and_overlap_only_in_prose(
    blocks: list[Block], chosen: ChunkingOptions, name: str
) -> None:
    tokenizer = TOKENIZERS[name]
    chunks = chunks_of(blocks, chosen, tokenizer)
    whole = extracted_text(blocks)
    for left, right in pairwise(chunks):
        assert left.start <= right.start  # equal where a chunk over the limit was halved
        assert left.end < right.end
        if right.start < left.end:
            shared = whole[right.start : left.end]
            assert tokenizer.count(shared) <= chosen.overlap_tokens * 2
            assert chosen.overlap_tokens
            assert right.heading_path[: len(left.heading_path)] == left.heading_path


@settings(max_examples=examples(25))
@given(documents, options, tokenizers)
def test_chunking_is_deterministic_and_lazy(
    blocks: list[Block], chosen: ChunkingOptions, name: str
) -> None:
    tokenizer = TOKENIZERS[name]
    assert chunks_of(blocks, chosen, tokenizer) == chunks_of(blocks, chosen, tokenizer)


@settings(max_examples=examples(100))
@given(titles, st.lists(texts, max_size=6), tokenizers, options)
def test_a_prefix_leaves_most_of_the_window_to_the_text(
    title: str, path: list[str], name: str, chosen: ChunkingOptions
) -> None:
    tokenizer = TOKENIZERS[name]
    prefix = embedding_text(title, path, "", tokenizer, chosen)
    assert tokenizer.count(prefix.removesuffix("\n")) <= 0.4 * chosen.max_tokens
