"""GitHub Flavored Markdown with YAML or TOML front matter -> Blocks."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
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
from .protocol import Extraction, Metadata, Source
from .syntax_tree import TreeReader

READER = "gfm+yaml_metadata_block"
MOST_HTML_TABLES = 100
"""Each takes a run of pandoc; of further tables the text is kept, but no rows. A guess."""
READER_WITHOUT_METADATA = "gfm-yaml_metadata_block"
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?\n)\+\+\+[ \t]*(?:\n|$)", re.DOTALL)


class MarkdownParser:
    """CommonMark with tables, footnotes, alerts; HTML tables as well."""

    name = "pandoc-markdown"

    def extract(self, source: Source) -> Extraction:
        text, stated = _without_toml(decode(source.path.read_bytes()))
        if is_too_deep(text):
            return plain_text(text, TOO_DEEP_WARNING)
        found = extraction(_tree(text, source.limits), MarkdownReader(source.limits))
        return replace(found, metadata=stated) if stated else found


class MarkdownReader(TreeReader):
    """Reads HTML tables, which pandoc leaves as raw HTML in Markdown, by a second run."""

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


def _without_toml(text: str) -> tuple[str, Metadata | None]:
    """The text after its TOML front matter, and the metadata in it; None if there is none."""
    front = _TOML.match(text)
    try:
        stated = tomllib.loads(front[1]) if front else {}
    except (ValueError, RecursionError):
        stated = {}
    if front is None or not stated:
        return text, None
    authors = stated.get("author", stated.get("authors", ""))
    metadata = Metadata(
        title=str(stated.get("title", "")),
        author=", ".join(map(str, authors)) if isinstance(authors, list) else str(authors),
        language=str(stated.get("language", stated.get("lang", ""))),
        created=_moment(stated.get("date", "")),
        modified=_moment(stated.get("lastmod", "")),
    )
    return text[front.end() :], metadata


def _moment(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _tree(text: str, limits: ParseLimits) -> Tree:
    try:
        return read_tree(text, READER, limits)
    except PandocUnreadable:
        # Dashed lines around something other than YAML: the text itself is fine.
        return read_tree(text, READER_WITHOUT_METADATA, limits)


PARSER = MarkdownParser()
