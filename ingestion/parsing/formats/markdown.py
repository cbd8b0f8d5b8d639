"""Markdown -> Blocks, by pandoc, with front matter in YAML or TOML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ingestion.domain import Block
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.markup import (
    TOO_DEEP_WARNING,
    PandocUnreadable,
    Tree,
    is_too_deep,
    plain_text,
    read_tree,
    with_front_matter,
)
from ingestion.parsing.formats.pandoc_tree import Node, TreeReader
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import Extraction, Source

READER = "gfm+definition_lists+yaml_metadata_block"
MOST_HTML_TABLES = 100
"""Each takes a run of pandoc; of further tables the text is kept, but no rows. A guess."""
READER_WITHOUT_METADATA = "gfm+definition_lists-yaml_metadata_block"
# Behind a heading, an identifier first, and on a paragraph's last line.
_ATTRIBUTES = re.compile(r"(?<!\s)\s*\{:?\s*[#.][\w:.-]+(?:\s+[^\s{}]+)*\s*\}$")
_KRAMDOWN = re.compile(r"(?<!\s)\s*\{:[^{}]*\}$")
_OPENED, _CLOSED = re.compile(r"<([A-Za-z][\w-]*)>"), re.compile(r"</([A-Za-z][\w-]*)\s*>")
# Elements that need no end.
_NEVER_CLOSED = frozenset("br hr wbr img input p li dd dt td th tr summary option col".split())  # noqa: SIM905
# MkDocs' admonitions, open or folded, and its tabs: a kind or a title, and a body that is indented
# as a listing is. Those in a listing are examples.
_CONTAINER = re.compile(
    r"""
      ^[ ]*(`{3,}|~{3,})[^\n]*\n(?s:.*?)^[ ]*\1[`~]*[ ]*$
    | ^(?P<indent>[ ]*)
      (?:(?:!!!|\?\?\?\+?)[ ]+(?P<kind>[A-Za-z][\w -]*?)(?:[ ]+"(?P<title>[^"\n]*)")?
        |===[!+]?[ ]+"(?P<tab>[^"\n]+)")[ ]*\n
      (?P<body>(?:[ \t]*\n|(?P=indent)(?:[ ]{4}|\t)[^\n]*(?:\n|\Z))+)
    """,
    re.MULTILINE | re.VERBOSE,
)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?\n)\+\+\+[ \t]*(?:\n|$)", re.DOTALL)
_YAML = re.compile(r"---[ \t]*\n(?!\s*\n).*?\n(?:---|\.\.\.)", re.DOTALL)
# Version 1.10 is not 1.1, and the number 007 is not 7.
_NUMBER = re.compile(r"^([\w-]+:[ \t]+)(\d[\w.]*)(?=[ \t]*$)", re.MULTILINE)


class MarkdownParser:
    """CommonMark with tables, footnotes, alerts; HTML tables as well."""

    name = "pandoc-markdown"

    def extract(self, source: Source) -> Extraction:
        text = _unfolded(_with_yaml(decode(source.path.read_bytes())))
        if is_too_deep(text):
            return plain_text(text, TOO_DEEP_WARNING)
        tree = _tree(text, source.limits)
        return with_front_matter(tree, MarkdownReader(source.limits))


class MarkdownReader(TreeReader):
    """Reads HTML tables, which pandoc leaves as raw HTML in Markdown, by a second run.

    The attributes of other dialects (`{#id .class}`, `{: .class}`) are left out.
    """

    def __init__(self, limits: ParseLimits) -> None:
        super().__init__()
        self._limits = limits
        self._tables = 0

    def text(self, nodes: Sequence[Node]) -> str:
        """The plain text, with amounts in dollars and placeholders in angle brackets."""
        return super().text(_as_written(nodes))

    def heading(self, inlines: Sequence[Node]) -> str:
        return _ATTRIBUTES.sub("", super().heading(inlines))

    def _block_para(self, inlines: Any, depth: int) -> Iterator[Block]:
        for block in super()._block_para(inlines, depth):
            yield replace(block, text=_KRAMDOWN.sub("", block.text))

    _block_plain = _block_para

    def _block_rawblock(self, content: Any, depth: int) -> Iterator[Block]:
        markup, raw = content
        if markup == "html" and "<table" in raw.lower() and self._tables < MOST_HTML_TABLES:
            self._tables += 1
            yield from self.blocks(read_tree(raw, "html", self._limits).blocks, depth)
        else:
            yield from super()._block_rawblock(content, depth)


def _as_written(nodes: Sequence[Node]) -> Sequence[Node]:
    """The nodes; of what is no formula and no element the signs are text.

    A formula does not end before a digit: $5/$10. An element is closed: <your-name> is not.
    """
    odd = [node for node in nodes if node["t"] in ("Math", "RawInline")]
    if not odd:
        return nodes
    elements = {tag[1] for node in odd if (tag := _CLOSED.fullmatch(node["c"][1]))}
    out = []
    for node, after in zip(nodes, [*nodes[1:], {"t": "Space"}], strict=True):
        source = str(node["c"][1]) if node in odd else ""
        tag = _OPENED.fullmatch(source)
        if node["t"] == "Math" and after["t"] == "Str" and after["c"][:1].isdigit():
            out.append({"t": "Str", "c": f"${source}$"})
        elif tag and tag[1] not in elements and tag[1].lower() not in _NEVER_CLOSED:
            out.append({"t": "Str", "c": source})
        else:
            out.append(node)
    return out


def _with_yaml(text: str) -> str:
    """The text with its TOML front matter as YAML, which pandoc reads, with numbers as texts."""
    if front := _YAML.match(text):
        return _NUMBER.sub(r'\1"\2"', front[0]) + text[front.end() :]
    if not (front := _TOML.match(text)):
        return text
    try:
        fields = tomllib.loads(front[1], parse_float=str)
    except (ValueError, RecursionError):
        return text
    yaml = json.dumps(fields, ensure_ascii=False, default=lambda moment: moment.isoformat())
    return f"---\n{yaml}\n---\n\n{text[front.end() :]}"


def _unfolded(text: str) -> str:
    """The text with the bodies of MkDocs' containers as text below their titles."""

    def unfolded(match: re.Match[str]) -> str:
        indent, body = match["indent"], match["body"]
        if not (body or "").strip():
            return match[0]
        kind, *_ = (match["kind"] or "").split() or [""]
        title = match["tab"] or (kind.capitalize() if match["title"] is None else match["title"])
        body = re.sub(rf"^{indent}(?: {{4}}|\t)", indent, body, flags=re.MULTILINE)
        return f"{indent}{title}\n\n{_unfolded(body)}\n"

    return _CONTAINER.sub(unfolded, text)


def _tree(text: str, limits: ParseLimits) -> Tree:
    try:
        return read_tree(text, READER, limits)
    except PandocUnreadable:
        # Dashed lines around something other than YAML: the text itself is fine.
        return read_tree(text, READER_WITHOUT_METADATA, limits)


MARKDOWN = MarkdownParser()
