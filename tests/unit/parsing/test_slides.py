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
from .test_completeness import changed, members

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


def test_table_of_a_ppt_is_read(parse: Parse) -> None:
    rows = [["Beam", "Load"], ["IPE 80", "7 t\rshort"], ["IPE 100", ""]]
    document = parse(make_ppt([("Beams", "They carry."), ("Beam", "It is steel.")], rows), "a.ppt")
    assert document.blocks[-1] == table(("Beam", "Load"), ("IPE 80", "7 t short"), ("IPE 100", ""))
    assert [block.text for block in document.blocks[:-1]] == [
        "Beams", "They carry.", "Beam", "It is steel.",
    ]  # fmt: skip


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


def test_raised_text_symbols_and_comments_of_a_slide(parse: Parse) -> None:
    slide = "ppt/slides/slide1.xml"
    deck = changed(
        make_pptx([("Beams", "TEXT", "Say it.")]),
        slide,
        "<a:r><a:t>TEXT</a:t></a:r>",
        '<a:r><a:t>CO</a:t></a:r><a:r><a:rPr baseline="-25000"/><a:t>2</a:t></a:r>'
        '<a:r><a:rPr lang="en"><a:sym typeface="Wingdings"/></a:rPr><a:t> à 10</a:t></a:r>'
        '<a:r><a:rPr lang="en" baseline="30000"><a:ln/></a:rPr><a:t>6</a:t></a:r>',
    )
    relations = members(deck)["ppt/slides/_rels/slide1.xml.rels"].decode()
    link = '<Relationship Id="{0}" Type="c" Target="../comments/{0}"/></Relationships>'
    for name in ("comment1.xml", "modern.xml"):
        relations = relations.replace("</Relationships>", link.format(name))
    deck = make_zip(
        {
            **members(deck),
            "ppt/slides/_rels/slide1.xml.rels": relations,
            "ppt/commentAuthors.xml": '<p:cmAuthor id="1" name="Ada"/>',
            "ppt/authors.xml": '<p188:author id="{B}" name="Ben"/>',
            "ppt/comments/comment1.xml": '<p:cmLst><p:cm authorId="1"><p:pos/><p:text>Why?</p:text>'
            "</p:cm></p:cmLst>",
            "ppt/comments/modern.xml": '<p188:cmLst><p188:cm id="1" authorId="{B}"><p188:replyLst>'
            '<p188:reply id="2" authorId="{B}"><p188:txBody><a:p><a:r><a:t>Done</a:t></a:r></a:p>'
            "</p188:txBody></p188:reply></p188:replyLst><p188:txBody><a:p><a:r><a:t>Fix</a:t></a:r>"
            "</a:p></p188:txBody></p188:cm></p188:cmLst>",
        }
    )
    blocks = parse(deck, "a.pptx").blocks
    texts = ["CO₂ 🡪 10⁶", "Say it.", "Ada: Why?", "Ben: Fix", "Ben: Done"]
    assert blocks == (h(1, "Beams", page=1), *(p(text, page=1) for text in texts))


def test_comments_of_an_odp_follow_their_slide(parse: Parse) -> None:
    note = "<office:annotation><dc:creator>Ada</dc:creator><text:p>low</text:p></office:annotation>"
    deck = changed(make_odp([("One", "", ""), ("Two", "", "")]), "content.xml", "<draw:page>",
                   f"<draw:page>{note}")  # fmt: skip
    deck = changed(deck, "content.xml", "xmlns:office=", 'xmlns:dc="dc" xmlns:office=')
    assert [(block.text, block.page) for block in parse(deck, "a.odp").blocks] == [
        ("One", 1), ("Ada: low", 1), ("Two", 2), ("Ada: low", 2),
    ]  # fmt: skip


def test_a_footer_of_slides_is_read_once(parse: Parse) -> None:
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="9" name=""/><p:cNvSpPr/><p:nvPr><p:ph type="{}" idx="9"/>'
        "</p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>{}</a:t></a:r></a:p>"
        "</p:txBody></p:sp></p:spTree>"
    )
    deck = make_pptx([("Beams", "Steel.", ""), ("Loads", "Wind.", ""), ("Ends", "Pins.", "")])
    for number, footer in enumerate(("KD-1", "KD-1", "KD-2"), 1):
        for kind, text in (("ftr", footer), ("sldNum", str(number)), ("dt", "2026-01-0" * 40)):
            slide = f"ppt/slides/slide{number}.xml"
            deck = changed(deck, slide, "</p:spTree>", shape.format(kind, text))
    document = parse(deck, "a.pptx")
    assert [(block.text, block.page) for block in document.blocks] == [
        *(("Beams", 1), ("Steel.", 1), ("KD-1", 1)),
        *(("Loads", 2), ("Wind.", 2)),
        *(("Ends", 3), ("Pins.", 3), ("KD-2", 3)),
    ]
    assert not document.completeness.gaps


def test_the_number_of_a_slide_in_its_notes_is_no_text(parse: Parse) -> None:
    number = "<text:page-number>&lt;number&gt;</text:page-number>"
    deck = changed(make_odp([("One", "", "Speak up.")]), "content.xml", "Speak up.", number)
    assert [block.text for block in parse(deck, "a.odp").blocks] == ["One"]
