"""What does not become a chunk, and what must stay in one piece: contents, line ends, columns."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from ingestion.domain import Block, BlockKind
from ingestion.parsing.formats.pdf_layout import Page, Placed, with_headings
from ingestion.parsing.formats.tables_of_contents import without_contents
from ingestion.parsing.formats.text import joined_across_pages, joined_in_line, joined_lines

from .conftest import Parse
from .shorthand import h, p, table

ENTRIES = [("1 Introduction", 3), ("1.1 History", 4), ("1.2 Materials", 7), ("2 The beam", 12)]
LED = " ".join(f"{title} {'.' * 20} {page}" for title, page in ENTRIES)
LOOSE = " ".join(f"{title} {page}" for title, page in ENTRIES)
AFTER = [h(1, "1 Introduction"), p("A steelyard weighs.")]


@pytest.mark.parametrize(
    "contents",
    [
        [h(1, "Contents"), p(LED)],
        [p("Inhaltsverzeichnis"), p(LOOSE)],
        [h(2, "Table of Contents:"), *(p(f"{title}\t{page}") for title, page in ENTRIES)],
        [h(1, "Contents"), table(*((title, str(page)) for title, page in ENTRIES), header=False)],
        [p("Foreword . . . . . ix Preface . . . . xi 1 Beams . . . . 1")],
        [h(1, "Contents"), p("Chapter 1 3"), p("Chapter 2 9\nAnnex A 1 12")],
        [h(1, "目次"), p("はじめに … 1 さおの長さ … 4 おもり … 9")],
    ],
    ids=["leaders", "no leaders", "tabs", "table", "no heading", "numbers", "Japanese"],
)
def test_tables_of_contents_are_left_out(contents: list[Block]) -> None:
    before = [p("The handbook of beams.")]
    assert list(without_contents([*before, *contents, *AFTER])) == [*before, *AFTER]


@pytest.mark.parametrize(
    "blocks",
    [
        [h(1, "Contents"), p("The box holds a beam, a hook and 3 weights."), p("Open it.")],
        [p("Coffee ..... 3"), p("Tea ..... 2"), p("Cake ..... 4")],
        [h(1, "Sommaire"), h(2, "1. Ce qu'il faut savoir"), p("Peu de choses.")],
        [h(1, "Areas"), table(("D40", "120"), ("D41", "195"), ("D42", "260"), header=False)],
        [h(1, "Contents"), p("See page ..... 3")],
    ],
    ids=["a box", "prices", "an overview in words", "a table of figures", "one entry"],
)
def test_text_that_resembles_contents_is_kept(blocks: list[Block]) -> None:
    assert list(without_contents([*blocks, *AFTER])) == [*blocks, *AFTER]


@given(st.lists(st.text("a1. \t\n…", max_size=60).map(p), max_size=8))
def test_blocks_are_dropped_and_never_changed(blocks: list[Block]) -> None:
    left = iter(blocks)
    assert all(block in left for block in without_contents(blocks))


def test_contents_of_a_pdf_are_left_out(parse: Parse) -> None:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    canvas.setFont("Helvetica-Bold", 20)
    canvas.drawString(72, 780, "Contents")
    canvas.setFont("Helvetica", 11)
    for line, (title, page) in enumerate(ENTRIES):
        canvas.drawString(72, 740 - 18 * line, f"{title} {'.' * (80 - 2 * len(title))} {page}")
    canvas.showPage()
    canvas.drawString(72, 700, "A steelyard weighs by sliding a weight.")
    canvas.save()
    (block,) = parse(out.getvalue(), "a.pdf").blocks
    assert (block.text, block.page) == ("A steelyard weighs by sliding a weight.", 2)


def _columns(*columns: list[str], foot: str = "") -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    canvas.setFont("Times-Roman", 10)
    for number, lines in enumerate(columns):
        for row, line in enumerate(lines):
            canvas.drawString(72 + 248 * number, 760 - 12 * row, line)
    if foot:
        canvas.setFont("Times-Roman", 7)
        canvas.drawString(72, 60, foot)
    canvas.save()
    return out.getvalue()


def test_columns_are_read_one_after_the_other(parse: Parse) -> None:
    left = [
        "The steelyard is an old instru-",
        "ment of the market. It weighs by",
        "sliding a weight along a beam.",
        "The seller hangs the goods from",
        "the hook and moves the counter-",
        "poise until the beam is level.",
    ]
    right = [
        "Every mark on the beam stands for",
        "a unit of weight, cut by a master.",
        "Each spring the council inspects",
        "the weights, before the market is",
        "opened by an officer of the guild",
        "who carries a set of his own.",
    ]
    note = "1 On the council see the annals of the town."
    blocks = parse(_columns(left, right, foot=note), "a.pdf").blocks
    text = " ".join(block.text for block in blocks)
    order = ["old instrument of", "counterpoise until", "Every mark", "set of his own", "1 On the"]
    places = [text.find(words) for words in order]
    assert places == sorted(places)
    assert -1 not in places
    # A note at the foot of the page is a paragraph of its own.
    assert blocks[-1].text == note


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("an old instru- ment", "an old instrument"),
        ("an old instru\u2010 ment", "an old instrument"),
        ("pre- and postwar", "pre- and postwar"),
        ("Ein- und Ausgabe", "Ein- und Ausgabe"),
        ("the l- leucine level", "the l-leucine level"),
        ("a half- hourly bell", "a half-hourly bell"),
        ("an A- in music", "an A- in music"),
    ],
)
def test_hyphens_within_a_line_are_joined(text: str, expected: str) -> None:
    assert joined_in_line(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("an old instru-\nment of the\nmarket", "an old instrument\nof the\nmarket"),
        ("an old instru-\nment.\n\nNext", "an old instrument.\n\nNext"),
        ("It is well-\nknown.\nA well-known beam.", "It is well-known.\nA well-known beam."),
        ("Ein-\nund Ausgabe", "Ein-\nund Ausgabe"),
        ("a state-of-the-\nart beam", "a state-of-the-art\nbeam"),
        ("- one\n- two\nA-\n1", "- one\n- two\nA-\n1"),
        ("-----\nabc-\nXyz", "-----\nabc-\nXyz"),
        pytest.param("its half-\nlife is", "its half-life\nis", id="a known first part"),
        pytest.param("the l-\nleucine level", "the l-leucine\nlevel", id="a letter"),
        pytest.param("e-\nqually", "equally", id="a vowel may begin a word"),
        pytest.param(
            "a uefa-\nreaction. The uefa rose; this reaction ends.",
            "a uefa-reaction.\nThe uefa rose; this reaction ends.",
            id="both halves are words here",
        ),
        pytest.param(
            "a coryne-\nbacteria strain. Coryne, bacteria: corynebacteria.",
            "a corynebacteria\nstrain. Coryne, bacteria: corynebacteria.",
            id="the joined word is written here",
        ),
        pytest.param(
            "an in-\ncurable man in a curable state",
            "an incurable\nman in a curable state",
            id="a prefix",
        ),
        pytest.param(
            "an oat-\ncell tumour; each cell",
            "an oat-cell\ntumour; each cell",
            id="one half is a word here: it cannot be known",
        ),
        pytest.param(
            "the corre-\nlated and correspond-\ning; they correspond",
            "the correlated\nand corresponding;\nthey correspond",
            id="an ending",
        ),
        pytest.param(
            "eine Daten-\nbank mit Daten", "eine Datenbank\nmit Daten", id="a long German noun"
        ),
        pytest.param("is time-\ndependent", "is time-dependent", id="a second part"),
        pytest.param(
            "half-\nlife, a halflife", "halflife,\na halflife", id="the joined word comes first"
        ),
    ],
)
def test_lines_of_a_paragraph_are_joined(text: str, expected: str) -> None:
    assert joined_lines(text) == expected


def test_word_hyphenated_between_pages_belongs_to_the_first() -> None:
    first, second = p("A long para-", 1), p("graph, and the rest of it.", 2)
    assert list(joined_across_pages([first, second])) == [
        p("A long paragraph,", 1),
        p("and the rest of it.", 2),
    ]
    for following in (p("Graph.", 2), p("und so", 2), h(1, "graph", 2), p("graph.", 3)):
        assert list(joined_across_pages([first, following])) == [first, following]
    assert list(joined_across_pages([first, p("graph", 2)])) == [p("A long paragraph", 1)]


def test_soft_hyphens_are_removed(parse: Parse) -> None:
    (block,) = parse("<p>The steel&shy;yard weighs.</p>", "a.html").blocks
    assert block == p("The steelyard weighs.")
    (block,) = parse("The steel\u00ad\nyard weighs.", "a.txt").blocks
    assert block == p("The steelyard weighs.")


def test_headings_of_a_pdf_without_tags_have_levels_by_their_size(parse: Parse) -> None:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    y = 780
    for size, line in (
        (22, "Beam handbook"),
        *((11, "A steelyard weighs by sliding a weight along a beam until it is level."),) * 4,
        (16, "The arms"),
        *((11, "The long arm carries the scale, and the short one carries the hook."),) * 4,
        (16, "The hook"),
        *((11, "It holds the goods, and it must never be painted over by anybody."),) * 4,
    ):
        y -= 2 * size
        canvas.setFont("Helvetica-Bold" if size > 11 else "Helvetica", size)
        canvas.drawString(72, y, line)
    canvas.save()
    blocks = parse(out.getvalue(), "a.pdf").blocks
    headings = [(b.level, b.text) for b in blocks if b.kind is BlockKind.HEADING]
    assert headings == [(1, "Beam handbook"), (2, "The arms"), (2, "The hook")]


def test_larger_letters_are_headings_where_liteparse_sees_none(parse: Parse) -> None:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    y = 800
    for size, lines in (
        (22, ["Beam handbook"]),
        (10, [f"The long arm of the beam carries the scale, and it weighs {n}" for n in range(8)]),
        (14, ["The arms"]),
        (10, [f"The short arm of the beam carries the hook, and it weighs {n}" for n in range(8)]),
    ):
        y -= size
        for line in lines:
            y -= size + 3
            canvas.setFont("Helvetica-Bold" if size > 10 else "Helvetica", size)
            canvas.drawString(72, y, line)
    canvas.save()
    blocks = parse(out.getvalue(), "a.pdf").blocks
    headings = [(b.level, b.text) for b in blocks if b.kind is BlockKind.HEADING]
    assert headings == [(1, "Beam handbook"), (2, "The arms")]


def _placed(text: str, size: int, top: float = 100, lines: int = 1) -> Placed:
    return Placed(p(text, 1), top, top + lines * size * 1.2, size)


BODY = [_placed("A steelyard weighs by sliding a weight. " * 20, 10, lines=8)] * 3


@pytest.mark.parametrize(
    ("blocks", "levels"),
    [
        (
            [_placed("Beams", 20), *BODY, _placed("Arms", 14), *BODY, _placed("Hooks", 14)],
            [1, 2, 2],
        ),
        ([_placed("Beams", 11), *BODY], []),
        ([_placed("42", 20), *BODY], []),
        ([_placed("A motto of several lines", 20, lines=5), *BODY], []),
        ([_placed("A poster says it large. " * 4, 20)] * 5 + BODY[:1], []),
        ([Placed(h(3, "Found by liteparse", 1), 90, 100, 12), _placed("Beams", 20), *BODY], [3]),
        ([_placed("Unknown", 0), _placed("Nor this", 0)], []),
    ],
    ids=["sizes", "too near", "number", "tall", "poster", "found before", "unknown"],
)
def test_size_of_letters_decides_the_heading_level(blocks: list[Placed], levels: list[int]) -> None:
    (page,) = with_headings([Page(1, 800, blocks)])
    found = [one.block.level for one in page.blocks if one.block.kind is BlockKind.HEADING]
    assert found == levels
    assert [one.block.text for one in page.blocks] == [one.block.text for one in blocks]


def test_a_word_document_loses_its_contents_and_keeps_its_notes(parse: Parse) -> None:
    import docx

    document = docx.Document()
    document.add_paragraph("Contents")
    for title, page in ENTRIES:
        document.add_paragraph(f"{title}\t{page}")
    document.add_heading("Introduction", level=1)
    document.add_paragraph("A steelyard weighs.")
    out = io.BytesIO()
    document.save(out)
    assert list(parse(out.getvalue(), "a.docx").blocks) == [
        h(1, "Introduction"),
        p("A steelyard weighs."),
    ]
