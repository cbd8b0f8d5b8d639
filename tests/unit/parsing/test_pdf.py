"""PDF: what is read off pages, and what is left out."""

from __future__ import annotations

import io

import pytest
from reportlab.pdfgen.canvas import Canvas

from ingestion.domain import Block, BlockKind, Gap, Unit, Why
from ingestion.errors import DamagedFile, EncryptedFile, NoText, ParseLimitExceeded
from ingestion.parsing.formats.pdf import plain
from ingestion.parsing.formats.pdf_headings import with_steps
from ingestion.parsing.formats.pdf_metadata import iso_date, stated_title
from tests.samples import builders

from .conftest import Parse
from .shorthand import h, li, p

LONG = "The weight slides along the beam until the beam is level and the mark is read. " * 8


def _pages(count: int) -> list[list[tuple[str, object]]]:
    return [
        [("h1", f"Chapter {number}: part"), ("p", f"Page {number * 7} of the tale. {LONG}")]
        for number in range(1, count + 1)
    ]


def test_running_heads_are_read_once_and_chapters_kept(parse: Parse) -> None:
    pdf = builders.make_pdf(_pages(6), header="Confidential draft", footer="Handbook, page {page}")
    blocks = parse(pdf, "a.pdf").blocks
    text = "\n".join(block.text for block in blocks)
    assert text.count("Confidential draft") == 1
    assert blocks[-1] == Block(BlockKind.PARAGRAPH, "Confidential draft", page=1)
    assert "Handbook, page" not in text
    headings = [block.text for block in blocks if block.kind is BlockKind.HEADING]
    # "Chapter 1" on page 1, "Chapter 2" on page 2 count with the pages as a footer would.
    assert headings == [f"Chapter {number}: part" for number in range(1, 7)]
    assert [block.page for block in blocks if "of the tale" in block.text] == [1, 2, 3, 4, 5, 6]


def test_a_footer_without_its_number_on_some_pages_is_the_same(parse: Parse) -> None:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    for page in range(1, 10):
        canvas.drawString(72, 700, f"{chr(64 + page)} is the letter of this page of the deck.")
        canvas.drawString(72, 40, "beams.example" + f" {page}" * (page % 3 == 0))
        canvas.showPage()
    canvas.save()
    texts = [block.text for block in parse(out.getvalue(), "a.pdf").blocks]
    assert [text for text in texts if "beams.example" in text] == ["beams.example"]


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_turned_pages_are_read_upright(parse: Parse, turn: int) -> None:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    canvas.setPageRotation(turn)
    canvas.drawString(100, 500, "A page that was turned on the scanner")
    canvas.drawString(100, 480, "and has a second line.")
    canvas.save()
    (block,) = parse(out.getvalue(), "a.pdf").blocks
    assert block.text == "A page that was turned on the scanner and has a second line."


def test_a_program_keeps_its_indentation(parse: Parse) -> None:
    program = ["def weigh(beam):", "    for mark in beam:", "        yield mark", "    return None"]
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    canvas.drawString(72, 760, "The program below weighs what lies on the beam, mark by mark.")
    canvas.setFont("Courier", 9)
    for number, line in enumerate(program):
        # As LaTeX sets it, no letter for a space at the beginning.
        bare = line.lstrip()
        left = 72 + 5.4 * (len(line) - len(bare))
        canvas.drawString(left, 730 - 11 * number, bare)
    canvas.save()
    (program_block,) = (
        block for block in parse(out.getvalue(), "a.pdf").blocks if block.kind is BlockKind.CODE
    )
    assert program_block.text.split("\n") == program


def test_lines_repeated_on_few_pages_are_kept(parse: Parse) -> None:
    blocks = parse(builders.make_pdf(_pages(3), header="Confidential"), "a.pdf").blocks
    assert sum("Confidential" in block.text for block in blocks) == 3


def test_words_hyphenated_at_line_ends_are_joined(parse: Parse) -> None:
    line = "A meas-<br/>ure of *args, <b>bold</b>, pre- and postwar <i>snake_case</i>."
    (block,) = parse(builders.make_pdf([[("p", line)]]), "a.pdf").blocks
    assert block.text == "A measure of *args, bold, pre- and postwar snake_case."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\*\*kwargs", "**kwargs"),
        ("**bold** and *italic*", "bold and italic"),
        ("pages 3- 4", "pages 3- 4"),
        (r"C:\\dir", r"C:\dir"),
    ],
)
def test_markup_of_a_line_is_removed(text: str, expected: str) -> None:
    assert plain(text) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("D:20240131120509+01'00'", "2024-01-31T12:05:09+01:00"),
        ("D:20240131120509Z", "2024-01-31T12:05:09+00:00"),
        ("D:20240131", "2024-01-31"),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_pdf_dates_become_iso_dates(value: str, expected: str) -> None:
    assert iso_date(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("A  title", "A title"),
        ("untitled", ""),
        ("Microsoft Word - beam_hand book.docx", "beam hand book"),
        ("", ""),
    ],
)
def test_stated_title_is_used_unless_it_is_a_placeholder(value: str, expected: str) -> None:
    assert stated_title(value) == expected


def test_outline_titles_become_headings(parse: Parse) -> None:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    for y, line in ((780, "2.1 Small heading"), (700, "Text below it."), (600, "More text.")):
        canvas.drawString(72, y, line)
    for level, title in enumerate(("Part", "Small heading")):
        canvas.bookmarkPage(title)
        canvas.addOutlineEntry(title, title, level=level)
    canvas.showPage()
    canvas.save()
    blocks = parse(out.getvalue(), "a.pdf").blocks
    assert blocks[0] == h(2, "2.1 Small heading", page=1)
    assert [block.kind for block in blocks[1:]] == [BlockKind.PARAGRAPH] * 2


def test_numbered_headings_without_text_are_steps() -> None:
    steps = ["1. Open the lid.", "2. Press the knob.", "3. Wait."]
    section = [h(2, "2 Start"), *(h(3, step) for step in steps), h(2, "3 Care"), p("Oil it.")]
    assert list(with_steps(section)) == [section[0], *(li(0, step) for step in steps), *section[4:]]
    clauses = [block for step in steps for block in (h(2, step), p("Text."))]
    assert list(with_steps(clauses)) == clauses
    assert list(with_steps(section[:3])) == section[:3]
    last = [*(h(3, step) for step in steps[:2]), p(steps[2])]  # a long step is no heading
    assert list(with_steps([*last, p("Rest.")])) == [*(li(0, step) for step in steps), p("Rest.")]
    apart = [h(2, "3. Rules"), h(3, "1. Open."), p("2. Shut.")]
    assert list(with_steps(apart)) == apart


def test_sideways_pages_are_turned(parse: Parse) -> None:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    for _ in range(3):
        canvas.rotate(90)
        canvas.drawString(100, -100, "The first line of a sideways page.")
        canvas.drawString(100, -300, "The second line of a sideways page.")
        canvas.showPage()
    canvas.save()
    texts = [block.text for block in parse(out.getvalue(), "a.pdf").blocks]
    assert texts == [f"The {which} line of a sideways page." for which in ("first", "second")] * 3


def test_pdf_with_a_password_is_refused(parse: Parse) -> None:
    with pytest.raises(EncryptedFile, match="Remove the password"):
        parse(builders.make_pdf(password="secret"), "a.pdf")


def test_pdf_without_text_is_refused(parse: Parse) -> None:
    with pytest.raises(NoText, match="3 pages contains no text; OCR is not installed"):
        parse(builders.make_image_pdf(pages=3), "a.pdf")


def test_some_pages_without_text_are_named(parse: Parse) -> None:
    pdf = builders.make_pdf([[("p", "One.")], [("p", " ")], [("p", "Three.")]])
    document = parse(pdf, "a.pdf")
    assert [block.page for block in document.blocks] == [1, 3]
    assert document.completeness.gaps == [Gap(Unit.PAGE, Why.BLANK, 1, ("2",))]


def test_pdf_with_too_many_pages_is_refused(parse: Parse) -> None:
    with pytest.raises(ParseLimitExceeded, match="has 2 pages; at most 1"):
        parse(builders.make_pdf(), "a.pdf", pages=1)


@pytest.mark.parametrize(
    "content",
    [b"%PDF-1.7\nnothing more", builders.make_endless_pdf(), builders.make_pdf()[:400]],
    ids=["stub", "page-tree-loop", "cut-off"],
)
def test_damaged_pdf_is_refused(parse: Parse, content: bytes) -> None:
    with pytest.raises(DamagedFile, match="damaged"):
        parse(content, "a.pdf")


def _texts(parse: Parse, pdf: bytes) -> list[str]:
    return [f"{b.kind.value} {b.text[:19].rstrip()}" for b in parse(pdf, "a.pdf").blocks]


def test_repeated_title_appears_once(parse: Parse) -> None:
    pages: list[list[tuple[str, object]]] = [
        [("h1", "Beam handbook")],
        [("h1", "Beam handbook"), ("h2", "Parts"), ("p", LONG)],
        [("p", LONG)],
    ]
    found = _texts(parse, builders.make_pdf(pages))
    assert found.count("heading Beam handbook") == 1
    # A text may be said again on another page.
    assert found.count(f"paragraph {LONG[:19].rstrip()}") == 2


def test_turned_text_beside_upright_text_follows_it_once_if_it_recurs(parse: Parse) -> None:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    for number in range(1, 6):
        for line in range(3):
            canvas.drawString(60, 500 - 40 * line, f"Turn {line} of windlass {number} was counted.")
        canvas.rotate(90)
        canvas.drawString(300, -500, "Confidential")
        canvas.drawString(300, -540, "Depth in metres" if number == 1 else "")
        canvas.showPage()
    canvas.save()
    texts = [(block.text, block.page) for block in parse(out.getvalue(), "a.pdf").blocks]
    assert ("Confidential\nDepth in metres", 1) in texts
    assert [text for text, _ in texts].count("Confidential") == 1


def test_a_page_that_is_turned_without_its_text_is_read(parse: Parse) -> None:
    out = io.BytesIO()
    page = Canvas(out, invariant=1)
    page.drawString(60, 700, "Upright.")
    page.showPage()
    page.setPageRotation(90)
    page.drawString(60, 700, "The windlass is turned.")
    page.save()
    document = parse(out.getvalue(), "a.pdf")
    assert list(document.blocks) == [p("Upright.", 1), p("The windlass is turned.", 2)]
    assert not document.completeness.losses
