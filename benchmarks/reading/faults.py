"""Generated files with one kind of fault each, as people's reports of other products name them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarks.reading.known_files import KnownFile, cells
from benchmarks.reading.letters import Table
from tests.samples.builders import make_docx, make_zip
from tests.samples.spreadsheets import make_xlsx

_PHONES = (("Employee", "Office phone"), ("Ada Weigher", "4711"), ("Bo Fulcrum", "4712"))
_LATHES = (("Machine", "Next service"), ("Lathe 12", "3 May"), ("Lathe 14", "9 June"))


def letter_spaced_pdf() -> KnownFile:
    lines = ["MAINTENANCE MANUAL", "gearbox oil is changed", "the hook carries a load"]

    def draw(canvas: object) -> None:
        for at, text in enumerate(lines):
            line = canvas.beginText(72, 760 - 40 * at)  # type: ignore[attr-defined]
            line.setFont("Helvetica", 12)
            line.setCharSpace(1 + 1.5 * at)
            line.textOut(text)
            canvas.drawText(line)  # type: ignore[attr-defined]

    return KnownFile("letter-spaced.pdf", _pdf(draw), "\n\n".join(lines))


def raised_pdf() -> KnownFile:
    """Powers and footnote marks in small raised digits."""
    pieces = (("The bearing", "3"), (" is rated for 10", "6"), (" cycles and 45 m", "2"))

    def draw(canvas: object) -> None:
        line = canvas.beginText(72, 760)  # type: ignore[attr-defined]
        for text, raised in pieces:
            line.setFont("Helvetica", 12)
            line.textOut(text)
            line.setFont("Helvetica", 7)
            line.setRise(4)
            line.textOut(raised)
            line.setRise(0)
        canvas.drawText(line)  # type: ignore[attr-defined]

    text = "The bearing³ is rated for 10⁶ cycles and 45 m²"
    return KnownFile("raised.pdf", _pdf(draw), text, ("10⁶ cycles", "45 m²"))


def columns_pdf() -> KnownFile:
    """Three columns of prose: words parted at no line's end."""
    words = "beam hook poise fulcrum pan notch lever weight scale arm pivot knife edge".split()  # noqa: SIM905
    columns = [
        [" ".join(words[(5 * n + 3 * at + i) % len(words)] for i in range(4)) for at in range(24)]
        for n in range(3)
    ]

    def draw(canvas: object) -> None:
        for n, lines in enumerate(columns):
            for at, text in enumerate(lines):
                canvas.drawString(50 + 175 * n, 780 - 14 * at, text)  # type: ignore[attr-defined]

    text = "\n\n".join("\n".join(lines) for lines in columns)
    return KnownFile("columns.pdf", _pdf(draw), text)


def ruled_pdf() -> KnownFile:
    """A table with lines between its columns and none between its rows."""
    table = (
        ("Year", "Passengers", "Freight"),
        ("2023", "7,723,293", "269,360"),
        ("2024", "7,793,704", "271,118"),
        ("2025", "8,001,112", "280,554"),
    )

    def draw(canvas: object) -> None:
        canvas.drawString(72, 790, "Traffic of the port by year")  # type: ignore[attr-defined]
        canvas.rect(70, 690, 360, 80)  # type: ignore[attr-defined]
        canvas.line(70, 752, 430, 752)  # type: ignore[attr-defined]
        for x in (190, 310):
            canvas.line(x, 690, x, 770)  # type: ignore[attr-defined]
        for at, row in enumerate(table):
            for n, cell in enumerate(row):
                canvas.drawString(76 + 120 * n, 757 - 18 * at, cell)  # type: ignore[attr-defined]

    text = "Traffic of the port by year\n\n" + " | ".join(cell for row in table for cell in row)
    return KnownFile("ruled.pdf", _pdf(draw), text, table[1][1:], [table])


def _pdf(draw: Callable[[object], None]) -> bytes:
    from reportlab.pdfgen.canvas import Canvas

    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    draw(canvas)
    canvas.save()
    return out.getvalue()


def symbols_docx() -> KnownFile:
    """Characters of the font Symbol."""
    symbol = '</w:t></w:r><w:r><w:sym w:font="Symbol" w:char="{}"/></w:r><w:r><w:t {}>'.format
    space = 'xml:space="preserve"'
    body = (
        f"<w:p><w:r><w:t {space}>Tolerance {symbol('F0B1', space)}0.2 mm at 30 "
        f"{symbol('F0B0', space)}C, pressure {symbol('F0A3', space)} 5 bar.</w:t></w:r></w:p>"
    )
    text = "Tolerance ±0.2 mm at 30 °C, pressure ≤ 5 bar."
    return _docx("symbols.docx", body, text, ("±0.2 mm", "30 °C", "≤ 5 bar"))


def ruby_docx() -> KnownFile:
    """Furigana above the base words; the readings are words of the file too."""

    def ruby(base: str, reading: str) -> str:
        runs = f"<w:rt><w:r><w:t>{reading}</w:t></w:r></w:rt>"
        base = f"<w:rubyBase><w:r><w:t>{base}</w:t></w:r></w:rubyBase>"
        return f"<w:r><w:ruby>{runs}{base}</w:ruby></w:r>"

    def run(text: str) -> str:
        return f"<w:r><w:t>{text}</w:t></w:r>"

    first, second = ruby("中村", "なかむら"), ruby("保全課", "ほぜんか")
    body = f"<w:p>{run('担当者は')}{first}{run('です。')}{second}{run('まで連絡する。')}</w:p>"
    known = _docx("ruby.docx", body, "担当者は中村です。保全課まで連絡する。")
    return replace(known, optional="なかむら ほぜんか")


def equations_docx() -> KnownFile:
    math = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    each = "".join(
        f"<m:oMath {math}><m:r><m:t>{text}</m:t></m:r></m:oMath>" for text in ("area=40", "load=12")
    )
    body = f"<w:p><w:r><w:t>Both hold:</w:t></w:r>{each}</w:p>"
    return _docx("equations.docx", body, "Both hold: area=40 load=12")


def _docx(name: str, body: str, text: str, values: Sequence[str] = ()) -> KnownFile:
    from zipfile import ZipFile

    with ZipFile(io.BytesIO(make_docx())) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    document = members["word/document.xml"].decode()
    head, tail = document.partition("<w:body>")[0], document.rpartition("<w:sectPr")[2]
    document = f"{head}<w:body>{body}<w:sectPr{tail}"
    content = make_zip({**members, "word/document.xml": document})
    return KnownFile(name, content, text, values)


def deleted_rtf() -> KnownFile:
    """A tracked change: what was deleted is no text of the letter."""
    content = (
        rb"{\rtf1\ansi{\header\pard Northwind account KD-77812\par}The deposit is "
        rb"{\deleted two hundred }{\revised five hundred} euro.\par 45 m{\super 2} of deck\par}"
    )
    text = "Northwind account KD-77812\n\nThe deposit is five hundred euro.\n\n45 m² of deck"
    return KnownFile("deleted.rtf", content, text, ("45 m²",))


def stacked_xlsx() -> KnownFile:
    return _sheet("stacked.xlsx", [*_PHONES, (), *_LATHES], [_PHONES, _LATHES])


def beside_xlsx() -> KnownFile:
    rows = [(*a, "", *b) for a, b in zip(_PHONES, _LATHES, strict=True)]
    return _sheet("beside.xlsx", rows, [_PHONES, _LATHES])


def keys_xlsx() -> KnownFile:
    """Two lines of `key; value` directly above a table of three columns."""
    hours = ("Hours", "1,250", "980")
    table = tuple((*row, cell) for row, cell in zip(_LATHES, hours, strict=True))
    return _sheet("keys.xlsx", [("Plant", "Harbour"), ("Contact", "Ada"), *table], [table])


def two_headers_xlsx() -> KnownFile:
    """A header of two rows, the upper one over two columns each."""
    top, below = ("", "2023", "", "2024", ""), ("Region", "Sales", "Cost", "Turnover", "Spending")
    body = (("North", "410", "310", "420", "320"), ("South", "510", "330", "530", "350"))
    header = ("Region", "2023 Sales", "2023 Cost", "2024 Turnover", "2024 Spending")
    merges = '<mergeCells count="2"><mergeCell ref="B1:C1"/><mergeCell ref="D1:E1"/></mergeCells>'
    return _sheet("two-headers.xlsx", [top, below, *body], [(header, *body)], merges)


def _sheet(
    name: str, rows: Sequence[Sequence[str]], tables: Sequence[Table], more: str = ""
) -> KnownFile:
    content = make_xlsx({"Sheet": cells(rows)}, title="", extra=more)
    text = "\n".join(" | ".join(row) for row in rows)
    return KnownFile(name, content, f"Sheet\n\n{text}", (), tables)


def stacked_csv() -> KnownFile:
    lines = [",".join(row) for row in (*_PHONES, ("", ""), *_LATHES)]
    content = "\n".join(lines).encode()
    return KnownFile("stacked.csv", content, "\n".join(lines), (), [_PHONES, _LATHES])


def spans_html() -> KnownFile:
    """Row headers over several rows, permalinks, powers and a chemical formula."""
    content = (
        b"<html><head><title>Ships</title></head><body><h1>Ships<a class=headerlink href=#s>#</a>"
        b"</h1><table><tr><th>Port<th>Ship<th>Load</tr><tr><th rowspan=2>Cork<td>Aran<td>40 t</tr>"
        b"<tr><td>Bere<td>55 t</tr></table><p>CO<sub>2</sub> fell by 10<sup>6</sup> kg."
        b"<p>50&euro; a berth</body></html>"
    )
    table = (("Port", "Ship", "Load"), ("Cork", "Aran", "40 t"), ("Cork", "Bere", "55 t"))
    text = "Ships\n\nPort Ship Load\n\nCork Aran 40 t\n\nBere 55 t\n\nCO2 fell by 10⁶ kg.\n\n"
    text += "50€ a berth"
    return KnownFile("spans.html", content, text, ("10⁶ kg", "50€", "55 t"), [table])


def flowed_eml() -> KnownFile:
    """Lines of format=flowed with DelSp, joined without the space at their end."""
    content = (
        b"Subject: List\r\nContent-Type: text/plain; charset=utf-8; format=flowed; delsp=yes\r\n"
        b"\r\n"
        b"The quar \r\nterly list is at https://example.org/?view=a \r\nll&filter=open\r\n"
    )
    text = "List\n\nThe quarterly list is at https://example.org/?view=all&filter=open"
    return KnownFile("flowed.eml", content, text)


def steps_adoc() -> KnownFile:
    content = (
        b"= Start\n\n. Open the valve.\n\n+\n----\nvalve open\n----\n\n. Start the pump at 6 bar.\n"
    )
    text = "Start\n\nOpen the valve.\n\nvalve open\n\nStart the pump at 6 bar."
    return KnownFile("steps.adoc", content, text, ("6 bar",), optional="1 2")


def symbols_txt() -> KnownFile:
    text = "Fee 50€ at 30°C for Loctite®; pump→tank; CO₂ and 12 m² of deck.\n\nvoilà, naïve, ﬁne"
    return KnownFile("symbols.txt", text.encode(), text, ("50€", "30°C", "12 m²"))


def marks_md() -> KnownFile:
    """Attributes of a heading, a footnote that begins with a number, characters of width zero."""
    content = (
        "# Oil {#oil}\n\nUse 5 l of oil[^a] for the gear\u00adbox.\u200b Done\u200bnow.\n\n"
        "[^a]: 2019 edition\n"
    )
    text = "Oil\n\nUse 5 l of oil for the gearbox. Donenow.\n\n2019 edition"
    return KnownFile("marks.md", content.encode(), text, ("5 l",))


FAULTS: Sequence[Callable[[], KnownFile]] = (
    letter_spaced_pdf, raised_pdf, columns_pdf, ruled_pdf, symbols_docx, ruby_docx, equations_docx,
    deleted_rtf, stacked_xlsx, beside_xlsx, keys_xlsx, two_headers_xlsx, stacked_csv, spans_html,
    flowed_eml, steps_adoc, symbols_txt, marks_md,
)  # fmt: skip
