"""U2: parse a local file into blocks and parts, with limits and OCR from the settings."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from ingestion.domain import ParsedDocument
from ingestion.parsing import Ocr, ParseLimits, parse_file
from ingestion.parsing.ocr import SWITCHED_OFF, installed


def open_file(
    path: Path, file_name: str, *, parts_to: Path | None = None, ocr_pages: int | None = None
) -> ParsedDocument:
    """The file's blocks and metadata; embedded files are copied to the folder `parts_to`.

    OCR reads at most `ocr_pages` scanned pages (default and maximum: the setting OCR_PAGES).
    """
    most = settings.OCR_PAGES if ocr_pages is None else min(ocr_pages, settings.OCR_PAGES)
    limits = ParseLimits.of(settings.PARSE_LIMITS)
    return parse_file(path, file_name, limits, ocr=_ocr(most), parts_to=parts_to)


def _ocr(pages: int) -> Ocr:
    """The OCR of scanned pages, or the reason why it is not available."""
    if settings.OCR == "off":
        return Ocr(pages=pages, lacking=SWITCHED_OFF)
    return installed(settings.OCR_LANGUAGES, folder=settings.TESSDATA_PREFIX, pages=pages)
