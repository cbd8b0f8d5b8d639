"""The embedder protocol: a model that maps text to unit vectors, with its own tokenizer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer as Encoder

from ingestion.errors import EmbeddingRejected

Vectors = npt.NDArray[np.float32]


class Tokenizer(Protocol):
    """The embedding model's tokenizer. Special tokens are never counted.

    Compared by identity, because token counts are cached per tokenizer.
    """

    def __hash__(self) -> int: ...

    def count(self, text: str) -> int:
        """Number of tokens in `text`; 0 for an empty string."""
        ...

    def spans(self, text: str) -> list[tuple[int, int]]:
        """[start, end) character offsets of each token, in order and never overlapping.

        If several tokens share a character, the first has it and the others are empty.
        """
        ...


@dataclass(frozen=True, slots=True)
class ModelCard:
    """Identity of a model. Two cards with different fingerprints never share a space."""

    name: str
    fingerprint: str
    dimensions: int
    max_tokens: int
    """Longest text in tokens, without special tokens and prefix; the rest is truncated."""
    languages: tuple[str, ...] = ()
    """ISO 639-1 codes of the model's languages; empty means multilingual."""


class Embedder(Protocol):
    """Maps text to L2-normalised float32 vectors.

    Raises EmbeddingUnavailable (retry later) or EmbeddingRejected (retrying is useless).
    """

    @property
    def card(self) -> ModelCard:
        """Identity of the model. May send one request to a server for its dimensions."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer; for a remote model, an estimate."""
        ...

    def embed_batches(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[int], Vectors]]:
        """Yield finished batches as (indices into `texts`, their vectors), each index once.

        A model in this process begins when called, so that the caller can do other work before it
        asks for the first batch; a remote one when that is asked for.

        Store each batch when it is yielded: if a later one fails, only the remaining indices
        need a retry.
        """
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions), row i for texts[i]; (0, dimensions) for none."""
        vectors = np.empty((len(texts), self.card.dimensions), dtype=np.float32)
        for indices, batch in self.embed_batches(texts):
            vectors[list(indices)] = batch
        return vectors

    def embed_query(self, text: str, *, timeout: float | None = None) -> Vectors:
        """Shape (dimensions,). `timeout` in seconds bounds calls over the network.

        A text beyond `card.max_tokens` has the mean of its windows: see `query_windows`.
        """
        ...


def unit_vectors(matrix: npt.NDArray[np.floating], source: str) -> Vectors:
    """`matrix` with rows scaled to length 1, as float32.

    Raises EmbeddingRejected for a number that is not finite and for a row of zeros, which has
    no cosine with any vector. `source` names the model in the message.
    """
    if not np.isfinite(matrix).all():
        raise EmbeddingRejected(
            f"{source} returned a number that is not finite. The model is broken or overflows on "
            "this text: try another model, or report it to the server's operator."
        )
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not (lengths > 0).all():
        raise EmbeddingRejected(
            f"{source} returned a vector of zeros, which has no direction to compare. "
            "Check that the model is an embedding model."
        )
    return np.asarray(matrix / lengths, dtype=np.float32)


# The library's memory grows with the string: 5 MB at once took 5.7 s and 730 MB; in windows of
# 16,384 characters it took 2.2 s and negligible memory.
WINDOW = 16_384
# The number and length of texts whose tokens a process caches: some 2 MB of chunks.
CACHED_TEXTS, CACHED_CHARS = 512, 4_000

_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"\s")


def encodable(text: str) -> str:
    """`text` with lone surrogates, which UTF-8 cannot encode, replaced by U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def windows(text: str, size: int = WINDOW) -> Iterator[tuple[int, str]]:
    """Yield (offset, piece) of `text` in order, cut before whitespace so that no word is split.

    A long run of characters without whitespace is cut after `size` characters.
    """
    start = 0
    while len(text) - start > size:
        end = start + size
        spaces = [match.start() for match in _SPACE.finditer(text, end - size // 4, end)]
        # Before the space, not after it: byte-level models join a space to the next word.
        end = spaces[-1] if spaces else end
        yield start, text[start:end]
        start = end
    if start < len(text):
        yield start, text[start:]


class ModelTokenizer:
    """A model's own tokenizer, without special tokens and without truncation.

    Thread-safe; never starts the library's thread pool, which does not survive a fork.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._encoder.no_padding()
        self._encoder.no_truncation()
        # A chunk is counted when it is cut, and embedded a moment later.
        self.ids = lru_cache(maxsize=CACHED_TEXTS)(self._read)

    def _read(self, text: str) -> npt.NDArray[np.int32]:
        """The tokens of a text of at most CACHED_CHARS; those of the last texts are cached."""
        encoding = self._encoder.encode(encodable(text), add_special_tokens=False)
        return np.array(encoding.ids, dtype=np.int32)

    def count(self, text: str) -> int:
        """Number of tokens in `text`; 0 for an empty string."""
        if len(text) <= CACHED_CHARS:
            return len(self.ids(text))
        return sum(
            len(self._encoder.encode(piece, add_special_tokens=False).ids)
            for _, piece in windows(encodable(text))
        )

    def spans(self, text: str) -> list[tuple[int, int]]:
        """[start, end) character offsets of each token; see the protocol."""
        spans: list[tuple[int, int]] = []
        last = 0
        for offset, piece in windows(encodable(text)):
            for start, end in self._encoder.encode(piece, add_special_tokens=False).offsets:
                # One character may become several tokens with the same offsets (a Hangul
                # syllable, a byte of an emoji): the first one gets it.
                start = max(start + offset, last)
                last = max(end + offset, start)
                spans.append((start, last))
        return spans


# Four windows of 256 tokens hold the 4,000 characters of the longest question in English, and take
# a quarter of a second on one core.
QUERY_WINDOWS = 4


def query_windows(text: str, tokenizer: Tokenizer, max_tokens: int) -> tuple[list[str], str]:
    """`text` in at most QUERY_WINDOWS even pieces of at most `max_tokens`, and the rest.

    Cut between words where there are spaces. A text within the limit is one piece, unchanged.
    """
    if len(text.encode("utf-8", "replace")) <= max_tokens:  # a token is at least one byte
        return [text], ""
    spans = tokenizer.spans(text)
    if len(spans) <= max_tokens:
        return [text], ""
    pieces: list[str] = []
    first = 0
    for left in range(min(QUERY_WINDOWS, -(-len(spans) // max_tokens)), 0, -1):
        last = first + min(max_tokens, -(-(len(spans) - first) // left))
        cut = _between_words(text, spans, first, last)
        pieces.append(text[spans[first][0] : spans[cut - 1][1]])
        first = cut
        if first == len(spans):
            return pieces, ""
    return pieces, text[spans[first][0] :]


def _between_words(text: str, spans: Sequence[tuple[int, int]], first: int, last: int) -> int:
    """The last token at or before `last` that begins a word; `last` inside a very long word."""
    for cut in range(last, first + (last - first) // 2, -1):
        if cut == len(spans) or text[spans[cut - 1][1] : spans[cut][0]].isspace():
            return cut
    return last


def mean_vector(vectors: Vectors, source: str) -> Vectors:
    """The unit vector of the rows' mean, shape (dimensions,); a single row unchanged.

    The subject of a long question may be in any of its windows, so all have the same weight, like
    the token states of one window. Raises EmbeddingRejected if the mean has length 0.
    """
    if len(vectors) > 1:
        vectors = unit_vectors(vectors.mean(axis=0, keepdims=True), source)
    return vectors.reshape(-1)


# Short pieces, so that the estimate is seldom too low. Ratio to cl100k_base: English 1.3, source
# code 1.4, German .93, French 1.1, Polish .96, Russian 1.9, Chinese and Japanese 1.05, Arabic 1.2,
# Hindi .85, Korean .98, base64 .62.
_PIECE = re.compile(r"\d{1,2}|[A-Z]?[a-z]{1,5}|[A-Z]{1,2}|\n+|\S")
# Scripts whose characters are mostly two or three tokens in OpenAI's vocabularies: Bengali to
# Tibetan, Georgian to Mongolian, and all outside the Basic Multilingual Plane. Counted as two.
_DOUBLE = re.compile("[\u0530-\u058f\u0980-\u0dff\u0e80-\u18af\U00010000-\U0010ffff]")


class EstimatedTokenizer:
    """An estimate of a remote model's tokens, without its vocabulary or the network.

    OpenAI's own tokenizer downloads its vocabulary, and compatible servers run models with other
    vocabularies. In English the estimate averages 1.3 times OpenAI's count; limits checked with
    it must allow for twice the estimate.
    """

    def count(self, text: str) -> int:
        """Estimated tokens in `text`; 0 for an empty string."""
        doubles = 0 if text.isascii() else len(_DOUBLE.findall(text))
        return len(_PIECE.findall(text)) + doubles

    def spans(self, text: str) -> list[tuple[int, int]]:
        """[start, end) character offsets of each estimated token; see the protocol."""
        spans: list[tuple[int, int]] = []
        for piece in _PIECE.finditer(text):
            spans.append(piece.span())
            if _DOUBLE.match(piece.group()):
                spans.append((piece.end(), piece.end()))
        return spans
