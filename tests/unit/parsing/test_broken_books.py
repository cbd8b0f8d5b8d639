"""Books and office files that are not as they should be, or that anydoc would get wrong."""

from __future__ import annotations

import io
import zipfile

import pytest

from ingestion.errors import DamagedFile, EncryptedFile, TypeMismatch
from tests.samples import builders, outlook

from .conftest import Parse
from .shorthand import h, p, table

CHAPTER = [h(1, "Parts"), p("A steelyard weighs by sliding a weight.")]
ENCRYPTION = (
    '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><EncryptedData '
    'xmlns="http://www.w3.org/2001/04/xmlenc#"><CipherData><CipherReference URI="{}"/>'
    "</CipherData></EncryptedData></encryption>"
)
LATIN = (
    '<?xml version="1.0" encoding="iso-8859-1"?><html xmlns="http://www.w3.org/1999/xhtml"><body>'
    "<h1>Größe</h1><p>Eine Waage.</p></body></html>"
).encode("iso-8859-1")


def _changed(container: bytes, changes: dict[str, bytes | str | None]) -> bytes:
    """The container with members changed, added, or left out (None)."""
    with zipfile.ZipFile(io.BytesIO(container)) as archive:
        members: dict[str, bytes | str | None]
        members = {name: archive.read(name) for name in archive.namelist()}
    members |= changes
    return builders.make_zip({name: text for name, text in members.items() if text is not None})


def _book(changes: dict[str, bytes | str | None]) -> bytes:
    return _changed(builders.make_epub(), changes)


def _package(manifest: str, spine: str) -> str:
    return (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Beam handbook</dc:title></metadata>'
        f"<manifest>{manifest}</manifest><spine>{spine}</spine></package>"
    )


def test_chapter_in_an_old_encoding_is_read(parse: Parse) -> None:
    document = parse(_book({"c.xhtml": LATIN}), "a.epub")
    assert list(document.blocks) == [h(1, "Größe"), p("Eine Waage.")]
    assert (document.title, document.author) == ("Beam handbook", "Ada Weigher")
    assert "one by one" in document.warnings[0]


def test_a_title_page_is_read(parse: Parse) -> None:
    page = (
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>'
        '<section epub:type="frontmatter titlepage"><h1>Beams</h1><p>For Ada</p></section>'
        "<p>A steelyard.</p></body></html>"
    )
    expected = [h(1, "Beams"), p("For Ada"), p("A steelyard.")]
    assert list(parse(_book({"c.xhtml": page}), "a.epub").blocks) == expected


def test_a_chapter_beside_the_reading_order_is_read(parse: Parse) -> None:
    item = '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>'
    package = _package(item, '<itemref idref="c" linear="no"/>')
    assert list(parse(_book({"book.opf": package}), "a.epub").blocks) == CHAPTER


def test_missing_chapter_keeps_the_order_of_the_others(parse: Parse) -> None:
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in ("a", "gone", "c")
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in ("gone", "c", "unknown", "a"))
    book = _book({"book.opf": _package(items, spine), "a.xhtml": "<p>Annex.</p>"})
    document = parse(book, "a.epub")
    assert list(document.blocks) == [*CHAPTER, p("Annex.")]
    assert document.title == "Beam handbook"


def test_book_without_container_file_is_read(parse: Parse) -> None:
    document = parse(_book({"META-INF/container.xml": None}), "a.epub")
    assert list(document.blocks) == CHAPTER
    assert document.title == "Beam handbook"


def test_book_without_container_and_package_is_read(parse: Parse) -> None:
    book = _book({"META-INF/container.xml": None, "book.opf": None, "b.xhtml": "<p>First.</p>"})
    assert list(parse(book, "a.epub").blocks) == [p("First."), *CHAPTER]


def test_book_without_chapters_is_damaged(parse: Parse) -> None:
    with pytest.raises(DamagedFile, match="contains no chapters"):
        parse(_book({"META-INF/container.xml": None, "c.xhtml": None}), "a.epub")


def test_protected_chapters_are_refused_and_protected_fonts_are_ignored(parse: Parse) -> None:
    locked = {"META-INF/encryption.xml": ENCRYPTION.format("c.xhtml"), "c.xhtml": b"\x93\xff" * 9}
    with pytest.raises(EncryptedFile, match="DRM"):
        parse(_book(dict(locked)), "a.epub")
    fonts = {"META-INF/encryption.xml": ENCRYPTION.format("font.otf"), "font.otf": b"\x93"}
    assert list(parse(_book(dict(fonts)), "a.epub").blocks) == CHAPTER


_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def _docx(body: str, prefix: str = "w") -> bytes:
    """A document whose body this is, in a container that python-docx made."""
    text = f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'
    named = text.replace("w:", f"{prefix}:").replace("xmlns:w=", f"xmlns:{prefix}=")
    return _changed(builders.make_docx(), {"word/document.xml": named})


def _odt(body: str) -> bytes:
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text")
    )
    content = (
        f'<office:document-content {spaces} xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    mimetype = "application/vnd.oasis.opendocument.text"
    return builders.make_zip({"mimetype": mimetype, "content.xml": content})


def _cell(text: str, columns: int = 1) -> str:
    span = f'<w:tcPr><w:gridSpan w:val="{columns}"/></w:tcPr>'
    return f"<w:tc>{span}<w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"


@pytest.mark.parametrize("prefix", ["w", "ns0"])
def test_non_breaking_hyphen_is_a_hyphen(parse: Parse, prefix: str) -> None:
    body = "<w:p><w:r><w:t>Part AB</w:t><w:noBreakHyphen/><w:t>123</w:t></w:r></w:p>"
    assert list(parse(_docx(body, prefix), "a.docx").blocks) == [p("Part AB-123")]


def test_label_over_two_columns_appears_once(parse: Parse) -> None:
    first = f"<w:tr>{_cell('Size', 2)}{_cell('Price')}</w:tr>"
    second = f"<w:tr>{_cell('3')}{_cell('4')}{_cell('5')}</w:tr>"
    (block,) = parse(_docx(f"<w:tbl>{first}{second}</w:tbl>"), "a.docx").blocks
    assert block == table(("Size", "", "Price"), ("3", "4", "5"))


def test_contents_with_titles_ending_in_numbers_are_recognised(parse: Parse) -> None:
    lines = "".join(
        f"<w:p><w:r><w:t>Chapter {number}</w:t><w:tab/><w:t>{page}</w:t></w:r></w:p>"
        for number, page in ((1, 3), (2, 9), (3, 27))
    )
    body = f"<w:p><w:r><w:t>Contents</w:t></w:r></w:p>{lines}<w:p><w:r><w:t>Go.</w:t></w:r></w:p>"
    assert list(parse(_docx(body), "a.docx").blocks) == [p("Go.")]


def test_comments_stay_out_of_the_sentence_they_are_about(parse: Parse) -> None:
    comment = (
        '<office:annotation office:name="1"><dc:creator>Ada</dc:creator><text:p>Sure?</text:p>'
        '</office:annotation>beam<office:annotation-end office:name="1"/>'
    )
    document = parse(_odt(f"<text:p>Slide the {comment} now.</text:p>"), "a.odt")
    assert list(document.blocks) == [p("Slide the beam now."), p("Ada: Sure?")]


@pytest.mark.parametrize(
    "text",
    [
        rb"{\rtf1\mac caf\'8e \'8a\par}",
        rb"{\rtf1\mac\ansicpg10000 caf\'8e \'8a\par}",
        rb"{\rtf1\pca caf\'82 \'84\par}",
        rb"{\rtf1\pc\ansicpg437 caf\'82 \'84\par}",
        rb"{\rtf1\ansi\ansicpg1252 caf\'e9 \'e4\par}",
    ],
)
def test_rtf_in_other_code_pages_is_read(parse: Parse, text: bytes) -> None:
    assert list(parse(text, "a.rtf").blocks) == [p("café ä")]


@pytest.mark.parametrize(("name", "wanted"), [("a.docx", ".doc"), ("a.pptx", ".ppt")])
def test_old_office_file_named_in_the_new_format_is_refused(
    parse: Parse, name: str, wanted: str
) -> None:
    # Far into the file, where the name alone decides which parser is asked.
    old = outlook.make_ole({"Data": bytes(5000)})
    with pytest.raises(TypeMismatch, match=f"Rename it to end in {wanted} "):
        parse(old, name)
