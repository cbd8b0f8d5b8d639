"""OCR of scanned pages: installed languages of Tesseract, the time for a page, what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

# The first is Debian's, with the version's number; the others are those of source builds, Fedora,
# Arch and Homebrew.
DATA_FOLDERS = (
    "/usr/share/tesseract-ocr/*/tessdata",
    "/usr/share/tesseract-ocr/tessdata",
    "/usr/share/tessdata",
    "/usr/share/tesseract/tessdata",
    "/usr/local/share/tessdata",
    "/opt/homebrew/share/tessdata",
)
NOT_INSTALLED = (
    "OCR is not installed. Install it (on Debian: sudo apt-get install tesseract-ocr) and process "
    "the document again, or run the file through an OCR program and upload the result"
)
SWITCHED_OFF = (
    "OCR is switched off. Set OCR=auto and process the document again, or run the file through an "
    "OCR program and upload the result"
)
SECONDS_PER_PAGE = 8
"""Wall time added for each page; 0.4 to 2.7 s were measured on two idle cores."""
CPU_SECONDS_PER_PAGE = 16
"""Tesseract works on several cores at once."""


@dataclass(frozen=True, slots=True)
class Ocr:
    """OCR of scanned pages. Without `languages` they are not read, and `lacking` says why.

    `data` is the folder of Tesseract's language files, `pages` the maximum number recognised in
    one file, `wanted` their page numbers once they are known.
    """

    languages: tuple[str, ...] = ()
    data: str = ""
    pages: int = 100
    lacking: str = NOT_INSTALLED
    wanted: tuple[int, ...] = ()

    def wanting(self, scanned: Sequence[int]) -> Ocr:
        return replace(self, wanted=tuple(scanned[: self.pages]))


def installed(languages: Sequence[str], *, folder: str = "", pages: int = 100) -> Ocr:
    """OCR in those of the languages (Tesseract's codes) whose data is installed.

    `folder` replaces the usual places. If no language is installed, `lacking` says what to install.
    """
    data = _data_folder(folder)
    if data is None:
        return Ocr(pages=pages)
    present = tuple(code for code in languages if (data / f"{code}.traineddata").is_file())
    if not present:
        packages = " ".join(f"tesseract-ocr-{code.replace('_', '-')}" for code in languages)
        lacking = (
            f"OCR is not installed for {', '.join(languages) or 'any language'}. Install it (on "
            f"Debian: sudo apt-get install {packages or 'tesseract-ocr'}), or set OCR_LANGUAGES to "
            "installed languages, and process the document again"
        )
        return Ocr(pages=pages, lacking=lacking)
    return Ocr(present, str(data), pages)


def _data_folder(folder: str) -> Path | None:
    """The first folder that contains language data."""
    if folder:
        return Path(folder) if _holds_data(Path(folder)) else None
    root = Path("/")
    for pattern in DATA_FOLDERS:
        # The newest version first.
        for match in sorted(root.glob(pattern.lstrip("/")), reverse=True):
            if _holds_data(match):
                return match
    return None


def _holds_data(folder: Path) -> bool:
    return any(folder.glob("*.traineddata"))
