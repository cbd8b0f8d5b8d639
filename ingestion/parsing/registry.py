"""The module that parses each type of file."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from ingestion.files import filetypes
from ingestion.parsing.protocol import Parser

# The types that each module reads; after a colon the name of one of its parsers.
_TYPES = {
    "pdf": (filetypes.PDF,),
    "word_documents": (filetypes.DOCX, filetypes.DOC, filetypes.ODT, filetypes.RTF),
    "spreadsheets:SHEETS": (filetypes.XLSX, filetypes.XLS, filetypes.ODS),
    "slides:SLIDES": (filetypes.PPTX, filetypes.PPT, filetypes.ODP),
    "notebook": (filetypes.IPYNB,),
    "epub": (filetypes.EPUB,),
    "markup:HTML": (filetypes.HTML,),
    "markdown:MARKDOWN": (filetypes.MARKDOWN,),
    "rst": (filetypes.RST,),
    "markup:ASCIIDOC": (filetypes.ASCIIDOC,),
    "markup:ORG": (filetypes.ORG,),
    "markup:MAN": (filetypes.MAN,),
    "latex": (filetypes.LATEX,),
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
