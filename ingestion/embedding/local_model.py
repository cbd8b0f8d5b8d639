"""A model that runs in this process, from wherever its files come."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """A model as LocalEmbedder uses it: an ONNX file or bytes of one, and its parameters.

    `window` includes special tokens. `dense` is the safetensors file of a linear layer after the
    pooling, if the model has one. Without an `identity` it is that of the files.
    """

    name: str
    weights: Path | Callable[[], bytes]
    tokenizer: Path
    dimensions: int
    window: int
    languages: tuple[str, ...]
    pooling: str = "mean"
    query_prefix: str = ""
    document_prefix: str = ""
    dense: Path | None = None
    identity: str = ""

    def fingerprint(self) -> str:
        """`identity`, or a digest of all that affects the vectors: files and parameters."""
        if self.identity or not isinstance(self.weights, Path):
            return self.identity
        parameters = (self.window, self.pooling, self.query_prefix, self.document_prefix)
        digest = hashlib.sha256(repr(parameters).encode())
        # Large models store their weights beside the graph, in files whose names begin with its.
        weights = sorted(self.weights.parent.glob(f"{self.weights.name}*"))
        for path in (*weights, self.tokenizer, *([self.dense] if self.dense else [])):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return f"{self.name[:150]}-{digest.hexdigest()[:16]}"
