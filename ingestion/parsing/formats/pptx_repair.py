"""The XML of a slide of PPTX, rewritten before anydoc reads it, and its comments.

anydoc leaves out comments and footers, does not tell raised text apart and does not know symbol
fonts.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator

from ingestion.parsing.formats.asides import comment_text
from ingestion.parsing.formats.ooxml import (
    attributes,
    escaped,
    plain,
    read_member,
    relations,
    texts,
)
from ingestion.parsing.formats.raised_text import subscript, superscript
from ingestion.parsing.formats.symbol_fonts import in_unicode, is_symbol_font

# A shape without an end goes on to that of the slide: it is read once.
_SHAPE = re.compile(rb"<p:sp\b.*?(?:</p:sp>|\Z)", re.DOTALL)
_MARGIN = re.compile(rb'(<p:ph\b[^<>]*\btype=")(dt|ftr|sldNum)(?=")')
_RUN = re.compile(
    rb"(<a:r>\s*)(<a:rPr\b[^<>]*?(?:/>|(?<!/)>.{0,2000}?</a:rPr>))(\s*<a:t>)([^<]*)", re.DOTALL
)
_BASELINE = re.compile(rb'<a:rPr\s[^<>]*\bbaseline="(-?)[1-9]')
_FONT = re.compile(rb'<a:(latin|sym)\s[^<>]*\btypeface="([^"]*)"')
_COMMENT = re.compile(rb"<(p\d*):cm\s([^<>]*)>(.*?)</\1:cm>", re.DOTALL)
_REPLY = re.compile(rb"<(p\d*):reply\s([^<>]*)>(.*?)</\1:reply>", re.DOTALL)
_OLD_TEXT = re.compile(rb"<p:text>([^<]*)</p:text>")
_AUTHOR = re.compile(rb"<\w+:(?:cmAuthor|author)\s([^<>]*)>")
_AUTHORS = ("ppt/commentAuthors.xml", "ppt/authors.xml")


def repaired(slide: bytes, footers: set[str]) -> bytes:
    """The slide with raised text and symbols as characters, and its footer if it is a new one."""

    def with_footer(shape: re.Match[bytes]) -> bytes:
        margin = _MARGIN.search(shape[0])
        if margin is None or margin[2] != b"ftr" or (text := texts(shape[0])) in footers:
            return shape[0]
        footers.add(text)
        return shape[0][: margin.start(2)] + b"subTitle" + shape[0][margin.end() :]

    slide = _SHAPE.sub(with_footer, slide)
    return _RUN.sub(_run, slide) if b"baseline=" in slide or _FONT.search(slide) else slide


def without_margins(slide: bytes) -> bytes:
    """The slide without its date, footer and number."""
    return _SHAPE.sub(lambda shape: b"" if _MARGIN.search(shape[0]) else shape[0], slide)


def _run(match: re.Match[bytes]) -> bytes:
    text = plain(match[4])
    for kind, source in _FONT.findall(match[2]):
        if is_symbol_font(font := plain(source)):
            # Where only symbols are in this font, letters and digits are in the other.
            parts = re.split(r"([^\x00-\x7f])", text) if kind == b"sym" else ["", text]
            parts[1::2] = [in_unicode(part, font) for part in parts[1::2]]
            text = "".join(parts)
            break
    if baseline := _BASELINE.match(match[2]):
        text = subscript(text) if baseline[1] else superscript(text)
    return match[1] + match[2] + match[3] + escaped(text)


def comments_on(archive: zipfile.ZipFile, slide: str) -> Iterator[str]:
    """The comments on a slide, given by its member's name, with their authors."""
    authors: dict[str, str] = {}
    for name in relations(archive, slide).values():
        if "/comments/" not in name:
            continue
        for source in _AUTHORS if not authors else ():
            entries = map(attributes, _AUTHOR.findall(read_member(archive, source)))
            authors |= {entry.get("id", ""): entry.get("name", "") for entry in entries}
        for thread in _COMMENT.finditer(read_member(archive, name)):
            replies = _REPLY.findall(thread[3])
            for _, tag, content in (("", thread[2], _REPLY.sub(b"", thread[3])), *replies):
                text = _OLD_TEXT.search(content)
                author = authors.get(attributes(tag).get("authorId", ""), "")
                words = plain(text[1]) if text else texts(content)
                if comment := comment_text(author, words):
                    yield comment
