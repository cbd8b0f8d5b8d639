"""The notes that readers wrote on the pages of a PDF, each a paragraph after its page.

So are the values of a form which its program left to the viewer to draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ingestion.domain import Block, BlockKind
from ingestion.parsing.formats.pdf_metadata import wide_text

MOST_NOTES = 1_000
"""Of a page; a hostile one may have millions. A guess."""

_TEXTS = (
    "TEXT FREETEXT LINE SQUARE CIRCLE POLYGON POLYLINE HIGHLIGHT UNDERLINE SQUIGGLY STRIKEOUT "
    "STAMP CARET INK FILEATTACHMENT"
)

Note = tuple[str, str]


def notes_on(page: Any) -> list[Note]:
    """The author and text of the notes that are shown on a page, and of fields without a drawing.

    Links and the windows of notes have no text of their own; liteparse reads what is drawn.
    """
    import pypdfium2.raw as pdfium

    kinds = {getattr(pdfium, f"FPDF_ANNOT_{name}") for name in _TEXTS.split()}
    notes = []
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), MOST_NOTES)):
        note = pdfium.FPDFPage_GetAnnot(page, index)
        kind = pdfium.FPDFAnnot_GetSubtype(note) if note else pdfium.FPDF_ANNOT_UNKNOWN
        is_field = kind == pdfium.FPDF_ANNOT_WIDGET and not _is_drawn(note)
        if (is_field or kind in kinds) and _is_shown(note):
            keys = (b"TU", b"T", b"V" if is_field else b"Contents")
            label, author, text = (" ".join(_value(note, key).split()) for key in keys)
            if text:
                # A short value may be on the page as well.
                field = f"{label or author}: {text}"
                notes.append(("", field) if is_field else (author, text))
        pdfium.FPDFPage_CloseAnnot(note)
    return notes


def _is_shown(note: Any) -> bool:
    import pypdfium2.raw as pdfium

    hidden = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
    return not pdfium.FPDFAnnot_GetFlags(note) & hidden


def _is_drawn(field: Any) -> bool:
    import pypdfium2.raw as pdfium

    length: int = pdfium.FPDFAnnot_GetAP(field, pdfium.FPDF_ANNOT_APPEARANCEMODE_NORMAL, None, 0)
    return length > len("\0".encode("utf-16-le"))


def _value(note: Any, key: bytes) -> str:
    import pypdfium2.raw as pdfium

    return wide_text(lambda *to: pdfium.FPDFAnnot_GetStringValue(note, key, *to))


def with_notes(blocks: Iterable[Block], written: Mapping[int, list[Note]]) -> Iterator[Block]:
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


def _blocks(page: int, written: Iterable[Note], said: str) -> Iterator[Block]:
    for author, text in written:
        # Programs copy the marked words into the note.
        if "".join(text.split()) not in said:
            line = f"{author}: {text}" if author else text
            yield Block(BlockKind.PARAGRAPH, line, page=page)
