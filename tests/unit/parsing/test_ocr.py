"""Scanned pages: recognised where Tesseract's data is installed, named where it is not."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ingestion.domain import Gap, Unit, Why
from ingestion.errors import NoText
from ingestion.parsing.child.sandbox import parse_file
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.ocr import SWITCHED_OFF, Ocr, installed
from tests.support.programs import needs

pytestmark = pytest.mark.forks

ENGLISH = installed(["eng"])
recognising = needs("tesseract")


def make_scan(*pages: str, typed: str = "") -> bytes:
    """A PDF of pictures of text, one a page, and a typed page behind them."""
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    for text in pages:
        picture = Image.new("L", (1240, 500), 255)
        draw = ImageDraw.Draw(picture)
        draw.multiline_text((80, 80), text, 0, ImageFont.load_default(44), spacing=24)
        canvas.drawImage(ImageReader(picture), 0, 500, 595, 240)
        canvas.showPage()
    if typed:
        canvas.drawString(72, 700, typed)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


SCAN = make_scan("The steelyard weighs cargo\nby sliding a weight.", "It hangs from one hook.")


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    path = tmp_path / "scan"
    path.write_bytes(SCAN)
    return path


@recognising
def test_a_scan_is_read_page_by_page(scan: Path) -> None:
    document = parse_file(scan, "scan.pdf", ocr=ENGLISH)
    words = {page: _words(document.blocks, page) for page in (1, 2)}
    assert "steelyard weighs cargo by sliding a weight." in words[1]
    assert "hangs from one hook." in words[2]
    assert document.page_count == 2
    assert document.warnings == ()


@recognising
def test_typed_pages_stay_and_pages_beyond_the_limit_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mixed"
    path.write_bytes(make_scan("The first page.", "The second page.", typed="Typed by hand."))
    ocr = installed(["eng"], pages=1)
    document = parse_file(path, "mixed.pdf", ocr=ocr)
    assert "first page" in _words(document.blocks, 1)
    assert _words(document.blocks, 3) == "Typed by hand."
    assert document.completeness.gaps == [Gap(Unit.PAGE, Why.OCR_LIMIT, 1, ("2",))]
    assert (document.completeness.with_text, document.completeness.recognised) == (2, 1)


@pytest.mark.parametrize(
    ("ocr", "advice"),
    [
        (Ocr(), "no text; OCR is not installed. Install it .*apt-get install tesseract-ocr"),
        (Ocr(lacking=SWITCHED_OFF), "no text; OCR is switched off. Set OCR=auto"),
    ],
    ids=["not installed", "off"],
)
def test_missing_ocr_is_refused_with_advice(scan: Path, ocr: Ocr, advice: str) -> None:
    with pytest.raises(NoText, match=advice):
        parse_file(scan, "scan.pdf", ocr=ocr)


def test_blank_pages_need_no_ocr(tmp_path: Path) -> None:
    path = tmp_path / "blank"
    canvas = Canvas(str(path), invariant=1)
    canvas.showPage()
    canvas.save()
    with pytest.raises(NoText, match="its one page is blank"):
        parse_file(path, "blank.pdf", ocr=ENGLISH)


def test_missing_language_data_is_never_downloaded(tmp_path: Path) -> None:
    assert installed(["eng"], folder=str(tmp_path)).languages == ()
    (tmp_path / "deu.traineddata").touch()
    assert installed(["eng", "deu"], folder=str(tmp_path)).languages == ("deu",)
    lacking = installed(["chi_sim"], folder=str(tmp_path)).lacking
    assert "apt-get install tesseract-ocr-chi-sim" in lacking


def test_time_limits_grow_with_the_pages_for_ocr() -> None:
    limits = ParseLimits(wall_seconds=60, cpu_seconds=60)
    ocr = Ocr(("eng",), "/", pages=3).wanting([1, 2, 5, 6])
    assert ocr.wanted == (1, 2, 5)
    longer = limits.with_time_for(ocr)
    assert (longer.wall_seconds, longer.cpu_seconds) == (60 + 3 * 8, 60 + 3 * 16)


def _words(blocks: object, page: int) -> str:
    texts = [block.text for block in blocks if block.page == page]  # type: ignore[attr-defined]
    return " ".join(" ".join(texts).split())
