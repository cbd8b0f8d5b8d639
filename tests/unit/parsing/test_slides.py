"""Slide decks: what their blocks are."""

from __future__ import annotations

import io
import zipfile

import pytest

from tests.samples.builders import TABLE, make_zip
from tests.samples.outlook import make_ppt
from tests.samples.slides import make_odp, make_pptx

from .conftest import Parse
from .shorthand import h, p, table

DECK = [("Beams", "They carry.", "Say it slowly."), ("", "No title here.", ""), ("Hooks", "", "")]
DECK_BLOCKS = [
    h(1, "Beams", page=1),
    p("They carry.", page=1),
    p("Say it slowly.", page=1),
    p("No title here.", page=2),
    h(2, "Hooks", page=3),
]


@pytest.mark.parametrize(
    ("content", "name", "title"),
    [(make_pptx(DECK), "a.pptx", "Beams"), (make_odp(DECK), "a.odp", "Beam sizes")],
    ids=["pptx", "odp"],
)
def test_slides_have_numbers_titles_and_notes(
    parse: Parse, content: bytes, name: str, title: str
) -> None:
    document = parse(content, name)
    assert list(document.blocks) == DECK_BLOCKS
    assert (document.title, document.page_count) == (title, 3)


@pytest.mark.parametrize("name", ["a.ppt", "a"])
def test_ppt_has_titles_without_numbers(parse: Parse, name: str) -> None:
    content = make_ppt([("Beams", "They carry."), ("Hooks", "They hold.")])
    document = parse(content, name)
    blocks = [h(2, "Beams"), p("They carry."), h(2, "Hooks"), p("They hold.")]
    assert list(document.blocks) == blocks
    assert document.page_count is None


def test_table_on_a_slide_is_read(parse: Parse) -> None:
    document = parse(make_pptx(DECK, title="Beam handbook", table=TABLE), "a.pptx")
    assert document.blocks[-1] == table(*TABLE, page=3)
    assert document.title == "Beam handbook"


def test_deck_with_an_unmarked_slide_loses_only_slide_numbers(parse: Parse) -> None:
    with zipfile.ZipFile(io.BytesIO(make_pptx(DECK))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    second = "ppt/slides/slide2.xml"
    members[second] = members[second].replace(b"<p:grpSpPr/>", b"")
    document = parse(make_zip(members), "a.pptx")
    assert document.page_count is None
    assert {block.page for block in document.blocks} == {None}
    texts = [block.text for block in document.blocks]
    assert sorted(texts) == sorted(block.text for block in DECK_BLOCKS)
