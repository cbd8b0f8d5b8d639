"""Slides as pictures, drawn in the child: what is seen where, where words stand, hostile decks."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from ingestion.errors import PageNotDrawn, ParseFailed
from ingestion.parsing import ParseLimits, draw_page
from ingestion.parsing.marks import SCALE, places_of
from ingestion.parsing.sandbox import DrawnPage
from tests.samples.builders import make_zip
from tests.samples.sheets_and_slides import make_pptx

pytestmark = pytest.mark.forks

MAIN = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
NAMESPACES = f'xmlns:p="{MAIN}" xmlns:a="{DRAWING}" xmlns:r="{RELATIONS}"'
ARM = "The longer arm of the beam carries the weight that slides."
# Of a slide of 1,000 by 500 points; its picture is 1,200 by 600 pixels.
POINT = 12_700


def place(left: int, top: int, width: int, height: int, turned: int = 0) -> str:
    return (
        f'<a:xfrm rot="{turned * 60_000}"><a:off x="{left * POINT}" y="{top * POINT}"/>'
        f'<a:ext cx="{width * POINT}" cy="{height * POINT}"/></a:xfrm>'
    )


def shape(where: str, text: str = "", fill: str = "", kind: str = "rect", mark: str = "") -> str:
    filled = f'<a:solidFill><a:srgbClr val="{fill}"/></a:solidFill>' if fill else ""
    runs = f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" if text else "<a:p/>"
    return (
        f"<p:sp><p:nvSpPr><p:nvPr>{mark}</p:nvPr></p:nvSpPr><p:spPr>{where}"
        f'<a:prstGeom prst="{kind}"/>{filled}</p:spPr>'
        f"<p:txBody><a:bodyPr/>{runs}</p:txBody></p:sp>"
    )


def tree(shapes: str, kind: str = "sld", background: str = "") -> str:
    painted = (
        f'<p:bg><p:bgPr><a:solidFill><a:srgbClr val="{background}"/></a:solidFill></p:bgPr></p:bg>'
        if background
        else ""
    )
    return (
        f"<p:{kind} {NAMESPACES}><p:cSld>{painted}<p:spTree>{shapes}</p:spTree></p:cSld></p:{kind}>"
    )


def links(**targets: str) -> str:
    rows = "".join(
        f'<Relationship Id="{name}" Type="{RELATIONS}/{name.rstrip("0123456789")}" Target="{to}"/>'
        for name, to in targets.items()
    )
    return f'<Relationships xmlns="{RELATIONS}">{rows}</Relationships>'


def deck(
    *slides: str, layout: str = "", sides: tuple[int, int] = (1000, 500), image: bytes = b""
) -> bytes:
    listed = "".join(f'<p:sldId r:id="slide{at}"/>' for at in range(1, len(slides) + 1))
    held: dict[str, bytes | str] = {
        "ppt/presentation.xml": f"<p:presentation {NAMESPACES}><p:sldIdLst>{listed}</p:sldIdLst>"
        f'<p:sldSz cx="{sides[0] * POINT}" cy="{sides[1] * POINT}"/></p:presentation>',
        "ppt/_rels/presentation.xml.rels": links(
            **{f"slide{at}": f"slides/slide{at}.xml" for at in range(1, len(slides) + 1)}
        ),
        "[Content_Types].xml": "<Types/>",
    }
    for at, slide in enumerate(slides, 1):
        held[f"ppt/slides/slide{at}.xml"] = slide
        held[f"ppt/slides/_rels/slide{at}.xml.rels"] = links(
            slideLayout="../slideLayouts/one.xml", image="../media/one.png"
        )
    if layout:
        held["ppt/slideLayouts/one.xml"] = layout
    if image:
        held["ppt/media/one.png"] = image
    return make_zip(held)


@pytest.fixture
def draw(tmp_path: Path) -> Any:
    def run(content: bytes, page: int = 1) -> DrawnPage:
        path = tmp_path / "stored"
        path.write_bytes(content)
        return draw_page(path, "deck.pptx", page, ParseLimits(wall_seconds=20, cpu_seconds=20))

    return run


def colour(drawn: DrawnPage, left: int, top: int) -> tuple[int, int, int]:
    """The colour at a place in points, to the nearest 32: WebP does not keep it exactly."""
    seen = Image.open(io.BytesIO(drawn.content)).convert("RGB")
    at = seen.getpixel((round(left * 1.2), round(top * 1.2)))
    red, green, blue = (round(side / 32) * 32 for side in at)  # type: ignore[union-attr]
    return red, green, blue


def test_shapes_texts_and_the_background_are_where_the_slide_says(draw: Any) -> None:
    slide = tree(
        shape(place(100, 100, 200, 100), fill="FF0000")
        + shape(place(500, 100, 400, 100), ARM)
        + shape(place(100, 300, 200, 100), fill="0000FF", kind="ellipse"),
        background="00FF00",
    )
    drawn = draw(deck(tree("", background="FFFFFF"), slide), 2)
    assert (drawn.width, drawn.height) == (1200, 600)
    red, green, blue = (256, 0, 0), (0, 256, 0), (0, 0, 256)
    assert colour(drawn, 200, 150) == red
    assert colour(drawn, 50, 250) == green
    assert colour(drawn, 200, 350) == blue
    assert colour(drawn, 104, 304) == green  # outside of the ellipse

    boxes = places_of(ARM, drawn.words)
    assert len(boxes) == 2  # the text is wider than its box
    assert all(
        500 / 1000 * SCALE <= left < right <= 910 / 1000 * SCALE for left, _, right, _ in boxes
    )
    assert all(0.2 * SCALE < top < bottom < 0.4 * SCALE for _, top, _, bottom in boxes)


def test_what_a_placeholder_does_not_say_its_layout_does(draw: Any) -> None:
    body = '<p:ph type="body" idx="7"/>'
    layout = tree(
        shape(place(600, 200, 300, 200), "Click to add text", mark=body)
        + shape(place(0, 450, 1000, 50), fill="800000"),
        "sldLayout",
    )
    drawn = draw(deck(tree(shape("", ARM, mark=body)), layout=layout))
    assert colour(drawn, 500, 475) == (128, 0, 0)
    words = [word[0] for word in drawn.words]
    assert "click" not in words  # the layout's own words are a hint
    assert min(int(word[1]) for word in drawn.words) >= 0.6 * SCALE


def test_a_turned_text_is_marked_where_it_is_seen(draw: Any) -> None:
    drawn = draw(deck(tree(shape(place(300, 200, 400, 60, turned=90), "One two three four"))))
    (left, top, right, bottom), *_ = places_of("one two three four", drawn.words)
    assert 0.5 * SCALE < left < right < 0.56 * SCALE
    assert bottom - top > (right - left)


def test_pictures_groups_and_tables_are_drawn(draw: Any) -> None:
    out = io.BytesIO()
    Image.new("RGB", (40, 40), (255, 128, 0)).save(out, "PNG")
    picture = (
        f'<p:pic><p:blipFill><a:blip r:embed="image"/></p:blipFill><p:spPr>{place(0, 0, 10, 10)}'
        "</p:spPr></p:pic>"
    )
    inner = f'<a:chOff x="0" y="0"/><a:chExt cx="{20 * POINT}" cy="{20 * POINT}"/></a:xfrm>'
    outer = place(100, 100, 200, 200).replace("</a:xfrm>", inner)
    group = f"<p:grpSp><p:grpSpPr>{outer}</p:grpSpPr>{picture}</p:grpSp>"
    cell = "<a:tc><a:txBody><a:bodyPr/><a:p><a:r><a:t>{}</a:t></a:r></a:p></a:txBody></a:tc>"
    rows = "".join(
        f"<a:tr>{cell.format(left)}{cell.format(right)}</a:tr>"
        for left, right in (("Region", "Fee"), ("North", "12 marks"))
    )
    table = (
        f"<p:graphicFrame>{place(500, 100, 400, 100).replace('a:xfrm', 'p:xfrm')}<a:graphic>"
        f'<a:graphicData><a:tbl><a:tblPr firstRow="1"/>{rows}</a:tbl></a:graphicData></a:graphic>'
        "</p:graphicFrame>"
    )
    drawn = draw(deck(tree(group + table), image=out.getvalue()))
    assert colour(drawn, 150, 150) == (256, 128, 0)  # a quarter of the group
    assert colour(drawn, 250, 150) == (256, 256, 256)
    assert colour(drawn, 510, 105) == (64, 128, 192)  # the first row in the theme's accent
    ((left, _, right, _),) = places_of("North 12 marks", drawn.words)
    assert 0.5 * SCALE < left < 0.7 * SCALE < right < 0.9 * SCALE


def test_a_deck_that_states_no_places_is_drawn_in_the_usual_ones(draw: Any) -> None:
    drawn = draw(make_pptx([("The beam", ARM, "Only said."), ("The hook", "", "")]))
    by_word = {str(word[0]): word for word in drawn.words}
    assert int(by_word["beam"][2]) < 0.25 * SCALE
    assert "said" not in by_word  # notes are not on the slide
    assert int(by_word["slides"][4]) > 0.25 * SCALE
    with pytest.raises(PageNotDrawn):
        draw(make_pptx([("One", "", "")]), 2)


FAR = place(10**6, 10**6, 10**6, 10**6)
HOSTILE = {
    "far away": tree(shape(FAR, ARM, "FF0000")),
    "no size": tree(shape(place(0, 0, 0, 0), ARM, "FF0000")),
    "nested groups": tree("<p:grpSp>" * 200 + shape(place(0, 0, 9, 9), ARM) + "</p:grpSp>" * 200),
    "many shapes": tree(shape(place(0, 0, 9, 9), fill="FF0000") * 5_000),
    "one long word": tree(shape(place(0, 0, 90, 90), "a" * 200_000)),
    "huge letters": tree(
        shape(place(0, 0, 90, 90), "big").replace("<a:r>", '<a:r><a:rPr sz="999999999"/>')
    ),
    "letters of no size": tree(shape(place(0, 0, 90, 90), "none")).replace(
        "<a:bodyPr/>", '<a:bodyPr><a:normAutofit fontScale="NaN"/></a:bodyPr>'
    ),
    "letters without an end": tree(shape(place(0, 0, 90, 90), "end")).replace(
        "<a:bodyPr/>", '<a:bodyPr><a:normAutofit fontScale="inf"/></a:bodyPr>'
    ),
    "no numbers": tree(shape(place(0, 0, 9, 9), ARM).replace("=", "=", 1)).replace(
        'x="0"', 'x="y"'
    ),
    "no picture": tree(
        '<p:pic><p:blipFill><a:blip r:embed="image"/></p:blipFill><p:spPr>'
        f"{place(0, 0, 99, 99)}</p:spPr></p:pic>"
    ),
}


@pytest.mark.parametrize("slide", HOSTILE.values(), ids=HOSTILE)
def test_a_strange_slide_is_drawn_as_far_as_it_can_be(draw: Any, slide: str) -> None:
    drawn = draw(deck(slide))
    assert (drawn.width, drawn.height) == (1200, 600)
    assert all(0 <= int(side) <= SCALE for word in drawn.words for side in word[1:])


@pytest.mark.parametrize("sides", [(1, 100_000), (100_000, 1)], ids=["narrow", "flat"])
def test_a_slide_of_any_size_is_a_picture_of_the_same(draw: Any, sides: tuple[int, int]) -> None:
    drawn = draw(deck(tree(shape(place(0, 0, 1, 1), "x")), sides=sides))
    assert 0 < drawn.width <= 1200
    assert 0 < drawn.height <= 4000


@pytest.mark.parametrize(
    "content",
    [
        deck("<not xml"),
        deck('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
        make_zip({"ppt/presentation.xml": "<a/>"}),
        deck(tree(""))[:-30],
    ],
    ids=["not XML", "an entity", "no slides", "cut off"],
)
def test_a_damaged_deck_has_no_picture(draw: Any, content: bytes) -> None:
    with pytest.raises(ParseFailed):
        draw(content)
