"""Short names for the blocks that a test expects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ingestion.domain import Block, BlockKind


def h(level: int, text: str, page: int | None = None) -> Block:
    return Block(BlockKind.HEADING, text, level=level, page=page)


def p(text: str, page: int | None = None) -> Block:
    return Block(BlockKind.PARAGRAPH, text, page=page)


def li(level: int, text: str, page: int | None = None) -> Block:
    return Block(BlockKind.LIST_ITEM, text, level=level, page=page)


def code(text: str, page: int | None = None) -> Block:
    return Block(BlockKind.CODE, text, page=page)


def table(*rows: Sequence[str], header: bool = True, page: int | None = None) -> Block:
    return Block.table(rows, has_header=header, page=page)


def define(term: str, *blocks: Block) -> list[Block]:
    """The blocks as the definition of a term."""
    return [replace(block, terms=(term, *block.terms)) for block in blocks]
