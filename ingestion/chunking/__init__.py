"""Blocks -> ChunkDrafts (step U3). Pure: no Django, no I/O. ADR 10 says why.

Read in this order: `options`, `units_and_tables` (blocks -> units that are never split), `packing`
(units -> passages -> drafts), then their helper `text_splitting`. `sections` widens a stored chunk
to the section around it.
"""

from ingestion.chunking.options import ChunkingOptions, embedding_text
from ingestion.chunking.packing import chunk_blocks
