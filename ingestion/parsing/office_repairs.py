"""What anydoc 0.2 would get wrong of a document, put right in the bytes that it is given."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from contextlib import suppress

from ingestion.files import filetypes

from .archive import UNREADABLE

_PARTS = {
    filetypes.DOCX: re.compile(r"word/(?:document|footnotes|endnotes)\.xml"),
    filetypes.ODT: re.compile(r"content\.xml"),
}
# Left out by anydoc: "AB-123", written so that no line ends in it, would read "AB123".
_HYPHEN = re.compile(rb"<(\w+):noBreakHyphen\s*/>")
# Set into the middle of its sentence by anydoc; Word's comments are left out as well.
_ANNOTATION = re.compile(
    rb"<office:annotation\b(?:[^>]*/>|.*?</office:annotation>)|<office:annotation-end\b[^>]*/>",
    re.DOTALL,
)
# Of the code pages that RTF may name, anydoc knows only those of Windows.
_RTF_PAGE = re.compile(rb"\{\\rtf\d*[^{}]{0,200}?\\(mac|pca|pc)(?![a-z])")
_RTF_CODECS = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}
_RTF_OTHER_PAGE = re.compile(rb"\\ansicpg(?!10000\b|437\b|850\b)\d")
_RTF_BYTE = re.compile(rb"\\'([89a-fA-F][0-9a-fA-F])")


def repaired(data: bytes, file_type: filetypes.FileType) -> bytes:
    """The same document, unchanged where nothing is to be put right.

    A container must have passed `check_archive`.
    """
    if file_type == filetypes.RTF:
        return _with_unicode(data)
    if file_type == filetypes.DOCX:
        return _rewritten(data, _PARTS[file_type], _with_hyphens)
    if file_type == filetypes.ODT:
        return _rewritten(data, _PARTS[file_type], _without_annotations)
    return data


def _with_hyphens(part: bytes) -> bytes:
    return _HYPHEN.sub(rb"<\1:t>-</\1:t>", part)


def _without_annotations(part: bytes) -> bytes:
    return _ANNOTATION.sub(b"", part)


def _rewritten(data: bytes, parts: re.Pattern[str], change: Callable[[bytes], bytes]) -> bytes:
    changed: dict[str, bytes] = {}
    # A part that cannot be unpacked: anydoc says which, or reads the others.
    with suppress(*UNREADABLE), zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in filter(parts.fullmatch, archive.namelist()):
            before = archive.read(name)
            if (after := change(before)) != before:
                changed[name] = after
        if changed:
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as copy:
                for name in archive.namelist():
                    copy.writestr(name, changed.get(name) or archive.read(name))
            return out.getvalue()
    return data


def _with_unicode(data: bytes) -> bytes:
    """The RTF with the bytes of a foreign code page written as Unicode escapes."""
    stated = _RTF_PAGE.match(data.lstrip())
    if stated is None or _RTF_OTHER_PAGE.search(data[:400]):
        return data
    codec = _RTF_CODECS[stated[1]]

    def escaped(match: re.Match[bytes]) -> bytes:
        number = ord(bytes.fromhex(match[1].decode()).decode(codec, "replace"))
        return rb"{\uc1\u%d?}" % (number if number < 0x8000 else number - 0x10000)

    return _RTF_BYTE.sub(escaped, data)
