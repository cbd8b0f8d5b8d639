"""AsciiDoc -> Blocks. Includes are taken out: an upload has no neighbours to include."""

from __future__ import annotations

import re

from .encoding import decode
from .pandoc import TOO_DEEP_WARNING, extraction, is_too_deep, plain_text, read_tree
from .protocol import Extraction, Source
from .syntax_tree import TreeReader

_INCLUDE = re.compile(r"^include::\S*\[.*\]\s*$", re.MULTILINE)


class AsciidocParser:
    """Sections, lists, tables, listings; the header's title and author."""

    name = "pandoc-asciidoc"

    def extract(self, source: Source) -> Extraction:
        text = _INCLUDE.sub("", decode(source.path.read_bytes()))
        if is_too_deep(text):
            return plain_text(text, TOO_DEEP_WARNING)
        return extraction(read_tree(text, "asciidoc", source.limits), TreeReader())


PARSER = AsciidocParser()
