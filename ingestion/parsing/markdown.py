"""Markdown as GitHub writes it, with YAML front matter -> Blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingestion.domain import Block

from .encoding import decode
from .limits import ParseLimits
from .pandoc import (
    TOO_DEEP_WARNING,
    PandocUnreadable,
    Tree,
    extraction,
    is_too_deep,
    plain_text,
    read_tree,
)
from .protocol import Extraction, Source
from .syntax_tree import TreeReader

READER = "gfm+yaml_metadata_block"
MOST_HTML_TABLES = 100
"""Each costs a run of pandoc; the text of those beyond is kept, their rows are not. A guess."""
READER_WITHOUT_METADATA = "gfm-yaml_metadata_block"


class MarkdownParser:
    """CommonMark with tables, footnotes, alerts; tables written in HTML too."""

    name = "pandoc-markdown"

    def extract(self, source: Source) -> Extraction:
        text = decode(source.path.read_bytes())
        if is_too_deep(text):
            return plain_text(text, TOO_DEEP_WARNING)
        return extraction(_tree(text, source.limits), MarkdownReader(source.limits))


class MarkdownReader(TreeReader):
    """Reads HTML tables, which pandoc leaves raw in Markdown, by a second run over them."""

    def __init__(self, limits: ParseLimits) -> None:
        super().__init__()
        self._limits = limits
        self._tables = 0

    def _block_rawblock(self, content: Any, depth: int) -> Iterator[Block]:
        markup, raw = content
        if markup == "html" and "<table" in raw.lower() and self._tables < MOST_HTML_TABLES:
            self._tables += 1
            yield from self.blocks(read_tree(raw, "html", self._limits).blocks, depth)
        else:
            yield from super()._block_rawblock(content, depth)


def _tree(text: str, limits: ParseLimits) -> Tree:
    try:
        return read_tree(text, READER, limits)
    except PandocUnreadable:
        # Dashed lines around something that is no YAML: the text itself is fine.
        return read_tree(text, READER_WITHOUT_METADATA, limits)


PARSER = MarkdownParser()
