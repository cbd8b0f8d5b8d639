"""The XML in the members of an office document, read and changed by regular expressions.

They suffice, since programs write these members; and nothing else in them is changed.
"""

from __future__ import annotations

import html
import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Mapping
from xml.parsers.expat import ExpatError, ParserCreate

from ingestion.parsing.formats.raised_text import subscript, superscript
from ingestion.parsing.formats.symbol_fonts import in_unicode, is_symbol_font
from ingestion.parsing.formats.zip_safety import UNREADABLE

TAG = re.compile(rb"<[^<>]*>")
CHART_TITLE = re.compile(rb"<((?:\w+:)?)title>(.*?)</\1title>", re.DOTALL)
_CHART = re.compile(r"(?:word|ppt)/charts/chart\w*\.xml")
_PARAGRAPH = b"<a:p><a:r><a:t>(%s)</a:t></a:r></a:p>"
_SCRIPTS = {b"subscript": subscript, b"superscript": superscript}
_PRIVATE = re.compile(rb"\xef[\x80-\x83][\x80-\xbf]")  # U+F000 to U+F0FF
_TEXT = re.compile(rb"(<((?:\w+:)?t)(?:\s[^<>]*)?(?<!/)>)([^<]*)(?=</\2>)")
_ATTRIBUTE = re.compile(rb'(?:\w+:)?(\w+)="([^"]*)"')
_RELATION = re.compile(rb"<(?:\w+:)?Relationship\s[^<>]*>")
# A comment, an instruction, and text that is written without references.
_NO_ELEMENT = re.compile(rb"<!--.*?-->|<\?(?!xml\s).*?\?>|<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """The member's XML without comments and instructions; empty if it cannot be read.

    That is, it is missing, cannot be unpacked, is not well-formed or declares a document type. In
    the rest each element that begins has an end: an expression would look for it up to the end of
    the member, again for each beginning.
    """
    try:
        part = archive.read(name)
        ParserCreate().Parse(part, True)
    except (LookupError, ValueError, ExpatError, *UNREADABLE):
        return b""
    part = _NO_ELEMENT.sub(_as_text, part)
    return b"" if b"<!" in part else part


def _as_text(match: re.Match[bytes]) -> bytes:
    return (match[1] or b"").replace(b"&", b"&amp;").replace(b"<", b"&lt;")


def changed(data: bytes, members: re.Pattern[str], change: Callable[[bytes], bytes]) -> bytes:
    """The container with these members changed; itself if none is.

    It must have passed `check_archive`; raises the errors in `zip_safety.UNREADABLE`.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts: dict[str, bytes] = {}
        for name in filter(members.fullmatch, archive.namelist()):
            before = read_member(archive, name)
            if (after := change(before)) != before:
                parts[name] = after
        return copied(archive, parts) if parts else data


def copied(archive: zipfile.ZipFile, parts: Mapping[str, bytes]) -> bytes:
    """The container with these members changed, and without pictures."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as copy:
        for name in archive.namelist():
            if not name.startswith(("word/media/", "xl/media/", "ppt/media/", "Pictures/")):
                copy.writestr(name, parts.get(name) or archive.read(name))
    return out.getvalue()


def charts_with_axes(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The charts of a document whose axes have titles, each with all in its first title: anydoc
    reads no others.
    """
    parts: dict[str, bytes] = {}
    for name in filter(_CHART.fullmatch, archive.namelist()):
        part = read_member(archive, name)
        titles = filter(None, (texts(title) for _, title in CHART_TITLE.findall(part)))
        if axes := ", ".join([*titles][1:]):
            parts[name] = part.replace(b"</c:rich>", _PARAGRAPH % escaped(axes) + b"</c:rich>", 1)
    return parts


def plain(source: bytes) -> str:
    """The text of a fragment of XML."""
    return html.unescape(TAG.sub(b"", source).decode("utf-8", "replace"))


def escaped(text: str) -> bytes:
    """The text as XML."""
    return html.escape(text, quote=False).encode("utf-8", "replace")


def attributes(source: bytes) -> dict[str, str]:
    """The attributes of a tag, by local name."""
    return {name.decode(): plain(value) for name, value in _ATTRIBUTE.findall(source)}


def texts(part: bytes) -> str:
    """The text of all runs of a part."""
    return "".join(plain(text) for _, _, text in _TEXT.findall(part))


def with_texts(part: bytes, change: Callable[[str], str]) -> bytes:
    """The part with the texts of its runs changed."""
    return _TEXT.sub(lambda match: match[1] + escaped(change(plain(match[3]))), part)


def without_private(part: bytes) -> bytes:
    """The part with the symbols that programs write in the area for private use as Unicode."""
    return _PRIVATE.sub(lambda match: escaped(in_unicode(match[0].decode(), "")), part)


def readable_run(run: re.Match[bytes], font: re.Match[bytes] | None, script: bytes) -> bytes:
    """A run with its symbols in Unicode, raised or lowered as `script` says.

    The groups 1, 3 and 4 of a run are its start with its properties, 5 is the rest. The name of its
    `font` is a group.
    """
    rest = run[5]
    if font and is_symbol_font(plain(font[1])):
        rest = with_texts(rest, lambda text: in_unicode(text, plain(font[1])))
    if script in _SCRIPTS:
        rest = with_texts(rest, _SCRIPTS[script])
    return run[1] + run[3] + run[4] + rest


def relations(archive: zipfile.ZipFile, part: str) -> dict[str, str]:
    """The names of the members that a part refers to, by identifier."""
    folder, name = posixpath.split(part)
    source = read_member(archive, f"{folder}/_rels/{name}.rels")
    entries = map(attributes, _RELATION.findall(source))
    return {
        entry.get("Id", ""): posixpath.normpath(posixpath.join(f"/{folder}", entry["Target"]))[1:]
        for entry in entries
        if entry.get("Target") and entry.get("TargetMode") != "External"
    }
