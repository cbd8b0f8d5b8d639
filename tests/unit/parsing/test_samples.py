"""The judged sample files: each comes out as its manifest row says."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import pytest

from ingestion.domain import ParsedDocument
from ingestion.errors import (
    DamagedFile,
    EmptyFile,
    EncryptedFile,
    IngestionError,
    NoText,
    TypeMismatch,
    UnsupportedType,
)
from ingestion.parsing.child.sandbox import parse_file

pytestmark = pytest.mark.forks

SAMPLES = Path(__file__).resolve().parents[4] / "shared" / "samples"
FAILURES: dict[str, tuple[type[IngestionError], ...]] = {
    "encrypted": (EncryptedFile,),
    "corrupt": (DamagedFile, EmptyFile, TypeMismatch),
    "no-text": (NoText, EmptyFile),
    "mismatch": (TypeMismatch,),
    "unsupported": (UnsupportedType,),
}

# A text, heading or cell that must be in the document (a block's text, or a part of it).
FACTS = {
    "pdf/GeoBase_NHNC1_Data_Model_UML_EN.pdf": "January 2003 | Draft",
    "pdf/fr_olap.pdf": "Résumés et interrogations de logs de requêtes OLAP",
    "pdf/rotated-page-90.pdf": "Second line of text here",
    "pdf/SPARSE-2024-INV-1234_borderless_table.pdf": "SKU-8847",
    "docx/test.docx": "AutoGen: Enabling Next-Gen LLM Applications via Multi-Agent Conversation",
    "doc/legacy_sample.doc": "Leaves | Ash, Elm, Maple | 50",
    "odt/footnote.odt": "Footnote text",
    "rtf/eng_spa_mult.rtf": "All human beings are born free and equal",
    "pptx/test.pptx": "7 | 8 | 9 | 1b92870d-e3b5-4e65-8153-919f4ff45592",
    "ppt/eng_spa_mult.ppt": "Todos los seres humanos nacen libres e iguales",
    "odp/odf_presentation_01.odp": "Some notes on the second slide.",
    "xlsx/stanley-cups.xlsx": "Maple Leafs | TOR | 13",
    "xls/test.xls": "Alpha | Beta | Gamma | Delta",
    "csv/test_mskanji.csv": "佐藤太郎 | 30 | 東京",
    "csv/semicolon-delimited.csv": "sed, do | eiusmod | tempor incididunt",
    "html/wiki_duck.html": "Duck",
    "md/simple-table.md": " | ",
    "epub/wasteland.epub": "April is the cruellest month",
    "eml/fake-email-attachment.eml": "Attachments: fake-attachment.txt",
    "eml/japanese_shift_jis.eml": "あいうえお",
    "eml/raw_email_with_nested_attachment.eml": "Here is a test of an attachment via email.",
    "xml/elife-56337.xml": "KRAB-zinc finger protein gene expansion in response",
    "txt-encodings/CP932.xml": "さらなる防寒対策",
    "code/CacmTopicReader.java": "class CacmTopicReader",
    "zip/simple.zip": "stanley-cups.csv | 89 bytes",
    "broken/lone-surrogate.json": "text: half a pair \ufffd here",
    "broken/invalid-utf8.md": "valid café",
}
PAGES = {"pdf/pdflatex-4-pages.pdf": 4, "pdf/GeoBase_NHNC1_Data_Model_UML_EN.pdf": 19}


def _rows() -> list[dict[str, str]]:
    manifest = SAMPLES / "MANIFEST.tsv"
    if not manifest.exists():
        return []
    with manifest.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


ROWS = _rows()


def test_sample_files_exist() -> None:
    if not ROWS and not os.environ.get("CI"):
        pytest.skip(f"no judged samples at {SAMPLES}")
    assert len(ROWS) > 90


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["path"])
def test_each_sample_is_read_as_expected(row: dict[str, str]) -> None:
    path = SAMPLES / row["path"]
    expect = row["expect"].partition(":")[0]
    if expect in FAILURES and not _almost_without_text(row):
        with pytest.raises(FAILURES[expect]) as caught:
            parse_file(path, path.name)
        assert len(str(caught.value)) > 40
        return
    document = parse_file(path, path.name)
    _check(row, document)


def _almost_without_text(row: dict[str, str]) -> bool:
    """A "no-text" PDF that does hold a word or two: keeping them does no harm."""
    stated = re.search(r"(\d+) chars", row["checked"])
    return row["expect"] == "no-text" and stated is not None and 0 < int(stated[1]) < 100


def _check(row: dict[str, str], document: ParsedDocument) -> None:
    texts = [block.text for block in document.blocks]
    assert all(texts)
    together = "\n".join(texts)
    together.encode("utf-8")
    assert "\x00" not in together
    if fact := FACTS.get(row["path"]):
        assert any(fact in text for text in texts), texts[:20]
    if pages := PAGES.get(row["path"]):
        assert document.page_count == pages
        assert {block.page for block in document.blocks} == set(range(1, pages + 1))
    if encoding := re.search(r"decodes as ([\w-]+)", row["checked"]):
        _check_encoding(SAMPLES / row["path"], encoding[1], together)
    elif stated := re.search(r"(\d+) chars", row["checked"]):
        # PyMuPDF and the ZIP walk count spaces of layout too; half is a loss.
        visible = len("".join(together.split()))
        assert visible >= 0.5 * int(stated[1]) - 3


def _check_encoding(path: Path, encoding: str, together: str) -> None:
    """Nearly all letters beyond ASCII come out as the stated encoding reads them."""
    if path.suffix != ".txt":
        return
    wanted = [char for char in path.read_bytes().decode(encoding) if ord(char) > 127]
    found = set(together)
    wrong = [char for char in wanted if char not in found and not char.isspace()]
    assert len(wrong) <= 0.02 * len(wanted) + 2, wrong[:20]
