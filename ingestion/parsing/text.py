"""Plain text -> paragraphs, in one pass over the decoded text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingestion.domain import Block, BlockKind

from .encoding import decode
from .line_ends import joined_lines
from .protocol import Extraction, Source

PARAGRAPH_CHARS = 4_000
"""Longest paragraph block. A guess: a page of text, about ten chunks."""

_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+|\f")


class TextParser:
    """Paragraphs parted by blank lines; a longer one is split at line ends."""

    name = "text"

    def extract(self, source: Source) -> Extraction:
        return Extraction(paragraph_blocks(joined_lines(decode(source.path.read_bytes()))))


def paragraph_blocks(text: str) -> Iterator[Block]:
    """Blocks of at most PARAGRAPH_CHARS characters each that hold all of `text`."""
    start = 0
    for gap in _BLANK_LINES.finditer(text):
        yield from _bounded(text, start, gap.start())
        start = gap.end()
    yield from _bounded(text, start, len(text))


def _bounded(text: str, start: int, end: int) -> Iterator[Block]:
    while end - start > PARAGRAPH_CHARS:
        cut = _cut(text, start, start + PARAGRAPH_CHARS)
        yield Block(BlockKind.PARAGRAPH, text[start:cut])
        start = cut
    if start < end:
        yield Block(BlockKind.PARAGRAPH, text[start:end])


def _cut(text: str, start: int, limit: int) -> int:
    """Where to split: after a line, else a sentence, else a word, else anywhere."""
    # The first half is left alone, lest a short first line make a tiny block.
    half = (start + limit) // 2
    for separator in ("\n", ". ", "。", " "):
        found = text.rfind(separator, half, limit)
        if found != -1:
            return found + len(separator)
    return limit


PARSER = TextParser()
