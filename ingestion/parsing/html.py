"""HTML -> Blocks. Of a page with <main>, pandoc reads that alone; scripts are dropped."""

from __future__ import annotations

import re

from .encoding import decode
from .pandoc import TOO_DEEP_WARNING, extraction, is_too_deep, plain_text, read_tree
from .protocol import Extraction, Source
from .syntax_tree import TreeReader, strip_tags

_DECLARED = re.compile(
    rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w:.-]+)|<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w:.-]+)",
    re.IGNORECASE,
)
_OPENING = re.compile(r"<(?!(?:br|p|li|img|hr|input|meta|link)\b)[a-z]", re.IGNORECASE)
_CLOSING = re.compile(r"</(?!p\b|li\b)[a-z]", re.IGNORECASE)
_DEEPEST = 2_000


class HtmlParser:
    """Headings, lists, tables with their header rows; metadata from the head."""

    name = "pandoc-html"

    def extract(self, source: Source) -> Extraction:
        text = decode_html(source.path.read_bytes())
        if is_too_deep(text) or _nesting(text) > _DEEPEST:
            return plain_text(strip_tags(text), TOO_DEEP_WARNING)
        return extraction(read_tree(text, "html", source.limits), TreeReader())


def decode_html(data: bytes) -> str:
    """The page as text, by its own declaration where it carries no mark and is no UTF-8."""
    declared = _DECLARED.search(data[:4_096])
    name = next((group for group in declared.groups() if group), b"") if declared else b""
    return decode(data, name.decode("ascii", "replace"))


def _nesting(text: str) -> int:
    """How many elements are left open, roughly; deep trees outgrow pandoc and the JSON reader."""
    return len(_OPENING.findall(text)) - len(_CLOSING.findall(text))


PARSER = HtmlParser()
