"""Images as documents: their text by OCR, what of a photograph's data is kept, and bombs."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from ingestion.domain import Gap, ParsedDocument, Unit, Why
from ingestion.errors import DamagedFile, NoText, PageNotDrawn, ParseLimitExceeded
from ingestion.parsing.child.sandbox import draw_page, parse_file
from ingestion.parsing.formats.image import HOLDS_EXIF
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.ocr import Ocr, installed
from tests.support.programs import needs

pytestmark = pytest.mark.forks

ENGLISH = installed(["eng"])
recognising = needs("tesseract")


def picture(text: str, mode: str = "RGB", size: tuple[int, int] = (1000, 240)) -> Image.Image:
    drawn = Image.new("L", size, 255)
    font = ImageFont.load_default(44)
    ImageDraw.Draw(drawn).multiline_text((60, 60), text, 0, font, spacing=24)
    return drawn.convert(mode)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def run(content: bytes, name: str, ocr: Ocr = ENGLISH, **options: Any) -> ParsedDocument:
        path = tmp_path / "stored"
        path.write_bytes(content)
        return parse_file(path, name, ParseLimits(**options), ocr=ocr)

    return run


def words(document: ParsedDocument, page: int = 1) -> str:
    return " ".join(" ".join(b.text for b in document.blocks if b.page == page).split())


def transparent(text: str) -> Image.Image:
    """Black letters on nothing: on black they could not be read."""
    letters = picture(text, "L").point(lambda value: 255 - value)
    seen = Image.new("RGBA", letters.size, (0, 0, 0, 0))
    seen.putalpha(letters)
    return seen


@recognising
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("note.png", saved(transparent("The longer arm of the beam."), "PNG")),
        ("note.jpg", saved(picture("The longer arm of the beam."), "JPEG")),
        ("note.webp", saved(picture("The longer arm of the beam."), "WEBP")),
        ("note.tif", saved(picture("The longer arm of the beam.", "I;16"), "TIFF")),
    ],
)
def test_the_text_of_an_image_is_read(read: Any, name: str, content: bytes) -> None:
    document = read(content, name)
    assert words(document) == "The longer arm of the beam."
    assert (document.page_count, document.warnings) == (1, ())


@recognising
def test_a_tiff_is_read_page_by_page_up_to_the_limit(read: Any) -> None:
    pages = [picture(f"This is the {name} page.") for name in ("first", "second", "third")]
    content = saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    document = read(content, "fax.tiff", installed(["eng"], pages=2))
    assert words(document, 1) == "This is the first page."
    assert words(document, 2) == "This is the second page."
    assert document.page_count == 3
    assert document.completeness.gaps == [Gap(Unit.PAGE, Why.OCR_LIMIT, 1, ("3",))]
    with pytest.raises(ParseLimitExceeded, match="has 3 pages; at most 2"):
        read(content, "fax.tiff", pages=2)


def photograph() -> bytes:
    """A photograph held upright, stored sideways, with its date and its place."""
    exif = Image.Exif()
    exif[0x0112] = 6
    exif.get_ifd(0x8769)[0x9003] = "2024:05:01 12:30:00"
    exif.get_ifd(0x8825).update({1: "N", 2: (52.0, 30.0, 0.0), 3: "W", 4: (13.0, 15.0, 36.0)})
    return saved(picture("Taken at the market.").rotate(90, expand=True), "JPEG", exif=exif)


@recognising
def test_date_and_place_of_a_photograph_are_not_read_and_that_is_said(read: Any) -> None:
    document = read(photograph(), "IMG_1.jpg")
    assert words(document) == "Taken at the market."
    assert document.created == ""
    assert document.warnings == (HOLDS_EXIF,)


def test_the_picture_that_readers_see_is_upright_and_has_no_date_or_place(tmp_path: Path) -> None:
    path = tmp_path / "stored"
    path.write_bytes(photograph())
    drawn = draw_page(path, "IMG_1.jpg", 1, ParseLimits())
    seen = Image.open(io.BytesIO(drawn.content))
    assert (drawn.width, drawn.height) == seen.size == (1000, 240)
    assert not seen.getexif()
    assert b"2024:05" not in drawn.content


@recognising
def test_image_without_text_is_refused_with_a_reason(read: Any) -> None:
    with pytest.raises(NoText, match="OCR found no text in this PNG image"):
        read(saved(Image.new("RGB", (300, 200), "teal"), "PNG"), "sea.png")


def test_missing_ocr_is_refused_with_advice(read: Any) -> None:
    with pytest.raises(NoText, match=r"cannot be read; OCR is not installed\. Install it"):
        read(saved(picture("Unread."), "PNG"), "note.png", Ocr())


def png_of(width: int, height: int) -> bytes:
    """A PNG that claims a size, with hardly any data."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0" * 1000)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(("width", "height"), [(40_000, 40_000), (2**31 - 1, 2**31 - 1)])
def test_image_bomb_is_refused_before_decoding(
    read: Any, tmp_path: Path, width: int, height: int
) -> None:
    content = png_of(width, height)
    with pytest.raises(
        ParseLimitExceeded, match=f"{width:,} by {height:,} pixels; at most 100 mil"
    ):
        read(content, "bomb.png")
    with pytest.raises(PageNotDrawn, match="pixels"):
        draw_page(tmp_path / "stored", "bomb.png", 1, ParseLimits())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.png", saved(picture("x"), "PNG")[:200]),
        ("cut.jpg", saved(picture("x"), "JPEG")[:300]),
        ("cut.webp", saved(picture("x"), "WEBP")[:100]),
        ("cut.tif", saved(picture("x"), "TIFF")[:64]),
        ("no.png", b"\x89PNG\r\n\x1a\n" + bytes(40)),
        ("no.tif", b"II*\0" + b"\xff" * 60),
    ],
)
def test_damaged_image_is_refused(read: Any, name: str, content: bytes) -> None:
    with pytest.raises(DamagedFile, match="damaged and cannot be opened"):
        read(content, name)
