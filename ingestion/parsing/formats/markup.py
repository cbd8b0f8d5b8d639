"""HTML, AsciiDoc, Org and pages of man -> Blocks, by pandoc, run as a program: it is GPL."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from ingestion import currency_dates as currency
from ingestion.domain import Block, BlockKind, Unit, Why
from ingestion.errors import DamagedFile, ParseFailed, ParseLimitExceeded
from ingestion.parsing.formats.asides import with_asides
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.html_repair import repaired, with_frames
from ingestion.parsing.formats.pandoc_tree import (
    HEAD,
    Node,
    TreeReader,
    metadata_text,
    metadata_texts,
    strip_tags,
)
from ingestion.parsing.formats.text import paragraph_blocks
from ingestion.parsing.formats.web_navigation import with_roles, without_navigation
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import Extraction, Source, StatedMetadata

_HEAP_EXHAUSTED = 251
BACKTICK = "\ufdd9"
"""Stands for a backtick that is no markup, as wide as it: tables keep their columns."""
# pandoc takes exponential time on these, with no limit of its own (docs/adr/0008-parsers.md).
_TOO_DEEP = re.compile(
    r"\[{200}|\({1000}|\*{1000}|_{1000}|~{1000}|^[ \t>]{400}"
    r"|^[ \t]*(?:[-*+][ \t]+|>[ \t]*){200,}[^-*+>\s]",
    re.MULTILINE,
)

# For programs alone, or shown as the document's title and language.
_NOT_TEXT = frozenset(
    """
    title lang language layout template permalink url slug aliases draft weight id toc
    bibliography nocite documentclass sidebar_label sidebar_position nav_order
    """.split()  # noqa: SIM905
)
# Addresses and paths alone, such as of pictures, are for programs, too; TCP/IP is none.
_PATH = re.compile(r"(?=\S*/)(?:/|\S*[.:])\S*")


class PandocUnreadable(DamagedFile):
    """pandoc refused the text; another reader may accept it."""


@dataclass(frozen=True)
class Tree:
    """pandoc's document: metadata by name, and block nodes."""

    meta: dict[str, Any]
    blocks: list[dict[str, Any]]


def is_too_deep(text: str) -> bool:
    """Whether the markup is nested too deeply for pandoc."""
    return _TOO_DEEP.search(text) is not None


def plain_text(text: str, warning: str, *, is_cut_off: bool = False) -> Extraction:
    """The extraction of markup that is read as plain text, with a warning."""
    return Extraction(paragraph_blocks(text), warnings=[warning]).cut_off(is_cut_off)


TOO_DEEP_WARNING = (
    "The markup is nested too deeply to be interpreted: the file was indexed as plain text."
)


def read_tree(content: str | Path, reader: str, limits: ParseLimits) -> Tree:
    """The syntax tree of markup, or of a binary file such as an EPUB given by its path.

    Raises PandocUnreadable, ParseLimitExceeded.
    """
    command = [str(_required()), f"--from={reader}", "--to=json", "--sandbox", "--quiet"]
    command += [str(content)] if isinstance(content, Path) else []
    command += ["+RTS", f"-M{limits.pandoc_heap_mib}m", "-RTS"]
    text = content.encode("utf-8", "replace") if isinstance(content, str) else b""
    process = subprocess.run(command, input=text, capture_output=True, check=False)
    if process.returncode == _HEAP_EXHAUSTED or process.returncode < 0:
        raise ParseLimitExceeded(
            "This file needs more memory than is allowed for one file. Split it into smaller files."
        )
    if process.returncode != 0:
        complaint = process.stderr.decode("utf-8", "replace").partition("HasCallStack")[0]
        complaint = " ".join(complaint.split())[:300].rstrip(".")
        raise PandocUnreadable(
            f"The markup cannot be read: {complaint}. Correct the file and upload it again."
        )
    tree = json.loads(process.stdout.replace(BACKTICK.encode(), b"`"))
    return Tree(tree["meta"], tree["blocks"])


def extraction(tree: Tree, tree_reader: TreeReader) -> Extraction:
    """The blocks and metadata of a syntax tree."""
    return Extraction(tree_reader.blocks(tree.blocks), tree_metadata(tree.meta))


def with_front_matter(tree: Tree, tree_reader: TreeReader) -> Extraction:
    """The extraction of a tree whose metadata is text: who wrote it, its state and number often
    stand there alone.
    """
    blocks = chain(_front_matter(tree.meta, tree_reader), tree_reader.blocks(tree.blocks))
    return Extraction(blocks, tree_metadata(tree.meta))


def _front_matter(meta: dict[str, Any], tree_reader: TreeReader) -> Iterator[Block]:
    for name, value in meta.items():
        if name.lower() in _NOT_TEXT:
            continue
        if value["t"] == "MetaBlocks":
            yield from tree_reader.blocks(value["c"])
        elif not all(map(_PATH.fullmatch, words := metadata_text(value).split())):
            yield Block(BlockKind.LIST_ITEM, f"{name}: {' '.join(words)}")


def tree_metadata(meta: dict[str, Any]) -> StatedMetadata:
    """The metadata of front matter, `<meta>` elements or a book's package file."""

    def first(*names: str) -> str:
        texts = (" ".join(metadata_text(meta.get(name)).split()) for name in names)
        return next(filter(None, texts), "")

    return StatedMetadata(
        title=first("title"),
        author=first("author", "authors", "creator"),
        language=first("lang", "language"),
        # A book has a date for each kind of event.
        created=next(iter(metadata_texts(meta.get("date"))), "") or first("created"),
        modified=first("updated", "modified", "last_modified", "lastmod"),
        stated=currency.values_of({key: metadata_texts(meta.get(key)) for key in currency.KEYS}),
    )


@cache
def executable() -> Path | None:
    """The executable in the package pypandoc_binary, which is not imported; else the system's."""
    package = find_spec("pypandoc")
    for folder in (package.submodule_search_locations or []) if package else []:
        bundled = Path(folder) / "files" / "pandoc"
        if bundled.is_file():
            return bundled
    system = shutil.which("pandoc")
    return Path(system).resolve() if system else None


def _required() -> Path:
    if path := executable():
        return path
    raise ParseFailed(
        "This server lacks pandoc, which reads this format. Ask its administrator to install it."
    )


_DECLARED = re.compile(
    rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w:.-]+)|<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w:.-]+)",
    re.IGNORECASE,
)
_OPENING = re.compile(r"<(?!(?:br|p|li|img|hr|input|meta|link)\b)[a-z]", re.IGNORECASE)
_CLOSING = re.compile(r"</(?!p\b|li\b)[a-z]", re.IGNORECASE)
# pandoc creates a cell for each spanned column; 1,000 is the maximum in browsers.
_SPAN = re.compile(r"(?<=colspan|rowspan)(\s*=\s*[\"']?\s*)\d{4,}", re.IGNORECASE)
_BODY = re.compile(r"<body[\s>]", re.IGNORECASE)
_BODY_END = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)
_DEEPEST = 2_000
_SITE = re.compile(
    r"<meta\b(?=[^<>]*\bproperty\s*=\s*[\"']?og:site_name\b)"
    r"[^<>]*\bcontent\s*=\s*(?:\"([^\"]*)\"|'([^']*)')",
    re.IGNORECASE,
)
_SEPARATOR = r"(?:\s+[-–—|·•»]+\s+|\s*[|—»]\s*)"
_TABLE_TAG = re.compile(r"<(/?)(table|thead|tbody|tfoot|tr|td|th)\b[^<>]*>", re.IGNORECASE)
_LEVELS = {"table": 0, "tr": 2, "td": 3, "th": 3}
_SECTION = 1
_HEADER_CELL = re.compile(r"(?<=<)(/?)th\b", re.IGNORECASE)


class HtmlParser:
    """Headings, lists, tables with their header rows; metadata from the head."""

    name = "pandoc-html"

    def extract(self, source: Source) -> Extraction:
        text = with_frames(decode_html(source.path.read_bytes()))
        if is_too_deep(text) or _nesting(text) > _DEEPEST:
            return plain_text(strip_tags(text), TOO_DEEP_WARNING)
        is_cut_off = bool(_BODY.search(text)) and not _BODY_END.search(text)
        text = with_closed_cells(_SPAN.sub(r"\g<1>1000", text))
        # Of a first row of <th> pandoc makes a head, and cuts its cells off at its end: of those
        # that span several rows the cells of the next ones moved to the left.
        text = _HEADER_CELL.sub(_as_data, text)
        tree = read_tree(with_roles(repaired(text)), "html", source.limits)
        tree = Tree(tree.meta, without_navigation(tree.blocks))
        result = extraction(tree, TreeReader())
        result.blocks = with_asides(result.blocks)
        headings = list(_top_headings(tree.blocks))
        title = page_title(result.metadata.title, headings, _site_name(text))
        result.metadata = replace(result.metadata, title=title)
        return result.cut_off(is_cut_off)


def page_title(title: str, headings: Sequence[str], site: str) -> str:
    """The title without the name of the site, where a top heading or the site says which it is."""
    title = " ".join(title.split())
    for heading in sorted(headings, key=len, reverse=True):
        if re.match(re.escape(heading) + _SEPARATOR, title, re.IGNORECASE):
            return title[: len(heading)]
    if not site:
        return title
    name = re.escape(" ".join(site.split()))
    return re.sub(f"{_SEPARATOR}{name}$|^{name}(?:{_SEPARATOR}|: )", "", title) or title


def _top_headings(nodes: Sequence[Node]) -> Iterator[str]:
    for node in nodes:
        if node["t"] == "Header" and node["c"][0] == 1:
            if text := " ".join(TreeReader().heading(node["c"][2]).split()):
                yield text
        elif node["t"] == "Div":
            yield from _top_headings(node["c"][1])


def with_closed_cells(text: str) -> str:
    """The page with the end tags that HTML lets tables omit, and without which pandoc sees none."""
    parts: list[str] = []
    position = 0
    opened: list[str] = []
    for tag in _TABLE_TAG.finditer(text):
        is_end, name = bool(tag[1]), tag[2].lower()
        level = _LEVELS.get(name, _SECTION)
        ended: list[str] = []
        while opened and level and _LEVELS.get(opened[-1], _SECTION) >= level + is_end:
            ended.append(opened.pop())
        if is_end and not level:
            while opened and opened[-1] != name:
                ended.append(opened.pop())
        if ended:
            parts += [text[position : tag.start()], *(f"</{one}>" for one in ended)]
            position = tag.start()
        if not is_end:
            opened.append(name)
        elif opened and opened[-1] == name:
            opened.pop()
    return "".join([*parts, text[position:]])


def _as_data(cell: re.Match[str]) -> str:
    return "/td" if cell[1] else f'td data-{HEAD}="1"'


def _site_name(text: str) -> str:
    stated = _SITE.search(text)
    return html.unescape(stated[1] or stated[2] or "") if stated else ""


def decode_html(data: bytes) -> str:
    """The page as text; its declared encoding counts if it has no mark and is not UTF-8."""
    declared = _DECLARED.search(data[:4_096])
    name = next((group for group in declared.groups() if group), b"") if declared else b""
    return decode(data, name.decode("ascii", "replace"))


def _nesting(text: str) -> int:
    """The approximate number of unclosed elements; deep trees exceed pandoc and the JSON reader."""
    return len(_OPENING.findall(text)) - len(_CLOSING.findall(text))


HTML = HtmlParser()


def note_includes(result: Extraction, names: Sequence[str]) -> None:
    """Record the other files whose text belongs to this one; they are never opened."""
    result.completeness.add(Unit.FILE, Why.LINK, names)
    if names:
        result.completeness.others[Unit.FILE] = 1 + len(names)


@dataclass(frozen=True)
class MarkupParser:
    """Sections, lists, tables, listings; title and author from the document's own header.

    `reader` is pandoc's name of the format, `includes` matches the directives to remove, with the
    name of a file. `prepare` rewrites what pandoc misreads.
    """

    reader: str
    includes: re.Pattern[str]
    prepare: Callable[[str], str] = str

    @property
    def name(self) -> str:
        return f"pandoc-{self.reader}"

    def extract(self, source: Source) -> Extraction:
        text = decode(source.path.read_bytes())
        names = self.includes.findall(text)
        text = self.includes.sub("", text)
        if is_too_deep(text):
            return plain_text(text, TOO_DEEP_WARNING)
        try:
            tree = read_tree(self.prepare(text), self.reader, source.limits)
            result = with_front_matter(tree, TreeReader())
        except PandocUnreadable as error:
            result = plain_text(text, f"Read as plain text: {error}")
        note_includes(result, names)
        return result


_DELIMITER = re.compile(r"(?:-{4,}|={4,}|\.{4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|\|={3,}|--)|(```)\w*")
_ASCIIDOC_ITEM = re.compile(r"[ \t]*(?:\*{1,5}|\.{1,5}|-|\d+\.)[ \t]+\S")


def with_whole_lists(text: str) -> str:
    """AsciiDoc in which pandoc does not end a list behind a block attached to an item by `+`.

    An empty line before the next item, or a picture, would: numbers would begin again.
    """
    lines: list[str] = []
    gap: list[str] = []
    is_attached, delimiter = False, ""
    for line in text.split("\n"):
        bare = line.rstrip()
        if delimiter:
            delimiter = "" if bare == delimiter else delimiter
        elif not bare and is_attached:
            gap.append(line)
            continue
        elif opening := _DELIMITER.fullmatch(bare):
            delimiter = opening[1] or bare
        elif gap and _ASCIIDOC_ITEM.match(line):
            gap = []
        # Another paragraph ends the list.
        is_attached = bare == "+" or (is_attached and not gap)
        line = re.sub("^image::", "image:", line) if is_attached else line
        lines += [*gap, line]
        gap = []
    return "\n".join([*lines, *gap])


ASCIIDOC = MarkupParser(
    "asciidoc", re.compile(r"^include::(\S*?)\[.*\]\s*$", re.MULTILINE), with_whole_lists
)
ORG = MarkupParser(
    "org", re.compile(r"^#\+(?:include|setupfile):[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)
)
MAN = MarkupParser("man", re.compile(r"^\.so[ \t]+(\S+)", re.MULTILINE))
