"""Blocks -> ChunkDrafts. Pure: no Django, no I/O. ADR 10 says why.

Read in this order: `options`, `units` and `tables` (blocks -> units that are never split),
`packing` (units -> passages -> drafts), then their helper `text_splitting`, and `embedding_text`.
`sections` widens a stored chunk to the section around it.
"""

from ingestion.chunking.embedding_text import embedding_text
from ingestion.chunking.options import ChunkingOptions
from ingestion.chunking.packing import chunk_blocks
