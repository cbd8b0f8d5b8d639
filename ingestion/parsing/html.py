"""HTML -> Blocks, by pandoc, which reads only <main> where a page has one.

Scripts and navigation (menus, tables of contents) are removed.
"""

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
# pandoc creates a cell for each spanned column; 1,000 is the maximum in browsers.
_SPAN = re.compile(r"(?<=colspan|rowspan)(\s*=\s*[\"']?\s*)\d{4,}", re.IGNORECASE)
_NAVIGATION = re.compile(r"<nav(?=[\s>])", re.IGNORECASE)
_NAVIGATION_END = re.compile(r"</nav\s*>", re.IGNORECASE)
_HEAD = re.compile(r"<title\b[^<]*</title\s*>", re.IGNORECASE)
_BODY_TEXT = re.compile(r"\w")
_DEEPEST = 2_000


class HtmlParser:
    """Headings, lists, tables with their header rows; metadata from the head."""

    name = "pandoc-html"

    def extract(self, source: Source) -> Extraction:
        text = decode_html(source.path.read_bytes())
        if is_too_deep(text) or _nesting(text) > _DEEPEST:
            return plain_text(strip_tags(text), TOO_DEEP_WARNING)
        text = _without_navigation(_SPAN.sub(r"\g<1>1000", text))
        return extraction(read_tree(text, "html", source.limits), TreeReader())


def decode_html(data: bytes) -> str:
    """The page as text; its declared encoding counts if it has no mark and is not UTF-8."""
    declared = _DECLARED.search(data[:4_096])
    name = next((group for group in declared.groups() if group), b"") if declared else b""
    return decode(data, name.decode("ascii", "replace"))


def _without_navigation(text: str) -> str:
    """The page without its <nav> elements, unless nothing else would remain."""
    kept: list[str] = []
    position = 0
    while opening := _NAVIGATION.search(text, position):
        closing = _NAVIGATION_END.search(text, opening.end())
        if closing is None:
            break
        kept.append(text[position : opening.start()])
        position = closing.end()
    rest = "".join([*kept, text[position:]])
    return rest if kept and _BODY_TEXT.search(strip_tags(_HEAD.sub("", rest))) else text


def _nesting(text: str) -> int:
    """The approximate number of unclosed elements; deep trees exceed pandoc and the JSON reader."""
    return len(_OPENING.findall(text)) - len(_CLOSING.findall(text))


PARSER = HtmlParser()
