"""The protocol of a parser: a stored file in, a stream of blocks and metadata out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ingestion.domain import Block, Part
from ingestion.errors import NoText
from ingestion.files.filetypes import FileType

from .limits import ParseLimits
from .ocr import Ocr


@dataclass(frozen=True)
class Source:
    """One file to parse, its sniffed type, and a scratch directory that is removed afterwards."""

    path: Path
    file_type: FileType
    limits: ParseLimits
    scratch: Path
    ocr: Ocr = field(default_factory=Ocr)


@dataclass(frozen=True)
class Metadata:
    """Metadata stated in the file; empty if it states none. Dates are in ISO 8601."""

    title: str = ""
    author: str = ""
    language: str = ""
    created: str = ""
    modified: str = ""
    page_count: int | None = None


@dataclass
class Extraction:
    """A parser's result. `warnings` and `parts` are complete once `blocks` is exhausted.

    Parsers need not remove NULs, lone surrogates or empty blocks: the child does so for all of
    them. `scanned` lists the pages that consist of images of text.
    """

    blocks: Iterator[Block]
    metadata: Metadata = field(default_factory=Metadata)
    warnings: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    scanned: list[int] = field(default_factory=list)


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
