"""The texts of an XLSX, rewritten before anydoc reads them, and the texts beside its cells."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator

from ingestion.parsing.formats.asides import comment_text
from ingestion.parsing.formats.ooxml import (
    CHART_TITLE,
    attributes,
    escaped,
    plain,
    read_member,
    readable_run,
    relations,
    texts,
)

_RUN = re.compile(rb"(<((?:\w+:)?)r>\s*<\2rPr>)(.{0,2000}?)(</\2rPr>)(.*?)(?=</\2r>)", re.DOTALL)
_VERTICAL = re.compile(rb'vertAlign\s+val="(superscript|subscript)"')
_FONT = re.compile(rb'rFont\s+val="([^"]*)"')
_COMMENT = re.compile(rb"<((?:\w+:)?)comment\s([^<>]*)>(.*?)</\1comment>", re.DOTALL)
_AUTHOR = re.compile(rb"<((?:\w+:)?)author>([^<]*)</\1author>|<(?:\w+:)?author\s*/>")
_THREADED = re.compile(
    rb"<((?:\w+:)?)threadedComment\s([^<>]*)>(.*?)</\1threadedComment>", re.DOTALL
)
_PERSON = re.compile(rb"<(?:\w+:)?person\s([^<>]*)>")
_BODY = re.compile(rb"<((?:\w+:)?)txBody>(.*?)</\1txBody>", re.DOTALL)
# Of a series whose name is in no cell.
_SERIES = re.compile(rb"<(?:\w+:)?tx>\s*<((?:\w+:)?v)>([^<]*)</\1>")
_PARAGRAPH_END = re.compile(rb"</(?:\w+:)?p>|<(?:\w+:)?br\b")
_MARGIN = re.compile(rb"<(?:\w+:)?(?:odd|even|first)(?:Header|Footer)>([^<]*)<")
_PLACE = re.compile(r"&[LCR]")
_FORM = re.compile(r'&(?:"[^"]*"|[0-9]+|K[0-9A-F]{6}|[A-Z])')
# As Excel writes characters that XML does not have: a carriage return is _x000D_.
_ESCAPED = re.compile(rb"_x([0-9A-Fa-f]{4})_")
_PERSONS = "xl/persons/person.xml"
# Excel writes this for versions that do not know threads.
_STANDS_FOR_A_THREAD = "[Threaded comment]"


def repaired(part: bytes) -> bytes:
    """The shared texts, or a sheet, with raised text, symbols and escapes as characters."""
    part = _ESCAPED.sub(_character, part) if b"_x" in part else part
    return _RUN.sub(_run, part) if b"vertAlign" in part or b"rFont" in part else part


def _character(match: re.Match[bytes]) -> bytes:
    character = chr(int(match[1], 16))
    return escaped(character) if character.isprintable() else b" "


def _run(match: re.Match[bytes]) -> bytes:
    vertical = _VERTICAL.search(match[3])
    script = vertical[1] if vertical else b""
    return readable_run(match, _FONT.search(match[3]), script)


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


def drawn_on(archive: zipfile.ZipFile, sheet: str) -> Iterator[str]:
    """The texts of a sheet's margins and shapes, and the titles of its charts, axes and series."""
    margins = _MARGIN.findall(read_member(archive, sheet))
    parts = dict.fromkeys(part for margin in margins for part in _PLACE.split(plain(margin)))
    yield from (_FORM.sub("", part).strip() for part in parts if "&P" not in part)
    for name in relations(archive, sheet).values():
        if "/drawings/" in name and name.endswith(".xml"):
            for _, body in _BODY.findall(read_member(archive, name)):
                yield _flowing(body)
            for chart in relations(archive, name).values():
                if "/charts/" in chart and chart.endswith(".xml"):
                    part = read_member(archive, chart)
                    yield from (_flowing(title) for _, title in CHART_TITLE.findall(part))
                    yield from (plain(name) for _, name in _SERIES.findall(part))


def _flowing(body: bytes) -> str:
    return " ".join(text for each in _PARAGRAPH_END.split(body) if (text := texts(each).strip()))
