"""Slide decks made by code, as small as their readers allow."""

from __future__ import annotations

from collections.abc import Sequence

from .builders import make_zip
from .office_packages import DRAWING, OOXML, RELATIONS, odf, package, relation, relations

_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"


def make_pptx(
    slides: Sequence[tuple[str, str, str]],
    *,
    title: str = "PowerPoint Presentation",
    table: Sequence[Sequence[str]] = (),
) -> bytes:
    """A deck of (title, text, notes), what is empty left out; `table` on the last slide."""
    members: dict[str, str | bytes] = {}
    listed, related = "", ""
    for number, (heading, text, notes) in enumerate(slides, 1):
        listed += f'<p:sldId id="{255 + number}" r:id="rId{number}"/>'
        related += relation(number, "slide", f"slides/slide{number}.xml")
        # The title comes last: its place in the file is not its place on the slide.
        shapes = _shape(2, text, "body") + (_shape(3, heading, "title") if heading else "")
        shapes += _frame(table) if table and number == len(slides) else ""
        members[f"ppt/slides/slide{number}.xml"] = _slide("sld", shapes)
        if notes:
            link = relation(1, "notesSlide", f"../notesSlides/notesSlide{number}.xml")
            members[f"ppt/slides/_rels/slide{number}.xml.rels"] = relations(link)
            members[f"ppt/notesSlides/notesSlide{number}.xml"] = _slide(
                "notes", _shape(2, notes, "body")
            )
    presentation = (
        f'<p:presentation xmlns:p="{_SLIDES}" xmlns:r="{RELATIONS}">'
        f'<p:sldIdLst>{listed}</p:sldIdLst><p:sldSz cx="12192000" cy="6858000"/></p:presentation>'
    )
    main_type = f"{OOXML}.presentationml.presentation.main+xml"
    return make_zip(
        {
            **package("ppt/presentation.xml", main_type, title),
            "ppt/presentation.xml": presentation,
            "ppt/_rels/presentation.xml.rels": relations(related),
            **members,
        }
    )


def _slide(kind: str, shapes: str) -> str:
    return (
        f'<p:{kind} xmlns:p="{_SLIDES}" xmlns:a="{DRAWING}"><p:cSld><p:spTree><p:nvGrpSpPr>'
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
        '<a:tr h="400000">'
        + "".join(
            f"<a:tc><a:txBody><a:bodyPr/><a:p><a:r><a:t>{cell}</a:t></a:r></a:p></a:txBody></a:tc>"
            for cell in row
        )
        + "</a:tr>"
        for row in rows
    )
    # LibreOffice drops the cells of a table that states no columns.
    column = '<a:gridCol w="2000000"/>'
    grid = f"<a:tblGrid>{column * len(rows[0])}</a:tblGrid>"
    return (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="9" name="t"/><p:cNvGraphicFramePr/>'
        f'<p:nvPr/></p:nvGraphicFramePr><a:graphic><a:graphicData uri="{DRAWING[:-4]}table">'
        f'<a:tbl><a:tblPr firstRow="1"/>{grid}{body}</a:tbl></a:graphicData></a:graphic>'
        "</p:graphicFrame>"
    )


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
    return odf("presentation", pages)


def _place(top: int) -> str:
    return f'svg:x="2cm" svg:y="{top}cm" svg:width="24cm" svg:height="3cm"'


def _box(text: str) -> str:
    return f"<draw:text-box><text:p>{text}</text:p></draw:text-box>"
