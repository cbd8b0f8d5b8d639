"""Pictures of pages, drawn in the child: what they show, where a passage stands, and faults."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from ingestion.errors import PageNotDrawn, ParseFailed, ParseLimitExceeded
from ingestion.parsing.child.sandbox import DrawnPage, draw_page
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.passage_rectangles import SCALE, Box, places_of, words_in

pytestmark = pytest.mark.forks

A4 = (595.28, 841.89)
PASSAGE = "The steelyard weighs cargo by a weight that slides along its longer arm."


def pdf(
    *pages: list[tuple[float, float, str]], size: tuple[float, float] = A4, **turned: int
) -> bytes:
    """A PDF with lines of 12 points at (left, bottom), one list a page."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=size, invariant=1)
    for lines in pages:
        if turned:
            canvas.setPageRotation(turned["rotation"])
        for left, bottom, text in lines:
            canvas.drawString(left, bottom, text)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


@pytest.fixture
def draw(tmp_path: Path) -> Any:
    def run(content: bytes, page: int = 1, name: str = "a.pdf", **limits: Any) -> DrawnPage:
        path = tmp_path / "stored"
        path.write_bytes(content)
        return draw_page(path, name, page, ParseLimits(**limits))

    return run


def pixels(drawn: DrawnPage) -> Image.Image:
    return Image.open(io.BytesIO(drawn.content)).convert("L")


def darkest(picture: Image.Image, box: Box) -> int:
    left, top, right, bottom = box
    across, down = picture.width / SCALE, picture.height / SCALE
    cut = picture.crop(
        (int(left * across), int(top * down), int(right * across) + 1, int(bottom * down) + 1)
    )
    return int(cut.getextrema()[0])  # type: ignore[arg-type]


def test_the_mark_lies_on_the_passage_and_nowhere_else(draw: Any) -> None:
    first, second = PASSAGE[:36], PASSAGE[36:].strip()
    lines = [(72, 780, "Another line above it."), (72, 600, first), (72, 584, second)]
    drawn = draw(pdf(lines))
    assert (drawn.width, drawn.height) == (1200, 1698)
    picture = pixels(drawn)
    assert picture.size == (1200, 1698)

    boxes = places_of(PASSAGE, drawn.words)
    assert len(boxes) == 2
    for box, baseline in zip(boxes, (600, 584), strict=True):
        left, top, right, bottom = box
        on_page = (A4[1] - baseline) / A4[1] * SCALE
        assert left == pytest.approx(72 / A4[0] * SCALE, abs=30)
        assert top < on_page <= bottom + 5
        assert bottom - top < 20 / A4[1] * SCALE
        assert right < 0.7 * SCALE
        assert darkest(picture, box) < 100
        below = (left, bottom + 120, right, bottom + 200)
        assert darkest(picture, below) > 200 or baseline == 600
    assert places_of("Nothing of this passage stands on that page.", drawn.words) == []


def test_passage_is_marked_on_a_rotated_page(draw: Any) -> None:
    """Turned clockwise, the text at (100, 400) runs down the page: across and down change places.

    reportlab lays the sheet of a turned page on its side, so that it is seen upright.
    """
    drawn = draw(pdf([(100, 400, PASSAGE)], rotation=90))
    assert (drawn.width, drawn.height) == (1200, 1698)
    boxes = places_of(PASSAGE, drawn.words)
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    assert min(lefts) < 400 / A4[0] * SCALE < max(rights)
    assert max(rights) - min(lefts) < 20 / A4[0] * SCALE
    assert min(tops) == pytest.approx(100 / A4[1] * SCALE, abs=30)
    assert max(bottoms) > 0.5 * SCALE
    picture = pixels(drawn)
    assert all(darkest(picture, box) < 100 for box in boxes)


def test_hyphenated_word_is_marked_on_both_lines(draw: Any) -> None:
    lines = [(72, 600, "It hangs from one hook and is bal-"), (72, 584, "anced by hand each day.")]
    drawn = draw(pdf(lines))
    boxes = places_of("It hangs from one hook and is balanced by hand each day.", drawn.words)
    assert len(boxes) == 2
    assert boxes[0][3] <= boxes[1][1] + 60


@pytest.mark.parametrize(
    "size", [(14_400, 14_400), (14_400, 20), (20, 14_400), (3, 3)], ids=lambda size: f"{size}"
)
def test_pages_of_any_size_become_pictures_of_one_width(draw: Any, size: tuple[int, int]) -> None:
    drawn = draw(pdf([(1, 1, "x")], size=size))
    assert 0 < drawn.width <= 1200
    assert 0 < drawn.height <= 4000
    assert len(drawn.content) < 200_000


def test_only_the_requested_page_of_5000_is_drawn(draw: Any) -> None:
    document = pypdfium2.PdfDocument.new()
    for _ in range(5_000):
        document.new_page(200, 300)
    out = io.BytesIO()
    document.save(out)
    assert draw(out.getvalue(), 4_999, wall_seconds=30).words == ()
    with pytest.raises(PageNotDrawn):
        draw(out.getvalue(), 5_001)


@pytest.mark.parametrize("content", [pdf([(9, 9, "x")])[:300], b"%PDF-1.4\n" + b"\0" * 500])
def test_a_damaged_file_has_no_picture(draw: Any, content: bytes) -> None:
    with pytest.raises(ParseFailed):
        draw(content)


def test_a_killed_renderer_is_an_error_and_the_next_page_is_drawn(draw: Any) -> None:
    content = pdf([(72, 600, PASSAGE)])
    with pytest.raises(ParseLimitExceeded):
        draw(content, wall_seconds=0.001)
    assert draw(content).words


@pytest.mark.parametrize(
    ("passage", "page", "marked"),
    [
        ("One, two (three) FOUR.", "one two three four five", "one two three four"),
        ("a b c d x e f g h", "a b c d e f g h i", "a b c d e f g h"),
        ("a b c d e f g h", "a b c d / 7 / e f g h", "a b c d 7 e f g h"),
        ("of the beam", "of the beam is level", "of the beam"),
        ("it is of the beam and long", "of the beam is level", ""),
        ("吾輩は猫である", "序 吾輩は猫である 終", "吾 輩 は 猫 で あ る"),
        ("eﬃcient flow of goods", "efficient ﬂow of goods", "efficient flow of goods"),
    ],
)
def test_words_of_a_passage_are_found_on_its_page(passage: str, page: str, marked: str) -> None:
    """Each word has a line of its own here, so that each is a rectangle."""
    words = [[word, 0, n * 10, 5, n * 10 + 5] for n, word in enumerate(words_in(page))]
    found = places_of(passage, words)  # type: ignore[arg-type]
    assert " ".join(str(words[top // 10][0]) for _, top, _, _ in found) == marked
