"""Workbooks and decks: what their blocks are, and what the limits leave of hostile ones."""

from __future__ import annotations

import io
import zipfile

import pytest

from ingestion.domain import BlockKind
from ingestion.errors import (
    DamagedFile,
    EncryptedFile,
    IngestionError,
    NoText,
    ParseLimitExceeded,
    TypeMismatch,
)
from ingestion.files import filetypes
from ingestion.files.filetypes import HEAD_BYTES, FileType, sniff
from tests.samples.builders import TABLE, make_docx, make_zip
from tests.samples.outlook import make_ole, make_ppt
from tests.samples.sheets_and_slides import make_odp, make_ods, make_pptx, make_xlsx

from .conftest import Parse
from .shorthand import h, p, table

DECK = [("Beams", "They carry.", "Say it slowly."), ("", "No title here.", ""), ("Hooks", "", "")]
DECK_BLOCKS = [
    h(1, "Beams", page=1),
    p("They carry.", page=1),
    p("Say it slowly.", page=1),
    p("No title here.", page=2),
    h(2, "Hooks", page=3),
]


def test_xlsx(parse: Parse) -> None:
    document = parse(make_xlsx(), "a.xlsx")
    assert list(document.blocks) == [
        h(2, "Regions"),
        table(*TABLE),
        h(2, "Notes"),
        p("Weighed with a steelyard."),
    ]
    assert (document.title, document.author) == ("Beam sizes", "Ada Weigher")


def test_ods(parse: Parse) -> None:
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


def test_repeated_empty_cells_of_an_ods_take_no_place(parse: Parse) -> None:
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
    with pytest.raises(ParseLimitExceeded, match="has 3 rows and 2 columns"):
        parse(make_xlsx(), "a.xlsx", **{limit: 1})


def test_an_empty_workbook_has_no_text(parse: Parse) -> None:
    with pytest.raises(NoText):
        parse(make_xlsx({"Sheet1": {}}), "a.xlsx")


@pytest.mark.parametrize(
    ("content", "name", "title"),
    [(make_pptx(DECK), "a.pptx", "Beams"), (make_odp(DECK), "a.odp", "Beam sizes")],
    ids=["pptx", "odp"],
)
def test_slides_have_numbers_titles_and_notes(
    parse: Parse, content: bytes, name: str, title: str
) -> None:
    document = parse(content, name)
    assert list(document.blocks) == DECK_BLOCKS
    assert (document.title, document.page_count) == (title, 3)


@pytest.mark.parametrize("name", ["a.ppt", "a"])
def test_ppt_has_titles_without_numbers(parse: Parse, name: str) -> None:
    content = make_ppt([("Beams", "They carry."), ("Hooks", "They hold.")])
    document = parse(content, name)
    blocks = [h(2, "Beams"), p("They carry."), h(2, "Hooks"), p("They hold.")]
    assert list(document.blocks) == blocks
    assert document.page_count is None


def test_a_table_on_a_slide(parse: Parse) -> None:
    document = parse(make_pptx(DECK, title="Beam handbook", table=TABLE), "a.pptx")
    assert document.blocks[-1] == table(*TABLE, page=3)
    assert document.title == "Beam handbook"


def test_a_slide_without_a_place_for_a_mark_costs_the_numbers_only(parse: Parse) -> None:
    with zipfile.ZipFile(io.BytesIO(make_pptx(DECK))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    second = "ppt/slides/slide2.xml"
    members[second] = members[second].replace(b"<p:grpSpPr/>", b"")
    document = parse(make_zip(members), "a.pptx")
    assert document.page_count is None
    assert {block.page for block in document.blocks} == {None}
    texts = [block.text for block in document.blocks]
    assert sorted(texts) == sorted(block.text for block in DECK_BLOCKS)


def _ole(*streams: str) -> bytes:
    return make_ole(dict.fromkeys(streams, b""))


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (make_xlsx(), "a.xlsx", filetypes.XLSX), (make_xlsx(), "a.xls", filetypes.XLSX),
        (make_xlsx(), "a.xlsm", filetypes.XLSX), (make_xlsx(), "a", filetypes.XLSX),
        (make_pptx(DECK), "a.ppt", filetypes.PPTX), (make_pptx(DECK), "a", filetypes.PPTX),
        (make_ods(), "a", filetypes.ODS), (make_odp(DECK), "a.odp", filetypes.ODP),
        (make_zip({"xl/x": "", "word/x": ""}), "a.docx", filetypes.DOCX),
        (make_zip({"word/embeddings/a.xlsx": "", "ppt/x": ""}), "a.pptx", filetypes.PPTX),
        (make_zip({"a.txt": "", "customXml/x": ""}), "a.xlsx", filetypes.XLSX),
        (_ole("Workbook"), "a.xls", filetypes.XLS), (_ole("Workbook"), "a", filetypes.XLS),
        (_ole("Book"), "a", filetypes.XLS),
        (_ole("Workbook", "PowerPoint Document"), "a.ppt", filetypes.PPT),
        (_ole("Workbook", "WordDocument"), "a.doc", filetypes.DOC),
        (_ole(), "a.xls", filetypes.XLS), (_ole("EncryptedPackage"), "a.pptx", filetypes.PPTX),
    ],
)  # fmt: skip
def test_content_tells_the_type(content: bytes, name: str, expected: FileType) -> None:
    assert sniff(content[:HEAD_BYTES], name) is expected


@pytest.mark.parametrize(
    ("content", "name", "advice"),
    [
        (make_xlsx(), "a.docx", "contains an Excel workbook. Rename it to end in .xlsx"),
        (
            make_pptx(DECK),
            "a.xlsx",
            "contains a PowerPoint presentation. Rename it to end in .pptx",
        ),
        (make_docx(), "a.pptx", "contains a Word document. Rename it to end in .docx"),
        (make_odp(DECK), "a.ods", "contains OpenDocument presentation. Rename it to end in .odp"),
        (_ole("Workbook"), "a.xlsx", "Rename it to end in .xls "),
        (b"a,b\n1,2\n", "a.xls", "contains plain text"),
    ],
)
def test_name_and_content_disagree(content: bytes, name: str, advice: str) -> None:
    with pytest.raises(TypeMismatch, match=advice):
        sniff(content[:HEAD_BYTES], name)


@pytest.mark.parametrize(
    ("content", "name", "failure"),
    [
        (make_zip({"a.txt": "x"}), "a.docx", DamagedFile),
        (make_xlsx()[:-200], "a.xlsx", DamagedFile),
        (_ole("PowerPoint Document"), "a.ppt", NoText),
        (make_ppt([("Beams", "They carry.")])[:3_000], "a.ppt", DamagedFile),
        (_ole("EncryptedPackage"), "a.xlsx", EncryptedFile),
        (make_zip({"xl/workbook.xml": bytes(9 << 20)}), "a.xlsx", ParseLimitExceeded),
    ],
)
def test_what_cannot_be_read_says_so(
    parse: Parse, content: bytes, name: str, failure: type[IngestionError]
) -> None:
    with pytest.raises(failure) as caught:
        parse(content, name)
    assert len(str(caught.value)) > 40
