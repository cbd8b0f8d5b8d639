"""The protocol of a parser: file in, blocks and metadata out (docs/adr/0008-parsers.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ingestion.domain import Block, Completeness, Part, Unit, Why
from ingestion.errors import NoText
from ingestion.files.filetypes import FileType
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.ocr import Ocr


@dataclass(frozen=True)
class Source:
    """One file to parse, its sniffed type, and a scratch directory that is removed afterwards."""

    path: Path
    file_type: FileType
    limits: ParseLimits
    scratch: Path
    ocr: Ocr = field(default_factory=Ocr)


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
