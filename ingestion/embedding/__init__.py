"""Embeddings: text -> unit vectors, by a local model or a server, behind one protocol."""

from __future__ import annotations

import os

from ingestion.embedding.config import EmbedderConfig, LocalModelConfig, OpenAIConfig
from ingestion.embedding.protocol import Embedder, ModelCard, Tokenizer, Vectors
from ingestion.embedding.query_cache import CachedQueryEmbedder

# Since 1.29 onnxruntime reports its use to its maker unless this is set before it is loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def build_embedder(config: EmbedderConfig) -> Embedder:
    """The embedder that `config` selects. Loads at most a tokenizer; models load on first use."""
    # Imports only the selected one: the openai package takes half a second to load.
    if config.kind == "openai" and config.openai is not None:
        from ingestion.embedding.openai import OpenAIEmbedder

        return OpenAIEmbedder(config.openai)
    if config.kind == "fastembed":
        from ingestion.embedding.fastembed import FastembedEmbedder

        return FastembedEmbedder(config.local)
    from ingestion.embedding.local import LocalEmbedder

    return LocalEmbedder(config.local)
