"""What a parser is: a stored file in, a stream of blocks and the file's metadata out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ingestion.domain import Block
from ingestion.filetypes import FileType

from .limits import ParseLimits


@dataclass(frozen=True)
class Source:
    """One file to parse, its sniffed type, and a directory that is removed afterwards."""

    path: Path
    file_type: FileType
    limits: ParseLimits
    scratch: Path


@dataclass(frozen=True)
class Metadata:
    """What the file says of itself; empty where it says nothing. Dates are ISO 8601."""

    title: str = ""
    author: str = ""
    language: str = ""
    created: str = ""
    modified: str = ""
    page_count: int | None = None


@dataclass
class Extraction:
    """A parser's answer. `warnings` is complete once `blocks` has been read to its end.

    Parsers need not clean text of NULs or lone surrogates nor drop empty blocks: the
    child does so for all of them.
    """

    blocks: Iterator[Block]
    metadata: Metadata = field(default_factory=Metadata)
    warnings: list[str] = field(default_factory=list)


class Parser(Protocol):
    """Reads one family of formats. Runs in the child process only.

    Errors: subclasses of ParseFailed, their messages fit for the person who uploaded.
    """

    name: str

    def extract(self, source: Source) -> Extraction:
        """The blocks of `source` in reading order, lazily where the library allows it."""
        ...
