"""The parsers, one family of formats a module."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from ingestion.files import filetypes
from ingestion.parsing.protocol import Parser

MODULES = {
    filetypes.PDF.media_type: "pdf",
    filetypes.DOCX.media_type: "office",
    filetypes.DOC.media_type: "office",
    filetypes.ODT.media_type: "office",
    filetypes.RTF.media_type: "office",
    filetypes.XLSX.media_type: "sheets:SHEETS",
    filetypes.XLS.media_type: "sheets:SHEETS",
    filetypes.ODS.media_type: "sheets:SHEETS",
    filetypes.PPTX.media_type: "sheets:SLIDES",
    filetypes.PPT.media_type: "sheets:SLIDES",
    filetypes.ODP.media_type: "sheets:SLIDES",
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


def parser_for(media_type: str) -> Parser:
    """Return the parser of `media_type`, imported now. Raises KeyError for other types.

    Raises ModuleNotFoundError where a package of the parser is missing.
    """
    module, _, name = MODULES[media_type].partition(":")
    parsers = import_module(f"ingestion.parsing.formats.{module}")
    return cast(Parser, getattr(parsers, name or "PARSER"))
