"""AsciiDoc and Org -> Blocks. Include directives are removed: an upload is one file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .encoding import decode
from .pandoc import TOO_DEEP_WARNING, extraction, is_too_deep, plain_text, read_tree
from .protocol import Extraction, Source
from .syntax_tree import TreeReader


@dataclass(frozen=True)
class MarkupParser:
    """Sections, lists, tables, listings; title and author from the document's own header.

    `reader` is pandoc's name of the format, `includes` matches the directives to remove.
    """

    reader: str
    includes: re.Pattern[str]

    @property
    def name(self) -> str:
        return f"pandoc-{self.reader}"

    def extract(self, source: Source) -> Extraction:
        text = self.includes.sub("", decode(source.path.read_bytes()))
        if is_too_deep(text):
            return plain_text(text, TOO_DEEP_WARNING)
        return extraction(read_tree(text, self.reader, source.limits), TreeReader())


ASCIIDOC = MarkupParser("asciidoc", re.compile(r"^include::\S*\[.*\]\s*$", re.MULTILINE))
ORG = MarkupParser(
    "org", re.compile(r"^#\+(?:include|setupfile):.*$", re.MULTILINE | re.IGNORECASE)
)
