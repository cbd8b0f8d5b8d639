"""The embedder protocol: a model that maps text to unit vectors, with its own tokenizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

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

        Store each batch when it is yielded: if a later one fails, only the remaining indices
        need a retry.
        """
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions), row i for texts[i]; (0, dimensions) for none."""
        ...

    def embed_query(self, text: str, *, timeout: float | None = None) -> Vectors:
        """Shape (dimensions,). `timeout` in seconds bounds calls over the network."""
        ...


class Throttle(Protocol):
    """A provider's rate limit, shared by all processes. Raises EmbeddingUnavailable."""

    @property
    def patience(self) -> float:
        """Longest wait in seconds that a sender should accept; may be infinite."""
        ...

    def take(self, tokens: int, *, longest: float) -> None:
        """Block until a request of `tokens` may be sent.

        Raises EmbeddingUnavailable immediately if that takes longer than `longest` seconds.
        """
        ...

    def hold(self, seconds: float) -> None:
        """Block all requests for `seconds`, as the provider demands (Retry-After)."""
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
