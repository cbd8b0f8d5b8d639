"""Transfer of blocks from the child process to the worker: cleaned, one JSON array per line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ingestion.domain import Block, BlockKind

# A soft hyphen within a word would keep searches from matching the word.
_UNWANTED = re.compile("[\x00-\x08\x0e-\x1f\x7f\xad\ud800-\udfff\ufeff\ufffe\uffff]")
_SOFT_LINE_END = re.compile("\xad[ \t]*\n[ \t]*")
# Terminal colours, in logs and in the outputs of notebooks.
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9])")
# Any character but spaces and zero-width ones: without one, a text is empty to a reader.
_SEEN = re.compile("[^\\s\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufe00-\ufe0f]")
_SURROGATE = re.compile("[\ud800-\udfff]")

BLOCKS_FILE = "blocks.jsonl"
OUTCOME_FILE = "outcome.json"


def clean_text(text: str) -> str:
    """`text` without control characters and soft hyphens; lone surrogates become U+FFFD."""
    if not _UNWANTED.search(text):
        return text
    text = _TERMINAL.sub("", text)
    return _UNWANTED.sub("", _SURROGATE.sub("\ufffd", _SOFT_LINE_END.sub("", text)))


def clean_block(block: Block) -> Block | None:
    """The block with clean text, or None if nothing readable remains."""
    if block.kind is BlockKind.TABLE:
        rows = [[clean_text(cell) for cell in row] for row in block.rows]
        if not any(_SEEN.search(cell) for row in rows for cell in row):
            return None
        return Block.table(rows, has_header=block.has_header, page=block.page)
    text = clean_text(block.text)
    text = text.strip("\n").rstrip() if block.kind is BlockKind.CODE else text.strip()
    if not _SEEN.search(text):
        return None
    if block.kind is BlockKind.HEADING:
        text = " ".join(text.split())
    return block if text == block.text else replace(block, text=text)


def encode_block(block: Block) -> str:
    """One line, with its newline. A table is sent as rows, from which its text is rebuilt."""
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
