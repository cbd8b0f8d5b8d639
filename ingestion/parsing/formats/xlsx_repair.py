"""The texts of an XLSX, rewritten before anydoc reads them, and the comments on its cells."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator

from ingestion.parsing.formats.asides import comment_text
from ingestion.parsing.formats.ooxml import (
    attributes,
    plain,
    read_member,
    relations,
    texts,
    with_texts,
    word_before,
)
from ingestion.parsing.formats.raised_text import subscript, superscript
from ingestion.parsing.formats.symbol_fonts import in_unicode, is_symbol_font

_RUN = re.compile(rb"(<((?:\w+:)?)r>\s*<\2rPr>)(.{0,2000}?)(</\2rPr>)(.*?)(?=</\2r>)", re.DOTALL)
_VERTICAL = re.compile(rb'vertAlign\s+val="(superscript|subscript)"')
_FONT = re.compile(rb'rFont\s+val="([^"]*)"')
_TEXT_START = re.compile(rb"<(?:\w+:)?(?:si|is)>")
_COMMENT = re.compile(rb"<((?:\w+:)?)comment\s([^<>]*)>(.*?)</\1comment>", re.DOTALL)
_AUTHOR = re.compile(rb"<((?:\w+:)?)author>([^<]*)</\1author>|<(?:\w+:)?author\s*/>")
_THREADED = re.compile(
    rb"<((?:\w+:)?)threadedComment\s([^<>]*)>(.*?)</\1threadedComment>", re.DOTALL
)
_PERSON = re.compile(rb"<(?:\w+:)?person\s([^<>]*)>")
_PERSONS = "xl/persons/person.xml"
# Excel writes this for versions that do not know threads.
_STANDS_FOR_A_THREAD = "[Threaded comment]"


def repaired(part: bytes) -> bytes:
    """The shared texts, or a sheet, with raised text and symbols as characters."""
    return _RUN.sub(_run, part) if b"vertAlign" in part or b"rFont" in part else part


def _run(match: re.Match[bytes]) -> bytes:
    rest = match[5]
    font, vertical = _FONT.search(match[3]), _VERTICAL.search(match[3])
    if font and is_symbol_font(plain(font[1])):
        rest = with_texts(rest, lambda text: in_unicode(text, plain(font[1])))
    if vertical and vertical[1] == b"subscript":
        rest = with_texts(rest, subscript)
    elif vertical:
        word = word_before(match, _TEXT_START)
        rest = with_texts(rest, lambda text: superscript(text, word))
    return match[1] + match[3] + match[4] + rest


def comments_on(archive: zipfile.ZipFile, sheet: str) -> Iterator[str]:
    """The comments and notes on the cells of a sheet, given by its member's name."""
    for name in relations(archive, sheet).values():
        part = read_member(archive, name)
        if "/threadedComments/" in name:
            people = map(attributes, _PERSON.findall(read_member(archive, _PERSONS)))
            authors = {each.get("id", ""): each.get("displayName", "") for each in people}
            for _, tag, content in _THREADED.findall(part):
                yield comment_text(
                    authors.get(attributes(tag).get("personId", ""), ""), plain(content)
                )
        elif re.fullmatch(r"xl/(?:comments/)?comments?\d*\.xml", name):
            named = [plain(author) for _, author in _AUTHOR.findall(part)]
            for _, tag, content in _COMMENT.findall(part):
                number = attributes(tag).get("authorId", "")
                author = (
                    named[int(number)] if number.isdecimal() and int(number) < len(named) else ""
                )
                if not (text := texts(content)).startswith(_STANDS_FOR_A_THREAD):
                    yield comment_text(author, text)
