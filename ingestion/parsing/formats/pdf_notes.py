"""The notes that readers wrote on the pages of a PDF, each a paragraph after its page."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ingestion.domain import Block, BlockKind

MOST_NOTES = 10_000
"""A hostile page may have millions. A guess."""


def notes(path: Path) -> dict[int, list[tuple[str, str]]]:
    """The author and text of the notes by page (from 1), without what is printed or hidden.

    Links, form fields and the windows of notes have no text of their own.
    """
    import pypdfium2
    import pypdfium2.raw as pdfium

    texts = {
        pdfium.FPDF_ANNOT_TEXT,
        pdfium.FPDF_ANNOT_FREETEXT,
        pdfium.FPDF_ANNOT_LINE,
        pdfium.FPDF_ANNOT_SQUARE,
        pdfium.FPDF_ANNOT_CIRCLE,
        pdfium.FPDF_ANNOT_POLYGON,
        pdfium.FPDF_ANNOT_POLYLINE,
        pdfium.FPDF_ANNOT_HIGHLIGHT,
        pdfium.FPDF_ANNOT_UNDERLINE,
        pdfium.FPDF_ANNOT_SQUIGGLY,
        pdfium.FPDF_ANNOT_STRIKEOUT,
        pdfium.FPDF_ANNOT_STAMP,
        pdfium.FPDF_ANNOT_CARET,
        pdfium.FPDF_ANNOT_INK,
        pdfium.FPDF_ANNOT_FILEATTACHMENT,
    }
    out: dict[int, list[tuple[str, str]]] = {}
    left = MOST_NOTES
    with pypdfium2.PdfDocument(path) as document:
        for number in range(1, len(document) + 1):
            try:
                page = document[number - 1]
            except pypdfium2.PdfiumError:
                continue
            for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), left)):
                left -= 1
                note = pdfium.FPDFPage_GetAnnot(page, index)
                if note and pdfium.FPDFAnnot_GetSubtype(note) in texts and _is_shown(note):
                    text = " ".join(_value(note, b"Contents").split())
                    if text:
                        author = " ".join(_value(note, b"T").split())
                        out.setdefault(number, []).append((author, text))
                pdfium.FPDFPage_CloseAnnot(note)
            page.close()
    return out


def _is_shown(note: Any) -> bool:
    import pypdfium2.raw as pdfium

    hidden = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
    return not pdfium.FPDFAnnot_GetFlags(note) & hidden


def _value(note: Any, key: bytes) -> str:
    import pypdfium2.raw as pdfium

    length = pdfium.FPDFAnnot_GetStringValue(note, key, None, 0)
    buffer = ctypes.create_string_buffer(length)
    wide = ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR))
    pdfium.FPDFAnnot_GetStringValue(note, key, wide, length)
    return buffer.raw[:length].decode("utf-16-le", "replace").rstrip("\x00")


def with_notes(
    blocks: Iterable[Block], written: Mapping[int, list[tuple[str, str]]]
) -> Iterator[Block]:
    """The blocks; the notes of a page come after its last one, without what the page says."""
    left = dict(written)
    said = ""
    for block in blocks:
        for page in [page for page in left if page < (block.page or 0)]:
            yield from _blocks(page, left.pop(page), said)
            said = ""
        said += "".join(block.text.split())
        yield block
    for page, rest in left.items():
        yield from _blocks(page, rest, said)


def _blocks(page: int, written: Iterable[tuple[str, str]], said: str) -> Iterator[Block]:
    for author, text in written:
        # Programs copy the marked words into the note.
        if "".join(text.split()) not in said:
            line = f"{author}: {text}" if author else text
            yield Block(BlockKind.PARAGRAPH, line, page=page)
