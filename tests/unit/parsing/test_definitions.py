"""Definition lists of DOCX, by the styles of their paragraphs or by terms run in."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.shared import Pt

from ingestion.domain import Block

from .conftest import Parse
from .shorthand import define, h, li, p, table


def written(*paragraphs: tuple[str, str], character: str = "") -> bytes:
    """A document of (style, text); the styles that Word lacks are made, `character` of runs."""
    document = docx.Document()
    names = {style.name for style in document.styles}
    for name in {name for name, _ in paragraphs} - names:
        document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
    if character:
        document.styles.add_style(character, WD_STYLE_TYPE.CHARACTER)
    for style, text in paragraphs:
        if style == "Table Grid":
            document.add_table(1, 2).rows[0].cells[0].text = text
        else:
            document.add_paragraph(text, style=style)
    return saved(document)


def saved(document: Any) -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("term", "definition"),
    [
        ("Definition Term", "Definition"),  # pandoc
        ("Definition Term", "Definition List"),  # Word, of HTML
        ("HTML Definition", "Definition Description"),
        ("List Heading", "List Contents"),  # LibreOffice
    ],
)
def test_styles_make_a_definition_list(parse: Parse, term: str, definition: str) -> None:
    content = written(
        ("Heading 1", "Settings"),
        ("Normal", "All of them:"),
        (term, "PAGE_SIZE:"),
        (definition, "Default: 20."),
        (definition, "Results of a page."),
        (term, "-q"),
        (term, "--quiet"),
        (definition, "Says nothing."),
        ("Normal", "The end."),
    )
    assert list(parse(content, "a.docx").blocks) == [
        h(1, "Settings"),
        p("All of them:"),
        *define("PAGE_SIZE", li(0, "PAGE_SIZE: Default: 20."), p("Results of a page.")),
        *define("-q --quiet", li(0, "-q\n--quiet: Says nothing.")),
        p("The end."),
    ]


TERM, TEXT = ("Definition Term", "beam"), ("Definition", "It weighs.")


@pytest.mark.parametrize(
    ("paragraphs", "blocks"),
    [
        pytest.param([("Definition", "Alone.")], [p("Alone.")], id="no term"),
        pytest.param([TERM, ("Normal", "Else.")], [p("beam"), p("Else.")], id="no definition"),
        pytest.param([TERM], [p("beam")], id="the end"),
        pytest.param(
            [TERM, TEXT, ("List Bullet", "A list."), ("Normal", "Else.")],
            [*define("beam", li(0, "beam: It weighs.")), li(0, "A list."), p("Else.")],
            id="a list after it",
        ),
        pytest.param(
            [TERM, TEXT, ("List Bullet", "In it."), ("Definition", "More."), ("Normal", "Else.")],
            [*define("beam", li(0, "beam: It weighs."), li(0, "In it."), p("More.")), p("Else.")],
            id="a list within",
        ),
        pytest.param(
            [TERM, ("Definition", "Of:"), ("List Bullet", "wood"), ("Normal", "Else.")],
            [*define("beam", li(0, "beam: Of:"), li(0, "wood")), p("Else.")],
            id="a list introduced",
        ),
        pytest.param(
            [TERM, ("Table Grid", "wood"), ("Normal", "Else.")],
            [*define("beam", li(0, "beam"), table(("wood", ""), header=False)), p("Else.")],
            id="a table alone",
        ),
    ],
)
def test_paragraphs_after_a_term_belong_to_its_definition(
    parse: Parse, paragraphs: list[tuple[str, str]], blocks: list[Block]
) -> None:
    assert list(parse(written(*paragraphs), "a.docx").blocks) == blocks


def test_character_style_makes_no_definition(parse: Parse) -> None:
    content = written(("Normal", "A beam is long."), character="HTML Definition")
    assert list(parse(content, "a.docx").blocks) == [p("A beam is long.")]


@pytest.mark.parametrize(
    ("style", "title"), [("Title", "Ünïcode manual"), ("Heading 1", ""), ("Subtitle", "")]
)
def test_a_paragraph_in_the_style_title_is_the_title(parse: Parse, style: str, title: str) -> None:
    document = parse(
        written((style, "Ünïcode manual"), ("Heading 1", "Beam"), ("Heading 1", "Hook")), "a.docx"
    )
    assert document.title == title
    assert [block.text for block in document.blocks] == ["Ünïcode manual", "Beam", "Hook"]


def hanging(*lines: tuple[str, str], indent: float = -36, is_bold: bool = False) -> bytes:
    """Paragraphs of a bold term, a tab and its text."""

    def runs() -> Iterator[Any]:
        for term, text in lines:
            paragraph = document.add_paragraph()
            paragraph.paragraph_format.left_indent = Pt(36)
            paragraph.paragraph_format.first_line_indent = Pt(indent)
            paragraph.add_run(term).bold = True
            yield paragraph.add_run(text)

    document = docx.Document()
    for run in runs():
        run.bold = is_bold
    return saved(document)


def test_run_in_terms_are_recognised(parse: Parse) -> None:
    content = hanging(("beam", "\tThe long part."), ("hook", "\tHolds\tthe load."))
    assert list(parse(content, "a.docx").blocks) == [
        *define("beam", li(0, "beam: The long part.")),
        *define("hook", li(0, "hook: Holds the load.")),
    ]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(hanging(("beam", "\tLong."), ("hook", "\tHolds."), indent=9), id="no hanging"),
        pytest.param(hanging(("beam", "\tLong."), ("hook", "\tIt."), is_bold=True), id="all bold"),
        pytest.param(hanging(("Beam, A.", " Weights."), ("Hook, B.", " Loads.")), id="no tab"),
        pytest.param(hanging(("1.", "\tLong."), ("b)", "\tHolds.")), id="numbers"),
        pytest.param(hanging(("beam", "\tLong.")), id="one alone"),
        pytest.param(hanging(("Ann", "\tHello."), ("Ann", "\tAgain.")), id="one speaker"),
    ],
)
def test_bold_text_that_is_no_run_in_term_is_left_alone(parse: Parse, content: bytes) -> None:
    blocks = list(parse(content, "a.docx").blocks)
    assert {(block.kind, block.terms) for block in blocks} == {("paragraph", ())}
    assert not any("\ufdd0" <= char <= "\ufdd2" for block in blocks for char in block.text)
