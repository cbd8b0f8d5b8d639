"""XML -> titles as headings, running text as paragraphs, small values as "name: value"."""

from __future__ import annotations

import html
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from xml.parsers import expat
from xml.parsers.expat import errors

from ingestion.domain import Block, BlockKind
from ingestion.errors import ParseFailed, ParseLimitExceeded
from ingestion.parsing.formats.markup import decode_html, plain_text
from ingestion.parsing.formats.pandoc_tree import strip_tags
from ingestion.parsing.formats.tabular import table_of
from ingestion.parsing.formats.text import paragraph_blocks
from ingestion.parsing.formats.zip_safety import UNREADABLE
from ingestion.parsing.limits import MIB, ParseLimits
from ingestion.parsing.protocol import Extraction, Source

_DEEPEST = 500
_LARGEST_PROPERTIES = MIB
_TITLES = frozenset({"title", "head", "heading", "article-title"})
_PROSE = frozenset({"p", "para", "simpara", "paragraph"})
_TABLES = frozenset({"table", "informaltable"})
_ROWS, _CELLS = frozenset({"tr", "row"}), frozenset({"td", "th", "entry"})
_MACHINES = frozenset({"xml", "xmlns", "xsi", "xlink"})  # name spaces
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
            elif one.name in _PROSE:  # of a note
                yield f" {one.text()} "
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
        return Extraction(_XmlReader(root, source.limits).blocks())


def read_elements(text: str) -> Element:
    """The root element. Raises ExpatError, ParseLimitExceeded; ParseFailed for entities other than
    short texts, as documentation has them for names.
    """
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

    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.SkippedEntityHandler = skipped
    parser.EntityDeclHandler = _check_entity
    # As str, whatever the declaration says: expat knows few encodings, and no Japanese one.
    parser.Parse(text.lstrip("\ufeff \n\t"), True)
    return top.children()[0]


def _check_entity(name: str, is_parameter: bool, value: str | None, *_: object) -> None:
    if is_parameter or value is None or len(value) > _LONGEST_VALUE or {*"&<"} & {*value}:
        raise ParseFailed(
            "This XML declares entities that can expand without limit or are other files: they "
            "are not supported. Export it with the entities replaced by their text."
        )


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

    def __init__(self, root: Element, limits: ParseLimits) -> None:
        self._root = root
        self._limits = limits
        self._title = _document_title(root)
        self._is_article = _is_article(root)

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
            elif child.name in _TABLES and (table := self._table(child)):
                beside = (one for one in child.children() if one.name not in _ROWS and one.text())
                yield from self._values([*pending, *(one for one in beside if not _rows(one))])
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
        parts: list[str] = []
        for one in elements:
            text = one if isinstance(one, str) else _readable(one.text())
            if isinstance(one, str):
                parts.append(one)
            elif one.name in _PROSE or one.children() or len(text) > _LONGEST_VALUE:
                parts.append(f"\n{self._attributes(one)}\n\n{text}\n")
            else:
                parts.append(self._line(one, text))
        yield from paragraph_blocks("\n".join(filter(None, parts)).strip())

    def _line(self, element: Element, text: str) -> str:
        attributes = self._attributes(element)
        if not (text and attributes):
            return attributes or (f"{element.name}: {text}" if text else "")
        return f"{attributes.replace(': ', ' (', 1)}): {text}"

    def _attributes(self, element: Element) -> str:
        """ "product: sku=D40"; empty in articles, whose attributes are for machines."""
        if self._is_article:
            return ""
        pairs = [
            f"{name.rpartition(':')[2]}={value}"
            for name, value in element.attributes.items()
            if value.strip() and name.partition(":")[0] not in _MACHINES
        ]
        return f"{element.name}: {', '.join(pairs)}" if pairs else ""

    def _table(self, element: Element) -> Block | None:
        """A table in HTML's markup, as in JATS, or in CALS, as in DITA; None without rows of such
        cells alone.
        """
        rows = [[(cell.text(), 1, 1) for cell in row.children()] for row in _rows(element)]
        names = {cell.name for row in _rows(element) for cell in row.children()}
        if not names or names - _CELLS:
            return None
        self._limits.check_table(len(rows), max(map(len, rows)))
        return table_of(rows, has_head=None)


def _readable(text: str) -> str:
    """The text without HTML tags, which feeds embed in values."""
    return " ".join(strip_tags(text).split()) if "</" in text or "/>" in text else text


def _rows(element: Element) -> list[Element]:
    """The rows within an element, without those of tables within cells."""
    nested = ([one] if one.name in _ROWS else _rows(one) for one in element.children())
    return [*chain.from_iterable(nested)]


def _is_article(root: Element) -> bool:
    """Whether there are elements within running text; those within a short value are of data."""
    mixed = (one for one in root.walk() if one.has_own_text() and one.children())
    return any(one.name.lower() in _PROSE or len(one.text()) > _LONGEST_VALUE for one in mixed)


def _document_title(parent: Element) -> Element | None:
    """The first title outside repeated elements, which are records."""
    counts = Counter(child.name for child in parent.children())
    for child in parent.children():
        if child.name in _TITLES and not _XmlReader._is_reference(parent, child):
            return child
        if counts[child.name] == 1 and (title := _document_title(child)):
            return title
    return None


PARSER = XmlParser()
