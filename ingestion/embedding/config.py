"""Configuration of embedders, as plain values independent of Django's settings."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from ingestion.errors import EmbeddingRejected

Kind = Literal["local", "fastembed", "openai"]
IN_PROCESS = ("local", "fastembed")  # the kinds that send no text to a server
Pooling = Literal["mean", "cls"]

OPENAI_BASE_URL = "https://api.openai.com/v1"


def usable_cores() -> int:
    """Cores that this process may use, at least 1; fewer than the machine has if pinned."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _at_least(name: str, value: int, lowest: int) -> None:
    if value < lowest:
        raise EmbeddingRejected(f"The embedder's {name} is {value}: set it to {lowest} or more.")


@dataclass(frozen=True, slots=True)
class LocalModelConfig:
    """A model run in this process: MiniLM, a sentence-transformers ONNX folder, or fastembed's.

    `model` is a name of fastembed's; without it the model is MiniLM, unless `folder` is set.
    `query_folder` is a second one, whose model embeds the questions.
    Otherwise None means the value from the model's own files. `threads` is the number of texts
    embedded in parallel, 0 for one per usable core.
    """

    models_dir: Path | str = Path("var/models")
    model: str | None = None
    folder: Path | str | None = None
    query_folder: Path | str | None = None
    pooling: Pooling | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    max_tokens: int | None = None
    threads: int = 0
    languages: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.pooling not in (None, "mean", "cls"):
            raise EmbeddingRejected(
                f'Unknown pooling "{self.pooling}": use "mean" or "cls", or leave it unset.'
            )
        _at_least("threads", self.threads, 0)
        if self.max_tokens is not None:
            _at_least("max_tokens", self.max_tokens, 8)


@dataclass(frozen=True, slots=True)
class OpenAIConfig:
    """OpenAI, or any server with a compatible embeddings API.

    `dimensions` is sent to the server; None means the model's default. `known_dimensions` is that
    default if it is known, which saves a request. `key_name` is the environment variable of the
    key, for messages. `timeout` is seconds per request. `attempts` are those of one batch of a
    document: with 4, the pauses between them take 4 seconds at most, unless the server wishes for
    longer ones; then the document says what it waits for, and is tried again later.
    `max_request_tokens` is a third of OpenAI's limit of 300,000, because tokens are estimated.
    `max_tokens` is the longest input of OpenAI's embedding models; set the model's own limit for
    other servers.
    """

    model: str = "text-embedding-3-small"
    api_key: str = ""
    base_url: str | None = None
    dimensions: int | None = None
    known_dimensions: int | None = None
    key_name: str = "OPENAI_API_KEY"
    timeout: float = 30.0
    batch_size: int = 128
    max_request_tokens: int = 100_000
    max_tokens: int = 8191
    attempts: int = 4
    query_prefix: str = ""
    document_prefix: str = ""
    languages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("batch_size", "max_request_tokens", "max_tokens", "attempts"):
            _at_least(name, getattr(self, name), 1)
        if self.dimensions is not None:
            _at_least("dimensions", self.dimensions, 1)
        if self.timeout <= 0:
            raise EmbeddingRejected("The embedding time limit must be greater than 0 seconds.")
        if not self.base_url and not self.api_key:
            raise EmbeddingRejected(
                f"No API key is set for OpenAI: set {self.key_name or 'OPENAI_API_KEY'}, or set "
                "OPENAI_BASE_URL to a server that needs no key."
            )


@dataclass(frozen=True, slots=True)
class EmbedderConfig:
    """The kind of embedder to build, with the options of that kind."""

    kind: Kind = "local"
    local: LocalModelConfig = LocalModelConfig()
    openai: OpenAIConfig | None = None

    @classmethod
    def of(cls, kind: str, **options: Any) -> EmbedderConfig:
        """The configuration of one kind, from flat options as in the settings."""
        if kind == "local" and (model := options.pop("model", None)) not in (None, "minilm"):
            raise EmbeddingRejected(
                f'There is no packaged model "{model}". Leave the name out for MiniLM, or choose '
                "a model that fastembed runs (docs/operations.md, “Other models”)."
            )
        if kind == "fastembed" and not options.get("model"):
            raise EmbeddingRejected(
                "EMBEDDER names no model of fastembed's, as in fastembed:BAAI/bge-small-en-v1.5."
            )
        if kind in IN_PROCESS:
            return cls(kind=cast(Kind, kind), local=LocalModelConfig(**options))
        if kind == "openai":
            return cls(kind=cast(Kind, kind), openai=OpenAIConfig(**options))
        raise EmbeddingRejected(
            f'EMBEDDER is "{kind}": set it to "local", "openai" or "fastembed:" and a model.'
        )
