"""Markdown -> Blocks, with front matter in YAML, and with as little of pandoc as possible.

markdown-it-py reads CommonMark as pandoc does, nine times as fast. Paragraphs with markup beyond it
(math, emoji, strikeout, odd addresses) go to pandoc, all in one run, and so does a whole file with
tables, definitions, notes, alerts, tasks, metadata or addresses at another place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import takewhile
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from ingestion.domain import Block
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.markup import (
    TOO_DEEP_WARNING,
    PandocUnreadable,
    Tree,
    extraction,
    is_too_deep,
    plain_text,
    read_tree,
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


class MarkdownParser:
    """CommonMark with tables, footnotes, alerts; HTML tables as well."""

    name = "pandoc-markdown"

    def extract(self, source: Source) -> Extraction:
        text = _unfolded(decode(source.path.read_bytes()))
        if is_too_deep(text):
            return plain_text(text, TOO_DEEP_WARNING)
        return extraction(_tree(text, source.limits), MarkdownReader(source.limits))


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
    for node, after in zip(nodes, [*nodes[1:], _node("Space")], strict=True):
        source = str(node["c"][1]) if node in odd else ""
        tag = _OPENED.fullmatch(source)
        if node["t"] == "Math" and after["t"] == "Str" and after["c"][:1].isdigit():
            out.append(_node("Str", f"${source}$"))
        elif tag and tag[1] not in elements and tag[1].lower() not in _NEVER_CLOSED:
            out.append(_node("Str", source))
        else:
            out.append(node)
    return out


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
    with suppress(BeyondCommonMark):
        return Tree({}, nodes_of(text, lambda odd: pandoc_tree(odd, limits).blocks))
    return pandoc_tree(text, limits)


def pandoc_tree(text: str, limits: ParseLimits) -> Tree:
    """The syntax tree of Markdown by pandoc alone."""
    try:
        return read_tree(text, READER, limits)
    except PandocUnreadable:
        # Dashed lines around something other than YAML: the text itself is fine.
        return read_tree(text, READER_WITHOUT_METADATA, limits)


MARKDOWN = MarkdownParser()


# For a larger file pandoc's time is acceptable, and its reader is more tolerant.
MOST_CHARS = 300_000
# Deeper nesting than anybody writes; markdown-it's own limit drops what is deeper.
_DEEPEST = 60
_BEYOND = re.compile(
    r"""
      [\0\v\f\x1c-\x1f\x85\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff\ue000-\ue002]
    | <table                                        # read by a second run
    | ^(?=[^\n]*\|)(?=[^\n]*-)[-|:> +*]+$            # the line below a table's head
    | \A\s*---                                      # metadata
    | \]:                                           # addresses at another place
    | ^[ ]{0,3}:[ ]                                 # definitions
    | ^[ >]*(?:[-+*]|\d+[.)])[ ]+\xa0                # no space of Markdown
    | ^(?:[ ]*(?:[-+*>]|\d+[.)])[ ]*){8} | [`\[(]{40}     # deep nesting
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_START = r"(?:(?:https?|ftp)://|(?<![^\W_])www(?=\.)|mailto:|xmpp:|@)"
# The same within a paragraph, where listings do not count: notes, alerts, tasks.
_BEYOND_IN_TEXT = re.compile(r"\[\^|\[!|\[[ xX]\]")
_ODD = re.compile(
    rf"""
      ~~ | \$[^$]+\$                                # strikeout, math
    | \[\][(\[] | \]\(\s*\)                        # links without text
    | :[\w+-]+:                                     # emoji
    | [*_]{{3}} | \\[ ]*$                            # where the two disagree
    # An address is one word of text to pandoc, but where does it end?
    | [*_][\w.+-]{{0,64}}{_START}
    | {_START}\S{{0,500}}(?:[`\[\]<>{{}}|\\&*~]|_(?!\w)|\)(?![.,:;!?)]*(?:\s|\Z)))
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
ODD, _MARK = "odd", "Odd"
_BLANKS = re.compile(r"[ \n]+")
_INDENT = re.compile(r"\n +")
# An address is one word to pandoc: the marks within it are no markup.
_ADDRESS = re.compile(rf"[\w.+-]{{0,64}}{_START}[^\s)]{{1,500}}", re.IGNORECASE)
_ENCODED, _DECODED = {ord("_"): "\ue001"}, {0xE001: "_"}


class BeyondCommonMark(Exception):
    """The text has markup that only pandoc reads."""


def nodes_of(text: str, read: Callable[[str], list[Node]]) -> list[Node]:
    """The block nodes of Markdown, as far as `TreeReader` looks at them.

    `read` is pandoc, which reads the odd paragraphs. Raises BeyondCommonMark.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4)  # as pandoc does
    if len(text) > MOST_CHARS or _BEYOND.search(text):
        raise BeyondCommonMark
    tokens = _parser().parse(text)
    odd = [token for token in tokens if ODD in token.meta]
    if odd:
        # A word before each, so that none begins like a list or a heading.
        nodes = read("\n\n".join(f"{_MARK} {token.meta[ODD]}" for token in odd))
        if len(nodes) != len(odd) or any(not _is_marked(node) for node in nodes):
            raise BeyondCommonMark
        for token, node in zip(odd, nodes, strict=True):
            token.meta[ODD] = node["c"][2:]
    return _blocks(iter(tokens))


def _is_marked(node: Node) -> bool:
    if node["t"] != "Para":
        return False
    first, second = [*node["c"], None, None][:2]
    return bool(first == {"t": "Str", "c": _MARK} and second == {"t": "Space"})


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST})
    parser.core.ruler.before("inline", "prepare", _prepare)
    return parser


def _prepare(state: StateCore) -> None:
    """Remove the indentation of paragraphs' lines, and hide the marks within addresses."""
    for token in state.tokens:
        if token.type == "inline":
            content = _INDENT.sub("\n", token.content)
            if _BEYOND_IN_TEXT.search(content):
                raise BeyondCommonMark
            if _ODD.search(content):
                token.meta[ODD], token.content = content, ""
            else:
                token.content = _ADDRESS.sub(lambda match: match[0].translate(_ENCODED), content)


def _blocks(tokens: Iterator[Token], end: str = "") -> list[Node]:
    """The nodes up to the token of type `end`, which is taken as well."""
    nodes: list[Node] = []
    for token in tokens:
        if token.type == end:
            break
        if node := _block(token, tokens):
            nodes.append(node)
    return nodes


def _block(token: Token, tokens: Iterator[Token]) -> Node | None:
    if token.type == "heading_open":
        return _node("Header", [int(token.tag[1]), ["", [], []], _text(tokens)])
    if token.type == "paragraph_open":
        return _node("Para", _text(tokens))
    if token.type in ("fence", "code_block"):
        return _node("CodeBlock", [["", [], []], token.content.removesuffix("\n")])
    if token.type == "html_block":
        return _node("RawBlock", ["html", token.content])
    if token.type == "blockquote_open":
        return _node("BlockQuote", _blocks(tokens, "blockquote_close"))
    if token.type == "bullet_list_open":
        return _node("BulletList", _items(tokens, "bullet_list_close"))
    if token.type == "ordered_list_open":
        start = int(token.attrs.get("start", 1))
        items = _items(tokens, "ordered_list_close")
        return _node("OrderedList", [[start, _node("Decimal"), None], items])
    return None  # a line across the page


def _items(tokens: Iterator[Token], end: str) -> list[list[Node]]:
    items = []
    for token in tokens:
        if token.type == end:
            break
        items.append(_blocks(tokens, "list_item_close"))
    return items


def _text(tokens: Iterator[Token]) -> list[Node]:
    """The inline nodes of a heading or paragraph, whose end is taken as well."""
    inline = next(tokens)
    next(tokens)
    if nodes := inline.meta.get(ODD):
        return list(nodes)
    return list(_inlines(inline.children or ()))


def _inlines(children: Sequence[Token]) -> Iterator[Node]:
    """Yield text, breaks, code, links and images; emphasis is the text within it."""
    tokens = iter(children)
    for token in tokens:
        if token.type == "text":
            # pandoc's text consists of words with one space between them.
            yield _node("Str", _BLANKS.sub(" ", token.content.translate(_DECODED)))
        elif token.type == "softbreak":
            yield _node("SoftBreak")
        elif token.type == "hardbreak":
            yield _node("LineBreak")
        elif token.type == "code_inline":
            yield _node("Code", [["", [], []], token.content.translate(_DECODED)])
        elif token.type == "html_inline":
            yield _node("RawInline", ["html", token.content])
        elif token.type == "link_open":
            inner = list(takewhile(lambda each: each.type != "link_close", tokens))
            address = str(token.attrs.get("href", ""))
            yield _node("Link", [["", [], []], list(_inlines(inner)), [address, ""]])
        elif token.type == "image":
            yield from _inlines(token.children or ())


def _node(kind: str, content: Any = None) -> Node:
    return {"t": kind, "c": content}
