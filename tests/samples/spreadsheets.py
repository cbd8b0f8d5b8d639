"""Workbooks made by code, as small as their readers allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from .builders import TABLE, make_zip
from .office_packages import OOXML, RELATIONS, odf, package, relation, relations

Sheets = Mapping[str, Mapping[str, str]]
"""Sheet name to {cell reference: text}; "B2" and so on."""

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

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
    listed, related = "", ""
    for number, (name, cells) in enumerate(sheets.items(), 1):
        listed += f'<sheet name="{escape(name)}" sheetId="{number}" r:id="rId{number}"/>'
        related += relation(number, "worksheet", f"worksheets/sheet{number}.xml")
        members[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{_MAIN}"><sheetData>{_rows(cells)}</sheetData>{extra}</worksheet>'
        )
    return make_zip(
        {
            **package("xl/workbook.xml", f"{OOXML}.spreadsheetml.sheet.main+xml", title),
            "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{RELATIONS}">'
            f"<sheets>{listed}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": relations(related),
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
    return odf("spreadsheet", table)
