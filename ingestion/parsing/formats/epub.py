"""EPUB -> Blocks, with the title, author, language and date of its package file.

pandoc reads the book. A book that it refuses, because a chapter is missing or in a legacy
encoding, is read chapter by chapter.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote
from xml.parsers import expat

from ingestion.domain import Block, Completeness, Unit, Why
from ingestion.errors import DamagedFile, EncryptedFile, ParseFailed
from ingestion.parsing.formats.markup import PandocUnreadable, decode_html, extraction, read_tree
from ingestion.parsing.formats.ooxml import changed
from ingestion.parsing.formats.pandoc_tree import TreeReader
from ingestion.parsing.formats.xml_data import Element, read_elements, read_properties
from ingestion.parsing.formats.zip_safety import UNREADABLE, check_archive
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import Extraction, Source, StatedMetadata

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_CHAPTERS = (".xhtml", ".html", ".htm", ".xml")
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp")
_PAGES = re.compile(r".*\.(?:xhtml|html|htm|xml|opf)", re.IGNORECASE)
_LEFT_OUT = re.compile(
    rb"(epub:type=[\"'])[^\"'<>]*\btitlepage\b[^\"'<>]*|(<itemref\s[^<>]*)\blinear=[\"']no[\"']"
)
_UNLISTED = (
    "This book does not follow the EPUB format: its chapters were read one by one, and some may "
    "be missing."
)


class EpubParser:
    """A whole book as one document."""

    name = "pandoc-epub"

    def extract(self, source: Source) -> Extraction:
        check_archive(source.path, source.limits)
        if any(name.lower().endswith(_CHAPTERS) for name in _encrypted(source.path)):
            raise EncryptedFile(
                "This book is protected against copying (DRM): its text cannot be read. Ask the "
                "publisher for a copy without protection."
            )
        try:
            tree = read_tree(_with_every_page(source), "epub", source.limits)
            result = extraction(tree, TreeReader())
            return replace(result, completeness=_counts(source.path))
        except PandocUnreadable as error:
            chapters = _chapters(source.path)
            if not chapters:
                raise DamagedFile(
                    "This book is damaged: it contains no chapters. Open it in an e-book program, "
                    "save it again and upload the new file."
                ) from error
            blocks = _read(source.path, chapters, source.limits)
            counts = _counts(source.path)
            return Extraction(blocks, _metadata(source.path), [_UNLISTED], completeness=counts)


def _with_every_page(source: Source) -> Path:
    """The book without the attributes by which pandoc leaves out title pages and side notes."""
    data = source.path.read_bytes()
    with suppress(*UNREADABLE):  # pandoc reports it
        book = changed(data, _PAGES, lambda page: _LEFT_OUT.sub(rb"\1\2", page))
        if book is not data:
            path = source.scratch / "book.epub"
            path.write_bytes(book)
            return path
    return source.path


def _read(path: Path, chapters: list[str], limits: ParseLimits) -> Iterator[Block]:
    for name in chapters:
        page = decode_html(_member(path, name))
        yield from TreeReader().blocks(read_tree(page, "html", limits).blocks)


def _counts(path: Path) -> Completeness:
    """The number of the book's chapters, of missing ones, and of pictures."""
    names, spine = _names(path), _spine(path)
    pictures = sum(name.lower().endswith(_PICTURES) for name in names)
    completeness = Completeness(Unit.CHAPTER, len(spine), pictures=pictures)
    missing = [number for number, name in enumerate(spine, 1) if name not in names]
    completeness.add(Unit.CHAPTER, Why.DAMAGED, missing)
    return completeness


def _names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def _chapters(path: Path) -> list[str]:
    """The names of the chapters present, in the order of the spine, else sorted by name."""
    names = _names(path)
    listed = list(dict.fromkeys(name for name in _spine(path) if name in names))
    return listed or sorted(name for name in names if _is_chapter(name))


def _spine(path: Path) -> list[str]:
    """The names of the chapters that the book lists, in their order."""
    package = _package(path)
    root = _elements(path, package) if package else None
    files = {
        item.attributes.get("id", ""): posixpath.normpath(
            posixpath.join(posixpath.dirname(package), unquote(item.attributes.get("href", "")))
        )
        for item in _all(root, "item")
    }
    return [files.get(one.attributes.get("idref", ""), "") for one in _all(root, "itemref")]


def _is_chapter(name: str) -> bool:
    return name.lower().endswith(_CHAPTERS[:3]) and posixpath.basename(name) != "nav.xhtml"


def _package(path: Path) -> str:
    """The name of the package file, which lists the chapters; empty if there is none."""
    listed = [
        one.attributes.get("full-path", "") for one in elements_in(path, _CONTAINER, "rootfile")
    ]
    names = _names(path)
    candidates = [*listed, *(name for name in names if name.lower().endswith(".opf"))]
    return next((name for name in candidates if name in names), "")


def _metadata(path: Path) -> StatedMetadata:
    properties = read_properties(path, _package(path))
    return StatedMetadata(
        title=properties.get("title", ""),
        author=properties.get("creator", ""),
        language=properties.get("language", ""),
        created=properties.get("date", ""),
    )


def _encrypted(path: Path) -> list[str]:
    """The parts that the book declares as encrypted: usually fonts; with DRM, everything."""
    references = elements_in(path, _ENCRYPTION, "CipherReference")
    return [unquote(one.attributes.get("URI", "")) for one in references]


def elements_in(path: Path, member: str, name: str) -> list[Element]:
    return list(_all(_elements(path, member), name))


def _elements(path: Path, member: str) -> Element | None:
    """The root element of a member; None if it is missing or not XML."""
    try:
        return read_elements(decode_html(_member(path, member)))
    except (KeyError, expat.ExpatError, ParseFailed):
        return None


def _member(path: Path, name: str) -> bytes:
    """The member's bytes; empty if it cannot be read. Raises KeyError if it does not exist."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(name)
    except UNREADABLE:
        return b""


def _all(element: Element | None, name: str) -> Iterator[Element]:
    return (each for each in (element.walk() if element else ()) if each.name == name)


PARSER = EpubParser()
