"""U2: read a file with the limits and the OCR of the settings."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from ingestion.domain import ParsedDocument
from ingestion.parsing.child.sandbox import parse_file
from ingestion.parsing.protocol import SWITCHED_OFF, Ocr, ParseLimits, installed


def open_file(path: Path, file_name: str, *, parts_to: Path | None = None) -> ParsedDocument:
    """The file's blocks and metadata; embedded files are copied to the folder `parts_to`."""
    return parse_file(
        path,
        file_name,
        ParseLimits.of(settings.PARSE_LIMITS),
        ocr=ocr_of_settings(settings.OCR_PAGES),
        parts_to=parts_to,
        keeps_exif=settings.IMAGE_EXIF,
    )


def ocr_of_settings(pages: int) -> Ocr:
    """The OCR of scanned pages, or the reason why it is not available."""
    if settings.OCR == "off":
        return Ocr(pages=pages, lacking=SWITCHED_OFF)
    return installed(settings.OCR_LANGUAGES, folder=settings.TESSDATA_PREFIX, pages=pages)
