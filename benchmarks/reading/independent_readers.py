"""The text of a file as another reader has it: PDFium, an office file's XML, the standard library.

Where a format has none, LibreOffice makes one of it that has.
"""

from __future__ import annotations

import email
import io
import re
from collections.abc import Callable, Iterator
from email.policy import default
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from benchmarks.reading.known_files import KnownFile, converted

# What LibreOffice reads, and writes in a format that has a reader here.
_THROUGH_OFFICE = {"doc": "docx", "rtf": "docx", "xls": "xlsx", "ppt": "pptx"}
# Undecodable text, locked PDFs, damaged XML and archives.
_FAILURES = (ValueError, RuntimeError, SyntaxError, BadZipFile)
_PARAGRAPHS = {"p", "h", "si", "is", "text-box"}
# Deleted text, field codes, what is there twice, and names of styles.
_UNREAD = {"Fallback", "delText", "instrText", "tracked-changes", "rPh", "rt"}
_SPACES = {"tab", "br", "cr", "s", "line-break"}
_MEMBERS = {
    "docx": r"word/(document|header\d*|footer\d*|footnotes|endnotes|comments)\.xml",
    "xlsx": r"xl/(sharedStrings|worksheets/sheet\d+)\.xml",
    "pptx": r"ppt/(slides/slide|notesSlides/notesSlide)\d+\.xml",
    "odt": r"(content|styles)\.xml",
    **dict.fromkeys(("ods", "odp"), r"content\.xml"),
}


def text_of(content: bytes, extension: str, folder: Path) -> str | None:
    """None where no other reader is at hand, or it fails."""
    if extension in _THROUGH_OFFICE:
        file = KnownFile(f"a.{extension}", content, "")
        (content,) = converted([file], _THROUGH_OFFICE[extension], folder)
        extension = _THROUGH_OFFICE[extension]
    reader = READERS.get(extension)
    if reader is None or not content:
        return None
    try:
        return reader(content)
    except _FAILURES:
        return None


def _pdf(content: bytes) -> str:
    import pypdfium2

    with pypdfium2.PdfDocument(content) as document:
        pages = [page.get_textpage().get_text_range() for page in document]
    # A word that is parted at a line's end is one; PDFium has U+0002 for some of the hyphens.
    return re.sub(r"(?:[-\u00ad]\r?\n|[\x02\ufffe]\s*)(?=[a-zà-ÿ])", "", "\n\n".join(pages))


def _office(names: str, content: bytes) -> str:
    with ZipFile(io.BytesIO(content)) as archive:
        members = [name for name in archive.namelist() if re.fullmatch(names, name)]
        roots = [ElementTree.fromstring(archive.read(name)) for name in members]
    return "\n\n".join("".join(_xml_text(root)) for root in roots)


def _xml_text(element: ElementTree.Element, *, in_paragraph: bool = False) -> Iterator[str]:
    """Text in runs (`t`) of Office Open XML, and in paragraphs of OpenDocument."""
    space, _, name = element.tag.rpartition("}")
    if name in _UNREAD or "purl.org/dc" in space:
        return
    in_paragraph |= "opendocument:xmlns:text" in space and name in _PARAGRAPHS
    if element.text and (name == "t" or in_paragraph):
        yield element.text
    for child in element:
        yield from _xml_text(child, in_paragraph=in_paragraph)
        if in_paragraph and child.tail:
            yield child.tail
    if name in _SPACES:
        yield " "
    if name in _PARAGRAPHS:
        yield "\n\n"


class _Page(HTMLParser):
    """The text of <main>, or of the body where there is none."""

    unread = ("script", "style", "head", "template", "noscript")
    inline = ("a", "b", "i", "em", "strong", "span", "code", "sub", "sup", "u", "font", "small")

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.main: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in (*self.unread, "main"):
            self.open.append(tag)
        self.handle_data("" if tag in self.inline else "\n\n")

    def handle_endtag(self, tag: str) -> None:
        self.handle_data("" if tag in self.inline else "\n\n")
        if tag in self.open:
            self.open.remove(tag)

    def handle_data(self, data: str) -> None:
        if not set(self.open) & set(self.unread):
            self.parts.append(data)
            if "main" in self.open:
                self.main.append(data)


def html_text(content: str) -> str:
    page = _Page()
    page.feed(content)
    page.close()
    return "".join(page.main or page.parts)


def markdown_text(content: str) -> str:
    """Without the addresses of links, tags, comments and front matter's keys."""
    content = re.sub(r"\A---\n.*?\n---\n", "", content, flags=re.DOTALL)
    content = re.sub(r"<!--.*?-->|</?[a-zA-Z][^<>]*>", " ", content, flags=re.DOTALL)
    links = r"!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)|^\[[^\]^]+\]:.*$"
    content = re.sub(links, " ", content, flags=re.MULTILINE)
    return re.sub(r"```\w*|\{#[^}]*\}|\\(?=[^\w\s])", "", content)


def _mail(content: bytes) -> str:
    message = email.message_from_bytes(content, policy=default)
    heads = [message[name] for name in ("Subject", "From", "To", "Cc", "Date") if message[name]]
    body = message.get_body(("plain", "html"))
    text = body.get_content() if body else ""
    if body and body.get_content_subtype() == "html":
        text = html_text(text)
    return "\n\n".join((*heads, text))


def _book(content: bytes) -> str:
    with ZipFile(io.BytesIO(content)) as archive:
        pages = [name for name in archive.namelist() if name.endswith(("html", "htm"))]
        return "\n\n".join(html_text(archive.read(name).decode()) for name in pages)


READERS: dict[str, Callable[[bytes], str]] = {
    **{extension: partial(_office, names) for extension, names in _MEMBERS.items()},
    "pdf": _pdf,
    "html": lambda content: html_text(content.decode()),
    "md": lambda content: markdown_text(content.decode()),
    "eml": _mail,
    "epub": _book,
    "xml": lambda content: "\n\n".join(ElementTree.fromstring(content).itertext()),
    **dict.fromkeys(("txt", "csv", "tsv"), lambda content: content.decode("utf-8-sig")),
}
