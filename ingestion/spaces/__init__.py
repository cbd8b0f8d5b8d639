"""Embedding spaces: the active one, the written ones, and the embedder of each.

    models.EmbeddingSpace    the row: model, state, and progress of the backfill
    configuring              the row's `config`, the embedder's configuration from it, the active
                             space, the lock on changing it, and the embedder of a space, loaded
                             once per process
    vectors                  chunks -> vectors in the written spaces; chunks without a vector
    index                    its HNSW index: built, inspected and dropped without blocking writes

Vectors are computed, stored and compared within one space only.
"""

from __future__ import annotations

from ingestion.spaces.configuring import (
    active_space,
    embedder,
    forget_embedders,
    hold_switch,
    load_ahead,
    query_embedder,
    settings_embedder,
)
from ingestion.spaces.index import create_index
from ingestion.spaces.vectors import chunking_options, ready_chunks, unembedded, writing_space
