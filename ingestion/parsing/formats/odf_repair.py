"""The XML of an OpenDocument file, rewritten before anydoc reads it.

anydoc leaves out headers, footers and comments, joins words and their readings, and does not tell
raised text apart.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping

from ingestion.parsing.formats.asides import comment_mark, comment_text, reading_mark
from ingestion.parsing.formats.ooxml import TAG, escaped, plain
from ingestion.parsing.formats.page_margins import is_margin_text
from ingestion.parsing.formats.raised_text import subscript, superscript

CONTENT, _STYLES = "content.xml", "styles.xml"
_PARAGRAPH_END = re.compile(rb"</text:(?:p|h)>")
_ANNOTATION = re.compile(
    rb"<office:annotation\b(?:[^<>]*/>|.*?</office:annotation>)|<office:annotation-end\b[^<>]*/>",
    re.DOTALL,
)
_CREATOR = re.compile(rb"<dc:creator>([^<]*)</dc:creator>|<dc:date>[^<]*</dc:date>")
_PARAGRAPH = re.compile(rb"<text:(?:p|h)\b")
_RUBY = re.compile(
    rb"<text:ruby\b[^<>]*>.*?<text:ruby-base\b[^<>]*>(.*?)</text:ruby-base>"
    rb"\s*<text:ruby-text\b[^<>]*>(.*?)</text:ruby-text>\s*</text:ruby>",
    re.DOTALL,
)
_RAISING_STYLE = re.compile(
    rb'<style:style\s(?=[^<>]*style:family="text")[^<>]*?style:name="([^"]*)"[^<>]*>'
    rb'(?:(?!</style:style>).){0,2000}?style:text-position="\s*(-?)(super|sub|\d)',
    re.DOTALL,
)
_SPAN = re.compile(rb'(<text:span\s[^<>]*text:style-name="([^"]*)"[^<>]*>)([^<]*)(?=</text:span>)')
_MASTER = re.compile(rb"<office:master-styles>(.*)</office:master-styles>", re.DOTALL)
_ROOT = re.compile(rb"<office:document-styles(\s[^<>]*)>")
_MARGIN = re.compile(
    rb"<style:(header|footer)(?:-left|-first)?((?:\s[^<>]*)?)(?<!/)>(.*?)"
    rb"</style:\1(?:-left|-first)?>",
    re.DOTALL,
)
_PAGE_NUMBER = re.compile(rb"<text:page-(?:number|count)\b(?:[^<>]*/>|[^<>]*>[^<]*</[^<>]*>)")
_BODY_START = re.compile(rb"<office:text(?:\s[^<>]*)?(?<!/)>")
_BEFORE = 300  # bytes, mostly tags; a guess


def repaired_parts(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The content of a text document, with headers before its body and footers after it.

    Raises KeyError without a content, and the errors in `zip_safety.UNREADABLE`.
    """
    content = archive.read(CONTENT)
    styles = archive.read(_STYLES) if _STYLES in archive.namelist() else b""
    raising = _raising(styles) | _raising(content)
    content = with_comments(_repaired(content, raising))
    headers, footers = margin_parts(styles)
    top, bottom = (_repaired(b"".join(parts), raising) for parts in (headers, footers))
    content = _BODY_START.sub(lambda match: match[0] + top, content, count=1)
    return {CONTENT: content.replace(b"</office:text>", bottom + b"</office:text>", 1)}


def margin_parts(styles: bytes) -> tuple[list[bytes], list[bytes]]:
    """The headers, and the footers, of the page styles: each distinct one once, as sections."""
    master, root = _MASTER.search(styles), _ROOT.search(styles)
    margins: dict[bytes, dict[str, bytes]] = {b"header": {}, b"footer": {}}
    for kind, attributes, source in _MARGIN.findall(master[1]) if master and root else ():
        content = _PAGE_NUMBER.sub(b"", source)
        words = " ".join(plain(_PARAGRAPH_END.sub(b" ", content)).split())
        is_shown = b'style:display="false"' not in attributes
        if is_shown and is_margin_text(words, has_page_number=content != source):
            section = b"<text:section%s>%s</text:section>" % (root[1] if root else b"", content)
            margins[kind].setdefault(words, section)
    return list(margins[b"header"].values()), list(margins[b"footer"].values())


def with_comments(content: bytes, element: bytes = b"%s") -> bytes:
    """The content with its comments as marked text (`asides`), each in this element."""

    def marked(match: re.Match[bytes]) -> bytes:
        creator = _CREATOR.search(match[0])
        author = plain(creator[1] or b"") if creator else ""
        text = plain(_PARAGRAPH.sub(rb" \g<0>", _CREATOR.sub(b"", match[0])))
        mark = escaped(comment_mark(comment_text(author, text)))
        return element % mark if mark else b""

    return _ANNOTATION.sub(marked, content)


def _raising(part: bytes) -> dict[bytes, bool]:
    """Whether text in a style is raised, for the styles of raised and of lowered text."""
    return {
        name: not minus and position != b"sub"
        for name, minus, position in _RAISING_STYLE.findall(part)
        if position != b"0"
    }


def _repaired(part: bytes, raising: Mapping[bytes, bool]) -> bytes:
    def ruby(match: re.Match[bytes]) -> bytes:
        return escaped(reading_mark(plain(match[1]), plain(match[2])))

    def span(match: re.Match[bytes]) -> bytes:
        if match[2] not in raising:
            return match[0]
        text = plain(match[3])
        if not raising[match[2]]:
            return match[1] + escaped(subscript(text))
        before = match.string[max(0, match.start() - _BEFORE) : match.start()]
        # A tag may be cut at the beginning.
        word = plain(TAG.sub(b"", _PARAGRAPH.split(before)[-1]).rpartition(b">")[2])
        return match[1] + escaped(superscript(text, word))

    part = _RUBY.sub(ruby, part) if b"<text:ruby" in part else part
    return _SPAN.sub(span, part) if raising else part
