"""Blocks -> ChunkDrafts. Pure: no Django, no I/O. ADR 10 says why.

Read in this order: `sizes_and_embedding_text`, `units_and_tables` (blocks -> units that are never
split), `packing` (units -> passages -> drafts), then their helper `text_splitting`. `sections`
widens a stored chunk to the section around it.
"""

from ingestion.chunking.packing import chunk_blocks
from ingestion.chunking.sizes_and_embedding_text import ChunkingOptions, embedding_text
