"""Slides as pictures by LibreOffice, in the child: what is drawn, what is kept, faults."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from ingestion.errors import ParseFailed, ParseLimitExceeded
from ingestion.files.filetypes import ODP, PDF, PPT, PPTX
from ingestion.parsing import page_pictures
from ingestion.parsing.child.sandbox import DrawnPage, draw_page
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.passage_rectangles import SCALE, places_of
from tests.samples.builders import make_zip
from tests.samples.slides import make_odp, make_pptx
from tests.support.programs import needs

ARM = "The longer arm of the beam carries the weight that slides."


def draw(folder: Path, content: bytes, name: str, page: int = 1, seconds: int = 60) -> DrawnPage:
    path = folder / "stored"
    path.write_bytes(content)
    return draw_page(path, name, page, ParseLimits(wall_seconds=seconds, cpu_seconds=seconds))


@needs("soffice")
@pytest.mark.forks
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("deck.pptx", make_pptx([("The hook", "Of iron.", ""), ("The beam", ARM, "Only said.")])),
        ("deck.odp", make_odp([("The hook", "Of iron.", ""), ("The beam", ARM, "Only said.")])),
    ],
)
def test_a_slide_is_drawn_and_a_passage_has_its_place(
    tmp_path: Path, name: str, content: bytes
) -> None:
    drawn = draw(tmp_path, content, name, 2)
    assert drawn.width == 1200
    picture = Image.open(io.BytesIO(drawn.content)).convert("L")
    assert picture.size == (drawn.width, drawn.height)
    assert picture.getextrema() != (255, 255)
    boxes = places_of(ARM, drawn.words)
    assert boxes
    assert all(0 <= side <= SCALE for box in boxes for side in box)
    assert "said" not in {word[0] for word in drawn.words}  # notes are not on the slide

    again = draw(tmp_path, drawn.deck, "deck.pdf", 2)
    assert again.words == drawn.words
    assert again.deck == b""


@needs("soffice")
@pytest.mark.forks
def test_a_deck_that_cannot_be_drawn_is_an_error(tmp_path: Path) -> None:
    deck = make_pptx([("One", "", "")])
    for content, page in ((deck, 2), (make_zip({"ppt/presentation.xml": "<a/>"}), 1)):
        with pytest.raises(ParseFailed):
            draw(tmp_path, content, "deck.pptx", page)
    with pytest.raises(ParseLimitExceeded):
        draw_page(tmp_path / "stored", "deck.pptx", 1, ParseLimits(wall_seconds=0.01))


def test_without_libreoffice_slides_have_no_pictures(monkeypatch: Any) -> None:
    monkeypatch.setattr(page_pictures, "office_library", lambda: None)
    decks = (PPTX, ODP, PPT)
    assert not any(page_pictures.is_drawn(kind.media_type) for kind in decks)
    monkeypatch.setattr(page_pictures, "office_library", lambda: Path("/opt/office"))
    assert [page_pictures.is_drawn(kind.media_type) for kind in decks] == [True, True, False]
    assert page_pictures.is_drawn(PDF.media_type)
