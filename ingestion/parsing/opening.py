"""U2: a file on this disk -> its blocks and parts, under the limits and the OCR of the settings."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from ingestion.domain import ParsedDocument
from ingestion.parsing import Ocr, ParseLimits, parse_file
from ingestion.parsing.ocr import SWITCHED_OFF, installed


def open_file(
    path: Path, file_name: str, *, parts_to: Path | None = None, ocr_pages: int | None = None
) -> ParsedDocument:
    """What `parse_file` finds in it; the files within it are put into the folder `parts_to`.

    At most `ocr_pages` scanned pages are recognised; None stands for the setting.
    """
    most = settings.OCR_PAGES if ocr_pages is None else min(ocr_pages, settings.OCR_PAGES)
    limits = ParseLimits.of(settings.PARSE_LIMITS)
    return parse_file(path, file_name, limits, ocr=_ocr(most), parts_to=parts_to)


def _ocr(pages: int) -> Ocr:
    """How scanned pages are read here; where they are not, what is lacking is named."""
    if settings.OCR == "off":
        return Ocr(pages=pages, lacking=SWITCHED_OFF)
    return installed(settings.OCR_LANGUAGES, folder=settings.TESSDATA_PREFIX, pages=pages)
