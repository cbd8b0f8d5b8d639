"""What a file is: its content decides, its name only tells text formats apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType

from .errors import EmptyFile, TypeMismatch, UnsupportedType

HEAD_BYTES = 65_536
"""How much of a file `sniff` wants to see."""


@dataclass(frozen=True, slots=True)
class FileType:
    """A format that can be parsed. `extension` is the usual one, with its dot."""

    media_type: str
    extension: str
    label: str


PDF = FileType("application/pdf", ".pdf", "PDF")
DOCX = FileType(
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".docx",
    "Word document",
)
DOC = FileType("application/msword", ".doc", "Word 97-2003 document")
ODT = FileType("application/vnd.oasis.opendocument.text", ".odt", "OpenDocument text")
RTF = FileType("application/rtf", ".rtf", "Rich Text Format")
EPUB = FileType("application/epub+zip", ".epub", "EPUB book")
HTML = FileType("text/html", ".html", "HTML page")
MARKDOWN = FileType("text/markdown", ".md", "Markdown")
RST = FileType("text/x-rst", ".rst", "reStructuredText")
ASCIIDOC = FileType("text/asciidoc", ".adoc", "AsciiDoc")
ORG = FileType("text/org", ".org", "Org document")
TEXT = FileType("text/plain", ".txt", "plain text")
CSV = FileType("text/csv", ".csv", "CSV table")
TSV = FileType("text/tab-separated-values", ".tsv", "TSV table")

SUPPORTED: Mapping[str, FileType] = MappingProxyType(
    {
        ".pdf": PDF,
        ".docx": DOCX,
        ".docm": DOCX,
        ".doc": DOC,
        ".odt": ODT,
        ".rtf": RTF,
        ".epub": EPUB,
        ".html": HTML,
        ".htm": HTML,
        ".xhtml": HTML,
        ".md": MARKDOWN,
        ".markdown": MARKDOWN,
        ".rst": RST,
        ".rest": RST,
        ".adoc": ASCIIDOC,
        ".asciidoc": ASCIIDOC,
        ".org": ORG,
        ".txt": TEXT,
        ".text": TEXT,
        ".log": TEXT,
        ".csv": CSV,
        ".tsv": TSV,
        ".tab": TSV,
    }
)
"""File name extension, lower case with its dot, to the type it promises."""

_TEXT_TYPES = frozenset({HTML, MARKDOWN, RST, ASCIIDOC, ORG, TEXT, CSV, TSV})
_WORD_TYPES = frozenset({DOC, DOCX, RTF})
_ZIP_TYPES = frozenset({DOCX, ODT, EPUB})

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FOREIGN_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a Windows program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"%!PS", "a PostScript file"),
)
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_CONTROL_BYTES = bytes(set(range(0x20)) - set(b"\t\n\r\x0c\x1b")) + b"\x7f"


def sniff(head: bytes, file_name: str) -> FileType:
    """The file's type, from its first HEAD_BYTES bytes and its name.

    Raises EmptyFile, UnsupportedType (nothing here reads it) or TypeMismatch (the name
    promises something else than the content holds).
    """
    if not head:
        raise EmptyFile(f"“{file_name}” is empty (0 bytes). Check the original and upload again.")
    extension = PurePosixPath(file_name).suffix.lower()
    named = SUPPORTED.get(extension)
    if foreign := _foreign_content(head):
        raise _refusal(file_name, named, foreign)
    if head.startswith(_ZIP):
        return _settle(file_name, named, _zip_type(head, file_name, named))
    if head.startswith(_OLE):
        # A .docx in an OLE container is an encrypted one: its parser says so.
        if named is DOCX:
            return DOCX
        if named is None and extension:
            raise _refusal(file_name, None, "an old Microsoft Office file")
        return _settle(file_name, named, DOC)
    if b"%PDF-" in head[:1024]:
        return _settle(file_name, named, PDF)
    if head.lstrip()[:5] == b"{\\rtf":
        return _settle(file_name, named, RTF)
    if not looks_like_text(head):
        raise _refusal(file_name, named, "binary data of an unknown kind")
    return _text_type(head, file_name, named)


def looks_like_text(head: bytes) -> bool:
    """Whether the bytes are text in some encoding, with or without a byte order mark."""
    if head.startswith(_BOMS):
        return True
    controls = len(head) - len(head.translate(None, _CONTROL_BYTES))
    if controls == 0 or nul_parity(head) is not None:
        return True
    try:
        # Up to three bytes of the last character may have been cut off.
        head[: max(len(head) - 3, 1)].decode("utf-8")
    except UnicodeDecodeError:
        # Random bytes hold 11% control bytes, text in a legacy encoding none: 2% is a guess.
        return controls < 0.02 * len(head)
    return controls < 0.3 * len(head)


def nul_parity(head: bytes) -> int | None:
    """0 or 1 when NULs fill the even or the odd bytes alone, as in UTF-16 without a mark."""
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if half >= 4 and even >= 0.6 * half and odd <= 0.05 * half:
        return 0
    if half >= 4 and odd >= 0.6 * half and even <= 0.05 * half:
        return 1
    return None


def _foreign_content(head: bytes) -> str:
    """What a file that cannot be parsed holds, for people; empty when nothing is known."""
    for signature, description in _FOREIGN_SIGNATURES:
        if head.startswith(signature):
            return description
    if head.startswith(_ZIP) and b"mimetype" in head[:60]:
        for part, description in (
            (b"opendocument.spreadsheet", "an OpenDocument spreadsheet"),
            (b"opendocument.presentation", "an OpenDocument presentation"),
        ):
            if part in head[:200]:
                return description
    return ""


def _zip_type(head: bytes, file_name: str, named: FileType | None) -> FileType:
    if b"application/epub+zip" in head[:200]:
        return EPUB
    if b"application/vnd.oasis.opendocument.text" in head[:200]:
        return ODT
    # Member names stand uncompressed in the local headers.
    for folder, description in ((b"xl/", "an Excel workbook"), (b"ppt/", "a presentation")):
        if folder in head and b"word/" not in head:
            raise _refusal(file_name, named, description)
    if b"word/" in head:
        return DOCX
    if named in _ZIP_TYPES and named is not None:
        return named
    raise _refusal(file_name, named, "a ZIP archive")


def _settle(file_name: str, named: FileType | None, content: FileType) -> FileType:
    """The content's type, unless the name promises another."""
    # Word itself saves RTF and DOCX content under .doc and opens all three alike.
    if named is None or named is content or (named is DOC and content in _WORD_TYPES):
        return content
    raise TypeMismatch(
        f"“{file_name}” is named like {_a(named.label)} but holds {_a(content.label)}. "
        f"Rename it to end in {content.extension} and upload it again."
    )


def _text_type(head: bytes, file_name: str, named: FileType | None) -> FileType:
    text = head.decode("utf-8", "replace")
    is_html = _HTML_START.match(text.lstrip("\ufeff \t\r\n")) is not None
    if named is None:
        if PurePosixPath(file_name).suffix:
            raise _refusal(file_name, None, "text of a kind that is not listed here")
        return HTML if is_html else TEXT
    if named not in _TEXT_TYPES:
        content = HTML if is_html else TEXT
        raise TypeMismatch(
            f"“{file_name}” is named like {_a(named.label)} but holds {_a(content.label)}. "
            f"Rename it to end in {content.extension}, or export it again as {named.label}."
        )
    # Sphinx projects, Django's documentation among them, keep reStructuredText in .txt files.
    return RST if named is TEXT and _looks_like_rst(text) else named


_HTML_START = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_RST_TITLE = re.compile(r"^(?=\S)[^\n]+\n([=\-~^\"'#*+`])\1{3,}[ \t]*$", re.MULTILINE)
_RST_TOP_TITLE = re.compile(r"\s*([=#*~^\"-])\1{3,}[ \t]*\n[^\n]*\S[^\n]*\n\1{4,}[ \t]*\n")
_RST_MARKUP = re.compile(
    r"^[ \t]*\.\. (?:[\w:-]+::|_[^\n]+:)|(?<![\w`]):[a-z][\w:-]*:`[^`\n]", re.MULTILINE
)


def _looks_like_rst(text: str) -> bool:
    text = text.replace("\r\n", "\n")
    # Only reStructuredText puts a line above a title as well.
    return bool(
        _RST_TOP_TITLE.match(text) or (_RST_TITLE.search(text) and _RST_MARKUP.search(text))
    )


def _refusal(
    file_name: str, named: FileType | None, content: str
) -> UnsupportedType | TypeMismatch:
    if named is not None:
        return TypeMismatch(
            f"“{file_name}” is named like {_a(named.label)} but holds {content}. It is damaged "
            "or has the wrong extension: open it in its own program and export it again."
        )
    names = ", ".join(sorted({file_type.extension for file_type in SUPPORTED.values()}))
    return UnsupportedType(
        f"“{file_name}” holds {content}, which cannot be searched. Upload one of these: {names}."
        " Text of another kind can be renamed to .txt; archives must be unpacked first."
    )


def _a(label: str) -> str:
    if label.startswith(("plain text", "Rich Text", "Markdown", "reStructured", "OpenDocument")):
        return label
    return f"{'an' if label[0] in 'AEHO' and label != 'HTML' else 'a'} {label}"
