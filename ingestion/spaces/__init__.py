"""Embedding spaces: which one answers, which are written to, and the embedder of each.

    models.EmbeddingSpace    the row: which model, in which state, how far it is filled
    configuring              what the row's `config` holds, and the embedder's configuration from it
    embedders                the embedder of a space, loaded once a process
    throttle                 what its provider allows, shared by all workers
    rows, writing            the active space, the lock on changing it, and those written to
    filling                  chunks -> vectors in a space; what lacks one
    index                    its HNSW index: built, seen and dropped without blocking a write

Every vector is asked of, stored in and compared within one space: two never meet.
"""

from __future__ import annotations

from ingestion.spaces.configuring import active_space, hold_switch
from ingestion.spaces.embedders import (
    embedder,
    forget_embedders,
    load_ahead,
    query_embedder,
    resolve,
    settings_embedder,
)
from ingestion.spaces.filling import (
    chunking_options,
    embed_chunks,
    lacking,
    settled,
    writing_space,
    writing_spaces,
)
from ingestion.spaces.index import create_index

__all__ = [
    "active_space",
    "chunking_options",
    "create_index",
    "embed_chunks",
    "embedder",
    "forget_embedders",
    "hold_switch",
    "lacking",
    "load_ahead",
    "query_embedder",
    "resolve",
    "settings_embedder",
    "settled",
    "writing_space",
    "writing_spaces",
]
