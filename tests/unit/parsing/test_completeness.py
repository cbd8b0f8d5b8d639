"""Every loss is named: 200 files, damaged, scanned, cut off and locked in part, with their truth.

The truth is that of the construction: what is lost, by unit and reason, or the error of a file of
which nothing is read. The judged samples count as whole, but for those listed. Files are read in
this process: the child's walls have tests of their own.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from ingestion.domain import Completeness, Unit, Why
from ingestion.errors import IngestionError
from ingestion.files.filetypes import HEAD_BYTES, sniff
from ingestion.parsing.child.child import outcome_of
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import Source
from tests.samples import builders, outlook, spreadsheets
from tests.samples.builders import WORDS, make_zip
from tests.samples.notebooks import make_notebook
from tests.samples.slides import make_odp, make_pptx
from tests.unit.parsing.test_samples import ROWS, SAMPLES, _almost_without_text

Truth = str | dict[tuple[Unit, Why], int]
File = tuple[str, bytes, Truth]
WHOLE: Truth = {}
LOSSES: dict[str, Truth] = {
    "broken/lone-surrogate.json": {(Unit.CHARACTER, Why.UNDECODED): 1},
    "broken/invalid-utf8.md": {(Unit.CHARACTER, Why.UNDECODED): 3},
}


def samples() -> Iterator[File]:
    """The judged samples; of those that fail, the test of each says how."""
    read = ("parses", "damaged", "unsupported-or-archive")
    for row in ROWS:
        is_read = row["expect"] in read or _almost_without_text(row)
        truth = LOSSES.get(row["path"], WHOLE) if is_read else "Error"
        yield row["path"], (SAMPLES / row["path"]).read_bytes(), truth


def pdfs() -> Iterator[File]:
    lost = {"s": Why.NO_OCR, "d": Why.DAMAGED, "c": Why.DAMAGED, "m": Why.DAMAGED}
    mixed = [f"t{a}t{b}t" for a, b in product("tsbdcm", repeat=2)]
    for pages in (*mixed, "tttt" + "s" * 4 + "t" * 39, "bt" * 6, "tss" * 12, "t" * 30):
        gaps = Counter((Unit.PAGE, lost[page]) for page in pages if page in lost)
        if set(pages) & set("dc"):  # a blank page beside damaged contents may be either
            gaps[Unit.PAGE, Why.DAMAGED] += pages.count("b")
        yield f"{pages}.pdf", builders.make_pages(pages), dict(gaps)
    yield "cut.pdf", half(builders.make_pdf()), "Error"
    yield "locked.pdf", builders.make_pdf(password="x"), "Error"
    yield "scans.pdf", builders.make_pages("sss"), "Error"


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def changed(data: bytes, name: str, pattern: str, by: str) -> bytes:
    """The container with what matches in a member replaced."""
    held = members(data)
    return make_zip(held | {name: re.sub(pattern.encode(), by.encode(), held[name])})


def without(data: bytes, name: str) -> Iterator[bytes]:
    """The container with half of a member, and with none of it."""
    held = members(data)
    yield make_zip(held | {name: half(held.pop(name))})
    yield make_zip(held)


def workbooks() -> Iterator[File]:
    cells = {f"{column}{row}": f"{row}{column}" for row in range(1, 21) for column in "AB"}
    cells |= {"C1": "Sum", "C2": "12"}
    book = spreadsheets.make_xlsx(dict.fromkeys(("One", "Two", "Three", "Four"), cells))
    yield "whole.xlsx", book, WHOLE
    for number in range(1, 5):
        sheet = f"xl/worksheets/sheet{number}.xml"
        for data in without(book, sheet):
            yield "lost.xlsx", data, {(Unit.SHEET, Why.DAMAGED): 1}
        yield "blank.xlsx", changed(book, sheet, "<row.*</row>", ""), WHOLE
        yield "noted.xlsx", changed(book, sheet, "<sheetData>", "<!-- a --><sheetData>"), WHOLE
        formula = changed(book, sheet, "<v>12</v>", "<f>A1*2</f>")
        yield "formula.xlsx", formula, {(Unit.CELL, Why.NO_VALUE): 1}
        for value in ("<v></v>", "<v/>"):  # as openpyxl writes it
            formula = changed(book, sheet, "<v>12</v>", f"<f>A1*2</f>{value}")
            yield "openpyxl.xlsx", formula, {(Unit.CELL, Why.NO_VALUE): 1}
        hidden = changed(book, sheet, r'<row r="1(\d)"', r'<row r="1\1" hidden="1"')
        yield "filtered.xlsx", hidden, {(Unit.CELL, Why.DROPPED): 20}
        row = changed(book, sheet, '<row r="3"', '<row r="3" hidden="1"')
        yield "row.xlsx", row, {(Unit.CELL, Why.DROPPED): 2}
        column = '<cols><col min="3" max="3" hidden="1"/></cols><sheetData>'
        column = changed(book, sheet, "<sheetData>", column)
        yield "column.xlsx", column, {(Unit.CELL, Why.DROPPED): 2}
    hidden = changed(book, "xl/workbook.xml", 'name="Two"', 'name="Two" state="hidden"')
    yield "hidden.xlsx", hidden, WHOLE
    embedded = make_zip({**members(book), "xl/embeddings/oleObject1.bin": b"x"})
    yield "embedded.xlsx", embedded, {(Unit.FILE, Why.EMBEDDED): 1}
    yield "cut.xlsx", half(book), "Error"
    more = '</table:table><table:table table:name="x">'
    yield "blank.ods", spreadsheets.make_ods(filler=more), WHOLE


def decks() -> Iterator[File]:
    slides = [(f"On the {word}", f"The {word} is described.", "") for word in WORDS[:5]]
    deck = make_pptx(slides)
    yield "whole.pptx", deck, WHOLE
    for number in range(1, 6):
        slide = f"ppt/slides/slide{number}.xml"
        for data in without(deck, slide):
            yield "lost.pptx", data, {(Unit.SLIDE, Why.DAMAGED): 1}
        yield "blank.pptx", changed(deck, slide, "<p:sp>.*</p:sp>", ""), WHOLE
        shown = changed(deck, slide, "<p:sp>.*</p:sp>", "<p:pic></p:pic>")
        yield "picture.pptx", shown, {(Unit.SLIDE, Why.PICTURE): 1}
    smart = {"ppt/diagrams/data1.xml": f"<a:t>{'Five words that nobody reads. ' * 20}</a:t>"}
    lost = {(Unit.CHARACTER, Why.DROPPED): 500}
    yield "smart.pptx", make_zip({**members(deck), **smart}), lost
    yield "blank.odp", make_odp([*slides, ("", "", "")]), WHOLE


def letters() -> Iterator[File]:
    document, book, rtf = builders.make_docx(), builders.make_epub(), builders.make_rtf()
    chart = {"word/charts/_rels/chart1.xml.rels": '<R Target="../embeddings/Book1.xlsx"/>'}
    one = {"word/embeddings/Book1.xlsx": b"x"}
    yield "whole.docx", document, WHOLE
    yield "chart.docx", make_zip({**members(document), **chart, **one}), WHOLE
    yield "embedded.docx", make_zip({**members(document), **one}), {(Unit.FILE, Why.EMBEDDED): 1}
    yield "cut.docx", half(document), "Error"
    yield "damaged.docx", next(without(document, "word/document.xml")), "Error"
    yield "whole.odt", builders.make_odt(), WHOLE
    yield "whole.rtf", rtf, WHOLE
    yield "cut.rtf", rtf[:-8], {(Unit.FILE, Why.CUT_OFF): 1}
    yield "whole.epub", book, WHOLE
    more = changed(book, "book.opf", "<itemref", '<itemref idref="gone"/><itemref')
    yield "chapter.epub", more, {(Unit.CHAPTER, Why.DAMAGED): 1}
    locked = {"META-INF/encryption.xml": '<e><CipherReference URI="c.xhtml"/></e>'}
    yield "locked.epub", make_zip({**members(book), **locked}), "Error"


def archives() -> Iterator[File]:
    whole = {f"{word}.md": f"# {word}\n\nOf it." for word in WORDS[:4]}
    nested = make_zip({"c.zip": make_zip({"d.zip": make_zip({"e.md": "# Deep"})})})
    yield "whole.zip", make_zip(whole), WHOLE
    odd: dict[Why, tuple[str, str | bytes]] = {
        Why.UNSUPPORTED: ("film.mp4", b"\0\0\0\x18ftypmp42" + bytes(99)),
        Why.MISMATCH: ("page.pdf", "<html><body>No PDF</body></html>"),
        Why.NESTED: ("b.zip", nested),
    }
    for count in (1, 2, 3):
        for why, (name, content) in odd.items():
            extra = {f"{number}/{name}": content for number in range(count)}
            yield f"{why}-{count}.zip", make_zip(whole | extra), {(Unit.FILE, why): count}
        yield f"empty-{count}.zip", make_zip(whole | dict.fromkeys("abc"[:count], b"")), WHOLE
        data = bytearray(make_zip(whole))
        for at in [m.start() for m in re.finditer(b"PK\x01\x02", data)][:count]:
            data[at + 8] |= 1  # encrypted, as the directory says
        yield f"locked-{count}.zip", bytes(data), {(Unit.FILE, Why.ENCRYPTED): count}
        data = bytearray(make_zip(whole))
        for at in [m.start() for m in re.finditer(b"PK\x03\x04", data)][:count]:
            data[at + 36 : at + 44] = b"\xff" * 8
        yield f"damaged-{count}.zip", bytes(data), {(Unit.FILE, Why.DAMAGED): count}
    yield "cut.zip", half(make_zip(whole)), "Error"


def mail() -> Iterator[File]:
    message = builders.make_eml()
    gif = {(Unit.FILE, Why.UNSUPPORTED): 1}
    yield "gif.eml", message, gif
    yield "cut.eml", message[: message.index(b"--mixed--")], gif | {(Unit.MESSAGE, Why.CUT_OFF): 1}
    yield "plain.eml", b"Subject: Beam\r\n\r\nA steelyard weighs.\r\n", WHOLE
    locked = message.replace(b"image/gif", b"application/pkcs7-mime")
    yield "locked.eml", locked, {(Unit.MESSAGE, Why.ENCRYPTED): 1}
    yield "whole.msg", outlook.make_msg(), WHOLE
    attached = outlook.Attachment("tool.exe", b"MZ\x90\0" + bytes(60))
    letter = outlook.Letter(attachments=[attached, outlook.Attachment("a.md", b"# A")])
    yield "exe.msg", outlook.make_msg(letter), gif


def texts() -> Iterator[File]:
    cut: Truth = {(Unit.FILE, Why.CUT_OFF): 1}
    for number, count in enumerate((3, 9, 30, 99)):
        record = {"name": WORDS[number], "sizes": list(range(count)), "text": "of a beam " * count}
        whole = json.dumps([record] * 4).encode()
        yield f"{count}.json", whole, WHOLE
        yield f"cut-{count}.json", whole[: -7 * count], cut
        lines = b"\n".join([json.dumps(record).encode()] * 4)
        yield f"{count}.jsonl", lines, WHOLE
        yield f"cut-{count}.jsonl", lines[:-9], cut
        xml = b"<all>" + b"<one>Of the beam and the hook</one>" * count + b"</all>"
        yield f"{count}.xml", xml, WHOLE
        yield f"cut-{count}.xml", xml[: -count - 3], cut
        yield f"{count}.csv", builders.make_csv(rows=[WORDS] * count), WHOLE
        yield f"{count}.txt", b"A beam of w\xc3\xb6od. " * count, WHOLE
        bad = b"The b\xc3\xa9am \xff\xfe of \xff w\xc3\xb6\xc3\xb6d " * count
        yield f"bad-{count}.txt", bad, {(Unit.CHARACTER, Why.UNDECODED): 3 * count}
    yield "whole.html", builders.make_html(), WHOLE
    yield "cut.html", builders.make_html()[:-60], cut
    yield "whole.md", builders.make_markdown(), WHOLE
    stream = {"output_type": "stream", "name": "stdout", "text": "line\n" * 300}
    cell = {"cell_type": "code", "source": "run()", "outputs": [stream]}
    yield "short.ipynb", make_notebook([cell]), {(Unit.OUTPUT, Why.SHORTENED): 1}


def outcome(name: str, data: bytes, folder: Path) -> Truth:
    """The losses by unit and reason; "Error" for a file that is refused."""
    path, scratch = folder / "stored", folder / "scratch"
    scratch.mkdir()
    path.write_bytes(data)
    try:
        kind = sniff(data[:HEAD_BYTES], Path(name).name)
        facts = outcome_of(Source(path, kind, ParseLimits(), scratch), 0)
    except IngestionError:
        return "Error"
    if "error" in facts:
        return "Error"
    losses = Completeness.from_json(facts["completeness"]).losses  # type: ignore[arg-type]
    return {(gap.unit, gap.why): gap.count for gap in losses}


def test_every_loss_is_named(tmp_path: Path) -> None:
    kinds = (samples, pdfs, workbooks, decks, letters, archives, mail, texts)
    files = [file for kind in kinds for file in kind()]
    missed, false = [], []
    for number, (name, data, truth) in enumerate(files):
        folder = tmp_path / str(number)
        folder.mkdir()
        if (said := outcome(name, data, folder)) != truth:
            (false if truth == WHOLE else missed).append((name, truth, said))
    assert len(files) >= (200 if ROWS else 100)
    assert not missed
    assert len(false) <= 0.02 * len(files), false
