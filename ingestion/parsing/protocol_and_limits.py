"""The protocol of a parser: file in, blocks and metadata out. Limits: docs/adr/0008-parsers.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, Self

from ingestion.domain import Block, Completeness, Part, Unit, Why
from ingestion.errors import NoText
from ingestion.files.filetypes import SUPPORTED, FileType

MIB = 1024 * 1024


@dataclass(frozen=True)
class ParseLimits:
    """Limits for one file; exceeding one raises ParseLimitExceeded.

    `memory_bytes` is the address space of the child and of pandoc each, `output_bytes` the size of
    one file that they write, `scratch_bytes` of all together. `text_chars` counts the
    characters of all blocks; plain text may have more, since it is only split: a 50 MB file must
    pass.
    """

    # The site's own number is its setting PARSE_WALL_SECONDS, also for `cpu_seconds`.
    wall_seconds: float = 60
    cpu_seconds: int = 60
    memory_bytes: int = 2048 * MIB
    pandoc_heap_mib: int = 1024
    output_bytes: int = 512 * MIB
    scratch_bytes: int = 768 * MIB
    pages: int = 3_000
    text_chars: int = 20_000_000
    plain_text_chars: int = 64_000_000
    table_rows: int = 200_000
    table_columns: int = 5_000
    image_pixels: int = 100_000_000
    archive_entries: int = 10_000
    archive_bytes: int = 200 * MIB
    archive_ratio: int = 200

    @classmethod
    def of(cls, numbers: Mapping[str, int]) -> Self:
        """The limits given by settings that are named as in VARIABLES."""
        fields = {VARIABLES[name]: number for name, number in numbers.items()}
        return cls(**{field: number * unit for (field, unit), number in fields.items()})


VARIABLES: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "PARSE_WALL_SECONDS": ("wall_seconds", 1),
        "PARSE_CPU_SECONDS": ("cpu_seconds", 1),
        "PARSE_MEMORY_MB": ("memory_bytes", MIB),
        "PARSE_PANDOC_MEMORY_MB": ("pandoc_heap_mib", 1),
        "PARSE_OUTPUT_MB": ("output_bytes", MIB),
        "PARSE_SCRATCH_MB": ("scratch_bytes", MIB),
        "PARSE_PAGES": ("pages", 1),
        "PARSE_CHARACTERS": ("text_chars", 1),
        "PARSE_PLAIN_TEXT_CHARACTERS": ("plain_text_chars", 1),
        "PARSE_TABLE_ROWS": ("table_rows", 1),
        "PARSE_TABLE_COLUMNS": ("table_columns", 1),
        "PARSE_IMAGE_MEGAPIXELS": ("image_pixels", 1_000_000),
        "PARSE_ARCHIVE_FILES": ("archive_entries", 1),
        "PARSE_ARCHIVE_MB": ("archive_bytes", MIB),
        "PARSE_ARCHIVE_RATIO": ("archive_ratio", 1),
    }
)
"""The setting of each limit, with its field and the setting's unit."""


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

    def allowing(self, limits: ParseLimits) -> ParseLimits:
        """The limits with extra time for recognising the wanted pages."""
        return replace(
            limits,
            wall_seconds=limits.wall_seconds + SECONDS_PER_PAGE * len(self.wanted),
            cpu_seconds=limits.cpu_seconds + CPU_SECONDS_PER_PAGE * len(self.wanted),
        )


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


@dataclass(frozen=True)
class Source:
    """One file to parse, its sniffed type, and a scratch directory that is removed afterwards.

    `keeps_exif`: the date and place of a photograph are read as well.
    """

    path: Path
    file_type: FileType
    limits: ParseLimits
    scratch: Path
    ocr: Ocr = field(default_factory=Ocr)
    keeps_exif: bool = False


@dataclass(frozen=True)
class StatedMetadata:
    """The file's own metadata; missing values are empty. Dates are in ISO 8601.

    `stated` are its currency values: see `ingestion.currency.values_of`.
    """

    title: str = ""
    author: str = ""
    language: str = ""
    created: str = ""
    modified: str = ""
    page_count: int | None = None
    stated: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Extraction:
    """A parser's result. All but `blocks` is complete once those are exhausted.

    Parsers need not remove NULs, lone surrogates or empty blocks: the child does so for all of
    them. `scanned` lists the pages that consist of images of text.
    """

    blocks: Iterator[Block]
    metadata: StatedMetadata = field(default_factory=StatedMetadata)
    warnings: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    scanned: list[int] = field(default_factory=list)
    completeness: Completeness = field(default_factory=Completeness)

    def cut_off(self, is_cut_off: bool) -> Extraction:
        """The extraction; it notes that the file's end is missing if it `is_cut_off`."""
        self.completeness.lacks(Unit.FILE, Why.CUT_OFF, count=int(is_cut_off))
        return self


class ScannedPages(NoText):
    """All text of the file is in images, on the given pages."""

    def __init__(self, message: str, pages: list[int]) -> None:
        super().__init__(message)
        self.pages = pages


class Parser(Protocol):
    """Reads one family of formats. Runs in the child process only.

    Raises subclasses of ParseFailed with messages for the person who uploaded the file.
    """

    name: str

    def extract(self, source: Source) -> Extraction:
        """The blocks of `source` in reading order, lazily if the library allows it."""
        ...


_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_WORD = re.compile(r"[^\W_]+")
_AUTHOR_SEPARATOR = re.compile(r"\s+--(?:\s+|$)|^--\s+")


def title_from_file_name(name: str) -> str:
    """A title derived from a file name, never empty.

    Drops folders and the extension, replaces `_` by spaces and drops text after ` -- `:
    "books/Distributed_Systems -- Author.pdf" gives "Distributed Systems".
    """
    base = re.split(r"[/\\]", name.strip().rstrip("/\\"))[-1]
    stem = _without_extension(base).replace("_", " ")
    parts = (" ".join(part.split()) for part in _AUTHOR_SEPARATOR.split(stem))
    return next((part for part in parts if part), base.strip()) or "Untitled"


def with_file_name(title: str, file_name: str) -> str:
    """The title followed by the words of the file name that it lacks.

    Indexed for search, because people know many documents by file name or the author in it.
    """
    title_words = set(_WORD.findall(title.casefold()))
    base = re.split(r"[/\\]", file_name.strip())[-1]
    words = dict.fromkeys(_WORD.findall(_without_extension(base)))
    lacking = [word for word in words if word.casefold() not in title_words]
    return " ".join([title, *lacking]).strip()


def _without_extension(name: str) -> str:
    for extension in SUPPORTED:
        if name.lower().endswith(extension):
            return name[: -len(extension)]
    return _EXTENSION.sub("", name)
