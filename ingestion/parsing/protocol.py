"""The protocol of a parser (file in, blocks and metadata out), and the parser of each type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from ingestion.domain import Block, Part
from ingestion.errors import NoText
from ingestion.files import filetypes
from ingestion.files.filetypes import FileType

from .limits import ParseLimits
from .ocr import Ocr


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
    metadata: StatedMetadata = field(default_factory=StatedMetadata)
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


MODULES = {
    filetypes.PDF.media_type: "pdf",
    filetypes.DOCX.media_type: "office",
    filetypes.DOC.media_type: "office",
    filetypes.ODT.media_type: "office",
    filetypes.RTF.media_type: "office",
    filetypes.XLSX.media_type: "sheets",
    filetypes.XLS.media_type: "sheets",
    filetypes.ODS.media_type: "sheets",
    filetypes.PPTX.media_type: "slides",
    filetypes.PPT.media_type: "slides",
    filetypes.ODP.media_type: "slides",
    filetypes.IPYNB.media_type: "notebook",
    filetypes.EPUB.media_type: "epub",
    filetypes.HTML.media_type: "markup:HTML",
    filetypes.MARKDOWN.media_type: "markup:MARKDOWN",
    filetypes.RST.media_type: "rst",
    filetypes.ASCIIDOC.media_type: "markup:ASCIIDOC",
    filetypes.ORG.media_type: "markup:ORG",
    filetypes.PNG.media_type: "image",
    filetypes.JPEG.media_type: "image",
    filetypes.TIFF.media_type: "image",
    filetypes.WEBP.media_type: "image",
    filetypes.TEXT.media_type: "text",
    filetypes.CSV.media_type: "tabular",
    filetypes.TSV.media_type: "tabular",
    filetypes.EML.media_type: "mail",
    filetypes.MSG.media_type: "outlook",
    filetypes.ZIP.media_type: "zip_archive",
    filetypes.JSON.media_type: "json_data",
    filetypes.JSON_LINES.media_type: "json_data",
    filetypes.XML.media_type: "xml_data",
    **{source_type.media_type: "source_code" for source_type in filetypes.SOURCE_TYPES},
}

# Their packages have one maintainer each; only these types pay for looking.
_SUBSTITUTED = frozenset(
    media_type
    for media_type, module in MODULES.items()
    if module in {"pdf", "office", "sheets", "slides"}
)


def parser_for(media_type: str) -> Parser:
    """The parser of `media_type`. Raises KeyError for a type that `sniff` never yields.

    Without its package another one, see `substitutes`.
    """
    if media_type in _SUBSTITUTED:
        from .substitutes import substitute_for

        if substitute := substitute_for(media_type):
            return substitute
    module, _, name = MODULES[media_type].partition(":")
    return cast(Parser, getattr(import_module(f"{__package__}.{module}"), name or "PARSER"))
