"""Workbooks: what their blocks are, and what the limits leave of hostile ones."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import pytest

from ingestion.domain import BlockKind
from ingestion.errors import NoText, ParseLimitExceeded
from ingestion.parsing.formats.xls_texts import texts_of
from tests.samples.builders import TABLE, make_zip
from tests.samples.outlook import make_ole
from tests.samples.spreadsheets import make_ods, make_xlsx

from .conftest import Parse
from .shorthand import h, p, table
from .test_completeness import changed, members


def test_xlsx_workbook_is_read(parse: Parse) -> None:
    document = parse(make_xlsx(), "a.xlsx")
    assert list(document.blocks) == [
        h(2, "Regions"),
        table(*TABLE),
        h(2, "Notes"),
        p("Weighed with a steelyard."),
    ]
    assert (document.title, document.author) == ("Beam sizes", "Ada Weigher")


def test_ods_workbook_is_read(parse: Parse) -> None:
    document = parse(make_ods(), "a.ods")
    assert list(document.blocks) == [h(2, "Regions"), table(*TABLE)]
    assert document.title == "Beam sizes"


def test_the_only_sheet_has_its_name_and_is_not_the_title(parse: Parse) -> None:
    sheet = {"A1": "Region", "B1": "Area", "A2": "D40", "B2": "120"}
    document = parse(make_xlsx({"R&D": sheet}, title=""), "a.xlsx")
    assert document.blocks[0] == h(2, "R&D")
    assert document.title == ""


def test_lone_cells_above_a_table_are_paragraphs_and_gaps_are_left_out(parse: Parse) -> None:
    sheet = {"A1": "Areas", "C3": "Region", "E3": "Area", "C5": "D40", "E5": "120"}
    sheet["A2"] = "of all regions"
    document = parse(make_xlsx({"S": sheet}), "a.xlsx")
    assert list(document.blocks[1:]) == [
        p("Areas"),
        p("of all regions"),
        table(("Region", "Area"), ("D40", "120")),
    ]


def test_a_header_of_three_rows_is_one_and_nothing_is_missing(parse: Parse) -> None:
    """Groups, names and units, over columns of figures."""
    sheet = {"A1": "Item", "B1": "Survey", "D1": "Value", "B2": "Load", "C2": "Flow", "D2": "Price"}
    sheet |= {"B3": "bar", "C3": "l/h", "D3": "EUR", "A4": "P-102", "B4": "12", "C4": "3"}
    sheet |= {"D4": "4", "A5": "P-120", "B5": "7", "C5": "18", "D5": "6"}
    document = parse(make_xlsx({"S": sheet}), "a.xlsx")
    labels = ("Item", "Survey Load bar", "Survey Flow l/h", "Value Price EUR")
    assert document.blocks[-1] == table(
        labels, ("P-102", "12", "3", "4"), ("P-120", "7", "18", "6")
    )
    assert not document.completeness.gaps


def test_rows_have_the_name_and_the_value_that_stand_beside_several(parse: Parse) -> None:
    sheet = {"A1": "Region", "B1": "2025", "A3": "North", "B3": "5", "B4": "7"}
    sheet |= {"B2": "Q1", "C1": "2026", "C2": "Q1", "C3": "6", "C4": ""}
    refs = ("A1:A2", "A3:A4", "C3:C4")
    merged = "".join(f'<mergeCell ref="{ref}"/>' for ref in refs)
    merged = f"<mergeCells>{merged}</mergeCells>"
    book = make_xlsx({"S": sheet})
    book = changed(book, "xl/worksheets/sheet1.xml", "</sheetData>", "</sheetData>" + merged)
    labels = ("Region", "2025 Q1", "2026 Q1")
    rows = (("North", "5", "6"), ("North", "7", "6"))
    assert parse(book, "a.xlsx").blocks[-1] == table(labels, *rows)


@pytest.mark.parametrize("corner", ["XFD1048576", "P1048576", "XFD3"])
def test_a_sparse_xlsx_keeps_its_cells(parse: Parse, corner: str) -> None:
    sheet = {"A1": "Region", "B1": "Area", "A2": "D40", "B2": "120", corner: "far"}
    document = parse(make_xlsx({"S": sheet}), "a.xlsx", memory_bytes=1 << 30)
    (cells,) = (block.rows for block in document.blocks if block.kind is BlockKind.TABLE)
    assert cells == (("Region", "Area", ""), ("D40", "120", ""), ("", "", "far"))


def test_a_sparse_xlsx_keeps_its_columns_in_order(parse: Parse) -> None:
    sheet = {"B1": "b", "AA1": "aa", "Z2": "z", "XFD1048576": "far", "B2": "1"}
    document = parse(make_xlsx({"S": sheet}), "a.xlsx")
    assert document.blocks[-1].rows == (
        ("b", "", "aa", ""),
        ("1", "z", "", ""),
        ("", "", "", "far"),
    )


def test_repeated_empty_cells_of_an_ods_are_skipped(parse: Parse) -> None:
    empty = '<table:table-cell table:number-columns-repeated="16384"/>'
    filler = f'<table:table-row table:number-rows-repeated="1048000">{empty}</table:table-row>'
    last = "<table:table-row><table:table-cell><text:p>last</text:p></table:table-cell>"
    document = parse(make_ods(filler=f"{filler}{last}</table:table-row>"), "a.ods")
    assert document.blocks[-1].rows == (*TABLE, ("last", ""))


def test_repeated_full_cells_of_an_ods_are_refused(parse: Parse) -> None:
    cell = '<table:table-cell table:number-columns-repeated="16000"><text:p>x</text:p>'
    filler = f'<table:table-row table:number-rows-repeated="1048000">{cell}</table:table-cell>'
    with pytest.raises(ParseLimitExceeded, match="save each sheet as a CSV"):
        parse(make_ods(filler=f"{filler}</table:table-row>"), "a.ods")


@pytest.mark.parametrize("limit", ["table_rows", "table_columns"])
def test_a_sheet_beyond_the_limits_is_refused(parse: Parse, limit: str) -> None:
    with pytest.raises(ParseLimitExceeded, match=r"more than .*rows or"):
        parse(make_xlsx(), "a.xlsx", **{limit: 1})


def test_an_empty_workbook_has_no_text(parse: Parse) -> None:
    with pytest.raises(NoText):
        parse(make_xlsx({"Sheet1": {}}), "a.xlsx")


RAISED = '<r><rPr><vertAlign val="superscript"/></rPr><t>{}</t></r>'


def test_raised_text_and_symbols_of_a_sheet(parse: Parse) -> None:
    texts = ("<r><t>m</t></r>" + RAISED.format("2"), "<r><t>10</t></r>" + RAISED.format("-6"))
    symbol = '<r><rPr><rFont val="Symbol"/></rPr><t>\uf0a3</t></r><r><t> 5 bar</t></r>'
    sheet = dict(zip(("A1", "B1", "A2", "B2"), ("Area", "Unit", "one", "two"), strict=True))
    book = make_xlsx({"S": sheet})
    for name, text in (("Unit", texts[0]), ("one", symbol), ("two", texts[1])):
        book = changed(book, "xl/worksheets/sheet1.xml", f"<t>{name}</t>", text)
    document = parse(book, "a.xlsx")
    assert document.blocks[-1].rows == (("Area", "m²"), ("≤ 5 bar", "10⁻⁶"))


def test_characters_that_excel_writes_as_numbers(parse: Parse) -> None:
    book = make_xlsx({"S": {"A1": "one_x000D_two", "B1": "Pre_x005F_x", "A2": "a", "B2": "b"}})
    assert parse(book, "a.xlsx").blocks[-1].rows == (("one two", "Pre_x"), ("a", "b"))


def test_margins_and_shapes_follow_their_sheet(parse: Parse) -> None:
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = "<Relationships>{}</Relationships>".format
    relation = '<Relationship Id="r1" Type="{}/{}" Target="../{}"/>'.format
    margins = b"<oddHeader>&amp;LForm QM-7&amp;RPage &amp;P</oddHeader>"
    sheet = "xl/worksheets/sheet1.xml"
    parts = members(make_xlsx({"S": {"A1": "Part", "B1": "Nm", "A2": "M8", "B2": "25"}}))
    parts[sheet] = parts[sheet].replace(b"</sheetData>", b"</sheetData>" + margins)
    book = make_zip(
        {
            **parts,
            "xl/worksheets/_rels/sheet1.xml.rels": relations(
                relation(office, "drawing", "drawings/drawing1.xml")
            ),
            "xl/drawings/drawing1.xml": "<wsDr><sp><txBody><p><t>Valid from</t></p><p><t>May</t>"
            "</p></txBody></sp></wsDr>",
            "xl/drawings/_rels/drawing1.xml.rels": relations(
                relation(office, "chart", "charts/chart1.xml")
            ),
            "xl/charts/chart1.xml": "<c><title><tx><t>Torque by bolt</t></tx></title><ser>"
            "<tx><v>Old wrench</v></tx></ser></c>",
        }
    )
    said = [block.text for block in parse(book, "a.xlsx").blocks[2:]]
    assert said == ["Form QM-7", "Valid from May", "Torque by bolt", "Old wrench"]


def test_comments_follow_their_sheet(parse: Parse) -> None:
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relation = f'<Relationship Id="r{{0}}" Type="{office}/comments" Target="../{{1}}"/>'
    targets = ("comments1.xml", "threadedComments/threadedComment1.xml")
    relations = "".join(relation.format(*each) for each in enumerate(targets))
    notes = (
        "<comments><authors><author>Ada</author><author/></authors><commentList>"
        '<comment ref="A1" authorId="0"><text><r><t>Ada:\n</t></r><r><t>check</t></r></text>'
        "</comment>"
        '<comment ref="B1" authorId="1"><text><t>[Threaded comment] of Ben</t></text></comment>'
        "</commentList></comments>"
    )
    thread = (
        '<ThreadedComments><threadedComment ref="B1" personId="{1}"><text>too low?</text>'
        "</threadedComment></ThreadedComments>"
    )
    people = '<personList><person displayName="Ben" id="{1}"/></personList>'
    book = make_zip(
        {
            **members(make_xlsx()),
            "xl/worksheets/_rels/sheet1.xml.rels": f'<Relationships xmlns="{package}'
            f'/relationships">{relations}</Relationships>',
            "xl/comments1.xml": notes,
            "xl/threadedComments/threadedComment1.xml": thread,
            "xl/persons/person.xml": people,
        }
    )
    assert parse(book, "a.xlsx").blocks == (
        h(2, "Regions"),
        table(*TABLE),
        p("Ada: check"),
        p("Ben: too low?"),
        h(2, "Notes"),
        p("Weighed with a steelyard."),
    )
    cell = "<office:annotation><dc:creator>Ada</dc:creator><text:p>low</text:p></office:annotation>"
    sheet = changed(make_ods(), "content.xml", "<text:p>120", f"{cell}<text:p>120")
    sheet = changed(sheet, "content.xml", "xmlns:office=", 'xmlns:dc="dc" xmlns:office=')
    assert parse(sheet, "a.ods").blocks == (h(2, "Regions"), table(*TABLE), p("Ada: low"))


SHOWN = (
    ("0.0%", 0.125, "12.5%"), ("#,##0.00\\ [$€-407]", 1234.5, "1,234.50 €"),
    ("£#,##0.00", 1234.5, "£1,234.50"), ("0.0°", 12.5, "12.5°"), ("&quot;£&quot;0", 12, "£12"),
    ("DD.MM.YYYY", 46082, "2026-03-01"),
)  # fmt: skip
BUILT_IN = ((14, 46082, "2026-03-01"), (44, -1234.5, "(1,234.50)"))


def formatted(*values: tuple[int, float], codes: Iterable[str] = ()) -> bytes:
    """A workbook whose second column has values, each in a number format."""
    rows = range(2, len(values) + 2)
    labels = {"A1": "Format", "B1": "Value", **{f"A{row}": f"of row {row}" for row in rows}}
    parts = members(make_xlsx({"S": labels | {f"B{row}": str(row) for row in rows}}))
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    for row, (_, value) in zip(rows, values, strict=True):
        cell = f'B{row}" s="{row - 2}" t="n"><v>{value}</v>'
        sheet = sheet.replace(f'B{row}"><v>{row}</v>', cell)
    formats = "".join(
        f'<numFmt numFmtId="{number}" formatCode="{code}"/>'
        for number, code in enumerate(codes, 164)
    )
    used = "".join(f'<xf numFmtId="{number}"/>' for number, _ in values)
    styles = f"<numFmts>{formats}</numFmts><cellXfs>{used}</cellXfs>"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return make_zip(
        {
            **parts,
            "xl/worksheets/sheet1.xml": sheet,
            "xl/styles.xml": f'<styleSheet xmlns="{main}">{styles}</styleSheet>',
        }
    )


def test_numbers_are_read_as_cells_show_them(parse: Parse) -> None:
    codes, values, shown = zip(*SHOWN, strict=True)
    book = formatted(*enumerate(values, 164), codes=codes)
    assert [row[1] for row in parse(book, "a.xlsx").blocks[-1].rows[1:]] == list(shown)
    numbers, values, shown = zip(*BUILT_IN, strict=True)
    book = formatted(*zip(numbers, values, strict=True))
    assert [row[1] for row in parse(book, "a.xlsx").blocks[-1].rows[1:]] == list(shown)


def test_margins_and_charts_of_an_ods_follow_its_tables(parse: Parse) -> None:
    chart = '<table:shapes><draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    book = members(
        changed(make_ods(), "content.xml", "(<table:table [^>]*>)", rf"\1{chart}</table:shapes>")
    )
    title = "<chart:title><text:p>Output</text:p></chart:title>"
    header = "<style:header><text:p>Confidential</text:p></style:header>"
    styles = (
        f"<office:document-styles x=''><office:master-styles>{header}</office:master-styles>"
        "</office:document-styles>"
    )
    more = {"Object 1/content.xml": f"<c>{title}</c>", "styles.xml": styles}
    document = parse(make_zip({**book, **more}), "a.ods")
    assert document.blocks == (h(2, "Regions"), table(*TABLE), p("Output"), p("Confidential"))


def test_texts_beside_the_cells_of_an_xls_are_read(tmp_path: Path) -> None:
    """Of records as [MS-XLS] has them: a note in two parts, a box, the title of a chart."""

    def record(kind: int, content: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(content)) + content

    def drawn(number: int, *parts: bytes, length: int) -> bytes:
        text = b"".join(record(0x3C, part) for part in parts) + record(0x3C, bytes(16))
        head = record(0x5D, struct.pack("<4H", 0x15, 18, 0x19, number))
        return head + record(0x1B6, struct.pack("<10xH6x", length)) + text

    wide = b"\x01" + "prüfen €".encode("utf-16-le")
    note = record(0x1C, struct.pack("<4HH", 1, 1, 0, 7, 3) + b"\0Ada\0")
    first = drawn(7, b"\0Bitte ", wide, length=14) + drawn(8, b"\0A box", length=5) + note
    title = record(0x809) + record(0x100D, b"\0\0\x04\0Rain") + record(0x0A)
    sheets = [record(0x809) + first + record(0x0A), record(0x809) + title + record(0x0A)]
    names = ("Stock", "Rain")
    size = 8 + sum(4 + 8 + len(name) for name in names)
    places = (size, size + len(sheets[0]))
    listed = b"".join(
        record(0x85, struct.pack("<IHBB", place, 0, len(name), 0) + name.encode())
        for name, place in zip(names, places, strict=True)
    )
    workbook = record(0x809) + listed + record(0x0A) + b"".join(sheets)
    path = tmp_path / "a.xls"
    path.write_bytes(make_ole({"Workbook": workbook}))
    assert texts_of(path) == {"Stock": ["Ada: Bitte prüfen €", "A box"], "Rain": ["Rain"]}
    path.write_bytes(make_ole({"Workbook": workbook[:-18]}))
    assert texts_of(path) == {"Stock": ["Ada: Bitte prüfen €", "A box"]}
    path.write_bytes(b"no workbook")
    assert texts_of(path) == {}
