"""DOCX and ODT of given XML, for what python-docx does not write, and the streams of a DOC."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate

from .builders import make_zip
from .outlook import make_ole

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SPACES = f'xmlns:w="{_W}" xmlns:m="{_OFFICE}/math" xmlns:r="{_OFFICE}/relationships"'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str) -> str:
    return f"<w:p>{''.join(one if one.startswith('<') else run(one) for one in runs)}</w:p>"


def make_word(body: str, parts: Mapping[str, str | bytes] | None = None) -> bytes:
    """A DOCX with this body. `parts` are by name; each is related as "r-" and its name.

    The body of a header, of a footer or of comments is wrapped in its element.
    """
    parts = parts or {}
    relations = "".join(
        f'<Relationship Id="r-{name}" Type="{_OFFICE}/relationships/x" Target="{name}"/>'
        for name in parts
    )
    wrapped = {f"word/{name}": _wrapped(name, part) for name, part in parts.items()}
    return make_zip(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-'
            'officedocument.wordprocessingml.document.main+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship '
            f'Id="r" Type="{_OFFICE}/relationships/officeDocument" Target="word/document.xml"/>'
            "</Relationships>",
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
            f"{relations}</Relationships>",
            "word/document.xml": f"<w:document {_SPACES}><w:body>{body}</w:body></w:document>",
            **wrapped,
        }
    )


def _wrapped(name: str, part: str | bytes) -> str | bytes:
    kinds = {"header": "hdr", "footer": "ftr", "comments": "comments", "settings": "settings"}
    kind = next((element for start, element in kinds.items() if name.startswith(start)), "")
    return f"<w:{kind} {_SPACES}>{part!s}</w:{kind}>" if kind else part


def section(*margins: str, first: bool = False) -> str:
    """The properties of a section: "default header1.xml" and so on are its headers and footers."""
    references = ""
    for margin in margins:
        kind, name = margin.split()
        references += f'<w:{name[:6]}Reference w:type="{kind}" r:id="r-{name}"/>'
    return f"<w:sectPr>{references}{'<w:titlePg/>' * first}<w:pgSz/></w:sectPr>"


def make_writer(body: str, margins: str = "", members: Mapping[str, str] | None = None) -> bytes:
    """An ODT with this body, one page style with `margins`, and other members.

    Its styles of text are "Up" and "Down", and "Sign" and "Tick" in symbol fonts.
    """
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "style", "table", "draw")
    )
    spaces += ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
    spaces += ' xmlns:xlink="http://www.w3.org/1999/xlink"'
    spaces += ' xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
    styles = "".join(
        f'<style:style style:name="{name}" style:family="text">'
        f'<style:text-properties style:text-position="{position} 58%"/></style:style>'
        for name, position in (("Up", "super"), ("Down", "-33%"))
    ) + "".join(
        f'<style:style style:name="{name}" style:family="text">'
        f'<style:text-properties style:font-name="{font}1"/></style:style>'
        for name, font in (("Sign", "Symbol"), ("Tick", "Wingdings"))
    )
    fonts = "".join(
        f'<style:font-face style:name="{font}1" svg:font-family="{font}"/>'
        for font in ("Symbol", "Wingdings")
    )
    return make_zip(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document-content {spaces}>{fonts}<office:automatic-styles>"
            f"{styles}</office:automatic-styles><office:body><office:text>{body}</office:text>"
            "</office:body></office:document-content>",
            "styles.xml": f"<office:document-styles {spaces}><office:master-styles>"
            f'<style:master-page style:name="Standard">{margins}</style:master-page>'
            "</office:master-styles></office:document-styles>",
            **(members or {}),
        }
    )


def make_doc(
    body: str,
    headers: Sequence[str] = (),
    comments: str = "",
    *,
    is_compressed: bool = True,
    pieces: bytes = b"",
    boxes: str = "",
    deleted: slice = slice(0),
) -> bytes:
    """The streams of a DOC with these texts, as far as they are read for headers and comments.

    `deleted` are the characters that a tracked change deleted.
    """
    text = body + "".join(headers) + comments + boxes
    encoded = text.encode("cp1252" if is_compressed else "utf-16-le")
    units = len(encoded) // (1 if is_compressed else 2)
    place = 0x800 * 2 | 0x40000000 if is_compressed else 0x800
    pieces = pieces or struct.pack("<BIIIHIH", 2, 16, 0, units, 0, place, 0)
    starts = [0, *accumulate(map(len, headers))]
    table = pieces + struct.pack(f"<{len(starts) + 1}I", *starts, starts[-1] + 1)
    size = 1 if is_compressed else 2
    first, end = (0x800 + size * each for each in (deleted.start or 0, deleted.stop))
    runs = struct.pack("<4I3B", 0x800, first, end, 0x10000, 0, 250, 0)
    # A run's properties: it is bold, it is deleted.
    page = runs.ljust(500, b"\0") + struct.pack("<BHBHB", 6, 0x0835, 1, 0x0800, 1)
    table += struct.pack("<3I", 0x800, 0x10000, 3)
    block = bytearray(0x600) + page.ljust(511, b"\0") + b"\3"
    struct.pack_into("<H", block, 0x0A, 0x0200)
    lengths = (len(body) + units - len(text), 0, starts[-1], 0, len(comments), 0, len(boxes))
    struct.pack_into("<7I", block, 0x4C, *lengths)
    struct.pack_into("<2I", block, 0xF2, len(pieces), len(table) - len(pieces) - 12)
    struct.pack_into("<2I", block, 0xFA, len(table) - 12, 12)
    struct.pack_into("<2I", block, 0x1A2, 0, len(pieces))
    return make_ole({"WordDocument": bytes(block) + encoded, "1Table": table})
