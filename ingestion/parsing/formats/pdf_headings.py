"""Headings of a PDF: by its outline, without running titles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ingestion.domain import Block, BlockKind
from ingestion.parsing.formats.pdf_metadata import PdfFacts, outline_key

_LONGEST_HEADING = 200
_TITLE_KINDS = frozenset({BlockKind.HEADING, BlockKind.PARAGRAPH})
_STEP = re.compile(r"(\d{1,2})[.)]\s")
_FEWEST_STEPS = 3  # A guess.


def with_outline(blocks: Iterator[Block], facts: PdfFacts) -> Iterator[Block]:
    """The blocks; titles in the file's outline become headings of the outline's level."""
    for block in blocks:
        level = None
        if block.kind in _TITLE_KINDS and len(block.text) <= _LONGEST_HEADING:
            level = facts.outline.get((block.page or 0, outline_key(block.text)))
        if level:
            yield Block(BlockKind.HEADING, block.text, level=level, page=block.page)
        else:
            yield block


def with_steps(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks; numbered headings one after the other, and a numbered line after them, with no
    other text in between, become items of a list.
    """
    run: list[Block] = []
    for block in blocks:
        if run and _number(block) != _number(run[-1]) + 1:
            yield from _as_steps(run)
            run = []
        if _number(block):
            run.append(block)
        else:
            yield block
    yield from _as_steps(run)


def _number(block: Block) -> int:
    match = _STEP.match(block.text)
    return int(match[1]) if match else 0


def _as_steps(run: list[Block]) -> list[Block]:
    is_list = len(run) >= _FEWEST_STEPS and run[0].kind is BlockKind.HEADING
    return [replace(one, kind=BlockKind.LIST_ITEM, level=0) for one in run] if is_list else run


def without_repeats(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks without headings, and lines beside them, that say the one before again."""
    before: Block | None = None
    for block in blocks:
        if before is not None and _is_same(before, block):
            # If a line repeats a heading, the heading is kept.
            before = max((before, block), key=lambda one: one.kind is BlockKind.HEADING)
            continue
        if before is not None:
            yield before
        before = block
    if before is not None:
        yield before


def _is_same(before: Block, block: Block) -> bool:
    is_title = {before.kind, block.kind} <= _TITLE_KINDS and BlockKind.HEADING in (
        before.kind,
        block.kind,
    )
    return is_title and _letters(before.text) == _letters(block.text)


def _letters(text: str) -> str:
    return "".join(text.split()).casefold()
