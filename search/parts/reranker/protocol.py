"""The protocol of rerankers, and their settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol
from urllib.parse import urlsplit

from search.ranking.rerank import RerankerInput


class Kind(StrEnum):
    """The protocol of a reranker's server, or a kind without a server.

    FASTEMBED is a cross-encoder in this process; SENTENCES compares by the local embedding model.
    """

    COHERE = "cohere"
    TEI = "tei"
    SENTENCES = "sentences"
    FASTEMBED = "fastembed"


@dataclass(frozen=True, slots=True)
class RerankerConfig:
    """The settings of a reranker. Raises ValueError, with a sentence on what to change."""

    kind: Kind
    url: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        if self.kind in (Kind.COHERE, Kind.TEI) and not is_address:
            raise ValueError(
                f"RERANKER_URL is “{self.url}”: give the address of a reranker, such as "
                "http://127.0.0.1:8080/rerank."
            )
        if self.kind is Kind.FASTEMBED and not self.model:
            raise ValueError("RERANKER names no model: RERANKER=fastembed:BAAI/bge-reranker-base")

    @property
    def place(self) -> str:
        """The server's host, port and path: the address without a name, a password or a query."""
        parts = urlsplit(self.url)
        return f"{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def fingerprint(self) -> str:
        """A value that differs between rerankers whose strengths may differ."""
        return f"{self.kind}:{self.model}@{self.place}"


class Reranker(Protocol):
    """Reads a question with passages. Implementations are thread-safe and hold no database.

    A passage's strength does not depend on the others that are sent with it.
    """

    def strengths(
        self, query: str, passages: Sequence[RerankerInput], *, seconds: float
    ) -> Sequence[float]:
        """A strength in [0, 1] for each passage, in their order, within about `seconds`.

        Raises RerankerUnavailable.
        """
        ...
