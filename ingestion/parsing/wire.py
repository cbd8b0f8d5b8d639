"""Blocks on their way from the child to its parent: one JSON array a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from ingestion.domain import Block, BlockKind

BLOCKS_FILE = "blocks.jsonl"
OUTCOME_FILE = "outcome.json"


def encode_block(block: Block) -> str:
    """One line, its newline included. A table travels as rows; its text follows from them."""
    text = "" if block.kind is BlockKind.TABLE else block.text
    fields = [block.kind.value, text, block.level, block.page, block.rows, block.has_header]
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"


def decode_blocks(lines: Iterable[str]) -> Iterator[Block]:
    """The blocks that `encode_block` wrote."""
    for line in lines:
        kind, text, level, page, rows, has_header = json.loads(line)
        if kind == BlockKind.TABLE.value:
            yield Block.table(rows, has_header=has_header, page=page)
        else:
            yield Block(BlockKind(kind), text, level=level, page=page)
