"""The XML of an OpenDocument file, rewritten before anydoc reads it.

anydoc leaves out headers, footers, comments and charts, joins words and their readings, does not
tell raised text apart and does not know symbol fonts.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain

from ingestion.parsing.formats.asides import comment_mark, comment_text, reading_mark
from ingestion.parsing.formats.ooxml import escaped, plain, read_member, without_private
from ingestion.parsing.formats.page_margins import is_margin_text
from ingestion.parsing.formats.raised_text import subscript, superscript
from ingestion.parsing.formats.symbol_fonts import in_unicode, is_symbol_font

CONTENT, _STYLES = "content.xml", "styles.xml"
_PARAGRAPH_END = re.compile(rb"</text:(?:p|h)>")
_ANNOTATION = re.compile(
    rb"<office:annotation\b(?:[^<>]*/>|.*?</office:annotation>)|<office:annotation-end\b[^<>]*/>",
    re.DOTALL,
)
_CREATOR = re.compile(rb"<dc:creator>([^<]*)</dc:creator>|<dc:date>[^<]*</dc:date>")
_PARAGRAPH = re.compile(rb"<text:(?:p|h)\b")
_RUBY = re.compile(
    rb"<text:ruby\b[^<>]*>\s*<text:ruby-base\b[^<>]*>(.*?)</text:ruby-base>"
    rb"\s*<text:ruby-text\b[^<>]*>(.*?)</text:ruby-text>\s*</text:ruby>",
    re.DOTALL,
)
_RAISING_STYLE = re.compile(
    rb'<style:style\s(?=[^<>]*style:family="text")[^<>]*?style:name="([^"]*)"[^<>]*>'
    rb'(?:(?!</style:style>).){0,2000}?style:text-position="\s*(-?)(super|sub|\d)',
    re.DOTALL,
)
_FONT_STYLE = re.compile(
    rb'<style:style\s(?=[^<>]*style:family="text")[^<>]*?style:name="([^"]*)"[^<>]*>\s*'
    rb'<style:text-properties\s[^<>]*?style:font-name="([^"]*)"'
)
_FONT = re.compile(
    rb'<style:font-face\s[^<>]*?style:name="([^"]*)"[^<>]*?svg:font-family="([^"]*)"'
)
_SPAN = re.compile(rb'(<text:span\s[^<>]*text:style-name="([^"]*)"[^<>]*>)([^<]*)(?=</text:span>)')
_MASTER = re.compile(rb"<office:master-styles>(.*)</office:master-styles>", re.DOTALL)
_ROOT = re.compile(rb"<office:document-styles(\s[^<>]*)>")
_MARGIN = re.compile(
    rb"<style:(header|footer)(?:-left|-first)?((?:\s[^<>]*)?)(?<!/)>(.*?)"
    rb"</style:\1(?:-left|-first)?>",
    re.DOTALL,
)
PAGE_NUMBER = re.compile(rb"<text:page-(?:number|count)\b(?:[^<>]*/>|[^<>]*>[^<]*</[^<>]*>)")
_OBJECT = re.compile(
    rb'<draw:object\s[^<>]*?xlink:href="(?:\./)?([^"/]+)/?"[^<>]*?(?:/>|>.*?</draw:object>)'
    rb"(?:\s*<draw:image\b[^<>]*?(?:/>|>.*?</draw:image>))?",
    re.DOTALL,
)
_TABLE = re.compile(rb"<table:table[\s>].*</table:table>", re.DOTALL)
_PARAGRAPHS = re.compile(rb"<text:p\b[^<>]*>.*?</text:p>", re.DOTALL)
_TITLE = re.compile(rb"<chart:((?:sub)?title)\b[^<>]*>(.*?)</chart:\1>", re.DOTALL)
# A drawn element without another one of its kind, and the rest of the paragraph that it is in.
_DRAWN = rb"<draw:([\w-]+)\b[^<>]*(?<!/)>([^<]*(?:<(?!/?draw:\1\b)[^<]*)*)</draw:\1>"
_DRAWN_IN_TEXT = re.compile(_DRAWN + rb"([^<]*(?:<(?!/?text:[ph]\b)[^<]*)*</text:[ph]>)")
_DRAWN_BESIDE_TEXT = re.compile(_DRAWN)
_BOX = re.compile(rb"<draw:text-box\b[^<>]*>(.*)</draw:text-box>", re.DOTALL)
_MOST_BESIDE = 20  # boxes in a paragraph, each of which takes a pass over the content; a guess
_BODY_START = re.compile(rb"<office:text(?:\s[^<>]*)?(?<!/)>")
_Change = Callable[[str], str]


def repaired_parts(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The content of a text document, with headers before its body and footers after it."""
    content, styles = (read_member(archive, name) for name in (CONTENT, _STYLES))
    changes = _changes(styles) | _changes(content)
    content = repaired(_with_boxes(content), archive, changes)
    headers, footers = margin_parts(styles)
    top, bottom = (_rewritten(b"".join(parts), changes) for parts in (headers, footers))
    content = _BODY_START.sub(lambda match: match[0] + top, content, count=1)
    return {CONTENT: content.replace(b"</office:text>", bottom + b"</office:text>", 1)}


def repaired(
    content: bytes,
    archive: zipfile.ZipFile,
    changes: Mapping[bytes, _Change] | None = None,
    element: bytes = b"%s",
) -> bytes:
    """The content with comments, each in this element, with charts, raised text and symbols."""
    content = _rewritten(content, _changes(content) if changes is None else changes)
    return _with_objects(with_comments(content, element), archive)


def drawn_on(archive: zipfile.ZipFile, sheet: bytes) -> Iterator[str]:
    """The titles of the charts on a sheet, given by its part of the content."""
    for match in _OBJECT.finditer(sheet):
        for _, title in _TITLE.findall(read_member(archive, f"{plain(match[1])}/{CONTENT}")):
            yield _flowing(title)


def margin_parts(styles: bytes) -> tuple[list[bytes], list[bytes]]:
    """The headers, and the footers, of the page styles: each distinct one once, as sections."""
    master, root = _MASTER.search(styles), _ROOT.search(styles)
    margins: dict[bytes, dict[str, bytes]] = {b"header": {}, b"footer": {}}
    for kind, attributes, source in _MARGIN.findall(master[1]) if master and root else ():
        content = PAGE_NUMBER.sub(b"", source)
        words = _flowing(content)
        is_shown = b'style:display="false"' not in attributes
        if is_shown and is_margin_text(words, has_page_number=content != source):
            section = b"<text:section%s>%s</text:section>" % (root[1] if root else b"", content)
            margins[kind].setdefault(words, section)
    return list(margins[b"header"].values()), list(margins[b"footer"].values())


def margin_texts(archive: zipfile.ZipFile) -> list[str]:
    """The texts of headers and footers."""
    sections = chain(*margin_parts(read_member(archive, _STYLES)))
    return list(map(_flowing, sections))


def _flowing(source: bytes) -> str:
    return " ".join(plain(_PARAGRAPH_END.sub(b" ", source)).split())


def with_comments(content: bytes, element: bytes) -> bytes:
    """The content with its comments as marked text (`asides`), each in this element."""

    def marked(match: re.Match[bytes]) -> bytes:
        creator = _CREATOR.search(match[0])
        author = plain(creator[1] or b"") if creator else ""
        text = plain(_PARAGRAPH.sub(rb" \g<0>", _CREATOR.sub(b"", match[0])))
        mark = escaped(comment_mark(comment_text(author, text)))
        return element % mark if mark else b""

    return _ANNOTATION.sub(marked, content)


def _with_boxes(content: bytes) -> bytes:
    """The content with the text of boxes and shapes after the paragraph that they are in.

    anydoc joins it with the words beside it, and leaves it out beside paragraphs.
    """

    def moved(match: re.Match[bytes]) -> bytes:
        box = _BOX.search(match[2])
        text = box[1] if box else b"".join(_PARAGRAPHS.findall(match[2]))
        rest = match[3] if match.re is _DRAWN_IN_TEXT else b""
        return rest + text if text else match[0]

    for _ in range(_MOST_BESIDE if b"<draw:" in content else 0):
        content, before = _DRAWN_IN_TEXT.sub(moved, content), content
        if content == before:
            break
    return _DRAWN_BESIDE_TEXT.sub(moved, content)


def _with_objects(content: bytes, archive: zipfile.ZipFile) -> bytes:
    """The content with the titles and data of charts, and of other objects with a table.

    They follow the paragraph that the object is in, since anydoc reads no table in the midst of
    one; elsewhere they are in its place.
    """
    parts, position = [], 0
    for match in _OBJECT.finditer(content):
        inner = read_member(archive, f"{plain(match[1])}/{CONTENT}")
        table = _TABLE.search(inner)
        if table is None:
            continue
        data = b"".join(_PARAGRAPHS.findall(b"".join(each for _, each in _TITLE.findall(inner))))
        data += table[0]
        end, start = (one.search(content, match.end()) for one in (_PARAGRAPH_END, _PARAGRAPH))
        if end and not (start and start.start() < end.start()):
            parts += [content[position : end.end()], data]
            position = end.end()
        else:
            box = b"<draw:text-box>%s</draw:text-box>" % data
            parts += [content[position : match.start()], box]
            position = match.end()
    return b"".join([*parts, content[position:]])


def _changes(part: bytes) -> dict[bytes, _Change]:
    """How the text in a style is to be changed, for the styles of raised text and symbol fonts."""
    fonts = {name: plain(family).strip("'") for name, family in _FONT.findall(part)}
    changes: dict[bytes, _Change] = {
        name: partial(in_unicode, font=fonts[font])
        for name, font in _FONT_STYLE.findall(part)
        if is_symbol_font(fonts.get(font, ""))
    }
    for name, minus, position in _RAISING_STYLE.findall(part):
        if position != b"0":
            changes[name] = subscript if minus or position == b"sub" else superscript
    return changes


def _rewritten(part: bytes, changes: Mapping[bytes, _Change]) -> bytes:
    def ruby(match: re.Match[bytes]) -> bytes:
        return escaped(reading_mark(plain(match[1]), plain(match[2])))

    def span(match: re.Match[bytes]) -> bytes:
        change = changes.get(match[2])
        if change is None:
            return match[0]
        return match[1] + escaped(change(plain(match[3])))

    part = _RUBY.sub(ruby, part) if b"<text:ruby" in part else part
    part = _SPAN.sub(span, part) if changes else part
    return without_private(part)
