"""What an embedder is: a model that maps text to unit vectors, with its own tokenizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ingestion.errors import EmbeddingRejected

Vectors = npt.NDArray[np.float32]


class Tokenizer(Protocol):
    """The embedding model's own view of text. Special tokens are never counted.

    Two are equal if they are one: what was counted by one is remembered for that one.
    """

    def __hash__(self) -> int: ...

    def count(self, text: str) -> int:
        """Number of tokens in `text`; 0 for an empty string."""
        ...

    def spans(self, text: str) -> list[tuple[int, int]]:
        """[start, end) character offsets of each token, in order and never overlapping.

        Where several tokens share one character, the first has it and the others are empty.
        """
        ...


@dataclass(frozen=True, slots=True)
class ModelCard:
    """Identity of a model. Two cards with different fingerprints never share a space."""

    name: str
    fingerprint: str
    dimensions: int
    max_tokens: int
    """Tokens of a text that the model reads, special tokens and prefix aside; more are cut off."""
    languages: tuple[str, ...] = ()
    """ISO 639-1 codes the model knows; empty means many."""


class Embedder(Protocol):
    """Maps text to L2-normalised float32 vectors.

    Errors: EmbeddingUnavailable (try later), EmbeddingRejected (will not help).
    """

    @property
    def card(self) -> ModelCard:
        """Identity of the model. May ask a server once, where only the server knows."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, or for a remote model an estimate of it."""
        ...

    def embed_batches(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[int], Vectors]]:
        """Finished batches, as (indices into `texts`, their vectors); each index comes once.

        Store each batch as it comes: when a later one fails, only the indices not yet seen
        are left to do.
        """
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions), row i for texts[i]; (0, dimensions) for none."""
        ...

    def embed_query(self, text: str, *, timeout: float | None = None) -> Vectors:
        """Shape (dimensions,). `timeout` in seconds bounds the call where a network is involved."""
        ...


class Throttle(Protocol):
    """What a provider allows to all processes together. Errors: EmbeddingUnavailable."""

    @property
    def patience(self) -> float:
        """Seconds that who sends now would wait at once for anything; may be infinite."""
        ...

    def take(self, tokens: int, *, longest: float) -> None:
        """Returns once a request of so many tokens may be sent.

        Raises EmbeddingUnavailable at once where that takes over `longest` seconds.
        """
        ...

    def hold(self, seconds: float) -> None:
        """Lets nobody send for so long: the provider asked for it."""
        ...


def unit_vectors(matrix: npt.NDArray[np.floating], source: str) -> Vectors:
    """`matrix` with rows scaled to length 1, as float32.

    Raises EmbeddingRejected for a number that is not finite and for a row of zeros: such a
    vector would have no cosine to anything. `source` names the model in the message.
    """
    if not np.isfinite(matrix).all():
        raise EmbeddingRejected(
            f"{source} answered with a number that is not finite. The model is broken or "
            "overflows on this text: try another model, or report it to whoever runs it."
        )
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not (lengths > 0).all():
        raise EmbeddingRejected(
            f"{source} answered with a vector of zeros, which has no direction to compare. "
            "Check that the model is an embedding model."
        )
    return np.asarray(matrix / lengths, dtype=np.float32)
