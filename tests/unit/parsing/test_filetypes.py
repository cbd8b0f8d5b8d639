"""What a file is taken for: content decides, names tell text formats apart; its title (S2-12)."""

from __future__ import annotations

import pytest

from ingestion.errors import EmptyFile, TypeMismatch, UnsupportedType
from ingestion.files import filetypes
from ingestion.files.filetypes import HEAD_BYTES, SUPPORTED, FileType, sniff
from ingestion.parsing.file_titles import title_from_file_name, with_code, with_file_name
from ingestion.parsing.registry import MODULES, parser_for
from tests.samples import builders
from tests.samples.outlook import make_msg

RST = "Title\n=====\n\n.. setting:: DEBUG\n\nText.\n"


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        (b"%PDF-1.7\n", "a.pdf", filetypes.PDF),
        (builders.make_docx(), "a.docx", filetypes.DOCX),
        (builders.make_docx(), "a.doc", filetypes.DOCX),
        (builders.make_odt(), "a.odt", filetypes.ODT),
        (builders.make_zip({"a.txt": "x"}), "a.zip", filetypes.ZIP),
        (builders.make_zip({"a.docx": builders.make_docx()}), "a.zip", filetypes.ZIP),
        (make_msg(), "a.msg", filetypes.MSG),
        (make_msg(), "a", filetypes.MSG),
        (builders.make_epub(), "a.epub", filetypes.EPUB),
        (builders.make_rtf(), "a.doc", filetypes.RTF),
        (b"\x89PNG\r\n\x1a\n", "a.png", filetypes.PNG),
        (b"\xff\xd8\xff\xe1 Exif", "a.JPEG", filetypes.JPEG),
        (b"II*\0\x08\0\0\0", "a.tif", filetypes.TIFF),
        (b"MM\0*\0\0\0\x08", "a", filetypes.TIFF),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "a.webp", filetypes.WEBP),
        (b"# Title\n", "a.md", filetypes.MARKDOWN),
        (b"a,b\n1,2\n", "a.csv", filetypes.CSV),
        (b"a\tb\n", "a.tsv", filetypes.TSV),
        (b"<!DOCTYPE html><p>x", "page.htm", filetypes.HTML),
        (b"\n <html><p>x", "page", filetypes.HTML),
        (b"Dear all,", "letter", filetypes.TEXT),
        (b'.\\" By hand.\n.de Sp\n..\n.TH "LIST FILES" 1\n', "ls.1", filetypes.MAN),
        (b"A page begins so:\n.TH LS 1\n", "howto", filetypes.TEXT),
        (b"<html>\n<pre>\n.TH LS 1\n</pre>", "howto", filetypes.HTML),
        (b"A file begins with %PDF-1.4 or later.", "formats.md", filetypes.MARKDOWN),
        (RST.encode(), "settings.txt", filetypes.RST),
        (b"Title\n=====\n\nNo markup follows.\n", "a.txt", filetypes.TEXT),
        ("größer".encode("utf-16"), "a.txt", filetypes.TEXT),
        ("without a mark".encode("utf-16-le"), "a.txt", filetypes.TEXT),
        ("日本語のテキスト".encode("cp932"), "a.txt", filetypes.TEXT),
        ("ende é".encode()[:-1], "a.txt", filetypes.TEXT),
        (b"start\x00\x00 end of a text", "a.txt", filetypes.TEXT),
    ],
)
def test_file_types_are_recognised_by_content(head: bytes, name: str, expected: FileType) -> None:
    assert sniff(head[:HEAD_BYTES], name) is expected


@pytest.mark.parametrize(
    ("head", "name", "advice"),
    [
        (b"<html><p>x", "report.pdf", "Rename it to end in .html"),
        (b"%PDF-1.4\n", "notes.txt", "Rename it to end in .pdf"),
        (b"plain words", "a.docx", "Rename it to end in .txt"),
        (builders.make_docx(), "a.md", "Rename it to end in .docx"),
        (builders.make_zip({"xl/workbook.xml": "<x/>"}), "a.docx", "Excel workbook"),
        (bytes(range(256)) * 4, "a.pdf", "damaged or has the wrong extension"),
        (b"\x89PNG\r\n\x1a\n", "a.txt", "a PNG image"),
    ],
)
def test_file_name_that_contradicts_the_content_is_refused(
    head: bytes, name: str, advice: str
) -> None:
    with pytest.raises(TypeMismatch, match=advice) as caught:
        sniff(head, name)
    assert f"“{name}”" in str(caught.value)


@pytest.mark.parametrize(
    ("head", "name", "what"),
    [
        (bytes(range(256)) * 4, "a.bin", "binary data"),
        (b"GIF89a", "photo.gif", "a GIF image"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "photo.wav", "unknown type"),
        (builders.make_zip({"a.txt": "x"}), "a.jar", "a ZIP archive"),
        (b"module A where", "A.unheard", "text of an unknown type"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.mpp", "an old Microsoft Office file"),
    ],
)
def test_unsupported_types_are_refused(head: bytes, name: str, what: str) -> None:
    with pytest.raises(UnsupportedType, match=what) as caught:
        sniff(head, name)
    assert ".pdf" in str(caught.value)


def test_empty_file_is_refused() -> None:
    with pytest.raises(EmptyFile, match="0 bytes"):
        sniff(b"", "a.pdf")


def test_each_supported_type_has_a_parser() -> None:
    media_types = {file_type.media_type for file_type in SUPPORTED.values()}
    assert media_types == set(MODULES)
    for media_type in media_types:
        assert parser_for(media_type).name


@pytest.mark.parametrize(
    ("file_name", "title"),
    [
        (
            "Distributed Systems for practitioners -- Author.pdf",
            "Distributed Systems for practitioners",
        ),
        ("/srv/books/Understanding_Distributed_Systems.epub", "Understanding Distributed Systems"),
        ("C:\\books\\Beam_and_hook -- A. Weigher -- 2nd ed -- 9f3a.docx", "Beam and hook"),
        ("release-2.0.markdown", "release-2.0"),
        ("a--b.txt", "a--b"),
        (" -- Author.pdf", "Author"),
        ("___.pdf", "___.pdf"),
        ("", "Untitled"),
        ("/", "Untitled"),
        ("weiß_Ω -- Autorin.txt", "weiß Ω"),
    ],
)
def test_title_is_made_from_the_file_name(file_name: str, title: str) -> None:
    assert title_from_file_name(file_name) == title


@pytest.mark.parametrize(
    ("title", "file_name", "named"),
    [
        ("Annual report", "2024_finance-v2.pdf", "Annual report 2024 finance v2"),
        ("Annual report", "annual-report.pdf", "Annual report"),
        ("Beam", "Beam -- A. Weigher.docx", "Beam A Weigher"),
        ("", "notes.tar.gz", "notes tar"),
        ("Plan", "", "Plan"),
        ("Plan", "folder/other/plan_b.md", "Plan b"),
    ],
)
def test_file_name_is_added_to_the_searched_title(title: str, file_name: str, named: str) -> None:
    assert with_file_name(title, file_name) == named


@pytest.mark.parametrize(
    ("title", "file_name", "named"),
    [
        ("Withdrawals", "eips/eip-4895.md", "eip-4895: Withdrawals"),
        ("Datasheet", "HL-200.pdf", "HL-200: Datasheet"),
        ("INC-2024-0042: A pump failed", "INC-2024-0042.docx", "INC-2024-0042: A pump failed"),
        ("Soft pretzels 1", "soft-pretzels-1.md", "Soft pretzels 1"),
        ("Invoice", "page-12.pdf", "Invoice"),
        ("Invoice", "3f2504e0-4f89-11d3-9a0c-0305e82c3301.pdf", "Invoice"),
        ("Keywords", "0001-keywords.md", "Keywords"),
        ("Keywords", "PEP-8.rst", "PEP-8: Keywords"),
        ("Beams", "ch-3.md", "Beams"),
        ("Beams", "oak-2.md", "Beams"),
        ("Beams", "DSC01234.pdf", "Beams"),
    ],
)
def test_a_title_begins_with_the_code_that_names_its_file(
    title: str, file_name: str, named: str
) -> None:
    assert with_code(title, file_name) == named
