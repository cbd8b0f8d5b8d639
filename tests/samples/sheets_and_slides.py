"""Workbooks, slide decks and notebooks made by code, as small as their readers allow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from .builders import TABLE, make_zip

Sheets = Mapping[str, Mapping[str, str]]
"""Sheet name to {cell reference: text}; "B2" and so on."""

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OOXML = "application/vnd.openxmlformats-officedocument"
_ODF_SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{path}:1.0"'
    for name, path in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"),
        ("presentation", "presentation"), ("meta", "meta"), ("svg", "svg-compatible"),
    )
)  # fmt: skip

SHEETS: Sheets = {
    "Regions": {
        f"{column}{number}": text
        for number, row in enumerate(TABLE, 1)
        for column, text in zip("AB", row, strict=True)
    },
    "Notes": {"A1": "Weighed with a steelyard."},
}


def make_xlsx(sheets: Sheets = SHEETS, *, title: str = "Beam sizes", extra: str = "") -> bytes:
    """A workbook; digits alone become numbers. `extra` follows each sheet's cells."""
    members: dict[str, str | bytes] = {}
    listed, relations = "", ""
    for number, (name, cells) in enumerate(sheets.items(), 1):
        listed += f'<sheet name="{escape(name)}" sheetId="{number}" r:id="rId{number}"/>'
        relations += _relation(number, "worksheet", f"worksheets/sheet{number}.xml")
        members[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{_MAIN}"><sheetData>{_rows(cells)}</sheetData>{extra}</worksheet>'
        )
    return make_zip(
        {
            **_package("xl/workbook.xml", f"{_OOXML}.spreadsheetml.sheet.main+xml", title),
            "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}">'
            f"<sheets>{listed}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": _relations(relations),
            **members,
        }
    )


def _rows(cells: Mapping[str, str]) -> str:
    by_row: dict[int, str] = {}
    for reference, text in cells.items():
        number = int(reference.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        value = f'"><v>{text}</v>' if text.isdigit() else f'" t="inlineStr"><is><t>{text}</t></is>'
        by_row[number] = by_row.get(number, "") + f'<c r="{reference}{value}</c>'
    return "".join(f'<row r="{number}">{row}</row>' for number, row in sorted(by_row.items()))


def make_ods(rows: Sequence[Sequence[str]] = TABLE, *, filler: str = "") -> bytes:
    """A workbook of one sheet, "Regions"; `filler` stands after its rows."""
    body = "".join(
        "<table:table-row>"
        + "".join(
            '<table:table-cell office:value-type="string">'
            f"<text:p>{cell}</text:p></table:table-cell>"
            for cell in row
        )
        + "</table:table-row>"
        for row in rows
    )
    table = f'<table:table table:name="Regions">{body}{filler}</table:table>'
    return _odf("spreadsheet", table)


def make_odp(slides: Sequence[tuple[str, str, str]]) -> bytes:
    """A deck of (title, text, notes); what is empty is left out."""
    pages = ""
    for title, text, notes in slides:
        pages += "<draw:page>"
        if title:
            pages += f'<draw:frame presentation:class="title" {_place(1)}>'
            pages += f"{_box(title)}</draw:frame>"
        pages += f"<draw:frame {_place(5)}>{_box(text)}</draw:frame>" if text else ""
        if notes:
            pages += (
                '<presentation:notes><draw:frame presentation:class="notes">'
                f"{_box(notes)}</draw:frame></presentation:notes>"
            )
        pages += "</draw:page>"
    return _odf("presentation", pages)


def _place(top: int) -> str:
    return f'svg:x="2cm" svg:y="{top}cm" svg:width="24cm" svg:height="3cm"'


def _box(text: str) -> str:
    return f"<draw:text-box><text:p>{text}</text:p></draw:text-box>"


def _odf(kind: str, body: str) -> bytes:
    content = (
        f'<office:document-content {_ODF_SPACES} office:version="1.2"><office:body>'
        f"<office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    meta = (
        f'<office:document-meta {_ODF_SPACES} xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<office:meta><dc:title>Beam sizes</dc:title></office:meta></office:document-meta>"
    )
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    return make_zip({"mimetype": media_type, "content.xml": content, "meta.xml": meta})


def make_pptx(
    slides: Sequence[tuple[str, str, str]],
    *,
    title: str = "PowerPoint Presentation",
    table: Sequence[Sequence[str]] = (),
) -> bytes:
    """A deck of (title, text, notes), what is empty left out; `table` on the last slide."""
    members: dict[str, str | bytes] = {}
    listed, relations = "", ""
    for number, (heading, text, notes) in enumerate(slides, 1):
        listed += f'<p:sldId id="{255 + number}" r:id="rId{number}"/>'
        relations += _relation(number, "slide", f"slides/slide{number}.xml")
        # The title comes last: its place in the file is not its place on the slide.
        shapes = _shape(2, text, "body") + (_shape(3, heading, "title") if heading else "")
        shapes += _frame(table) if table and number == len(slides) else ""
        members[f"ppt/slides/slide{number}.xml"] = _slide("sld", shapes)
        if notes:
            link = _relation(1, "notesSlide", f"../notesSlides/notesSlide{number}.xml")
            members[f"ppt/slides/_rels/slide{number}.xml.rels"] = _relations(link)
            members[f"ppt/notesSlides/notesSlide{number}.xml"] = _slide(
                "notes", _shape(2, notes, "body")
            )
    presentation = (
        f'<p:presentation xmlns:p="{_SLIDES}" xmlns:r="{_RELATIONS}">'
        f'<p:sldIdLst>{listed}</p:sldIdLst><p:sldSz cx="12192000" cy="6858000"/></p:presentation>'
    )
    main_type = f"{_OOXML}.presentationml.presentation.main+xml"
    return make_zip(
        {
            **_package("ppt/presentation.xml", main_type, title),
            "ppt/presentation.xml": presentation,
            "ppt/_rels/presentation.xml.rels": _relations(relations),
            **members,
        }
    )


def _slide(kind: str, shapes: str) -> str:
    return (
        f'<p:{kind} xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}"><p:cSld><p:spTree><p:nvGrpSpPr>'
        '<p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
        f"{shapes}</p:spTree></p:cSld></p:{kind}>"
    )


def _shape(number: int, text: str, kind: str) -> str:
    top, height = (500_000, 1_000_000) if kind == "title" else (2_000_000, 4_000_000)
    place = f'<a:off x="600000" y="{top}"/><a:ext cx="10800000" cy="{height}"/>'
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="{kind}"/><p:cNvSpPr/><p:nvPr>'
        f'<p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:spPr><a:xfrm>{place}</a:xfrm></p:spPr>'
        "<p:txBody><a:bodyPr/>"
        f"<a:p><a:pPr><a:buNone/></a:pPr><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def _frame(rows: Sequence[Sequence[str]]) -> str:
    body = "".join(
        "<a:tr>"
        + "".join(
            f"<a:tc><a:txBody><a:bodyPr/><a:p><a:r><a:t>{cell}</a:t></a:r></a:p></a:txBody></a:tc>"
            for cell in row
        )
        + "</a:tr>"
        for row in rows
    )
    return (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="9" name="t"/><p:cNvGraphicFramePr/>'
        f'<p:nvPr/></p:nvGraphicFramePr><a:graphic><a:graphicData uri="{_DRAWING[:-4]}table">'
        f'<a:tbl><a:tblPr firstRow="1"/>{body}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>'
    )


def _package(main: str, main_type: str, title: str) -> dict[str, str | bytes]:
    return {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{main}" ContentType="{main_type}"/></Types>',
        "_rels/.rels": _relations(_relation(1, "officeDocument", main)),
        "docProps/core.xml": '<cp:coreProperties xmlns:cp="'
        f'{_PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:creator>Ada Weigher</dc:creator></cp:coreProperties>",
    }


def _relations(relations: str) -> str:
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{relations}</Relationships>'


def _relation(number: int, kind: str, target: str) -> str:
    return f'<Relationship Id="rId{number}" Type="{_RELATIONS}/{kind}" Target="{target}"/>'


def make_notebook(cells: Sequence[Mapping[str, object]], **metadata: object) -> bytes:
    """A Jupyter notebook of format 4; cells get the fields that they lack."""
    whole = [
        {
            "metadata": {},
            **({"execution_count": 1, "outputs": []} if cell["cell_type"] == "code" else {}),
            **cell,
        }
        for cell in cells
    ]
    notebook = {"cells": whole, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(notebook, indent=1).encode()
