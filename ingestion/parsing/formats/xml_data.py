"""XML -> titles as headings, running text as paragraphs, small values as "name: value"."""

from __future__ import annotations

import html
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.parsers import expat
from xml.parsers.expat import errors

from ingestion.domain import Block, BlockKind
from ingestion.errors import ParseFailed, ParseLimitExceeded
from ingestion.parsing.formats.markup import decode_html, plain_text
from ingestion.parsing.formats.pandoc_tree import strip_tags
from ingestion.parsing.formats.tabular import table_of
from ingestion.parsing.formats.text import PARAGRAPH_CHARS, paragraph_blocks
from ingestion.parsing.formats.zip_safety import UNREADABLE
from ingestion.parsing.limits import MIB
from ingestion.parsing.protocol import Extraction, Source

_DEEPEST = 500
_LARGEST_PROPERTIES = MIB
_TITLES = frozenset({"title", "head", "heading", "article-title"})
_PROSE = frozenset({"p", "para", "simpara", "paragraph"})
# A value this long is running text and needs no label. A guess.
_LONGEST_VALUE = 200
_AT_THE_END = frozenset(
    {errors.XML_ERROR_NO_ELEMENTS, errors.XML_ERROR_UNCLOSED_TOKEN}
    | {errors.XML_ERROR_UNCLOSED_CDATA_SECTION, errors.XML_ERROR_PARTIAL_CHAR}
)


class Element:
    """One element: local name, attributes, and content (texts and elements in order)."""

    __slots__ = ("attributes", "content", "name")

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        self.attributes = attributes
        self.content: list[str | Element] = []

    def children(self) -> list[Element]:
        return [one for one in self.content if isinstance(one, Element)]

    def walk(self) -> Iterator[Element]:
        """The element and all within it."""
        yield self
        for child in self.children():
            yield from child.walk()

    def has_own_text(self) -> bool:
        return any(isinstance(one, str) and one.strip() for one in self.content)

    def text(self) -> str:
        return " ".join("".join(self._texts()).split())

    def _texts(self) -> Iterator[str]:
        for one in self.content:
            if isinstance(one, str):
                yield one
            else:
                yield from one._texts()


class XmlParser:
    """Articles, feeds and records. Entities are refused; no other file is ever opened."""

    name = "xml"

    def extract(self, source: Source) -> Extraction:
        # Nested generators take several frames per level; the child parses only this file.
        sys.setrecursionlimit(10 * _DEEPEST)
        text = decode_html(source.path.read_bytes())
        try:
            root = read_elements(text)
        except expat.ExpatError as error:
            return plain_text(
                strip_tags(text),
                f"This is not well-formed XML (line {error.lineno}: "
                f"{expat.ErrorString(error.code)}): its text was indexed without its structure.",
                is_cut_off=expat.ErrorString(error.code) in _AT_THE_END,
            )
        return Extraction(_XmlReader(root).blocks())


def read_elements(text: str) -> Element:
    """The root element. Raises ExpatError, ParseFailed for entities, ParseLimitExceeded."""
    top = Element("", {})
    opened = [top]
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(opened) > _DEEPEST:
            raise ParseLimitExceeded(
                f"This XML nests elements more than {_DEEPEST} deep. Split it into simpler files."
            )
        element = Element(name.rpartition(":")[2], attributes)
        opened[-1].content.append(element)
        opened.append(element)

    def end(name: str) -> None:
        opened.pop()

    def characters(text: str) -> None:
        opened[-1].content.append(text)

    def skipped(name: str, is_parameter: bool) -> None:
        # Entities of a DTD that is not read: usually those of HTML.
        opened[-1].content.append("" if is_parameter else html.unescape(f"&{name};"))

    def refuse(*declaration: object) -> None:
        raise ParseFailed(
            "This XML declares entities, which can expand without limit and are not supported. "
            "Export it with the entities replaced by their text."
        )

    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.SkippedEntityHandler = skipped
    parser.EntityDeclHandler = refuse
    # As str, whatever the declaration says: expat knows few encodings, and no Japanese one.
    parser.Parse(text.lstrip("\ufeff \n\t"), True)
    return top.children()[0]


def read_properties(path: Path, member: str) -> dict[str, str]:
    """The text of each element of a container's property file, by local name; {} without one.

    Of several elements with one name, the first counts.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            root = read_elements(decode_html(file.read(_LARGEST_PROPERTIES)))
    except (KeyError, OSError, expat.ExpatError, ParseFailed, *UNREADABLE):
        return {}
    texts: dict[str, str] = {}
    for element in root.walk():
        own = "".join(one for one in element.content if isinstance(one, str)).strip()
        if own:
            texts.setdefault(element.name, own)
    return texts


class _XmlReader:
    """Turns a tree of elements into blocks."""

    def __init__(self, root: Element) -> None:
        self._root = root
        self._title = _document_title(root)
        self._is_prose = _has_mixed_text(root)

    def blocks(self) -> Iterator[Block]:
        yield from self._element(self._root, 2)

    def _element(self, element: Element, level: int) -> Iterator[Block]:
        """The element's titles, values and children; `level` is that of its own title."""
        if element.has_own_text() or not element.content:
            yield from self._values([element])
            return
        below = level
        attributes = self._attributes(element)
        pending: list[Element | str] = [attributes] if attributes else []
        for child in element.children():
            if child.name in _TITLES and not self._is_reference(element, child):
                yield from self._values(pending)
                pending = []
                heading = child.text()
                own = 1 if child is self._title else min(level, 6)
                yield Block(BlockKind.HEADING, heading, level=own)
                below = level if own == 1 else min(level + 1, 6)
            elif child.name == "table" and (table := self._table(child)):
                yield from self._values(pending)
                pending = []
                yield table
            elif child.has_own_text() or not child.content:
                pending.append(child)
            else:
                yield from self._values(pending)
                pending = []
                yield from self._element(child, below)
        yield from self._values(pending)

    @staticmethod
    def _is_reference(parent: Element, child: Element) -> bool:
        # JATS uses one name for the article's own title and for cited titles.
        return child.name == "article-title" and parent.name != "title-group"

    def _values(self, elements: Sequence[Element | str]) -> Iterator[Block]:
        """Short values of one parent in one paragraph, a line each; running text separately."""
        lines: list[str] = []
        for one in elements:
            text = one if isinstance(one, str) else _readable(one.text())
            is_running = isinstance(one, Element) and (
                one.name in _PROSE or bool(one.children()) or len(text) > _LONGEST_VALUE
            )
            if is_running or sum(map(len, lines)) > PARAGRAPH_CHARS:
                yield from paragraph_blocks("\n".join(lines))
                lines = []
            if is_running:
                yield from paragraph_blocks(text)
            elif line := (one if isinstance(one, str) else self._line(one, text)):
                lines.append(line)
        yield from paragraph_blocks("\n".join(lines))

    def _line(self, element: Element, text: str) -> str:
        attributes = self._attributes(element)
        if not text:
            return attributes
        inside = attributes.partition(": ")[2]
        return f"{element.name} ({inside}): {text}" if inside else f"{element.name}: {text}"

    def _attributes(self, element: Element) -> str:
        """ "product: sku=D40"; empty in articles, whose attributes are for machines."""
        if self._is_prose:
            return ""
        pairs = [
            f"{name}={value}"
            for name, value in element.attributes.items()
            if value.strip() and ":" not in name and name != "xmlns"
        ]
        return f"{element.name}: {', '.join(pairs)}" if pairs else ""

    @staticmethod
    def _table(element: Element) -> Block | None:
        """A table in HTML's markup, as in JATS and DITA; None without rows."""
        rows = [
            [(cell.text(), 1, 1) for cell in row.children() if cell.name in ("td", "th")]
            for row in _descendants(element, "tr")
        ]
        return table_of(rows, has_head=None) if any(rows) else None


def _readable(text: str) -> str:
    """The text without HTML tags, which feeds embed in values."""
    return " ".join(strip_tags(text).split()) if "</" in text or "/>" in text else text


def _descendants(element: Element, name: str) -> Iterator[Element]:
    for child in element.children():
        if child.name == name:
            yield child
        else:
            yield from _descendants(child, name)


def _has_mixed_text(element: Element) -> bool:
    """Whether there is mixed content anywhere, as in articles but not in data."""
    children = element.children()
    return bool(children) and (element.has_own_text() or any(map(_has_mixed_text, children)))


def _document_title(parent: Element) -> Element | None:
    """The first title outside repeated elements, which are records."""
    alone = set(map(id, _only_children(parent)))
    for child in parent.children():
        if child.name in _TITLES and not _XmlReader._is_reference(parent, child):
            return child
        if id(child) in alone and (title := _document_title(child)):
            return title
    return None


def _only_children(element: Element) -> list[Element]:
    children = element.children()
    counts = Counter(child.name for child in children)
    return [child for child in children if counts[child.name] == 1]


PARSER = XmlParser()
