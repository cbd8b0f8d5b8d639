"""PDF and office files on a server without liteparse and anydoc."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ingestion.domain import Block, BlockKind
from ingestion.errors import NoText, ParseFailed
from ingestion.files import filetypes
from ingestion.files.filetypes import FileType
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.pandoc import executable as of_pandoc
from ingestion.parsing.protocol import Source, parser_for
from tests.samples import builders, sheets_and_slides

TEXT = "The weight slides along the beam until the beam is level."


@pytest.fixture(autouse=True)
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """An import of either package fails, as if it were not installed."""
    for name in ("liteparse", "anydoc"):
        for loaded in [module for module in sys.modules if module.split(".")[0] == name]:
            monkeypatch.delitem(sys.modules, loaded)
        monkeypatch.setitem(sys.modules, name, None)


def read(folder: Path, content: bytes, file_type: FileType) -> tuple[list[Block], list[str], str]:
    """The blocks, the warnings and the parser's name."""
    path = folder / "stored"
    path.write_bytes(content)
    (folder / "scratch").mkdir()
    parser = parser_for(file_type.media_type)
    source = Source(path, file_type, ParseLimits(), folder / "scratch")
    extraction = parser.extract(source)
    return list(extraction.blocks), extraction.warnings, parser.name


def test_a_pdf_keeps_its_text_its_pages_and_its_title(tmp_path: Path) -> None:
    pages = [[("h1", "Levers"), ("p", TEXT)], [("h1", "Beams"), ("p", "A second page.")]]
    blocks, warnings, name = read(tmp_path, builders.make_pdf(pages), filetypes.PDF)
    assert name == "pdfium"
    assert "without liteparse" in warnings[0]
    assert TEXT in " ".join(block.text.replace("\n", " ") for block in blocks if block.page == 1)
    assert any("A second page." in block.text for block in blocks if block.page == 2)


def test_a_pdf_of_images_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NoText, match="OCR needs the package liteparse"):
        read(tmp_path, builders.make_image_pdf(), filetypes.PDF)


def written(kind: str) -> bytes:
    """A file as pandoc itself writes it: the builders' smallest ones lack what it asks for."""
    command = [str(of_pandoc()), "--from=markdown", f"--to={kind}", "--output=-"]
    text = f"# Levers\n\n{TEXT}\n".encode()
    return subprocess.run(command, input=text, capture_output=True, check=True).stdout


RTF = rb"{\rtf1\ansi The weight slides along the beam until the beam is level.}"


@pytest.mark.parametrize(
    ("file_type", "make", "kind"),
    [
        (filetypes.DOCX, builders.make_docx, BlockKind.HEADING),
        (filetypes.ODT, lambda: written("odt"), BlockKind.HEADING),
        (filetypes.RTF, lambda: RTF, BlockKind.PARAGRAPH),
        (filetypes.XLSX, sheets_and_slides.make_xlsx, BlockKind.TABLE),
        (filetypes.PPTX, lambda: written("pptx"), BlockKind.PARAGRAPH),
    ],
    ids=["docx", "odt", "rtf", "xlsx", "pptx"],
)
def test_an_office_file_keeps_its_structure(
    tmp_path: Path, file_type: FileType, make: Callable[[], bytes], kind: BlockKind
) -> None:
    blocks, warnings, name = read(tmp_path, make(), file_type)
    assert name == "pandoc-office"
    assert warnings == ["Read by pandoc, since anydoc is not installed on this server."]
    assert kind in {block.kind for block in blocks}


def test_an_older_format_fails_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ParseFailed, match=r"firecrawl-anydoc.*save the file in a current format"):
        read(tmp_path, b"\xd0\xcf\x11\xe0", filetypes.DOC)
