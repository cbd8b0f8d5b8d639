"""The protocol of a parser: file in, blocks and metadata out; the module that parses each type;
limits for one file (docs/adr/0008-parsers.md); titles by file names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, Self, cast

from ingestion.domain import Block, Completeness, Part, Unit, Why
from ingestion.errors import NoText
from ingestion.files import filetypes
from ingestion.files.filetypes import SUPPORTED, FileType
from ingestion.parsing.ocr import CPU_SECONDS_PER_PAGE, SECONDS_PER_PAGE, Ocr

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

    def with_time_for(self, ocr: Ocr) -> Self:
        """The limits with extra time for recognising the pages that are wanted."""
        return replace(
            self,
            wall_seconds=self.wall_seconds + SECONDS_PER_PAGE * len(ocr.wanted),
            cpu_seconds=self.cpu_seconds + CPU_SECONDS_PER_PAGE * len(ocr.wanted),
        )

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

    `stated` are its currency values: see `ingestion.currency_dates.values_of`.
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
        self.completeness.add(Unit.FILE, Why.CUT_OFF, count=int(is_cut_off))
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


# The types that each module reads; after a colon the name of one of its parsers.
_TYPES = {
    "pdf": (filetypes.PDF,),
    "word_documents": (filetypes.DOCX, filetypes.DOC, filetypes.ODT, filetypes.RTF),
    "sheets_and_slides:SHEETS": (filetypes.XLSX, filetypes.XLS, filetypes.ODS),
    "sheets_and_slides:SLIDES": (filetypes.PPTX, filetypes.PPT, filetypes.ODP),
    "notebook": (filetypes.IPYNB,),
    "epub": (filetypes.EPUB,),
    "markup:HTML": (filetypes.HTML,),
    "markdown:MARKDOWN": (filetypes.MARKDOWN,),
    "rst": (filetypes.RST,),
    "markup:ASCIIDOC": (filetypes.ASCIIDOC,),
    "markup:ORG": (filetypes.ORG,),
    "image": (filetypes.PNG, filetypes.JPEG, filetypes.TIFF, filetypes.WEBP),
    "text": (filetypes.TEXT,),
    "tabular": (filetypes.CSV, filetypes.TSV),
    "mail": (filetypes.EML,),
    "outlook": (filetypes.MSG,),
    "zip_archive": (filetypes.ZIP,),
    "json_data": (filetypes.JSON, filetypes.JSON_LINES),
    "xml_data": (filetypes.XML,),
    "source_code": filetypes.SOURCE_TYPES,
}
MODULES = {each.media_type: module for module, types in _TYPES.items() for each in types}


def parser_for(media_type: str) -> Parser:
    """Return the parser of `media_type`, imported now. Raises KeyError for other types.

    Raises ModuleNotFoundError where a package of the parser is missing.
    """
    module, _, name = MODULES[media_type].partition(":")
    parsers = import_module(f"ingestion.parsing.formats.{module}")
    return cast(Parser, getattr(parsers, name or "PARSER"))


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
    missing_words = [word for word in words if word.casefold() not in title_words]
    return " ".join([title, *missing_words]).strip()


def _without_extension(name: str) -> str:
    for extension in SUPPORTED:
        if name.lower().endswith(extension):
            return name[: -len(extension)]
    return _EXTENSION.sub("", name)
