"""pandoc's syntax tree -> Blocks. Handles every node type; formats override some."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ingestion.domain import Block, BlockKind
from ingestion.parsing.formats.raised_text import subscript, superscript
from ingestion.parsing.formats.tabular import table_of

Node = dict[str, Any]
Attr = list[Any]

# Without an end, a comment and a script go on to that of the page, and an attribute is short.
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|<(?:[^<>]*|[^>]{0,500})>",
    re.DOTALL | re.IGNORECASE,
)
# Literals and roles in the options of code, whose values pandoc leaves as they are written.
_MARKED = re.compile(r"(?::[\w:.+-]{1,80}:)?``?([^`]+)``?")
LONGEST_TERM = 100  # characters; a guess
HEAD = "head"
"""The attribute of cells that are labels and no head to pandoc."""
_RAISED = re.compile(r"<(?P<end>/?)su(?P<kind>[pb])\b[^<>]*>", re.IGNORECASE)
_RAISED_TEXT = re.compile(r"<su([pb])\b[^<>]*>([^<>]{0,100})</su\1\s*>", re.IGNORECASE)
# The text of links beside a heading or behind a note that lead back to the place itself.
_PERMALINK = re.compile(r"[¶#§🔗⚓↩↵⤴↑^\s\u200b-\u200d\ufe0e\ufe0f]*")
LAST_PERMALINK = re.compile(r"(?<!\s)\s*[¶🔗]\ufe0f?\s*$")
_BACK = frozenset(
    {"fn-backref", "fn-bracket", "backrefs", "footnote-back", "doc-backlink", "mw-editsection"}
)
"""Classes and roles of a note's own number, of the brackets around it, and of "[edit]"."""


def metadata_text(value: Node | None) -> str:
    """A metadata value as one string; lists are joined by commas, maps are left out."""
    if value is None:
        return ""
    kind: str = value["t"]
    content: Any = value.get("c")
    if kind == "MetaString":
        return str(content)
    if kind == "MetaInlines":
        return TreeReader().text(content)
    if kind == "MetaBlocks":
        return " ".join(block.text for block in TreeReader().blocks(content))
    if kind == "MetaList":
        return ", ".join(text for item in content if (text := metadata_text(item)))
    return ""


def metadata_texts(value: Node | None) -> list[str]:
    """The texts of a metadata value, which may be a list."""
    is_list = value is not None and value["t"] == "MetaList"
    return [metadata_text(each) for each in (value["c"] if is_list and value else [value])]


def strip_tags(source: str) -> str:
    """The text of an HTML fragment."""
    source = _RAISED_TEXT.sub(_raised, source)
    return html.unescape(_TAG.sub(" ", source)).strip()


def _raised(match: re.Match[str]) -> str:
    """The text of <sup> or <sub>, raised or lowered."""
    is_lowered = match[1] in "bB"
    return subscript(match[2]) if is_lowered else superscript(_without_brackets(match[2]))


def _without_brackets(text: str) -> str:
    """A note's mark without its brackets: [3]."""
    return text[1:-1] if text.startswith("[") and text.endswith("]") else text


def _with_raised(nodes: Sequence[Node]) -> Sequence[Node]:
    """The nodes with <sup> and <sub>, which Markdown leaves as raw tags, as nodes."""
    if not any(node["t"] == "RawInline" for node in nodes):
        return nodes
    out: list[Node] = []
    opened: list[tuple[str, int]] = []
    for node in nodes:
        tag = _RAISED.fullmatch(node["c"][1]) if node["t"] == "RawInline" else None
        if tag is None:
            out.append(node)
            continue
        kind = "Superscript" if tag["kind"] in "pP" else "Subscript"
        if not tag["end"]:
            opened.append((kind, len(out)))
        elif opened and opened[-1][0] == kind:
            _, start = opened.pop()
            out[start:] = [{"t": kind, "c": out[start:]}]
    return out


class TreeReader:
    """Turns one document's nodes into blocks. Footnotes follow the block that refers to them."""

    def __init__(self) -> None:
        self._notes: list[list[Node]] = []

    def blocks(self, nodes: Sequence[Node], depth: int = 0) -> Iterator[Block]:
        """The blocks of `nodes`; `depth` is their list nesting level."""
        for node in nodes:
            yield from self._block(node, depth)
            while self._notes:
                yield from self.blocks(self._notes.pop(0), depth)

    def text(self, nodes: Sequence[Node]) -> str:
        """The plain text of inline nodes."""
        text, is_after_picture = "", False
        for node in _with_raised(nodes):
            added = self._inline(node)
            is_picture = node["t"] in ("Image", "Link") and _is_picture(node)
            if (is_picture or is_after_picture) and text[-1:].isalnum() and added[:1].isalnum():
                text += " "
            text += added  # in place: a line may have megabytes
            is_after_picture = is_picture
        return text

    # Blocks

    def _block(self, node: Node, depth: int) -> Iterator[Block]:
        reader: Callable[[Any, int], Iterator[Block]] | None
        reader = getattr(self, f"_block_{node['t'].lower()}", None)
        if reader is not None:
            yield from reader(node.get("c"), depth)

    def _block_header(self, content: Any, depth: int) -> Iterator[Block]:
        level, _, inlines = content
        yield Block(BlockKind.HEADING, self.heading(inlines), level=min(max(level, 1), 6))

    def heading(self, inlines: Sequence[Node]) -> str:
        """The text of a heading, without its permalink."""
        return LAST_PERMALINK.sub("", self.text(inlines)).strip()

    def _block_para(self, inlines: Any, depth: int) -> Iterator[Block]:
        text = self.text(inlines)
        is_picture = text and all(_is_picture(node) for node in inlines)
        yield Block(BlockKind.PARAGRAPH, f"[{text}]" if is_picture else text)

    _block_plain = _block_para

    def _block_lineblock(self, lines: Any, depth: int) -> Iterator[Block]:
        yield Block(BlockKind.PARAGRAPH, "\n".join(self.text(line) for line in lines))

    def _block_codeblock(self, content: Any, depth: int) -> Iterator[Block]:
        (_, _, attributes), code = content
        for name, value in attributes:
            if name in ("caption", "filename"):
                yield Block(BlockKind.PARAGRAPH, _MARKED.sub(r"\1", value))
        yield Block(BlockKind.CODE, code)

    def _block_rawblock(self, content: Any, depth: int) -> Iterator[Block]:
        markup, raw = content
        if markup == "html":
            yield Block(BlockKind.PARAGRAPH, strip_tags(raw))

    def _block_blockquote(self, nodes: Any, depth: int) -> Iterator[Block]:
        yield from self.blocks(nodes, depth)

    def _block_bulletlist(self, items: Any, depth: int) -> Iterator[Block]:
        for item in items:
            yield from self._item(item, depth, "")

    def _block_orderedlist(self, content: Any, depth: int) -> Iterator[Block]:
        (start, style, _), items = content
        for number, item in enumerate(items, start):
            yield from self._item(item, depth, f"{ordinal(number, style['t'])}. ")

    def _block_definitionlist(self, items: Any, depth: int) -> Iterator[Block]:
        for inlines, definitions in items:
            nodes = [node for definition in definitions for node in definition]
            term = self.text(inlines)
            if term.startswith(("- ", "* ", "+ ")):
                # The first line of a list item, within a documented object: pandoc takes its
                # second line, which is indented, for the definition of the first.
                yield from self._item(nodes, depth, term[2:], joint=" ")
            else:
                joint = " " if term.endswith(":") else ": "
                yield from defined(
                    term, self._item(nodes, depth, term, joint=joint if term else "")
                )

    def _item(self, nodes: list[Node], depth: int, label: str, joint: str = "") -> Iterator[Block]:
        """A list item of its label and first paragraph, then the blocks nested in it."""
        opening = ""
        while nodes and nodes[0]["t"] == "Div" and not nodes[0]["c"][0][1]:
            nodes = [*nodes[0]["c"][1], *nodes[1:]]
        if nodes and nodes[0]["t"] in ("Para", "Plain"):
            opening, nodes = self.text(nodes[0]["c"]).lstrip(" "), nodes[1:]
        text = f"{label}{joint}{opening}" if opening else label.rstrip()
        yield Block(BlockKind.LIST_ITEM, text, level=depth)
        yield from self.blocks(nodes, depth + 1)

    def _block_figure(self, content: Any, depth: int) -> Iterator[Block]:
        _, (_, caption), nodes = content
        captions = list(self.blocks(caption, depth))
        texts = {text for block in captions for text in (block.text, f"[{block.text}]")}
        # An image's alternative text usually repeats the caption.
        yield from (block for block in self.blocks(nodes, depth) if block.text not in texts)
        yield from captions

    def _block_div(self, content: Any, depth: int) -> Iterator[Block]:
        (_, classes, _), nodes = content
        if "title" in classes:
            return
        yield from self._labelled(self._div_title(nodes), self.blocks(nodes, depth))

    def _div_title(self, nodes: Sequence[Node]) -> str:
        """The title of an admonition: "Note", "Warning" in the language of the file."""
        for node in nodes[:1]:
            if node["t"] == "Div" and "title" in node["c"][0][1]:
                return " ".join(block.text for block in self.blocks(node["c"][1]))
        return ""

    def _labelled(self, label: str, blocks: Iterator[Block]) -> Iterator[Block]:
        """The blocks, with the label before the text of the first paragraph, or as a paragraph."""
        if not label:
            yield from blocks
            return
        first = next(blocks, None)
        if first is not None and first.kind is BlockKind.PARAGRAPH:
            yield Block(BlockKind.PARAGRAPH, f"{label}: {first.text}")
        else:
            yield Block(BlockKind.PARAGRAPH, label)
            if first is not None:
                yield first
        yield from blocks

    def _block_table(self, content: Any, depth: int) -> Iterator[Block]:
        _, (_, caption), columns, (_, head), bodies, (_, foot) = content
        yield from self.blocks(caption, depth)
        rows = [*head]
        for _, _, inner_head, body in bodies:
            rows += [*inner_head, *body]
        rows += foot
        cells = [[(cell[4], cell[2], cell[3]) for cell in row[1]] for row in rows]
        kinds = {node["t"] for row in cells for nodes, _, _ in row for node in nodes}
        has_head = bool(head) or all(HEAD in dict(one[0][2]) for row in rows[:1] for one in row[1])
        # One column without a name, or sections in cells, only arrange content on a page.
        if (len(columns) < 2 and not has_head) or kinds & {"Header", "Table"}:
            for row in cells:
                for nodes, _, _ in row:
                    yield from self.blocks(nodes, depth)
            return
        texts = [
            [(" ".join(one.text for one in self.blocks(nodes)), *spans) for nodes, *spans in row]
            for row in cells
        ]
        if texts:
            yield table_of(texts, has_head=has_head)

    # Inlines

    def _inline(self, node: Node) -> str:
        kind: str = node["t"]
        content: Any = node.get("c")
        if kind == "Str":
            return str(content)
        if kind in ("Space", "SoftBreak"):
            return " "
        if kind == "LineBreak":
            return "\n"
        if kind in ("Emph", "Strong", "Strikeout", "SmallCaps", "Underline"):
            return self.text(content)
        if kind == "Subscript":
            return subscript(self.text(content))
        if kind == "Superscript":
            return superscript(_without_brackets(self.text(content)))
        if kind == "Span" and _leads_back(content[0]):
            return ""
        if kind in ("Span", "Cite", "Quoted"):
            text = self.text(content[1])
            if kind != "Quoted":
                return text
            return f"‘{text}’" if content[0]["t"] == "SingleQuote" else f"“{text}”"
        return self._leaf(kind, content)

    def _leaf(self, kind: str, content: Any) -> str:
        if kind == "Code":
            return self._code(content[0], content[1])
        if kind == "Math":
            return str(content[1])
        if kind == "Link":
            return self._link(content[0], self.text(content[1]), str(content[2][0]))
        if kind == "Image":
            return self.text(content[1])
        if kind == "Note":
            self._notes.append(content)
        elif kind == "RawInline" and content[0] == "html":
            return "\n" if content[1].lower().startswith("<br") else ""
        return ""

    def _link(self, attr: Attr, text: str, address: str) -> str:
        """The link's text; nothing of a link to the place itself."""
        if _leads_back(attr) or ("#" in address and _PERMALINK.fullmatch(text)):
            return ""
        if "footnote-reference" in attr[1]:
            return superscript(_without_brackets(text))
        return text

    def _code(self, attr: Attr, code: str) -> str:
        return code


def _is_picture(node: Node) -> bool:
    """Whether the words of the node are only the alternative text of a picture."""
    if node["t"] == "Link":
        return all(_is_picture(each) for each in node["c"][1])
    return node["t"] in ("Image", "Space", "SoftBreak")


def _leads_back(attr: Attr) -> bool:
    _, classes, attributes = attr
    return not _BACK.isdisjoint([*classes, dict(attributes).get("role", "")])


def defined(term: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks as the definition of `term`, unless that is a sentence or a line of code."""
    # reStructuredText says after a colon what kind of thing it is.
    name = " ".join(term.split()).partition(" : ")[0]
    is_name = 0 < len(name) <= LONGEST_TERM and name[-1] not in ":;,=([{"
    for block in blocks:
        yield replace(block, terms=(name, *block.terms)) if is_name else block


def ordinal(number: int, style: str) -> str:
    """A list item's number in its style; Roman numerals as digits."""
    if style in ("LowerAlpha", "UpperAlpha") and 1 <= number <= 26:
        letter = chr(ord("a") + number - 1)
        return letter if style == "LowerAlpha" else letter.upper()
    return str(number)
