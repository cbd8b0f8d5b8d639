"""Parsers for a server without liteparse or anydoc: less structure, and a warning that says so.

Both packages are young and have one maintainer. PDFium and pandoc, which are neither, read most of
their formats; what they cannot read fails with a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from ingestion.domain import Block, BlockKind
from ingestion.errors import ParseFailed
from ingestion.files import filetypes

from .office import read_checked, read_metadata, repaired
from .pandoc import read_tree
from .pdf_document import PdfFacts, attached_files, outline_key, read_facts
from .protocol import Extraction, Parser, ScannedPages, Source
from .syntax_tree import TreeReader

PDF_WARNING = (
    "Read without liteparse, which is not installed on this server: text by page, with headings "
    "only where the outline has them, and without tables and OCR."
)
OFFICE_WARNING = "Read by pandoc, since anydoc is not installed on this server."

# What pandoc reads of anydoc's formats, under its own names.
_PANDOC = {
    filetypes.DOCX: "docx",
    filetypes.ODT: "odt",
    filetypes.RTF: "rtf",
    filetypes.XLSX: "xlsx",
    filetypes.PPTX: "pptx",
}
_OFFICE = frozenset(
    {
        *_PANDOC,
        *(filetypes.DOC, filetypes.XLS, filetypes.ODS, filetypes.PPT, filetypes.ODP),
    }
)
_OFFICE_TYPES = frozenset(file_type.media_type for file_type in _OFFICE)


def substitute_for(media_type: str) -> Parser | None:
    """Return the parser to use in place of the usual one; None while its package is installed."""
    if media_type == filetypes.PDF.media_type and find_spec("liteparse") is None:
        return PdfiumText()
    if media_type in _OFFICE_TYPES and find_spec("anydoc") is None:
        return PandocOffice()
    return None


class PdfiumText:
    """The text of each page in content order; headings where the file's outline has them."""

    name = "pdfium"

    def extract(self, source: Source) -> Extraction:
        facts = read_facts(source.path, source.limits)
        pages = list(_texts(source))
        if not any(pages):
            count = len(pages)
            raise ScannedPages(
                f"This PDF of {count:,} pages contains no text, and OCR needs the package "
                "liteparse, which this server lacks. Ask its administrator to install it.",
                [],
            )
        warnings = [PDF_WARNING]
        if any(True for _ in attached_files(source.path, 1)):
            warnings.append("The files within it were left out.")
        return Extraction(_blocks(pages, facts), facts.metadata, warnings)


def _texts(source: Source) -> Iterator[list[str]]:
    """The lines of each page that are not blank."""
    import pypdfium2

    document = pypdfium2.PdfDocument(source.path)
    try:
        for page in document:
            text = page.get_textpage().get_text_range()
            yield [line.strip() for line in text.splitlines() if line.strip()]
    finally:
        document.close()


def _blocks(pages: list[list[str]], facts: PdfFacts) -> Iterator[Block]:
    for number, lines in enumerate(pages, 1):
        running: list[str] = []
        for line in lines:
            level = facts.outline.get((number, outline_key(line)))
            if level is None:
                running.append(line)
                continue
            yield from _paragraph(running, number)
            running = []
            yield Block(BlockKind.HEADING, line, level=min(max(level, 1), 6), page=number)
        yield from _paragraph(running, number)


def _paragraph(lines: list[str], page: int) -> Iterator[Block]:
    if lines:
        yield Block(BlockKind.PARAGRAPH, "\n".join(lines), page=page)


class PandocOffice:
    """Headings, lists and tables of DOCX, ODT, RTF, XLSX and PPTX, as pandoc reads them."""

    name = "pandoc-office"

    def extract(self, source: Source) -> Extraction:
        reader = _PANDOC.get(source.file_type)
        if reader is None:
            raise ParseFailed(
                f"This server lacks the package firecrawl-anydoc, which reads "
                f"{source.file_type.label}. Ask its administrator to install it, or save the "
                "file in a current format (DOCX, XLSX, PPTX) and upload that."
            )
        # The same checks and repairs as for anydoc, before pandoc unpacks anything.
        checked = source.scratch / f"source.{reader}"
        checked.write_bytes(repaired(read_checked(source), source.file_type))
        tree = read_tree(checked, reader, source.limits)
        blocks = TreeReader().blocks(tree.blocks)
        return Extraction(blocks, read_metadata(source), [OFFICE_WARNING])
