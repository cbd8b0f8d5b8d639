"""EPUBs that are not as they should be: read as far as they go, or refused in clear words."""

from __future__ import annotations

import io
import zipfile

import pytest

from ingestion.errors import DamagedFile, EncryptedFile
from tests.samples import builders

from .conftest import Parse
from .shorthand import h, p

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


def _book(changes: dict[str, bytes | str | None]) -> bytes:
    """The sample book with members changed, added, or left out (None)."""
    with zipfile.ZipFile(io.BytesIO(builders.make_epub())) as archive:
        members: dict[str, bytes | str | None]
        members = {name: archive.read(name) for name in archive.namelist()}
    members |= changes
    return builders.make_zip({name: text for name, text in members.items() if text is not None})


def _package(manifest: str, spine: str) -> str:
    return (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Beam handbook</dc:title></metadata>'
        f"<manifest>{manifest}</manifest><spine>{spine}</spine></package>"
    )


def test_a_chapter_in_an_old_encoding(parse: Parse) -> None:
    document = parse(_book({"c.xhtml": LATIN}), "a.epub")
    assert list(document.blocks) == [h(1, "Größe"), p("Eine Waage.")]
    assert (document.title, document.author) == ("Beam handbook", "Ada Weigher")
    assert "one by one" in document.warnings[0]


def test_a_chapter_that_is_lacking_and_the_order_of_the_others(parse: Parse) -> None:
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in ("a", "gone", "c")
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in ("gone", "c", "unknown", "a"))
    book = _book({"book.opf": _package(items, spine), "a.xhtml": "<p>Annex.</p>"})
    document = parse(book, "a.epub")
    assert list(document.blocks) == [*CHAPTER, p("Annex.")]
    assert document.title == "Beam handbook"


def test_no_container_file(parse: Parse) -> None:
    document = parse(_book({"META-INF/container.xml": None}), "a.epub")
    assert list(document.blocks) == CHAPTER
    assert document.title == "Beam handbook"


def test_neither_container_nor_package(parse: Parse) -> None:
    book = _book({"META-INF/container.xml": None, "book.opf": None, "b.xhtml": "<p>First.</p>"})
    assert list(parse(book, "a.epub").blocks) == [p("First."), *CHAPTER]


def test_no_chapter_at_all(parse: Parse) -> None:
    with pytest.raises(DamagedFile, match="contains no chapters"):
        parse(_book({"META-INF/container.xml": None, "c.xhtml": None}), "a.epub")


def test_protected_chapters_are_said_and_protected_fonts_do_no_harm(parse: Parse) -> None:
    locked = {"META-INF/encryption.xml": ENCRYPTION.format("c.xhtml"), "c.xhtml": b"\x93\xff" * 9}
    with pytest.raises(EncryptedFile, match="DRM"):
        parse(_book(dict(locked)), "a.epub")
    fonts = {"META-INF/encryption.xml": ENCRYPTION.format("font.otf"), "font.otf": b"\x93"}
    assert list(parse(_book(dict(fonts)), "a.epub").blocks) == CHAPTER
