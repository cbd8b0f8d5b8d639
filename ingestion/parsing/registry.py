"""The module that reads each media type. Modules are imported on demand: the child starts fast."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from ingestion.files import filetypes

from .protocol import Parser

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
    filetypes.HTML.media_type: "html",
    filetypes.MARKDOWN.media_type: "markdown",
    filetypes.RST.media_type: "rst",
    filetypes.ASCIIDOC.media_type: "asciidoc_org:ASCIIDOC",
    filetypes.ORG.media_type: "asciidoc_org:ORG",
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
    """The parser of `media_type`. Raises KeyError for a type that `sniff` never yields."""
    module, _, name = MODULES[media_type].partition(":")
    return cast(Parser, getattr(import_module(f"{__package__}.{module}"), name or "PARSER"))
