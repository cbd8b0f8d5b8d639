"""PDF: the notes of readers."""

from __future__ import annotations

import io
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium
from reportlab.pdfgen.canvas import Canvas

from .conftest import Parse


def _annotated(tmp_path: Path) -> bytes:
    path = tmp_path / "annotated.pdf"
    canvas = Canvas(str(path), invariant=1)
    for number in (1, 2):
        canvas.drawString(72, 700, f"The hose of pump {number} is replaced each year.")
        canvas.showPage()
    canvas.save()
    document = pypdfium2.PdfDocument(path)
    page = document[0]
    for kind, author, text, flags in (
        (pdfium.FPDF_ANNOT_TEXT, "Ada Lund", "Ask the harbour office first.", 0),
        (pdfium.FPDF_ANNOT_HIGHLIGHT, "", "Twice in 2025.", 0),
        (pdfium.FPDF_ANNOT_HIGHLIGHT, "Ada Lund", "replaced each year", 0),
        (pdfium.FPDF_ANNOT_TEXT, "", "A hidden one.", pdfium.FPDF_ANNOT_FLAG_HIDDEN),
        (pdfium.FPDF_ANNOT_LINK, "", "A link.", 0),
    ):
        note = pdfium.FPDFPage_CreateAnnot(page, kind)
        for key, value in ((b"T", author), (b"Contents", text)):
            wide = (value + "\0").encode("utf-16-le")
            units = (pdfium.FPDF_WCHAR * (len(wide) // 2)).from_buffer_copy(wide)
            pdfium.FPDFAnnot_SetStringValue(note, key, units)
        pdfium.FPDFAnnot_SetFlags(note, flags)
        pdfium.FPDFPage_CloseAnnot(note)
    out = io.BytesIO()
    document.save(out)
    document.close()
    return out.getvalue()


def test_notes_of_readers_follow_their_page(parse: Parse, tmp_path: Path) -> None:
    blocks = parse(_annotated(tmp_path), "a.pdf").blocks
    assert [(block.page, block.text) for block in blocks] == [
        (1, "The hose of pump 1 is replaced each year."),
        (1, "Ada Lund: Ask the harbour office first."),
        (1, "Twice in 2025."),
        (2, "The hose of pump 2 is replaced each year."),
    ]


def test_a_value_that_the_program_of_a_form_did_not_draw(parse: Parse, tmp_path: Path) -> None:
    path = tmp_path / "form.pdf"
    canvas = Canvas(str(path), invariant=1)
    canvas.drawString(72, 700, "Warranty of pump 2")
    for name, top in (("serial", 600), ("state", 500)):
        canvas.acroForm.textfield(name=name, tooltip=f"The {name}", x=72, y=top, value="2")
    canvas.save()
    document = pypdfium2.PdfDocument(path)
    field = pdfium.FPDFPage_GetAnnot(document[0], 0)
    pdfium.FPDFAnnot_SetAP(field, pdfium.FPDF_ANNOT_APPEARANCEMODE_NORMAL, None)
    pdfium.FPDFPage_CloseAnnot(field)
    out = io.BytesIO()
    document.save(out)
    document.close()
    texts = [block.text for block in parse(out.getvalue(), "a.pdf").blocks]
    assert texts == ["Warranty of pump 2", "2", "The serial: 2"]
