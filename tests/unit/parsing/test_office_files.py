"""Workbooks and decks by their content: their type, and what cannot be read."""

from __future__ import annotations

import pytest

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
from tests.samples.builders import make_docx, make_zip
from tests.samples.outlook import make_ole, make_ppt
from tests.samples.slides import make_odp, make_pptx
from tests.samples.spreadsheets import make_ods, make_xlsx

from .conftest import Parse

DECK = [("Beams", "They carry.", "Say it slowly.")]


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
def test_office_types_are_recognised_by_content(
    content: bytes, name: str, expected: FileType
) -> None:
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
def test_file_name_that_contradicts_the_content_is_refused(
    content: bytes, name: str, advice: str
) -> None:
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
def test_unreadable_office_file_is_refused_with_a_reason(
    parse: Parse, content: bytes, name: str, failure: type[IngestionError]
) -> None:
    with pytest.raises(failure) as caught:
        parse(content, name)
    assert len(str(caught.value)) > 40
