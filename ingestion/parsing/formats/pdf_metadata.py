"""Metadata of a PDF: page count, information dictionary, language, outline, attachments."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingestion.errors import DamagedFile, EncryptedFile, ParseLimitExceeded
from ingestion.parsing.file_titles import title_from_file_name
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import StatedMetadata

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

ENCRYPTED = "This PDF is protected by a password. Remove the password and upload it again."
DAMAGED = (
    "This PDF is damaged and cannot be opened. Open it in a PDF reader, print it to a new PDF "
    "and upload that."
)
MOST_OUTLINE_ITEMS = 20_000
"""A hostile outline may be endless. A guess."""

_LONGEST_LANGUAGE = 100
_NUMBERING = re.compile(r"^(?:\d+\.)*\d*")
_DATE = re.compile(
    r"D?:?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-])(\d\d)'?(\d\d)?'?)?"
)
# Values that programs write when no title or author is given.
_PLACEHOLDERS = frozenset({"untitled", "(untitled)", "anonymous", "(anonymous)", "unspecified"})
_PROGRAM_PREFIX = re.compile(r"^(?:microsoft (?:word|powerpoint|excel)) - ", re.IGNORECASE)
_FILE_NAME = re.compile(
    r"\.(?:docx?|pdf|rtf|odt|tex|dvi|indd|qxd|pptx?|xlsx?|wpd|ps)$", re.IGNORECASE
)


@dataclass(frozen=True)
class PdfFacts:
    """`outline` maps (page from 1, `outline_key` of a title) to a heading level."""

    metadata: StatedMetadata
    outline: dict[tuple[int, str], int] = field(default_factory=dict)


def opened(path: Path) -> PdfDocument:
    """The document, to be closed after use. Raises EncryptedFile, DamagedFile."""
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise EncryptedFile(ENCRYPTED) from error
        raise DamagedFile(DAMAGED) from error


def read_facts(document: PdfDocument, limits: ParseLimits) -> PdfFacts:
    """The document's metadata and outline. Raises ParseLimitExceeded."""
    pages = len(document)
    if pages > limits.pages:
        raise ParseLimitExceeded(
            f"This PDF has {pages:,} pages; at most {limits.pages:,} are read. "
            "Split it into several files."
        )
    return PdfFacts(_metadata(document, pages), _outline(document))


def drawn_pages(document: PdfDocument, numbers: Sequence[int]) -> list[int]:
    """The numbers (from 1) of the pages that are not blank."""
    import pypdfium2
    import pypdfium2.raw as pdfium

    nonblank = []
    for number in numbers:
        try:
            page = document[number - 1]
        except pypdfium2.PdfiumError:
            continue
        if pdfium.FPDFPage_CountObjects(page) > 0:
            nonblank.append(number)
        page.close()
    return nonblank


def attached_files(document: PdfDocument, most: int) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of the attached files; an unreadable one is empty."""
    import pypdfium2

    for index in range(min(document.count_attachments(), most + 1)):
        attachment = document.get_attachment(index)
        try:
            yield attachment.get_name(), bytes(attachment.get_data())
        except pypdfium2.PdfiumError:
            yield attachment.get_name(), b""


def iso_date(value: str) -> str:
    """A PDF date ("D:20240131120000+01'00'") in ISO 8601 with equal precision; else empty."""
    match = _DATE.match(value.strip())
    if match is None:
        return ""
    year, month, day, hour, minute, second, utc, sign, off_hours, off_minutes = match.groups()
    date = "-".join(part for part in (year, month, day) if part)
    if not (day and hour and minute):
        return date
    zone = "+00:00" if utc else f"{sign}{off_hours}:{off_minutes or '00'}" if sign else ""
    return f"{date}T{hour}:{minute}:{second or '00'}{zone}"


def stated_title(value: str) -> str:
    """The stated title; empty for a placeholder; "Microsoft Word - a_b.doc" becomes "a b"."""
    title = " ".join(_PROGRAM_PREFIX.sub("", value.strip()).split())
    if title.lower() in _PLACEHOLDERS:
        return ""
    return title_from_file_name(title) if _FILE_NAME.search(title) else title


def outline_key(title: str) -> str:
    """A key for comparing titles of outline and page: without case, spaces and numbering."""
    letters = "".join(title.split()).lower()
    return _NUMBERING.sub("", letters) or letters


def _metadata(document: PdfDocument, pages: int) -> StatedMetadata:
    info: dict[str, str] = document.get_metadata_dict()
    author = " ".join(info.get("Author", "").split())
    return StatedMetadata(
        title=stated_title(info.get("Title", "")),
        author="" if author.lower() in _PLACEHOLDERS else author,
        language=_language(document),
        created=iso_date(info.get("CreationDate", "")),
        modified=iso_date(info.get("ModDate", "")),
        page_count=pages,
    )


def _language(document: PdfDocument) -> str:
    import pypdfium2.raw as pdfium

    return wide_text(lambda *to: pdfium.FPDFCatalog_GetLanguage(document, *to))[:_LONGEST_LANGUAGE]


def wide_text(read: Callable[[Any, int], int]) -> str:
    """The text that a function of PDFium writes into a buffer, given with its size in bytes."""
    import pypdfium2.raw as pdfium

    length = read(None, 0)
    buffer = ctypes.create_string_buffer(length)
    read(ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), length)
    return buffer.raw[:length].decode("utf-16-le", "replace").rstrip("\x00")


def _outline(document: PdfDocument) -> dict[tuple[int, str], int]:
    import pypdfium2

    levels: dict[tuple[int, str], int] = {}
    try:
        for number, item in enumerate(document.get_toc()):
            if number == MOST_OUTLINE_ITEMS:
                break
            destination = item.get_dest()
            page = destination.get_index() if destination else None
            title = outline_key(item.get_title())
            if page is not None and title:
                levels.setdefault((page + 1, title), min(item.level + 1, 6))
    except pypdfium2.PdfiumError:
        # A broken outline loses its headings, not the document.
        return levels
    return levels
