"""DOCX: what Word shows besides plain runs of text is read, and where it belongs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import docx
import pytest
from olefile import OleFileIO

from ingestion.domain import Unit, Why
from ingestion.files import filetypes
from ingestion.parsing.formats import office_counts
from ingestion.parsing.formats.doc_margins import with_margins, without_deleted
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import Source
from tests.samples.word_documents import make_doc, make_word, make_writer, paragraph, run, section

from .conftest import Parse
from .shorthand import h, p, table

RAISED, LOWERED = (f'<w:vertAlign w:val="{kind}script"/>' for kind in ("super", "sub"))
FORMERLY_RAISED = f"<w:rPrChange><w:rPr>{RAISED}</w:rPr></w:rPrChange>"


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        pytest.param(["10", run("6", RAISED), " cycles"], "10⁶ cycles", id="power"),
        pytest.param(["bearing", run("3,4", RAISED)], "bearing³,⁴", id="footnote"),
        pytest.param(["10", run("−3", RAISED), " m"], "10⁻³ m", id="negative"),
        pytest.param(["CO", run("2", LOWERED), ", V", run("max", LOWERED)], "CO₂, Vmax", id="low"),
        pytest.param(["1", run("st", RAISED), " XIX", run("e", RAISED)], "1st XIXe", id="ordinal"),
        pytest.param(["bearing", run("a", RAISED)], "bearing^a", id="letter"),
        pytest.param(["bearing", run("a,b ", RAISED), "is"], "bearing^a,b is", id="letters"),
        pytest.param(["10", run("x+1", RAISED), " 5", run("th,", RAISED)], "10^x+1 5th,", id="sum"),
        pytest.param(["Loctite", run("TM", RAISED)], "Loctite™", id="sign"),
        pytest.param(["m", run("2", FORMERLY_RAISED)], "m2", id="no longer raised"),
    ],
)
def test_raised_text_is_apart_from_its_word(parse: Parse, runs: list[str], text: str) -> None:
    assert parse(make_word(paragraph(*runs)), "a.docx").blocks == (p(text),)


@pytest.mark.parametrize(
    ("symbol", "text"),
    [
        ('<w:sym w:font="Symbol" w:char="F0A3"/>', "≤"),
        ('<w:sym w:char="00B1" w:font="Symbol"/>', "±"),
        ('<w:sym w:font="Wingdings" w:char="F0FC"/>', "✓"),
        ('<w:sym w:font="Webdings" w:char="F061"/>', "✔"),
        ('<w:sym w:font="Arial" w:char="2264"/>', "≤"),
        ('<w:sym w:font="Symbol" w:char="F080"/>', "\ufffd"),
        ('<w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr><w:t>\uf0a3</w:t>', "≤"),
        ('<w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr><w:t>a</w:t>', "α"),
        ("<w:t>\uf0b0</w:t>", "°"),
    ],
)
def test_symbols_are_characters(parse: Parse, symbol: str, text: str) -> None:
    body = paragraph("pressure ", f"<w:r>{symbol}</w:r>", " 5 bar &amp; more")
    assert parse(make_word(body), "a.docx").blocks == (p(f"pressure {text} 5 bar & more"),)


def test_words_with_readings_stay_joined(parse: Parse) -> None:
    def ruby(base: str, reading: str) -> str:
        parts = f"<w:rt>{run(reading)}</w:rt><w:rubyBase>{run(base)}</w:rubyBase>"
        return f"<w:r><w:ruby><w:rubyPr/>{parts}</w:ruby></w:r>"

    cell = paragraph("部屋", ruby("三", "さん"))
    rows = f"<w:tr><w:tc>{paragraph('番号')}</w:tc><w:tc>{cell}</w:tc></w:tr>"
    body = paragraph(ruby("東", "とう"), ruby("京", "きょう"), "本社の", ruby("中村", "なかむら"))
    document = parse(make_word(body + f"<w:tbl>{rows}</w:tbl>"), "a.docx")
    assert document.blocks == (
        p("東京本社の中村"),
        p("とうきょう なかむら"),
        table(("番号", "部屋三"), header=False),
        p("さん"),
    )


def test_a_drop_cap_is_a_letter_of_its_word(parse: Parse) -> None:
    frame = '<w:pPr><w:keepNext/><w:framePr w:dropCap="drop" w:lines="3"/></w:pPr>'
    body = paragraph("Before.") + paragraph(frame, "L") + paragraph("ongtemps ", "après.")
    assert list(parse(make_word(body), "a.docx").blocks) == [p("Before."), p("Longtemps après.")]
    # As the paragraphs were before a tracked change; and with an empty paragraph behind it.
    change = "<w:pPrChange><w:pPr><w:jc/></w:pPr></w:pPrChange></w:pPr>"
    changed = body.replace("</w:pPr>", change)
    assert list(parse(make_word(changed), "a.docx").blocks)[1:] == [p("Longtemps après.")]
    parted = paragraph(frame, "L") + '<w:p w:rsidR="1"/>' + paragraph("ongtemps")
    assert list(parse(make_word(parted), "a.docx").blocks) == [p("L"), p("ongtemps")]


def test_the_names_of_axes_follow_the_title_of_a_chart(parse: Parse) -> None:
    """Their units are nowhere else."""
    title = "<c:title><c:tx><c:rich><a:p><a:r><a:t>{}</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    series = (
        "<c:ser><c:tx><c:strRef><c:strCache><c:pt idx='0'><c:v>Catch</c:v></c:pt></c:strCache>"
        "</c:strRef></c:tx><c:cat><c:strRef><c:strCache><c:pt idx='0'><c:v>Cod</c:v></c:pt>"
        "</c:strCache></c:strRef></c:cat><c:val><c:numRef><c:numCache><c:pt idx='0'><c:v>35</c:v>"
        "</c:pt></c:numCache></c:numRef></c:val></c:ser>"
    )
    office = "http://schemas.openxmlformats.org"
    chart = (
        f'<c:chartSpace xmlns:c="{office}/drawingml/2006/chart" '
        f'xmlns:a="{office}/drawingml/2006/main"><c:chart>{title.format("Landings")}<c:plotArea>'
        "<c:catAx><c:title><c:overlay/></c:title></c:catAx>"  # a title that nobody wrote
        f"<c:barChart>{series}</c:barChart><c:valAx>{title.format('tonnes')}</c:valAx>"
        "</c:plotArea></c:chart></c:chartSpace>"
    )
    drawing = (
        f'<w:r><w:drawing><wp:inline xmlns:wp="{office}/drawingml/2006/wordprocessingDrawing">'
        f'<a:graphic xmlns:a="{office}/drawingml/2006/main"><a:graphicData '
        f'uri="{office}/drawingml/2006/chart"><c:chart xmlns:c="{office}/drawingml/2006/chart" '
        'r:id="r-charts/chart1.xml"/></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>'
    )
    content = make_word(paragraph(drawing), {"charts/chart1.xml": chart})
    assert list(parse(content, "a.docx").blocks) == [
        p("Landings (tonnes)"), table(("", "Catch"), ("Cod", "35"))
    ]  # fmt: skip


def test_neighbouring_equations_are_apart(parse: Parse) -> None:
    equations = [f"<m:oMath><m:r><m:t>{one}</m:t></m:r></m:oMath>" for one in ("a_1=b", "c^d")]
    body = paragraph("so ", *equations, " holds") + paragraph(*equations)
    assert parse(make_word(body), "a.docx").blocks == (p("so a_1=b c^d holds"), p("a_1=b c^d"))


def test_each_distinct_header_and_footer_is_read_once(parse: Parse) -> None:
    margins = {
        "header1.xml": paragraph("Nordwind Ltd, KD-77812"),
        "header2.xml": paragraph("Nordwind Ltd, KD-77812"),
        "header3.xml": paragraph("Confidential", run("3", RAISED)),
        "header4.xml": paragraph("Even pages"),
        "header5.xml": paragraph("No section refers to it"),
        "footer1.xml": paragraph("IBAN XX00 1234"),
    }
    body = (
        paragraph("First part.").replace(
            "<w:p>", f"<w:p><w:pPr>{section('default header1.xml')}</w:pPr>"
        )
        + paragraph("Second part.")
        + section(
            "default header2.xml",
            "first header3.xml",
            "even header4.xml",
            "default footer1.xml",
            first=True,
        )
    )
    document = parse(make_word(body, margins), "a.docx")
    expected = ["Nordwind Ltd, KD-77812", "Confidential³", "First part.", "Second part."]
    assert [block.text for block in document.blocks] == [*expected, "IBAN XX00 1234"]
    assert document.completeness.found == sum(
        len("".join(block.text.split())) for block in document.blocks
    )


def test_comments_and_literal_text_of_the_xml_hide_no_header(parse: Parse) -> None:
    literal = paragraph("A").replace(">A<", "><![CDATA[Nord & Wind <Ltd>]]><")
    body = "<!-- by a program -->" + paragraph("Text.") + section("default header1.xml")
    document = parse(make_word(body, {"header1.xml": literal}), "a.docx")
    assert document.blocks == (p("Nord & Wind <Ltd>"), p("Text."))


def test_headers_that_are_switched_off_are_left_out(parse: Parse) -> None:
    margins = {"header1.xml": paragraph("Of the first page"), "header2.xml": paragraph("Even")}
    body = paragraph("Text.") + section("first header1.xml", "even header2.xml")
    assert parse(make_word(body, margins), "a.docx").blocks == (p("Text."),)
    settings = {"settings.xml": "<w:evenAndOddHeaders/>"}
    document = parse(make_word(body, margins | settings), "a.docx")
    assert document.blocks == (p("Even"), p("Text."))


def test_page_numbers_are_no_text(parse: Parse) -> None:
    def field(code: str) -> str:
        kinds = ("begin", "separate", "end")
        begin, separate, end = (f'<w:r><w:fldChar w:fldCharType="{one}"/></w:r>' for one in kinds)
        code = f"<w:r><w:instrText> {code} </w:instrText></w:r>"
        return begin + code + separate + run("7") + end

    pages = paragraph("Page ", field("PAGE"), " of ", field("NUMPAGES"))
    reference = paragraph("Offer 2024, as of ", field("DATE"), ", ", field("PAGE"))
    body = paragraph("Text.") + section("default footer1.xml", "default footer2.xml")
    document = parse(make_word(body, {"footer1.xml": pages, "footer2.xml": reference}), "a.docx")
    assert document.blocks == (p("Text."), p("Offer 2024, as of 7,"))


def test_comments_follow_what_they_are_on(parse: Parse) -> None:
    comments = (
        '<w:comment w:id="0" w:author="Ada Lund">'
        f"{paragraph('Too low: m', run('2', RAISED))}</w:comment>"
        '<w:comment w:id="1" w:author="Ben">'
        f"{paragraph('Ben: fine')}{paragraph('so far')}</w:comment>"
    )
    mark = '<w:r><w:commentReference w:id="{}"/></w:r>'
    cells = (paragraph("Deposit"), paragraph("900 euro", mark.format(0)))
    row = "".join(f"<w:tc>{cell}</w:tc>" for cell in cells)
    body = f"<w:tbl><w:tr>{row}</w:tr></w:tbl>" + paragraph("Due", mark.format(1), " in May.")
    document = parse(make_word(body, {"comments.xml": comments}), "a.docx")
    assert document.blocks == (
        table(("Deposit", "900 euro"), header=False),
        p("Ada Lund: Too low: m²"),
        p("Due in May."),
        p("Ben: fine so far"),
    )


PAGE = "<html><body><h1>Chapter</h1><p>It drains in {} minutes.</p></body></html>"
ARCHIVE = (
    "MIME-Version: 1.0\nContent-Type: multipart/related; boundary=x\n\n--x\n"
    "Content-Type: text/html; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\n"
    + PAGE.format("zw=F6lf") + "\n--x--\n"
)  # fmt: skip


def chunk(name: str) -> str:
    return f'<w:altChunk r:id="r-{name}"/>'


@pytest.mark.parametrize(
    ("name", "content"), [("chunk.html", PAGE.format("zwölf")), ("afchunk.mht", ARCHIVE)]
)
def test_embedded_documents_are_read_in_place(parse: Parse, name: str, content: str) -> None:
    body = paragraph("Cover.") + chunk(name) + paragraph("End.")
    document = parse(make_word(body, {name: content}), "a.docx")
    expected = (p("Cover."), h(1, "Chapter"), p("It drains in zwölf minutes."), p("End."))
    assert document.blocks == expected
    assert not document.completeness.missing


def test_a_word_document_in_another_is_read(parse: Parse) -> None:
    deep = make_word(paragraph("Inner.") + chunk("deep.html"), {"deep.html": PAGE})
    document = parse(make_word(paragraph("Cover.") + chunk("a.docx"), {"a.docx": deep}), "a.docx")
    assert document.blocks == (p("Cover."), p("Inner."))
    (gap,) = document.completeness.gaps
    assert gap.places == ("deep.html",)


def test_embedded_documents_that_are_not_read_are_named(parse: Parse) -> None:
    body = paragraph("Cover.") + chunk("sheet.bin") + chunk("missing.html")
    document = parse(make_word(body, {"sheet.bin": b"\x00\x01" * 50}), "a.docx")
    (gap,) = document.completeness.gaps
    assert gap.places == ("sheet.bin", "r-missing.html")
    assert document.completeness.missing


FONTS = rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}{\f3\fnil\fcharset2{\*\panose 05}Symbol;}}"


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        pytest.param(
            rb"due {\deleted\revauthdel1 in a w\'e4ek\u228?}{\revised in a month}\par",
            ["due in a month"],
            id="deleted group",
        ),
        pytest.param(
            rb"\plain\deleted\u228\'e4 old\plain new \deleted0 z{\mvf gone}", ["new z"], id="moved"
        ),
        pytest.param(
            rb"bearing{\super 3} 10{\super -6} CO\sub 2\nosupersub  m 1{\super st}",
            ["bearing³ 10⁻⁶ CO₂ m 1st"],
            id="raised",
        ),
        pytest.param(rb"a {\f3 \u-3933?} b {\f3\'a3}m {\f3 m}m", ["a ≤ b ≤m µm"], id="font"),
        pytest.param(
            rb'p {\field{\*\fldinst SYMBOL 163 \\f "Symbol" \\s 10}{\fldrslt\f3\fs20 x}} 5 bar',
            ["p ≤ 5 bar"],
            id="symbol field",
        ),
        pytest.param(
            rb"{\headerf First}{\header KD-1\par}{\headerl KD-1}{\footer IBAN \chpgn\par}Text",
            ["KD-1", "Text", "IBAN"],
            id="headers",
        ),
        pytest.param(
            rb"{\*\pgdsctbl{\pgdsc0{\header KD-1\par}{\footer IBAN\par}Default;}}"
            rb"{\header KD-1\par}{\footer IBAN\par}Text",
            ["KD-1", "Text", "IBAN"],
            id="table of page styles",
        ),
        pytest.param(
            rb"\titlepg{\headerf First}{\footer Page {\field{\*\fldinst PAGE}{\fldrslt 3}}}Text",
            ["First", "Text"],
            id="first page",
        ),
        pytest.param(
            rb"900 euro{\*\atnauthor Ada}\chatn{\*\annotation{\*\atnref 1}\pard\plain too {\b low}?"
            rb"\par \'e4h\par} are due.\par End",
            ["900 euro are due.", "Ada: too low? äh", "End"],
            id="comment",
        ),
        pytest.param(
            rb"{\shp{\*\shpinst{\sp{\sn x}{\sv 2}}{\shptxt\pard Stop\par}}"
            rb"{\shprslt{\*\do\dptxbx{\dptxbxtext\pard Stop\par}}}}Body.",
            ["Body.", "Stop"],
            id="text box",
        ),
        pytest.param(
            rb"{\*\unknown {\super 3}}{\pict\bin6 {}\super}x{\super 3}", ["x³"], id="no text"
        ),
    ],
)
def test_rtf_reads_as_word_shows_it(parse: Parse, source: bytes, texts: list[str]) -> None:
    blocks = parse(FONTS + source + b"\\par}", "a.rtf").blocks
    assert [" ".join(block.text.split()) for block in blocks] == texts


def test_odt_reads_as_writer_shows_it(parse: Parse) -> None:
    def span(style: str, text: str) -> str:
        return f'<text:span text:style-name="{style}">{text}</text:span>'

    reading = "<text:ruby-text>とうきょう</text:ruby-text>"
    comment = (
        "<office:annotation><dc:creator>Ada</dc:creator><dc:date>2026-05-01</dc:date>"
        "<text:p>too</text:p><text:p>low</text:p></office:annotation>"
    )
    document = parse(
        make_writer(
            f"<text:p>bearing{span('Up', '3')} 10{span('Up', '-6')} CO{span('Down', '2')}</text:p>"
            f"<text:p><text:ruby><text:ruby-base>東京</text:ruby-base>{reading}</text:ruby>本社"
            f"{comment}です</text:p>"
            f"<text:p>{span('Sign', chr(0xF0A3))} 5 bar {span('Tick', chr(0xF0FC))}</text:p>",
            "<style:header><text:p>KD-1 <text:page-number>3</text:page-number></text:p>"
            "</style:header><style:header-left><text:p>KD-1</text:p></style:header-left>"
            '<style:header-first style:display="false"><text:p>Off</text:p></style:header-first>'
            "<style:footer><text:p>Seite <text:page-number>3</text:page-number> von "
            "<text:page-count/></text:p></style:footer>"
            "<style:footer-left><text:p>IBAN</text:p></style:footer-left>",
        ),
        "a.odt",
    )
    texts = [block.text.strip() for block in document.blocks]
    assert texts == [
        "KD-1", "bearing³ 10⁻⁶ CO₂", "東京本社です", "とうきょう", "Ada: too low",
        "≤ 5 bar ✓", "IBAN",
    ]  # fmt: skip
    assert not document.completeness.missing


def test_the_data_of_a_chart_are_read_where_it_is_and_another_object_is_named(parse: Parse) -> None:
    frame = '<text:p>Sales<draw:frame><draw:object xlink:href="./{}"/></draw:frame></text:p>'
    cells = ("", "North"), ("2025", "410")
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>".format
    rows = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in cells)
    title = "<chart:title><text:p>By year</text:p></chart:title>"
    objects = {
        "Object 1/content.xml": f"<chart>{title}<table:table>{rows}</table:table></chart>",
        "Object 2": "OLE",
    }
    content = make_writer(frame.format("Object 1") + frame.format("Object 2"), members=objects)
    document = parse(content, "a.odt")
    assert list(document.blocks) == [
        p("Sales"), p("By year"), table(*cells, header=False), p("Sales")
    ]  # fmt: skip
    (gap,) = document.completeness.losses
    assert (gap.why, gap.places) == (Why.EMBEDDED, ("Object 2",))


@pytest.mark.parametrize("is_compressed", [True, False])
def test_headers_footers_and_comments_of_a_doc(tmp_path: Path, is_compressed: bool) -> None:
    page = "Page \x13 PAGE \x143\x15\r"
    separators = ["\x03\r", "", "", "", "", ""]
    stories = [*separators, "KD-1\r", "KD-1\r", "", "IBAN " + page, "First\r", page]
    path = tmp_path / "a.doc"
    path.write_bytes(make_doc("Body\r", stories, "\x05too low\r", is_compressed=is_compressed))
    blocks = list(with_margins(path, iter([p("Body")])))
    assert blocks == [p("KD-1"), p("First"), p("Body"), p("IBAN Page"), p("too low")]


def test_headers_behind_emoji_of_a_doc(tmp_path: Path) -> None:
    """They are two units of UTF-16 each, in which the file counts."""
    path = tmp_path / "a.doc"
    stories = ["\x03\r", "", "", "", "", "", "KD-1\r", "KD-1\r"]
    path.write_bytes(make_doc("🙂" * 3, stories, is_compressed=False))
    assert list(with_margins(path, iter([p("Body")]))) == [p("KD-1"), p("Body")]


def test_boxes_and_shapes_of_an_odt_follow_their_paragraph(parse: Parse) -> None:
    """A box alone, two in a paragraph, a box in a box, a group of shapes, and a picture."""
    box = "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>".format
    shapes = "<draw:rect><text:p>D</text:p></draw:rect><draw:line><text:p>E</text:p></draw:line>"
    body = (
        f"{box('A</text:p><text:p>of two')}<text:p>Be{box('B')}{box('C')}gins</text:p>"
        f"<text:p>Out{box('Ou' + box('in') + 'ter')}side <draw:g>{shapes}</draw:g>on</text:p>"
        "<text:p>Pic<draw:frame><draw:image/></draw:frame>ture</text:p>"
    )
    texts = ["A", "of two", "Begins", "B", "C", "Outside on", "Outer", "in", "D", "E", "Picture"]
    assert list(parse(make_writer(body), "a.odt").blocks) == [p(text) for text in texts]


def test_text_boxes_of_a_doc(tmp_path: Path) -> None:
    path = tmp_path / "a.doc"
    path.write_bytes(make_doc("Body\r", comments="\x05too low\r", boxes="Stop\rGo\r"))
    blocks = list(with_margins(path, iter([p("Body")])))
    assert blocks == [p("Body"), p("too low"), p("Stop"), p("Go")]


@pytest.mark.parametrize(
    ("content", "file_name"),
    [
        (rb"{\rtf1 Price 100 {\v margin 40} euro \v\b gone\v0\b0 now\par}", "a.rtf"),
        # Escapes are a character each, and what is deleted stays so.
        (rb"{\rtf1 Price 100 {\v m\'e4rg\u239?n 40gone} euro {\deleted so\v0 so}now\par}", "b.rtf"),
        (
            make_word(
                paragraph(
                    "Price 100 ",
                    run("margin 40", "<w:vanish/>"),
                    "euro ",
                    run("gone", '<w:b/><w:vanish w:val="1"/>'),
                    run("now", '<w:vanish w:val="0"/>'),
                )
            ),
            "a.docx",
        ),
    ],
)
def test_hidden_text_is_left_out_and_counted(parse: Parse, content: bytes, file_name: str) -> None:
    document = parse(content, file_name)
    assert [" ".join(block.text.split()) for block in document.blocks] == ["Price 100 euro now"]
    (gap,) = document.completeness.gaps
    assert (gap.unit, gap.why, gap.count) == (Unit.CHARACTER, Why.HIDDEN, len("margin40gone"))
    assert not document.completeness.missing


@pytest.mark.parametrize("is_compressed", [True, False])
def test_deleted_text_of_a_doc_is_left_out(is_compressed: bool) -> None:
    content = make_doc("two three\r", is_compressed=is_compressed, deleted=slice(0, 4))
    with OleFileIO(without_deleted(content)) as container:
        document = container.openstream("WordDocument").read()
    codec = "cp1252" if is_compressed else "utf-16-le"
    assert document[0x800:].decode(codec).replace("\0", "") == "three\r"


def test_a_doc_without_changes_is_as_it_is() -> None:
    for content in (make_doc("two\r"), b"no DOC"):
        assert without_deleted(content) == content


def test_a_table_in_a_cell_follows_its_table(parse: Parse) -> None:
    def rows(*lines: Sequence[str]) -> str:
        cell = "<w:tc>{}<w:p/></w:tc>".format
        return "".join(f"<w:tr>{''.join(map(cell, line))}</w:tr>" for line in lines)

    names = [[paragraph(word) for word in line] for line in (("Crane", "Load"), ("Ada", "40 t"))]
    inner = f"{paragraph('Cranes:')}<w:tbl>{rows(*names)}</w:tbl>"
    outer = rows([paragraph("Area"), paragraph("Details")], [paragraph("North"), inner])
    assert list(parse(make_word(f"<w:tbl>{outer}</w:tbl>"), "a.docx").blocks) == [
        table(("Area", "Details"), ("North", "Cranes:")),
        table(("Crane", "Load"), ("Ada", "40 t")),
    ]


@pytest.mark.parametrize(
    ("style", "title"), [("Title", "Ünïcode manual"), ("Heading 1", ""), ("Subtitle", "")]
)
def test_a_paragraph_in_the_style_title_is_the_title(parse: Parse, style: str, title: str) -> None:
    document, out = docx.Document(), io.BytesIO()
    for name, text in ((style, "Ünïcode manual"), ("Heading 1", "Beam"), ("Heading 1", "Hook")):
        document.add_paragraph(text, style=name)
    document.save(out)
    parsed = parse(out.getvalue(), "a.docx")
    assert parsed.title == title
    assert [block.text for block in parsed.blocks] == ["Ünïcode manual", "Beam", "Hook"]


def test_a_damaged_doc_keeps_its_body(tmp_path: Path) -> None:
    path = tmp_path / "a.doc"
    endless = make_doc("Body\r", ["x"], "", is_compressed=True, pieces=b"\x01\xff\xff")
    for content in (b"", endless):
        path.write_bytes(content)
        assert list(with_margins(path, iter([p("Body")]))) == [p("Body")]


def test_a_damaged_doc_has_no_count_of_embedded_objects(tmp_path: Path) -> None:
    content = bytearray(make_doc("Body\r"))
    content[30] = 0  # the size of its sectors
    path = tmp_path / "a.doc"
    path.write_bytes(content)
    source = Source(path, filetypes.DOC, ParseLimits(), tmp_path)
    assert not office_counts.container(source).losses
    assert without_deleted(bytes(content)) == content


def test_rows_in_a_control_that_repeats_them(parse: Parse) -> None:
    def row(*cells: str) -> str:
        return f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in cells)}</w:tr>"

    inner, tag = (
        "<w:sdtPr><w:id w:val='1'/></w:sdtPr>",
        "<w:sdt>{}<w:sdtContent>{}</w:sdtContent></w:sdt>",
    )
    rows = tag.format("<w:sdtPr/>", tag.format(inner, row("Hose", "4")) + row("Nozzle", "9"))
    body = f"<w:tbl>{row('Part', 'Count')}{rows}</w:tbl>"
    expected = table(("Part", "Count"), ("Hose", "4"), ("Nozzle", "9"))
    assert parse(make_word(body), "a.docx").blocks == (expected,)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        pytest.param("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>", "☒", id="on"),
        pytest.param("<w:checkBox><w:default w:val='1'/></w:checkBox>", "☒", id="by default"),
        pytest.param(
            "<w:checkBox><w:default w:val='1'/><w:checked w:val='0'/></w:checkBox>", "☐", id="off"
        ),
        pytest.param(
            "<w:ddList><w:result w:val='1'/><w:listEntry w:val='A'/>"
            "<w:listEntry w:val='B &amp; C'/></w:ddList>",
            "B & C",
            id="list",
        ),
        pytest.param("<w:ddList><w:listEntry w:val='A'/></w:ddList>", "A", id="first of a list"),
    ],
)
def test_what_is_chosen_in_a_form_of_word_2003(parse: Parse, field: str, text: str) -> None:
    field = field.replace("'", '"')
    begin, end = (
        f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:name w:val="x"/>{field}</w:ffData>'
        "</w:fldChar></w:r><w:r><w:instrText> FORMX </w:instrText></w:r>",
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
    )
    body = paragraph("Berth ", begin, end, " paid")
    assert parse(make_word(body), "a.docx").blocks == (p(f"Berth {text} paid"),)
