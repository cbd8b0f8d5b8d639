"""Sample files made by code, one function a format: headings, a list, a table, code.

The same arguments give the same bytes, on any day (an encrypted PDF excepted).
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence

TABLE = (("Region", "Area (km2)"), ("D40", "120"), ("D41", "95"))
WORDS = "beam hook poise fulcrum pan notch lever weight".split()  # noqa: SIM905
_IMAGE = zlib.compress(bytes(64))
CODE = "def weigh(beam):\n    return beam * 2"


def make_markdown(title: str = "Beam handbook") -> bytes:
    rows = "\n".join(f"| {' | '.join(row)} |" for row in (TABLE[0], ("---", "---"), *TABLE[1:]))
    return (
        f"---\ntitle: {title}\nauthor: Ada Weigher\nlang: en\ndate: 2024-05-01\n---\n\n"
        "# Beam handbook\n\nA steelyard weighs by *sliding* a weight.\n\n"
        "## Parts\n\n- beam\n  - long arm\n- hook\n\n"
        f"{rows}\n\n```python\n{CODE}\n```\n"
    ).encode()


def make_rst() -> bytes:
    code = CODE.replace("\n", "\n    ")
    return (
        "=============\nBeam handbook\n=============\n\n:author: Ada Weigher\n:date: 2024-05-01\n\n"
        "A steelyard weighs by *sliding* a weight.\n\n"
        "Parts\n=====\n\n* beam\n\n  * long arm\n\n* hook\n\n"
        "====== ==========\nRegion Area (km2)\n====== ==========\nD40    120\nD41    95\n"
        f"====== ==========\n\n.. code-block:: python\n\n    {code}\n"
    ).encode()


def make_html(title: str = "Beam handbook", encoding: str = "utf-8", body: str = "") -> bytes:
    """A page with navigation around its <main>, a script and a style sheet."""
    head, *rows = ["".join(f"<td>{cell}</td>" for cell in row) for row in TABLE]
    cells = "".join(f"<tr>{row}</tr>" for row in (head.replace("td>", "th>"), *rows))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="{encoding}"><title>{title}</title>'
        '<meta name="author" content="Ada Weigher"><style>p{color:red}</style></head><body>'
        "<nav>Home Products</nav><main><h1>Beam handbook</h1>"
        "<p>A steelyard weighs by <em>sliding</em> a weight.</p><script>track()</script>"
        "<h2>Parts</h2><ul><li>beam<ul><li>long arm</li></ul></li><li>hook</li></ul>"
        f"<table>{cells}</table><pre><code>{CODE}</code></pre>{body}</main>"
        "<footer>Imprint</footer></body></html>"
    ).encode(encoding)


def make_csv(delimiter: str = ",", rows: Sequence[Sequence[str]] = TABLE) -> bytes:
    return "".join(delimiter.join(row) + "\r\n" for row in rows).encode()


def make_docx(title: str = "Beam handbook", author: str = "Ada Weigher") -> bytes:
    import docx

    document = docx.Document()
    document.core_properties.title = title
    document.core_properties.author = author
    document.core_properties.language = "en"
    document.add_heading("Beam handbook", level=1)
    paragraph = document.add_paragraph("A steelyard weighs by ")
    paragraph.add_run("sliding").italic = True
    paragraph.add_run(" a weight.")
    document.add_heading("Parts", level=2)
    document.add_paragraph("beam", style="List Bullet")
    document.add_paragraph("long arm", style="List Bullet 2")
    document.add_paragraph("hook", style="List Bullet")
    table = document.add_table(rows=0, cols=2)
    for row in TABLE:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    out = io.BytesIO()
    document.save(out)
    with zipfile.ZipFile(out) as archive:
        return make_zip({name: archive.read(name) for name in archive.namelist()})


def make_odt(title: str = "Beam handbook") -> bytes:
    """The smallest OpenDocument text that states its metadata."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{path}:1.0"'
        for name, path in (("office", "office"), ("text", "text"), ("meta", "meta"))
    )
    content = (
        f'<office:document-content {spaces} office:version="1.2"><office:body><office:text>'
        '<text:h text:outline-level="1">Beam handbook</text:h>'
        "<text:p>A steelyard weighs by sliding a weight.</text:p>"
        "</office:text></office:body></office:document-content>"
    )
    meta = (
        f'<office:document-meta {spaces} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta>'
        f"<dc:title>{title}</dc:title><meta:initial-creator>Ada Weigher</meta:initial-creator>"
        "</office:meta></office:document-meta>"
    )
    return make_zip(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": content,
            "meta.xml": meta,
        }
    )


def make_zip(members: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            packing = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), content, packing)
    return out.getvalue()


def make_pdf(
    pages: Sequence[Sequence[tuple[str, object]]] | None = None,
    *,
    title: str = "Beam handbook",
    author: str = "Ada Weigher",
    header: str = "",
    footer: str = "",
    password: str = "",
    language: str = "en",
) -> bytes:
    """A PDF of (kind, content) pairs a page.

    Kinds: "h1", "h2", "p", "list" (strings), "table" (rows), "code". `header` and `footer`
    run along every page; `{page}` in them is its number. A `password` must be typed to open it.
    """
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.platypus import PageBreak, SimpleDocTemplate

    if pages is None:
        pages = [
            [
                ("h1", "Beam handbook"),
                ("p", "A steelyard weighs by sliding a weight along a beam until it is level."),
                ("h2", "Parts"),
                ("list", ["beam", "hook"]),
                ("table", TABLE),
            ],
            [("h2", "Use"), ("p", "Read the weight where the beam is level.")],
        ]
    story = []
    for number, page in enumerate(pages):
        story += [PageBreak()] if number else []
        story += [_flowable(kind, content) for kind, content in page]

    def decorate(canvas: object, document: object) -> None:
        number = document.page  # type: ignore[attr-defined]
        canvas.drawString(72, 810, header.format(page=number))  # type: ignore[attr-defined]
        canvas.drawString(72, 30, footer.format(page=number))  # type: ignore[attr-defined]

    out = io.BytesIO()
    encryption = StandardEncryption(password, ownerPassword="owner") if password else None
    template = SimpleDocTemplate(
        out, pagesize=A4, title=title, author=author, lang=language, encrypt=encryption, invariant=1
    )
    template.build(story, onFirstPage=decorate, onLaterPages=decorate)
    return out.getvalue()


def _flowable(kind: str, content: object) -> object:
    from reportlab.lib import colors
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import ListFlowable, ListItem, Paragraph, Preformatted, Table

    styles = getSampleStyleSheet()
    if kind == "list":
        assert isinstance(content, list)
        items = [ListItem(Paragraph(text, styles["BodyText"])) for text in content]
        return ListFlowable(items, bulletType="bullet")
    if kind == "table":
        return Table(content, style=[("GRID", (0, 0), (-1, -1), 1, colors.black)])
    if kind == "code":
        return Preformatted(content, styles["Code"])
    style = {"h1": "Heading1", "h2": "Heading2", "p": "BodyText"}[kind]
    return Paragraph(content, styles[style])


def make_image_pdf(pages: int = 1) -> bytes:
    """Pages with lines on them and not a letter, as a scanner makes them."""
    from reportlab.pdfgen.canvas import Canvas

    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    for _ in range(pages):
        canvas.line(10, 10, 500, 700)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def make_pages(pages: str) -> bytes:
    """A PDF with a page for each letter: t text, s scan, b blank, d damaged contents, c missing
    contents, m missing page.
    """
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Count %d/Kids[%s]>>"
        % (len(pages), b" ".join(b"%d 0 R" % (6 + 2 * at) for at in range(len(pages)))),
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        4: b"<</Type/XObject/Subtype/Image/Width 8/Height 8/BitsPerComponent 8/ColorSpace"
        b"/DeviceGray/Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(_IMAGE), _IMAGE),
    }
    for at, kind in enumerate(pages):
        word = f"{WORDS[at % 8]} {at * 7919 % 1000}"
        text = f"BT /F 12 Tf 72 {700 - 31 * (at % 9)} Td (Of the {word} and its {word[::-1]}) Tj ET"
        content = {"s": b"600 0 0 800 0 0 cm /I Do", "b": b"q Q"}.get(kind, text.encode())
        stream = zlib.compress(content)
        stream = b"nothing that inflates" if kind == "d" else stream
        if kind != "m":
            objects[6 + 2 * at] = (
                b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>"
                b"/XObject<</I 4 0 R>>>>/Contents %d 0 R>>" % (7 + 2 * at)
            )
        if kind != "c":
            objects[7 + 2 * at] = b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (
                len(stream),
                stream,
            )
    out = io.BytesIO(b"%PDF-1.4\ntrailer<</Root 1 0 R/Size 9>>\n")
    places = {}
    for number, content in objects.items():
        places[number] = out.seek(0, 2)
        out.write(b"%d 0 obj%s\nendobj\n" % (number, content))
    start, size = out.tell(), max(objects) + 1
    lines = [
        b"%010d 00000 n " % places[n] if n in places else b"%010d 65535 f " % 0 for n in range(size)
    ]
    out.write(b"xref\n0 %d\n%s\n" % (size, b"\n".join(lines)))
    out.write(b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF\n" % (size, start))
    return out.getvalue()


def make_endless_pdf() -> bytes:
    """A PDF whose page tree is its own child."""
    body = (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2>>endobj\n"
    )
    return body + b"trailer<</Root 1 0 R/Size 3>>\nstartxref\n0\n%%EOF\n"


def make_rtf() -> bytes:
    return rb"{\rtf1\ansi\deff0 {\b Beam handbook}\par A steelyard weighs by sliding.\par}"


def make_epub() -> bytes:
    container = (
        '<?xml version="1.0"?><container version="1.0" '
        'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
        'full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" '
        'unique-identifier="id"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        '<dc:identifier id="id">beam</dc:identifier><dc:title>Beam handbook</dc:title>'
        "<dc:creator>Ada Weigher</dc:creator><dc:language>en</dc:language></metadata>"
        '<manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="c"/></spine></package>'
    )
    chapter = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>c</title></head><body>'
        "<h1>Parts</h1><p>A steelyard weighs by sliding a weight.</p></body></html>"
    )
    return make_zip(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": container,
            "book.opf": package,
            "c.xhtml": chapter,
        }
    )


def make_asciidoc() -> bytes:
    return (
        b"= Beam handbook\nAda Weigher\n\n== Parts\n\nA steelyard weighs.\n\n"
        b"include::/etc/passwd[]\n\n* beam\n** long arm\n"
    )


def make_org() -> bytes:
    return (
        b"#+TITLE: Beam handbook\n#+AUTHOR: Ada Weigher\n#+INCLUDE: /etc/passwd\n\n"
        b"* Parts\nA steelyard weighs.\n- beam\n"
    )


def make_eml(subject: str = "Beam handbook", body: str = "A steelyard weighs.") -> bytes:
    """A message with its text twice, a picture and another message attached."""
    return (
        f"From: Ada Weigher <ada@example.org>\r\nTo: bo@example.org\r\nSubject: {subject}\r\n"
        "Date: Wed, 01 May 2024 10:00:00 +0200\r\nMIME-Version: 1.0\r\n"
        'Content-Type: multipart/mixed; boundary="mixed"\r\n\r\n--mixed\r\n'
        'Content-Type: multipart/alternative; boundary="either"\r\n\r\n--either\r\n'
        f"Content-Type: text/plain; charset=utf-8\r\n\r\n{body}\r\n--either\r\n"
        f"Content-Type: text/html; charset=utf-8\r\n\r\n<p>{body}</p>\r\n--either--\r\n--mixed\r\n"
        'Content-Type: image/gif; name="beam.gif"\r\nContent-Transfer-Encoding: base64\r\n'
        'Content-Disposition: attachment; filename="beam.gif"\r\n\r\nR0lGODlh\r\n--mixed\r\n'
        "Content-Type: message/rfc822\r\n\r\nFrom: cy@example.org\r\nSubject: The hook\r\n\r\n"
        "It must hold.\r\n--mixed--\r\n"
    ).encode()


def make_json() -> bytes:
    return (
        b'{"name": "Beam handbook", "weight": 1.50, "tags": ["beam", "hook"], '
        b'"parts": [{"name": "Long arm", "size": {"cm": 95}}, {"size": {"cm": 7}}], '
        b'"maker": {"city": "Aachen"}}'
    )


def make_xml(declaration: str = '<?xml version="1.0"?>') -> bytes:
    return (
        f"{declaration}<shop><title>Beam handbook</title>"
        '<product sku="D40"><title>Long arm</title><price currency="EUR">12</price>'
        "<stock>3</stock></product>"
        '<product sku="D41"><title>Hook</title><price currency="EUR">7</price></product></shop>'
    ).encode()
