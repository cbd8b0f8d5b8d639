"""reStructuredText, including Sphinx's dialect -> Blocks: no directive loses its argument."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from ingestion.domain import Block, BlockKind
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.markup import (
    BACKTICK,
    TOO_DEEP_WARNING,
    Tree,
    is_too_deep,
    note_includes,
    plain_text,
    read_tree,
    tree_metadata,
)
from ingestion.parsing.formats.pandoc_tree import Attr, Node, TreeReader, defined
from ingestion.parsing.protocol import Extraction, Source, StatedMetadata

# Directives with a verbatim body that pandoc would read as prose.
_VERBATIM = {
    "console": "console", "doctest": "pycon", "prompt": "console", "snippet": "text",
    "sourcecode": "text", "testcode": "python", "testoutput": "text",
}  # fmt: skip
# Directives that control Sphinx and have no text for a reader.
_SILENT = frozenset(
    {"contents", "currentmodule", "default-domain", "default-role", "highlight", "index"}
    | {"module-info", "program", "py:currentmodule", "tabularcolumns", "toctree"}
)
# Directives that set an anchor alone, as Sphinx' add_crossref_type() makes them.
_ANCHORS = frozenset({"fieldlookup", "setting", "templatefilter", "templatetag"})
_VERSIONS = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
    "deprecated": "Deprecated since version",
}
_DOCINFO = {
    "author": "author",
    "authors": "author",
    "date": "created",
    "language": "language",
    "lang": "language",
    "updated": "modified",
}

# Fields that are the document's own metadata, or by which Sphinx treats a file.
_ASIDE = frozenset({*_DOCINFO, "no-search", "nocomments", "nosearch", "orphan", "tocdepth"})
_LABELLED = re.compile(
    r"^(?P<labels>(?:\.\. _[^\n]+:[ \t]*\n\s*)+)(?:([^\w\s])\2{2,}[ \t]*\n)?"
    r"(?P<title>[^\s.][^\n]*)\n([^\w\s])\4{2,}[ \t]*$",
    re.MULTILINE,
)
_LABEL = re.compile(r"\.\. _([^\n]+):")
_DIRECTIVE = re.compile(
    r"^(?P<indent>[ \t]*)\.\. (?P<name>[A-Za-z][\w:.+-]*?)::(?P<rest>[ \t].*|)$"
)
# Docutils allows it; to pandoc ".. note ::" is a comment.
_SPACED = re.compile(r"^([ \t]*\.\. [A-Za-z][\w:.+-]*) (?=::)", re.MULTILINE)
_OBJECTS = re.compile(
    r"(?:\w+:)?(?:attribute|class|classmethod|cmdoption|confval|data|decorator|describe|"
    r"django-admin|django-admin-option|envvar|event|exception|fieldlookup|function|macro|member|"
    r"method|module|object|option|property|setting|staticmethod|struct|templatefilter|templatetag|"
    r"type|var|variable)"
)
# That `.. class::` documents a class (Sphinx) rather than naming a style (docutils).
_CLASS = re.compile(r"[A-Z(.]")
_FILE_OPTION = re.compile(r"^[ \t]+:(?:file|url):[ \t]*(.*)$", re.MULTILINE)
_DOCTEST = re.compile(r"[ \t]*>>>(?: |$)")
_LIST_MARKER = re.compile(r"[ \t]*(?:[*+-]|(?:\d+|[a-zA-Z#])[.)])[ \t]+")
_LITERAL_FOLLOWS = re.compile(r"(?:^[ \t]*|[^:])::[ \t]*$")
_LITERAL = frozenset({"code", "code-block", "math", "parsed-literal", "raw", *_VERBATIM})
# What follows a name in its signature: arguments, a value, a type, the names of an option's values.
_SIGNATURE = re.compile(r"[(\[{<=].*| ->.*|(?<=\w):? .*|:$", re.DOTALL)
_TARGET = re.compile(r"\s*<[^<>]*>$", re.DOTALL)
# An inline literal by docutils' rules, or backticks that begin none: pandoc ends a literal at its
# first two backticks, and reads on through all paragraphs to find them. Behind a word they may end
# a role.
_INLINE_LITERAL = re.compile(
    r"(?<![\\`])((?<=[\w>)]))?``(?:(?!\s|(?<=\(``)\))((?:.|\n(?!\s*\n)){0,500}?\S)``(?!`))?"
)
# Names with an underscore, and targets over two lines, that pandoc takes for no role.
_ROLE_NAME = re.compile(r":[\w:.+-]{1,60}:(?=`)")
_TARGET_LINES = re.compile(r"(:[\w:.+-]{1,60}:`[^`\n]*)\\\n\s*")


class RstParser:
    """Sections, lists, tables, code; directives unknown to pandoc keep their text."""

    name = "pandoc-rst"

    def extract(self, source: Source) -> Extraction:
        text = decode(source.path.read_bytes())
        if is_too_deep(text):
            return plain_text(text, TOO_DEEP_WARNING)
        missing: list[str] = []
        tree = read_tree(prepared(text, missing), "rst", source.limits)
        metadata = _metadata(tree)
        nodes = [*map(_without_aside, tree.blocks[:2]), *tree.blocks[2:]]
        blocks = RstReader(_labels(text)).blocks(_without_anchors(nodes))
        result = Extraction(blocks, metadata)
        note_includes(result, missing)
        return result


def _without_anchors(nodes: Sequence[Node]) -> list[Node]:
    """The nodes without directives that only name the section after them.

    Sphinx prints nothing for `.. setting:: CACHES-VERSION` before the heading VERSION.
    """
    kept: list[Node] = []
    for node in reversed(nodes):
        if not (kept and kept[-1]["t"] == "Header" and _is_anchor(node, kept[-1])):
            kept.append(node)
    return kept[::-1]


def _is_anchor(node: Node, heading: Node) -> bool:
    if node["t"] != "Div":
        return False
    reader, ((_, classes, _), nodes) = RstReader(), node["c"]
    texts = [block.text for block in reader.blocks(nodes)]
    is_named = texts == [reader.heading(heading["c"][2])]
    return is_named or (len(texts) == 1 and not _ANCHORS.isdisjoint(classes[:1]))


def prepared(text: str, missing: list[str]) -> str:
    """The source rewritten for pandoc: without includes; signatures and sessions verbatim.

    The names of the files that it includes are added to `missing`.
    """
    lines = _SPACED.sub(r"\1", text).expandtabs(8).split("\n")
    out: list[str] = []
    # The indentation of the paragraph or directive whose literal block the lines are in, if any.
    literal: int | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip() or (literal is not None and _indent(line) > literal):
            end, rewritten = at + 1, [line.replace("`", BACKTICK)]
        elif match := _DIRECTIVE.match(line):
            end = _header_end(lines, at, len(match["indent"]))
            rewritten = _directive(match, lines[at:end], missing)
            literal = len(match["indent"]) if match["name"] in _LITERAL else None
            if rewritten and match["rest"].strip() and _LITERAL_FOLLOWS.search(rewritten[-1]):
                literal = _indent(rewritten[-1])
        elif _DOCTEST.match(line) and not (at and lines[at - 1].strip()):
            end = next((n for n in range(at, len(lines)) if not lines[n].strip()), len(lines))
            rewritten = _session(lines[at:end])
        else:
            end, rewritten = at + 1, [line]
            # The column of the text, behind the marker of a list item.
            start = marker.end() if (marker := _LIST_MARKER.match(line)) else _indent(line)
            literal = start if _LITERAL_FOLLOWS.search(line) else None
        out += rewritten
        at = end
    return _with_literals("\n".join(out))


def _with_literals(text: str) -> str:
    """The source with inline literals and roles in the form that pandoc reads."""
    text = _INLINE_LITERAL.sub(_literal, _TARGET_LINES.sub(r"\1", text))
    return _ROLE_NAME.sub(lambda name: name[0].replace("_", "-"), text)


def _literal(span: re.Match[str]) -> str:
    inner, end = span[2], BACKTICK if span[1] is None else "`"
    return f"``{inner.replace('`', BACKTICK)}``" if inner else end + BACKTICK


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _session(lines: Sequence[str]) -> list[str]:
    """An interactive session as code: pandoc would join its lines to a paragraph."""
    indent = " " * _indent(lines[0])
    body = [f"{indent}   {line[len(indent) :]}".replace("`", BACKTICK) for line in lines]
    return [f"{indent}.. code-block:: pycon", "", *body]


def _header_end(lines: Sequence[str], start: int, indent: int) -> int:
    """The index of the line after a directive's arguments and options."""
    after = range(start + 1, len(lines))
    ends = (n for n in after if not lines[n].strip() or _indent(lines[n]) <= indent)
    return next(ends, len(lines))


def _directive(match: re.Match[str], header: Sequence[str], missing: list[str]) -> list[str]:
    """The lines of the directive; a file that it includes is added to `missing`."""
    indent, name, argument = match["indent"], match["name"], match["rest"].strip()
    if name in ("include", "literalinclude"):
        missing.append(argument)
        return []
    if name in ("raw", "csv-table") and (files := _FILE_OPTION.findall("\n".join(header))):
        missing += files
        return [f"{indent}.. {name}::"] if name == "raw" else []
    if name in _VERBATIM:
        language = argument if name == "sourcecode" and argument else _VERBATIM[name]
        return [f"{indent}.. code-block:: {language}", *header[1:]]
    if _OBJECTS.fullmatch(name) and (name != "class" or _CLASS.search(argument)):
        return _object_description(indent, name, argument, header[1:])
    if argument and _LITERAL_FOLLOWS.search(header[-1]):
        # pandoc reads what follows as a literal block only after a paragraph of its own.
        body = " " * _indent(header[1]) if len(header) > 1 else f"{indent}   "
        return [f"{indent}.. {name}::", "", f"{body}{argument}", *header[1:]]
    return list(header)


def _object_description(
    indent: str, name: str, argument: str, following: Sequence[str]
) -> list[str]:
    """The directive with each signature as a literal: `*args` must not become emphasis."""
    signatures = [argument]
    options: list[str] = []
    for line in following:
        if line.lstrip().startswith(":"):
            options.append(line)
        elif options:
            options[-1] += f" {line.strip()}"
        elif signatures[-1].endswith("\\"):
            signatures[-1] = f"{signatures[-1][:-1].rstrip()} {line.strip()}"
        else:
            signatures.append(line.strip())
    # pandoc reads `class` as docutils' directive, which has no text, and none with a colon.
    kind = name.rpartition(":")[2]
    directive = "describe" if kind == "class" else kind
    literals = [line if "`" in line else f"``{line}``" for line in signatures if line]
    opening = [f"{indent}.. {directive}::", *options, ""]
    return [*opening, *(f"{indent}   | {literal}" for literal in literals), ""]


class RstReader(TreeReader):
    """Reads Sphinx's roles and directives the way Sphinx would print them.

    `labels` are the file's own, with the headings that they stand before.
    """

    def __init__(self, labels: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__()
        self._labels = labels

    def _block_div(self, content: Any, depth: int) -> Iterator[Block]:
        (_, classes, attributes), nodes = content
        name = classes[0] if classes else ""
        if name in _SILENT:
            return
        if name in _VERSIONS:
            yield from self._version_note(name, nodes, depth)
            return
        blocks = super()._block_div(content, depth)
        if _OBJECTS.fullmatch(name) and len(nodes) > 1 and nodes[0]["t"] == "LineBlock":
            signature = self.text(nodes[0]["c"][0]).strip()
            # `filter` of `filter(*args)`, `migrate` of `migrate [app_label]`.
            blocks = defined(_SIGNATURE.sub("", signature).strip() or signature, blocks)
        yield from blocks
        for attribute, value in attributes:
            if attribute == "synopsis":
                yield Block(BlockKind.PARAGRAPH, value)

    def _version_note(self, name: str, nodes: list[Node], depth: int) -> Iterator[Block]:
        blocks = self.blocks(nodes, depth)
        version = next(blocks, None)
        if version is not None:
            yield Block(BlockKind.PARAGRAPH, f"{_VERSIONS[name]} {version.text}")
        yield from blocks

    def _code(self, attr: Attr, code: str) -> str:
        _, classes, attributes = attr
        if "interpreted-text" not in classes:
            return code
        return role_text(dict(attributes).get("role", ""), code, self._labels)

    def _leaf(self, kind: str, content: Any) -> str:
        text = super()._leaf(kind, content)
        if kind == "Image" and text == "image":  # pandoc's word for one without a text
            return ""
        # A name that the file does not define: Sphinx's configuration does.
        is_unknown = kind == "Link" and content[2][0].startswith("##SUBST##")
        return text.strip("|") if is_unknown else text


def role_text(role: str, content: str, labels: Mapping[str, str] = MappingProxyType({})) -> str:
    """The visible text of an interpreted text: its label, or the name of its target.

    Where Sphinx prints the title of another file, the words of the target stand for it.
    """
    label = _TARGET.sub("", content)
    if label != content and label:
        return label
    target = content.removeprefix("!")
    if target.startswith("~"):
        target = target[1:].rpartition(".")[2]
    target = target.removeprefix(".")
    kind = role.rpartition(":")[2]
    if kind == "doc":
        return _words(target.strip("/").removesuffix("/index").rpartition("/")[2])
    if kind in ("ref", "numref"):
        return labels.get(target.lower()) or _words(target.removeprefix("ref-"))
    if kind in ("rfc", "pep"):
        return f"{kind.upper()} {target.replace('#', ' ').replace('section-', 'section ')}"
    if kind in ("func", "meth") and not target.endswith(")"):
        return f"{target}()"
    return target


def _words(target: str) -> str:
    return target.replace("-", " ").replace("_", " ")


def _labels(text: str) -> dict[str, str]:
    """The headings of the file by the labels before them, in lower case."""
    return {
        label.strip("`").lower(): " ".join(match["title"].replace("`", "").split())
        for match in _LABELLED.finditer(text)
        for label in _LABEL.findall(match["labels"])
    }


def _without_aside(node: Node) -> Node:
    """The node; a list of fields without those that are no text."""
    if node["t"] != "DefinitionList":
        return node
    text = TreeReader().text
    return {**node, "c": [one for one in node["c"] if text(one[0]).strip().lower() not in _ASIDE]}


def _metadata(tree: Tree) -> StatedMetadata:
    """The metadata in a field list at the top or right below the title (docutils' docinfo)."""
    metadata = tree_metadata(tree.meta)
    reader = RstReader()
    fields: dict[str, Any] = {}
    lists = (node["c"] for node in tree.blocks[:2] if node["t"] == "DefinitionList")
    for term, definitions in chain.from_iterable(lists):
        if name := _DOCINFO.get(reader.text(term).strip().lower()):
            text = " ".join(block.text for part in definitions for block in reader.blocks(part))
            fields.setdefault(name, text)
    return replace(metadata, **fields)


PARSER = RstParser()
